"""`torch.vmap` of a kernel's operator: leading dims that it has, or a call for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice, kernels_of
from custom_dispatch.kernel.kernel import Kernel


def map_calls(
    item: Kernel | Choice,
    call: Callable[..., Any],
    sizes: Callable[..., Any],
    count: int,
    dims: Sequence[int | None],
    arguments: Sequence[Any],
) -> tuple[Any, Any]:
    """The results of as many calls as a batch has, and which of their dims is the batch's.

    Parameters
    ----------
    call
        Calls the operator.
    sizes
        Gives results of the right sizes without calling it.
    count
        The batch's size.
    dims
        Which dim of each argument is the batch's; None where it is the same for all.
    """
    if all(_is_folded(kernel, dims) for kernel in kernels_of(item)):
        items = kernels_of(item)[0].arguments
        given = [
            _in_front(value, dim, count)
            if isinstance(operand, Buffer) and operand.batched and value is not None
            else value
            for operand, value, dim in zip(items, arguments, dims, strict=False)
        ]
        results = call(*given)
    elif count:
        each = [call(*_at(index, dims, arguments)) for index in range(count)]
        several = isinstance(each[0], tuple)
        results = tuple(map(torch.stack, zip(*each, strict=True))) if several else torch.stack(each)
    else:
        one = [
            value if dim is None else value.new_empty(value.movedim(dim, 0).shape[1:])
            for value, dim in zip(arguments, dims, strict=True)
        ]
        found = sizes(*one)
        several = isinstance(found, tuple)
        empty = tuple(each.new_empty((0, *each.shape)) for each in (found if several else (found,)))
        results = empty if several else empty[0]
    return results, (0,) * len(results) if isinstance(results, tuple) else 0


def _is_folded(kernel: Kernel, dims: Sequence[int | None]) -> bool:
    """Whether a batch is one more leading dim: of all that it is in, and of all results."""
    return all(item.batched for item in kernel.outputs) and all(
        dim is None or (isinstance(item, Buffer) and item.batched)
        for item, dim in zip(kernel.arguments, dims, strict=False)
    )


def _in_front(value: torch.Tensor, dim: int | None, count: int) -> torch.Tensor:
    return value.expand(count, *value.shape) if dim is None else value.movedim(dim, 0)


def _at(index: int, dims: Sequence[int | None], arguments: Sequence[Any]) -> list[Any]:
    return [
        value if dim is None else value.select(dim, index)
        for value, dim in zip(arguments, dims, strict=True)
    ]
