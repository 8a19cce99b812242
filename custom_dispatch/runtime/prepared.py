"""A kernel's calls after the first: what was checked for some shapes holds for them ever after.

Every check of an array asks its type, shape and dtype, and nothing else; so do the dims, the grid
and the sizes of results, which follow from shapes. What was found right once is not asked again.
Numbers are checked at each call.
"""

from __future__ import annotations

from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.arrays import copy_to_device
from custom_dispatch.runtime.function import Function, number_for, push_scalar

Signature = tuple[object, ...]

# A loop over sizes is not to fill the memory: beyond this, new ones are checked at each call.
_MOST_SIGNATURES = 4096


class PreparedCall:
    """A kernel's function on a device, with the shapes and dtypes that were checked for it."""

    def __init__(self, kernel: Kernel, function: Function) -> None:
        self._function = function
        self._inputs = tuple(
            operand if isinstance(operand, Scalar) else None for operand in kernel.inputs
        )
        self._types = tuple(kind.dtype for kind in function.type.inputs)
        self._whats = tuple(
            f"operand `{item.name}` of kernel `{kernel.name}`" for item in kernel.inputs
        )
        # A struct is several arguments of the function: such calls go the long way.
        self._plain = all(isinstance(item, Buffer | Scalar) for item in kernel.inputs)
        self.checked: set[Signature | None] = set()

    @property
    def usable(self) -> bool:
        """Whether the device still works."""
        return not self._function.access.problem

    def remember(self, arguments: tuple[Any, ...]) -> None:
        """Say that a call with these arguments was checked."""
        signature = self.signature_of(arguments)
        if signature is not None and len(self.checked) < _MOST_SIGNATURES:
            self.checked.add(signature)

    def signature_of(self, arguments: tuple[Any, ...]) -> Signature | None:
        """What the checks of arrays ask; None where a call is out of the ordinary."""
        if not self._plain or len(arguments) != len(self._inputs):
            return None
        parts: list[object] = []
        for scalar, argument in zip(self._inputs, arguments, strict=True):
            if scalar is not None:
                continue
            if type(argument) is not numpy.ndarray or not argument.ndim:
                return None
            if not argument.flags.c_contiguous:
                return None
            parts.append(argument.shape)
            parts.append(argument.dtype)
        return tuple(parts)

    def run(self, arguments: tuple[Any, ...]) -> Any:
        """Call with arguments whose signature was checked."""
        with self._function.access:
            return self._run(arguments)

    def _run(self, arguments: tuple[Any, ...]) -> Any:
        function = self._function
        inputs = rt.VmVariantList(len(arguments))
        for scalar, argument, kind, what in zip(
            self._inputs, arguments, self._types, self._whats, strict=True
        ):
            if scalar is None:
                try:
                    inputs.push_ref(copy_to_device(function.device, argument, kind))
                except IREE_ERRORS as error:
                    raise function.translated(error) from error
            else:
                push_scalar(inputs, number_for(argument, scalar, what), kind, what)
        return function.run(inputs, on_device=False)
