"""A kernel's calls after the first: what was checked for some shapes holds for them ever after.

Every check of an array asks its type, shape and dtype, and nothing else; so do the dims, the grid
and the sizes of results, which follow from shapes. What was found right once is not asked again.
Numbers are checked at each call.
"""

from typing import Any

import numpy

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.runtime.call_arguments import number_for
from custom_dispatch.runtime.device_array import DeviceArray
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import read_array

Signature = tuple[object, ...]

# A loop over sizes is not to fill the memory: beyond this, new ones are checked at each call.
_MOST_SIGNATURES = 4096


class PreparedCall:
    """A kernel's function on a device, with the shapes and dtypes that were checked for it."""

    def __init__(self, kernel: Kernel, function: Function) -> None:
        self._function = function
        named = [
            (index, operand, f"operand `{operand.name}` of kernel `{kernel.name}`")
            for index, operand in enumerate(kernel.inputs)
        ]
        self._scalars = [(at, item, what) for at, item, what in named if isinstance(item, Scalar)]
        self._arrays = [(at, what) for at, item, what in named if isinstance(item, Buffer)]
        # A struct is several arguments of the function: such calls go the long way.
        self._count = len(named) if len(self._scalars) + len(self._arrays) == len(named) else None
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
        if len(arguments) != self._count:
            return None, arguments
        parts: list[object] = []
        read = list(arguments)
        for index, what in self._arrays:
            value = arguments[index]
            if type(value) is numpy.ndarray:
                if not value.ndim or not value.flags.c_contiguous:
                    return None, arguments
                parts += (value.shape, value.dtype)
            elif type(value) is DeviceArray:
                parts += (value.shape, value.element_type)
            elif hasattr(value, "__dlpack__"):
                value = read[index] = read_array(value, what)
                if not isinstance(value, ForeignArray):
                    return None, arguments
                parts += (value.shape, value.dtype_name)
            else:
                return None, arguments
        return tuple(parts), tuple(read)

    def run(self, arguments: tuple[Any, ...]) -> Any:
        """Call with arguments that `read` gave, whose signature was checked."""
        given = list(arguments)
        for index, scalar, what in self._scalars:
            given[index] = number_for(given[index], scalar, what)
        return self._function(*given)
