"""The arguments of a kernel that is called at once: by name, each checked, and their sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from custom_dispatch.errors import CallError, DeclarationError, sentence
from custom_dispatch.kernel.binding import grids_for, output_shapes
from custom_dispatch.kernel.buffer import Buffer, Out
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Operand, Scalar, Struct
from custom_dispatch.runtime.declaration import ValueType
from custom_dispatch.runtime.incoming import check_array, read_array
from custom_dispatch.runtime.numbers import number_for


def take_out(kernel: Kernel, keywords: dict[str, Any]) -> Any:
    """The arrays to write into, if there are some; an operand may have that name."""
    is_operand = any(operand.name == "out" for operand in kernel.inputs)
    return None if is_operand else keywords.pop("out", None)


def match_arguments(
    kernel: Kernel, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> list[Any]:
    """The value of each of `Kernel.inputs`; None for one that is absent.

    Raises
    ------
    CallError
        There are too many or too few, or a keyword is none of theirs.
    """
    names = [operand.name for operand in kernel.inputs]
    signature = f"{kernel.name}({', '.join(names)})"
    if len(arguments) > len(names):
        raise CallError(
            f"Kernel `{kernel.name}` is called with {len(arguments)} arguments.",
            expected=f"{len(names)}: {signature}",
            next_step="results are returned: pass only what the kernel reads or updates.",
        )
    values = dict(zip(names, arguments, strict=False))
    for name, value in keywords.items():
        if name not in names:
            raise CallError(
                f"Kernel `{kernel.name}` has no input `{name}`.",
                expected=signature,
                next_step="correct the keyword.",
            )
        if name in values:
            raise CallError(
                f"Kernel `{kernel.name}` is given `{name}` twice.",
                expected=signature,
                next_step="pass it once, by position or by keyword.",
            )
        values[name] = value
    for operand in kernel.inputs:
        if isinstance(operand, Buffer) and operand.optional:
            values.setdefault(operand.name, None)
    missing = [name for name in names if name not in values]
    if missing:
        raise CallError(
            f"Kernel `{kernel.name}` is called without `{'`, `'.join(missing)}`.",
            expected=signature,
            next_step="pass every input.",
        )
    return [values[name] for name in names]


def check_value(kernel: Kernel, operand: Operand, value: Any) -> Any:
    """A value as an operand takes it; raises CallError where it does not."""
    what = f"operand `{operand.name}` of kernel `{kernel.name}`"
    if isinstance(operand, Scalar):
        return number_for(value, operand, what)
    if isinstance(operand, Struct):
        return _struct_values(operand, value, what)
    if value is None and operand.optional:
        return numpy.empty((0,) * operand.rank, operand.dtype.to_numpy())
    array = read_array(value, what)
    check_array(array, ValueType(operand.dtype, (None,) * operand.rank), what)
    return array


def _struct_values(struct: Struct, value: Any, what: str) -> tuple[float | int, ...]:
    """The numbers of a struct, from a mapping with a value for each field."""
    wanted = ", ".join(field.name for field in struct.fields)
    if not isinstance(value, Mapping):
        raise CallError(
            f"{sentence(what)} is {shown(value)}.",
            expected=f"a mapping with the fields {wanted}",
            next_step=f"pass a dict: {struct.name}={{...}}.",
        )
    names = [field.name for field in struct.fields]
    for name in [*(key for key in value if key not in names), *names]:
        if name not in names or name not in value:
            raise CallError(
                f"{sentence(what)} is given "
                + (f"without `{name}`." if name in names else f"a field {shown(name)}."),
                expected=f"the fields {wanted}",
                next_step="pass each of them, and no other.",
            )
    numbers: list[Any] = []
    for field in struct.fields:
        given = value[field.name]
        if field.count is None:
            numbers.append(given)
            continue
        try:
            elements = list(given)
        except TypeError:
            elements = []
        if isinstance(given, str | bytes) or len(elements) != field.count:
            raise CallError(
                f"{sentence(what)}: field `{field.name}` is {shown(given)}.",
                expected=f"{field.count} numbers for {field.dtype}[{field.count}]",
                next_step="pass a list of them.",
            )
        numbers += elements
    return tuple(
        number_for(number, leaf.scalar, f"`{leaf.scalar.name}` of {what}")
        for number, leaf in zip(numbers, struct.leaves, strict=True)
    )


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
