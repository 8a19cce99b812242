"""What kernels compiled for cpu:checked have found."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from iree import runtime as rt

from custom_dispatch.errors import KernelError, KernelWarning, sentence
from custom_dispatch.format.failure import EXPECTED, MARK, NEXT_STEP, NOTE
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.runtime.arrays import to_host


class Findings:
    """The functions of a loaded module that tell what its executables found.

    Once they have been called, findings are no longer written to standard error, so they are called
    when the module is loaded.

    Parameters
    ----------
    context, device
        The module's VM context and device.
    functions
        One for each executable (`custom_dispatch.ir.findings`).
    """

    def __init__(self, context: Any, device: Any, functions: Sequence[Any]) -> None:
        self._context = context
        self._device = device
        self._functions = tuple(functions)
        self.take()

    def take(self) -> KernelError | None:
        """The first error since this was last asked, with the rest as its log; or None."""
        errors, notes = self._texts()
        if not errors:
            return None
        error = _as_error(errors[0])
        rest = [str(_as_error(text)) for text in errors[1:]] + notes
        error.log = "\n".join(["What else was found:", *rest]) if rest else ""
        error.args = (str(error),)
        return error

    def warn(self) -> None:
        """Give the notes of a call that went well as warnings."""
        for note in self._texts()[1]:
            warnings.warn(note.removeprefix(NOTE), KernelWarning, stacklevel=2)

    def _texts(self) -> tuple[list[str], list[str]]:
        """The errors and notes since this was last asked."""
        found: dict[str, None] = {}
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
