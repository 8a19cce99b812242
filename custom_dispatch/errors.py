"""Every error this package raises: what was found, what was expected, and the next step.

The message of an error is complete by itself: it is what the command line prints, without a
traceback. The parts stay available as attributes for tools.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from traceback import FrameSummary, extract_tb
from types import MappingProxyType
from typing import Any


class CustomDispatchError(Exception):
    """Base class of every error of this package.

    Parameters
    ----------
    found
        One sentence: what is wrong, naming the kernel, operand, file or target.
    expected
        What would have been right, as a phrase; empty when `found` already says it.
    next_step
        One sentence: what the reader can do now.
    log
        The verbatim output of a tool (nvcc, NVRTC, ptxas, iree-compile), printed after the rest.
    """

    def __init__(
        self, found: str, *, expected: str = "", next_step: str = "", log: str = ""
    ) -> None:
        self.found = found
        self.expected = expected
        self.next_step = next_step
        self.log = log
        super().__init__(str(self))

    def __str__(self) -> str:
        lines = [self.found]
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.next_step:
            lines.append(f"  next step: {self.next_step}")
        if self.log:
            lines.append(self.log.rstrip())
        return "\n".join(lines)

    def saying(self, found: str, next_step: str = "", *, kind: Any = None) -> CustomDispatchError:
        """The same error with other words for what was found, or another next step or class."""
        made = kind or type(self)
        return rebuild(made, found, self.expected, next_step or self.next_step, self.log)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword arguments do not survive BaseException's own pickling (process pools need it).
        return rebuild, (type(self), self.found, self.expected, self.next_step, self.log)


_MOST_LINES, _LONGEST_LINE = 40, 400


def excerpt(log: str) -> str:
    """The first 40 lines of another program's message, of 400 characters each, as `log`.

    A location in a message may be a whole stack on one line.
    """
    lines = log.splitlines()
    shown = [line[:_LONGEST_LINE] for line in lines[:_MOST_LINES]]
    rest = len(lines) - len(shown)
    return "\n".join([*shown, f"... and {rest} more lines"] if rest else shown)


def sentence(phrase: str) -> str:
    """A noun phrase as a sentence begins with it: the first letter is a capital."""
    return phrase[:1].upper() + phrase[1:]


def rebuild(
    kind: type[CustomDispatchError], found: str, expected: str, next_step: str, log: str
) -> CustomDispatchError:
    """An error from the words of another process."""
    return kind(found, expected=expected, next_step=next_step, log=log)


class DeclarationError(CustomDispatchError, ValueError):
    """A `Kernel`, operand, dim expression or target is declared wrongly."""


class SignatureError(DeclarationError):
    """A kernel's C signature is one that this package cannot adapt."""


class PtxError(CustomDispatchError):
    """PTX cannot be read, does not assemble, or does not fit the kernel's declaration."""


class UnsupportedInstructionError(PtxError):
    """The CPU target does not lower a PTX instruction."""


class ToolNotFoundError(CustomDispatchError):
    """A compiler or tool (nvcc, NVRTC, ptxas, iree-compile) is not installed."""


class ToolTimeoutError(CustomDispatchError):
    """A tool ran past its time limit; its whole process group was ended."""


class SourceError(CustomDispatchError):
    """A `.cu` source is missing or does not compile; `log` holds the compiler's message."""


class LinkError(CustomDispatchError):
    """A model and the kernels put into it do not fit together."""


class ModelError(CustomDispatchError):
    """A model is not valid MLIR, or IREE cannot compile it."""


class GraphError(ModelError):
    """A function of a model cannot be a graph: what it runs depends on values of a call."""

    refused: Mapping[str, str] = MappingProxyType({})
    """By function, why it cannot; empty where it is all of them."""


class VerificationError(CustomDispatchError):
    """A compiled model computes something else than its framework."""


class ModuleFileError(CustomDispatchError):
    """A `.vmfb` file is missing or is not an IREE module."""


class DeviceError(CustomDispatchError):
    """No device can run what was asked for, or the device failed."""


class KernelError(CustomDispatchError, RuntimeError):
    """A kernel failed while it ran on the CPU."""


def users_line(error: BaseException, *others: Path) -> FrameSummary | None:
    """The user's own line that an error comes from: the last that is neither this package's nor in
    `others`, which are files and directories.
    """
    roots = (Path(__file__).parent, *others)
    frames = [
        frame
        for frame in extract_tb(error.__traceback__)
        if frame.filename[:1] != "<"
        and not any(Path(frame.filename).is_relative_to(root) for root in roots)
    ]
    return frames[-1] if frames else None


def warn(message: str, category: type[Warning]) -> None:
    """Give a warning, at the line outside of this package that led to it."""
    frame, level = sys._getframe(), 1
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(f"{__package__}."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class KernelWarning(UserWarning):
    """What `cpu:checked` found in a kernel that computes the same in any order all the same."""


class FallbackWarning(UserWarning):
    """A kernel's reference runs in its place, as its declaration allows."""


class TuningWarning(UserWarning):
    """A kernel is another than the one that was measured."""


class ReplacementWarning(UserWarning):
    """No pattern is found in a model, so that IREE compiles all of it alone."""


class TargetWarning(UserWarning):
    """A target leaves out code that kernels have for its GPUs."""


class CallError(CustomDispatchError, TypeError, ValueError):
    """A call's arguments do not fit: count, dtype, rank, dims or device."""


class OutputError(CustomDispatchError, OSError):
    """A file or directory cannot be written."""
