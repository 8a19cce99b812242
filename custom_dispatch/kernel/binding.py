"""What a call passes to a kernel, and what follows: arguments, dims, shapes and grids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from custom_dispatch.errors import CallError, sentence
from custom_dispatch.kernel.evaluation import evaluate, for_values
from custom_dispatch.kernel.geometry import MAX_GRID
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Struct
from custom_dispatch.kernel.shapes import KnownShapes, Shape

if TYPE_CHECKING:
    from custom_dispatch.kernel.choice import Choice


def match_arguments(
    kernel: Kernel | Choice, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> list[Any]:
    """The value of each of `Kernel.inputs`; None for one that is absent."""
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


def struct_numbers(struct: Struct, value: Any, what: str) -> list[Any]:
    """The numbers of a struct one by one, as given, from a mapping with a value for each field."""
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
    return numbers


def bind_dims(kernel: Kernel, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The value of every dim, from the shapes of the `In`s and `InOut`s; as `bind_shapes`."""
    return bind_shapes(kernel, shapes).numbers


def bind_shapes(kernel: Kernel, shapes: Mapping[str, Sequence[int]]) -> KnownShapes:
    """The dims of a call that fits the kernel, as far as sizes tell.

    `shapes`: as of `Shapes.bind`.
    """
    found = KnownShapes(kernel)
    found.bind(shapes)
    found.require()
    return found


def output_shapes(kernel: Kernel, dims: Mapping[str, int]) -> dict[str, Shape]:
    """The shape of every `Out` and `InOut`, by operand name, with leading dims as one."""
    return {
        operand.name: tuple(evaluate(size, dims) for size in operand.shape)
        for operand in kernel.outputs
    }


def grids_for(kernel: Kernel, dims: Mapping[str, int]) -> tuple[Shape, ...]:
    """The grids of a call's launch, one for each form of the kernel: a call has to fit them all."""
    return tuple(grid_for(form, dims) for form in kernel.forms)


def grid_for(kernel: Kernel, dims: Mapping[str, int], *, capability: int = 0) -> Shape:
    """The grid of a launch, in blocks."""
    grid = tuple(evaluate(size, dims, capability=capability) for size in kernel.grid)
    for axis, size, limit, expr in zip("xyz", grid, MAX_GRID, kernel.grid, strict=True):
        if size > limit:
            raise CallError(
                f"Kernel `{kernel.name}`: grid.{axis} = {expr} is {size}{for_values(expr, dims)}.",
                expected=f"at most {limit}, CUDA's limit for {axis}",
                next_step="use a larger block, or split the work over several calls.",
            )
    for axis, size, blocks, expr in zip(
        "xyz", grid, kernel.cluster or (1, 1, 1), kernel.grid, strict=True
    ):
        if size % blocks:
            raise CallError(
                f"Kernel `{kernel.name}`: grid.{axis} = {expr} is {size}{for_values(expr, dims)}, "
                f"and a cluster has {blocks} blocks in {axis}.",
                expected=f"a multiple of {blocks}",
                next_step="pass arrays of other sizes, or declare a grid of whole clusters.",
            )
    return grid
