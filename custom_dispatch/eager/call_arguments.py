"""The arguments of a kernel that is called at once: by name, each checked, and their sizes."""

from __future__ import annotations

from typing import Any

import numpy

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.binding import grids_for, output_shapes
from custom_dispatch.kernel.buffer import Out
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Operand, Scalar, Struct
from custom_dispatch.kernel.passed import struct_numbers
from custom_dispatch.runtime.declaration import ValueType
from custom_dispatch.runtime.incoming import check_array, read_array
from custom_dispatch.runtime.numbers import number_for


def take_out(kernel: Kernel, keywords: dict[str, Any]) -> Any:
    """The arrays to write into, if there are some; an operand may have that name."""
    is_operand = any(operand.name == "out" for operand in kernel.inputs)
    return None if is_operand else keywords.pop("out", None)


def check_value(kernel: Kernel, operand: Operand, value: Any) -> Any:
    """A value as an operand takes it; raises CallError where it does not."""
    what = f"operand `{operand.name}` of kernel `{kernel.name}`"
    if isinstance(operand, Scalar):
        return number_for(value, operand, what)
    if isinstance(operand, Struct):
        numbers = struct_numbers(operand, value, what)
        return tuple(
            number_for(number, leaf.scalar, f"`{leaf.scalar.name}` of {what}")
            for number, leaf in zip(numbers, operand.leaves, strict=True)
        )
    if value is None and operand.optional:
        return numpy.empty((0,) * operand.rank, operand.dtype.to_numpy())
    array = read_array(value, what)
    check_array(array, ValueType(operand.dtype, (None,) * operand.rank), what)
    return array


def check_launch(kernel: Kernel, dims: dict[str, int]) -> None:
    """The checks that the compiled wrapper makes too, here with the values in the message."""
    try:
        grids = grids_for(kernel, dims)
        shapes = output_shapes(kernel, dims)
    except DeclarationError as error:
        raise CallError(
            f"Kernel `{kernel.name}`: {error.found}",
            expected=error.expected,
            next_step=error.next_step,
        ) from None
    for grid in (grid for grid in grids if 0 in grid):
        for operand in kernel.outputs:
            if isinstance(operand, Out) and 0 not in shapes[operand.name]:
                raise CallError(
                    f"Kernel `{kernel.name}`: the grid {grid} is empty for these sizes, so "
                    f"nothing would write `{operand.name}`, which has shape "
                    f"{list(shapes[operand.name])}.",
                    expected="a grid of at least one block wherever there is something to write",
                    next_step="write cd.maximum(..., 1) in the grid, or do not call it for "
                    "empty arrays.",
                )
