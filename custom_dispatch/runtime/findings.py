"""What kernels compiled for cpu:checked have found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree import runtime as rt

from custom_dispatch.cpu import EXPECTED, NEXT_STEP
from custom_dispatch.errors import KernelError, sentence
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
        """The first finding since this was last asked, or None."""
        found = None
        for function in self._functions:
            inputs, outputs = rt.VmVariantList(1), rt.VmVariantList(1)
            inputs.push_int(0)
            self._context.invoke(function, inputs, outputs)
            view = outputs.get_as_object(0, rt.HalBufferView)
            content = to_host(self._device, view, ELEMENT_TYPES["u8"]).tobytes()
            text = content.partition(b"\0")[0].decode("utf-8", "replace")
            found = found or text
        return _as_error(found) if found else None


def _as_error(text: str) -> KernelError:
    """A finding's text as the error that it describes."""
    found, _, rest = text.partition(EXPECTED)
    expected, _, next_step = rest.partition(NEXT_STEP)
    return KernelError(sentence(found), expected=expected.rstrip("."), next_step=next_step)
