"""Leading dims: what `...` stands for in a shape such as `[..., n]`.

A kernel sees them as one dim, `cd.batch`. Arrays are dense, so to make one dim of several, or
several of one, is to look at the same memory in another way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.buffer import Buffer, Scratch
from custom_dispatch.kernel.kernel import Kernel

Shape = tuple[int, ...]


def leading_dims(kernel: Kernel, shapes: Mapping[str, Sequence[int]]) -> Shape | None:
    """The leading dims of a call; None for a kernel without `...`.

    Parameters
    ----------
    shapes
        The shapes of its input buffers, by operand name, of ranks that they may have; none, or one
        without elements, for an optional one that is absent.

    Raises
    ------
    CallError
        Two operands disagree on them.
    """
    first: tuple[str, Shape] | None = None
    buffers = [item for item in kernel.inputs if isinstance(item, Buffer) and item.batched]
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
