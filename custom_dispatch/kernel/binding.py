"""Reading dims from the shapes of a call, and computing shapes and grids from dims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.evaluation import evaluate, for_values, holds
from custom_dispatch.kernel.expr import Constant, Dim
from custom_dispatch.kernel.geometry import MAX_GRID
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import Shape, folded, leading_dims, leading_of


def bind_dims(kernel: Kernel, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """The value of every dim, from the shapes of the `In`s and `InOut`s.

    Parameters
    ----------
    shapes
        The shape of every input buffer, by operand name; with any leading dims where it has `...`.

    Raises
    ------
    CallError
        A rank differs from the declaration, two operands disagree on a dim or on their leading
        dims, a size is not what its expression gives, or what the kernel requires does not hold.
        The message names the operands, and the values.
    """
    dims: dict[str, int] = {}
    first: dict[str, str] = {}
    buffers = [operand for operand in kernel.inputs if isinstance(operand, Buffer)]
    for operand in buffers:
        check_rank(kernel, operand, tuple(shapes[operand.name]))
    # One that is absent has no sizes to compare, and one that may be gives none to others.
    buffers = [item for item in buffers if not (item.optional and 0 in shapes[item.name])]
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
        raise CallError(
            f"Kernel `{kernel.name}` requires {condition}, which has no value: {error.found}",
            expected=error.expected,
            next_step="pass arrays of other sizes.",
        ) from None
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
    """Require an operand's rank.

    Raises
    ------
    CallError
        The shape has another rank.
    """
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
            raise CallError(
                f"Kernel `{kernel.name}`: operand `{operand.name}` has no size in dimension "
                f"{axis}: {error.found}",
                expected=error.expected,
                next_step="pass arrays of other sizes.",
            ) from None
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
    """The grids of a call's launch, one for each form of the kernel: a call has to fit them all.

    Raises
    ------
    CallError, DeclarationError
        As `grid_for`.
    """
    return tuple(grid_for(form, dims) for form in kernel.forms)


def grid_for(kernel: Kernel, dims: Mapping[str, int], *, capability: int = 0) -> Shape:
    """The grid of a launch, in blocks.

    Raises
    ------
    CallError
        The grid exceeds CUDA's limits, or is no multiple of the cluster.
    DeclarationError
        An expression divides by zero or is negative for these dims.
    """
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
