"""What IREE's failures mean to whoever made the call, and what cpu:checked has found."""

import re
import tomllib
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from iree import runtime as rt

from custom_dispatch.errors import CallError, DeviceError, KernelError, KernelWarning, sentence
from custom_dispatch.format.keys import EXPECTED, MARK, NEXT_STEP, NOTE, Failure
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.runtime.device import OpenDevice
from custom_dispatch.runtime.device_array import to_host

_KERNEL_CHECK = (
    r"(INVALID_ARGUMENT|FAILED_PRECONDITION); ((?:kernel|choice|function|model) `[^`]+`: .*?);?\s*"
    r"(?:\[ *\d+\] \w+ module@.*)?$"
)
# What IREE's two CPU drivers say of a workgroup that returns a number: see `format/keys.py`.
_FAILURE = r"returned (?:catastrophic error |non-zero \()(\d+)"


@cache
def _failures() -> dict[int, dict[str, str]]:
    """What was found and the next step, by the number that a kernel returns."""
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return {Failure[name]: words for name, words in read.items()}


def failure_of(error: Exception) -> int:
    """The number that a kernel returned which failed on the CPU (`format/keys.py`), else 0."""
    failed = re.search(_FAILURE, str(error))
    return 0 if failed is None else int(failed[1])


def translate_failure(name: str, error: Exception) -> CallError | DeviceError | KernelError:
    """What an IREE failure means to the caller."""
    text = str(error)
    failure = failure_of(error)
    words = _failures().get(failure)
    if words is not None:
        found = f"`{name}` failed on the CPU: {words['found']}."
        return KernelError(found, next_step=words["next_step"])
    check = re.search(_KERNEL_CHECK, text.replace("\n", " "))
    if check is not None:
        is_model = check[2].startswith("model ")
        return CallError(
            f"`{name}` refused the call: {check[2]}.",
            next_step="pass arrays of the same sizes, or state the sizes in the model."
            if is_model
            else "pass arrays whose sizes fit the kernel's declaration.",
        )
    if "INVALID_ARGUMENT" in text and "mismatch" in text:
        return CallError(
            f"`{name}` refused an argument.",
            next_step="correct the argument; IREE says:",
            log=text.split("; while")[0],
        )
    return DeviceError(f"`{name}` failed.", next_step="IREE says:", log=text)


class Findings:
    """The functions of a loaded module that tell what its executables found.

    Once they have been called, findings are no longer written to standard error, so they are called
    when the module is loaded.

    - `context`, `device`: the module's VM context and device.
    - `functions`: one for each executable (`custom_dispatch.ir.executable`).
    """

    def __init__(self, context: Any, device: OpenDevice, functions: Sequence[Any]) -> None:
        self._context = context
        self._device = device
        self._functions = tuple(functions)
        self._errors: list[str] = []
        self.take()

    def take(self) -> KernelError | None:
        """The first error since this was last asked, with the rest as its log; or None."""
        errors, notes = self._texts()
        self._errors = []
        if not errors:
            return None
        error = _as_error(errors[0])
        rest = [str(_as_error(text)) for text in errors[1:]] + notes
        error.log = "\n".join(["What else was found:", *rest]) if rest else ""
        error.args = (str(error),)
        return error

    def warn(self) -> None:
        """Give the notes as warnings. A call in flight may have left errors, which stay."""
        self._errors, notes = self._texts()
        for note in notes:
            warnings.warn(note.removeprefix(NOTE), KernelWarning, stacklevel=2)

    def _texts(self) -> tuple[list[str], list[str]]:
        """The errors and notes since this was last asked."""
        found = dict.fromkeys(self._errors)
        for function in self._functions:
            inputs, outputs = rt.VmVariantList(1), rt.VmVariantList(1)
            inputs.push_int(0)
            self._context.invoke(function, inputs, outputs)
            view = outputs.get_as_object(0, rt.HalBufferView)
            content = to_host(self._device, view, ELEMENT_TYPES["u8"]).tobytes()
            texts = content.partition(b"\0")[0].decode("utf-8", "replace").split(MARK)[1:]
            found |= dict.fromkeys(texts)
        notes = [text for text in found if text.startswith(NOTE)]
        return [text for text in found if not text.startswith(NOTE)], notes


def _as_error(text: str) -> KernelError:
    """A finding's text as the error that it describes."""
    found, _, rest = text.partition(EXPECTED)
    expected, _, next_step = rest.partition(NEXT_STEP)
    return KernelError(sentence(found), expected=expected.rstrip("."), next_step=next_step)
