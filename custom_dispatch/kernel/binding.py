"""What a call passes to a kernel, and what follows: arguments, dims, shapes and grids.

Leading dims are what `...` stands for in a shape such as `[..., n]`. A kernel sees them as one dim,
`cd.batch`. Arrays are dense, so to make one dim of several, or several of one, is to look at the
same memory in another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from custom_dispatch.errors import CallError, DeclarationError, sentence
from custom_dispatch.kernel.evaluation import evaluate, for_values, holds
from custom_dispatch.kernel.expr import Condition, Constant, Dim
from custom_dispatch.kernel.geometry import MAX_GRID
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Buffer, Scratch, Struct

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


Shape = tuple[int, ...]


def leading_dims(kernel: Kernel, shapes: Mapping[str, Sequence[int]]) -> Shape | None:
    """The leading dims of a call; None for a kernel without `...`.

    `shapes`: the shapes of its input buffers, by operand name, of ranks that they may have; none,
    or one without elements, for an optional one that is absent.
    """
    first: tuple[str, Shape] | None = None
    buffers = [item for item in kernel.buffers if item.batched]
    for operand in sorted(buffers, key=lambda item: item.optional):
        shape = shapes.get(operand.name, (0,))
        if operand.optional and 0 in shape:
            continue
        found = leading_of(operand, shape)
        if first is None:
            first = (operand.name, found)
        elif found != first[1]:
            raise CallError(
                f"Kernel `{kernel.name}`: the operands disagree on their leading dims: those of "
                f"`{first[0]}` are {list(first[1])}, and those of `{operand.name}` {list(found)}.",
                expected=f"the same ones everywhere: {declared_shapes(kernel)}",
                next_step="pass arrays whose sizes agree, broadcast where they have to be.",
            )
    return None if first is None else first[1]


def leading_of(operand: Buffer, shape: Sequence[int]) -> Shape:
    """The leading dims in a shape."""
    return tuple(shape[: len(shape) - operand.least_rank])


def folded(operand: Buffer, shape: Sequence[int]) -> Shape:
    """A shape as the kernel sees it: leading dims as one."""
    if not operand.batched:
        return tuple(shape)
    tail = shape[len(shape) - operand.least_rank :]
    return (prod(leading_of(operand, shape)), *tail)


def unfolded(operand: Buffer, shape: Sequence[int], leading: Sequence[int] | None) -> Shape:
    """A shape as the caller sees it, from the kernel's."""
    if not operand.batched or leading is None:
        return tuple(shape)
    return (*leading, *shape[1:])


def declared_shapes(kernel: Kernel) -> str:
    """The shapes of a call's buffers as they are declared: "x[..., n], y[..., n]"."""
    return ", ".join(
        f"{operand.name}[{operand.declared_shape}]"
        for operand in kernel.operands
        if isinstance(operand, Buffer) and not isinstance(operand, Scratch)
    )


def bind_dims(kernel: Kernel, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The value of every dim, from the shapes of the `In`s and `InOut`s.

    `shapes`: the shape of every input buffer, by operand name; with any leading dims where it has
    `...`.
    """
    dims: dict[str, int] = {}
    first: dict[str, str] = {}
    for operand in kernel.buffers:
        check_rank(kernel, operand, tuple(shapes[operand.name]))
    # One that is absent has no sizes to compare, and one that may be gives none to others.
    buffers = [op for op in kernel.buffers if not (op.optional and 0 in shapes[op.name])]
    buffers.sort(key=lambda operand: operand.optional)
    leading_dims(kernel, {operand.name: shapes[operand.name] for operand in buffers})
    for operand in buffers:
        shape = tuple(shapes[operand.name])
        for axis, (size, value) in enumerate(
            zip(operand.shape, folded(operand, shape), strict=True)
        ):
            if not isinstance(size, Dim):
                continue
            here = _said(operand, shape, axis)
            if dims.setdefault(size.name, value) != value:
                raise CallError(
                    f"Kernel `{kernel.name}`: the operands disagree on dim {size}: "
                    f"{first[size.name]}, but {here}.",
                    expected=f"the same {size} everywhere",
                    next_step="pass arrays whose sizes agree.",
                )
            first.setdefault(size.name, here)
    for operand in buffers:
        _check_sizes(kernel, operand, tuple(shapes[operand.name]), dims)
    for condition in kernel.requires:
        _check_condition(kernel, condition, dims)
    return dims


def _check_condition(kernel: Kernel, condition: Condition, dims: Mapping[str, int]) -> None:
    try:
        if holds(condition, dims):
            return
    except DeclarationError as error:
        found = f"Kernel `{kernel.name}` requires {condition}, which has no value: {error.found}"
        raise error.saying(found, "pass arrays of other sizes.", kind=CallError) from None
    raise CallError(
        f"Kernel `{kernel.name}` requires {condition}, which does not hold"
        f"{for_values(condition, dims)}.",
        expected=", ".join(map(str, kernel.requires)),
        next_step="pass arrays of such sizes, or put a kernel that takes these beside it, in a "
        "cd.Choice.",
    )


def _said(operand: Buffer, shape: Shape, axis: int) -> str:
    """One size as the caller gave it: "`x`.shape[1] = 7"; the product of leading dims."""
    if operand.batched and axis == 0 and len(shape) != operand.rank:
        leading = leading_of(operand, shape)
        return f"the product of `{operand.name}`.shape[:{len(leading)}] = {prod(leading)}"
    axis += len(shape) - operand.rank
    return f"`{operand.name}`.shape[{axis}] = {shape[axis]}"


def check_rank(kernel: Kernel, operand: Buffer, shape: Sequence[int]) -> None:
    """Require an operand's rank."""
    if not operand.has_rank(len(shape)):
        least = f"{operand.least_rank} or more" if operand.batched else str(operand.rank)
        raise CallError(
            f"Kernel `{kernel.name}`: operand `{operand.name}` has shape {list(shape)}, which is "
            f"rank {len(shape)}.",
            expected=f"rank {least}: [{operand.declared_shape}]",
            next_step="reshape the array.",
        )


def _check_sizes(kernel: Kernel, operand: Buffer, shape: Shape, dims: Mapping[str, int]) -> None:
    sizes = folded(operand, shape)
    for axis, (size, value) in enumerate(
        zip(operand.shape, sizes, strict=True), len(shape) - len(sizes)
    ):
        if isinstance(size, Dim):
            continue
        try:
            wanted = evaluate(size, dims)
        except DeclarationError as error:
            found = f"Kernel `{kernel.name}`: operand `{operand.name}` has no size in dimension "
            found += f"{axis}: {error.found}"
            raise error.saying(found, "pass arrays of other sizes.", kind=CallError) from None
        if wanted != value:
            raise CallError(
                f"Kernel `{kernel.name}`: operand `{operand.name}` has size {value} in "
                f"dimension {axis}.",
                expected=str(wanted)
                if isinstance(size, Constant)
                else f"{size} = {wanted}{for_values(size, dims)}",
                next_step="pass an array of that size.",
            )


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
