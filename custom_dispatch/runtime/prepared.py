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
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import Needs, read_array
from custom_dispatch.runtime.numbers import number_for, push_scalar

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

    def remember(self, signature: Signature | None) -> None:
        """Say that a call with arguments of this signature was checked."""
        if signature is not None and len(self.checked) < _MOST_SIGNATURES:
            self.checked.add(signature)

    def read(self, arguments: tuple[Any, ...]) -> tuple[Signature | None, tuple[Any, ...]]:
        """What the checks of arrays ask, and the arguments with other libraries' arrays read.

        The signature is None where a call is out of the ordinary.
        """
        if not self._plain or len(arguments) != len(self._inputs):
            return None, arguments
        parts: list[object] = []
        values = []
        for scalar, value, what in zip(self._inputs, arguments, self._whats, strict=True):
            if scalar is not None:
                values.append(value)
                continue
            if type(value) is numpy.ndarray:
                if not value.ndim or not value.flags.c_contiguous:
                    return None, arguments
                parts += (value.shape, value.dtype)
            elif type(value) is DeviceArray:
                parts += (value.shape, value.element_type)
            elif hasattr(value, "__dlpack__"):
                value = read_array(value, what)
                if not isinstance(value, ForeignArray):
                    return None, arguments
                parts += (value.shape, value.dtype_name)
            else:
                return None, arguments
            values.append(value)
        return tuple(parts), tuple(values)

    def run(self, arguments: tuple[Any, ...]) -> Any:
        """Call with arguments that `read` gave, whose signature was checked."""
        function = self._function
        with function.access:
            inputs = rt.VmVariantList(len(arguments) + 2)
            needs = Needs()
            on_device = False
            for scalar, value, kind, what in zip(
                self._inputs, arguments, self._types, self._whats, strict=True
            ):
                if scalar is not None:
                    push_scalar(inputs, number_for(value, scalar, what), kind, what)
                elif type(value) is numpy.ndarray:
                    try:
                        inputs.push_ref(copy_to_device(function.device, value, kind))
                    except IREE_ERRORS as error:
                        raise function.translated(error) from error
                else:
                    on_device = True
                    function.push_array(inputs, value, kind, what, needs)
            return function.run(inputs, needs, on_device=on_device)
