"""A kernel's calls after the first: what was checked for some shapes holds for them ever after.

Every check of an array asks its type, shape and dtype, and nothing else; so do the dims, the grid
and the sizes of results, which follow from shapes. What was found right once is not asked again.
Numbers are checked at each call.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy
from iree import runtime as rt

from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scalar
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.call_arguments import number_for, push_scalar
from custom_dispatch.runtime.device_array import DeviceArray, HostArray, copier
from custom_dispatch.runtime.dlpack import ForeignArray
from custom_dispatch.runtime.function import Function
from custom_dispatch.runtime.incoming import NEEDS_NOTHING, Needs, read_array

Signature = tuple[object, ...]

# A loop over sizes is not to fill the memory: beyond this, new ones are checked at each call.
_MOST_SIGNATURES = 4096


class _Input(NamedTuple):
    """What a call asks again and again of one input."""

    scalar: Scalar | None
    """None for an array."""
    kind: ElementType
    what: str
    """How errors name it."""
    copy: Callable[[HostArray], Any]
    """Copies an array of that type to the device."""


class PreparedCall:
    """A kernel's function on a device, with the shapes and dtypes that were checked for it."""

    def __init__(self, kernel: Kernel, function: Function) -> None:
        self._function = function
        # Of a struct, which is several arguments, there is more of one than of the other.
        self._inputs = tuple(
            _Input(
                operand if isinstance(operand, Scalar) else None,
                kind.dtype,
                f"operand `{operand.name}` of kernel `{kernel.name}`",
                copier(function.device, kind.dtype),
            )
            for operand, kind in zip(kernel.inputs, function.type.inputs, strict=False)
        )
        # A struct is several arguments of the function: such calls go the long way.
        plain = all(isinstance(item, Buffer | Scalar) for item in kernel.inputs)
        self._count = len(self._inputs) if plain else None
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
        read = arguments
        for index, item in enumerate(self._inputs):
            value = arguments[index]
            if item.scalar is not None:
                continue
            if type(value) is numpy.ndarray:
                if not value.ndim or not value.flags.c_contiguous:
                    return None, arguments
                parts += (value.shape, value.dtype)
            elif type(value) is DeviceArray:
                parts += (value.shape, value.element_type)
            elif hasattr(value, "__dlpack__"):
                value = read_array(value, item.what)
                if not isinstance(value, ForeignArray):
                    return None, arguments
                parts += (value.shape, value.dtype_name)
                read = (*read[:index], value, *read[index + 1 :])
            else:
                return None, arguments
        return tuple(parts), read

    def run(self, arguments: tuple[Any, ...]) -> Any:
        """Call with arguments that `read` gave, whose signature was checked."""
        function = self._function
        with function.access:
            inputs = rt.VmVariantList(len(arguments) + 2)
            needs = None
            for item, value in zip(self._inputs, arguments, strict=True):
                if item.scalar is not None:
                    number = number_for(value, item.scalar, item.what)
                    push_scalar(inputs, number, item.kind, item.what)
                elif type(value) is numpy.ndarray:
                    try:
                        inputs.push_ref(item.copy(value))
                    except IREE_ERRORS as error:
                        raise function.translated(error) from error
                else:
                    needs = needs or Needs()
                    function.arguments.push(
                        inputs, value, item.kind, item.what, needs, function.translated
                    )
            return function.run(inputs, needs or NEEDS_NOTHING, on_device=needs is not None)
