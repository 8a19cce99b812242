"""Queries, keys and values of one product, as products of parts of its weight.

GPT-2, Phi-3 and Falcon have them side by side, GPT-NeoX and BLOOM head by head, and models of timm
in an axis of their own. Kernels read whole tensors, so parts of one would be copied. So the weight
is taken apart, while the model is compiled.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    constants_of,
    is_call,
    named,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.weights import held_by, hold

_PARTS = (aten.chunk.default, aten.split.Tensor, aten.split_with_sizes.default, aten.unbind.int)
_VIEWS = (
    *(aten.reshape.default, aten.permute.default, aten.unsqueeze.default, aten.squeeze.dim),
    *(aten.slice.Tensor, aten.select.int, operator.getitem, *_PARTS),
)


@dataclass(frozen=True, slots=True)
class Columns:
    """A tensor of heads that is columns of the rows of another one."""

    base: Node
    chain: tuple[Node, ...]
    """The views that make it of the other one, the last one first."""
    is_by_position: bool
    """Whether it is [batch, positions, heads, dim], and not [batch, heads, positions, dim]."""
    first: int
    step: int
    """From a head to the next."""
    heads: int
    dim: int

    @property
    def numbers(self) -> torch.Tensor:
        """The numbers of the columns."""
        heads = torch.arange(self.heads)[:, None] * self.step
        return (self.first + heads + torch.arange(self.dim)).flatten()

    @property
    def is_whole(self) -> bool:
        """Whether it is all columns, in order."""
        return self.step == self.dim and self.heads * self.dim == shape_of(self.base)[-1]


def columns_of(node: Node, *, by_position: bool) -> Columns | None:
    """What a tensor has columns of; None where it has not the rows of one, in order.

    Of open sizes the model's example is looked at: views are the same for others.
    """
    chain: list[Node] = []
    base = node
    while is_call(base, *_VIEWS) and isinstance(base.args[0], Node):
        chain.append(base)
        base = base.args[0]
    shape = shape_of(base)
    if not chain or len(shape) < 2 or len(shape_of(node)) != 4 or not isinstance(shape[-1], int):
        return None
    viewed = whole = torch.empty([_example(size) for size in shape], device="meta")
    for view in reversed(chain):
        args, kwargs = torch.fx.node.map_arg((view.args[1:], view.kwargs), _example)
        args = torch.utils._pytree.tree_map(_example, args)
        viewed = view.target(viewed, *args, **kwargs)
    if viewed.untyped_storage()._cdata != whole.untyped_storage()._cdata:
        return None  # a view that copies
    viewed = viewed if by_position else viewed.transpose(1, 2)
    (batch, positions, heads, dim), width = viewed.shape, shape[-1]
    row, position, step, column = viewed.stride()
    wanted = ((batch, row, positions * width), (positions, position, width), (dim, column, 1))
    if whole.numel() != batch * positions * width:
        return None
    if any(size != 1 and own != needed for size, own, needed in wanted):
        return None
    first, step = viewed.storage_offset(), step if heads > 1 else dim
    if first + (heads - 1) * step + dim > width:
        return None
    return Columns(base, tuple(chain), by_position, first, step, heads, dim)


def _example(size: Any) -> Any:
    if isinstance(size, Node):
        size = size.meta["val"]
    return size.node.hint if isinstance(size, torch.SymInt) else size


def take_apart(parts: Sequence[Columns], program: torch.export.ExportedProgram) -> None:
    """Write columns of one product as products, if nothing else reads it."""
    base = parts[0].base
    if any(part.is_whole for part in parts) or not is_call(base, aten.linear.default):
        return
    given = named(base)
    held = [held_by(program, given[name]) for name in ("weight", "bias")]
    if held[0] is None or (held[1] is None and given["bias"] is not None):
        return
    views = {node for part in parts for node in part.chain}
    ends = {part.chain[0] for part in parts}
    for node in (base, *(views - ends)):
        if any(user.users and user not in views for user in node.users):
            return
    if sum(not isinstance(size, int) for size in shape_of(parts[0].chain[0])) >= len(
        shape_of(base)
    ):
        return  # sizes that are in no tensor before the product
    write = Writer(base)
    for part in parts:
        end = part.chain[0]
        own = [None if each is None else hold(program, each[part.numbers], write) for each in held]
        product = write.call(aten.linear.default, given["input"], *own)
        sizes = shape_of(end)
        positions = sizes[1 if part.is_by_position else 2]
        result = write.reshape(product, (sizes[0], positions, part.heads, part.dim), product)
        put(end, result if part.is_by_position else write.permute(result, [0, 2, 1, 3]))


def write_plain_views(program: torch.export.ExportedProgram) -> None:
    """Write an index of one constant number as a slice, and leave out what is joined but empty.

    Falcon takes its keys by `[..., [-2], :]`; Phi-3 turns the first part of a head, which is all.
    """
    for node in calls(program.graph, aten.cat.default):
        axis = named(node)["dim"]
        parts = [part for part in node.args[0] if not same(shape_of(part)[axis], 0)]
        if len(parts) == 1 and same(shape_of(parts[0]), shape_of(node)):
            put(node, parts[0])
    constants = constants_of(program)
    for node in calls(program.graph, aten.index.Tensor):
        given = node.args[1]
        places = [axis for axis, index in enumerate(given) if index is not None]
        number = _one_number(given[places[0]], constants) if len(places) == 1 else None
        if number is not None:
            source, axis = node.args[0], places[0]
            size = shape_of(source)[axis]
            if isinstance(size, int) and -size <= number < size:
                first = number % size
                sliced = (source, axis, first, first + 1, 1)
                put(node, Writer(node).call(aten.slice.Tensor, *sliced))


def _one_number(index: Any, constants: dict[str, torch.Tensor]) -> int | None:
    while is_call(index, aten.lift_fresh_copy.default):
        index = index.args[0]
    tensor = constants.get(getattr(index, "name", ""))
    if tensor is None or tensor.shape != (1,) or tensor.dtype != torch.int64:
        return None
    return int(tensor)
