"""Calling a kernel now, and telling which of a choice a call takes, without this room knowing how.

Both need every room to the right of this one: `eager` is loaded by the first call, by its name.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import is_one_of, shown
from custom_dispatch.kernel.target import Target


@functools.cache
def eager(module: str) -> Any:
    """A module of the room that calls kernels."""
    return importlib.import_module(f"custom_dispatch.eager.{module}")


COMPILER_NAMES = ("auto", "nvrtc", "nvcc")


def check_compiler_name(name: object) -> str:
    """Refuse what is no compiler's name."""
    if isinstance(name, str) and is_one_of(name, COMPILER_NAMES):
        return name
    raise DeclarationError(
        f"{shown(name)} is not a compiler.",
        expected=" or ".join((", ".join(COMPILER_NAMES[:-1]), COMPILER_NAMES[-1])),
        next_step="choose one of these, or leave it out.",
    )


@dataclass(frozen=True)
class Taken:
    """Which kernel of a choice a call takes, and why. Made by `Choice.which`."""

    choice: str
    target: Target
    dims: Mapping[str, int]
    kernel: str
    reason: str
    """A sentence without its subject, which is the kernel."""
    others: Mapping[str, str]
    """Why not, for each of the other kernels, as they are declared."""

    @property
    def call(self) -> str:
        """What was asked about."""
        sizes = " ".join(f"{name}={size}" for name, size in self.dims.items()) or "every call"
        return f"`{self.choice}` for {sizes} on {self.target}"

    def __str__(self) -> str:
        others = (f"  `{name}` {why}." for name, why in self.others.items())
        return "\n".join([f"{self.call}: `{self.kernel}` {self.reason}.", *others])


@dataclass(frozen=True, slots=True)
class BoundKernel:
    """A kernel or a choice, together with how its calls run. Made by `Kernel.on`."""

    kernel: Callee
    device: str
    compiler: str = "auto"
    """What compiles its source, as of `cd.build`."""
    store: bool = True
    """Whether to use the store: reuse what was compiled before, and keep what is new."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel now, on this device; otherwise as `Kernel.__call__`."""
        return eager("call").launch(self, arguments, keywords)


class Callee:
    """What is called by one name: a kernel, or a choice of several."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the kernel, or the first of a choice that the arguments fit, on the best device.

        Takes the `In`s, `InOut`s, value-less `Scalar`s and `Struct`s (as mappings) in declaration
        order, or by keyword, and returns the `Out`s and `InOut`s: one alone, several as a tuple.
        The kernel is built on its first call.

        Raises `CallError`: the arguments do not fit the declaration; of a choice, the message says
        why not, for each kernel.
        """
        return eager("call").launch(BoundKernel(self, "auto"), arguments, keywords)

    def on(
        self, device: str = "auto", *, compiler: str = "auto", store: bool = True
    ) -> BoundKernel:
        """The same kernel or choice, to be called on a device of the caller's choice.

        - `device`: "auto" for the best there is, "cuda", "cuda:1" for the second GPU, "cpu", or
          "cpu:checked", which finds mistakes. "auto" and "cuda" are the GPU of the arrays.
        - `compiler`: what compiles the source: "nvrtc", "nvcc", or "auto", as of `cd.build`.
        - `store`: whether to use the store: reuse what was compiled before, and keep what is new.
        """
        return BoundKernel(self, device, compiler, store)
