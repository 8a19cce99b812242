"""Heads of queries, keys and values as attention takes them: without a batch, unscaled, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    dtype_of,
    is_call,
    is_wider,
    only_user,
    same,
    scaled,
    shape_of,
    through_views,
)


def without_scale(
    node: Node, write: Writer, constants: Mapping[str, torch.Tensor]
) -> tuple[Node, float]:
    """A factor of a product before it was multiplied by a number, and the number."""
    chain: list[Node] = []
    factor, source, length = 1.0, node, 0
    while True:
        views, source = through_views(source)
        chain += views
        multiplied = scaled(source, constants)
        if multiplied is not None:
            source, number = multiplied
            factor *= number
            length = len(chain)
            found = source
        elif is_wider(source):
            chain.append(source)
            source = source.args[0]
        else:
            break
    return (write.on(chain[:length], found), factor) if factor != 1.0 else (node, 1.0)


def before_widening(node: Node, dtype: torch.dtype | None, write: Writer) -> Node:
    """A tensor of f32 as it was of 16 bits, if it was of that type; else as it is."""
    if dtype_of(node) == dtype:
        return node
    views, source = through_views(node)
    if not is_wider(source) or dtype_of(source.args[0]) != dtype:
        return node
    return write.on(views, source.args[0])


def is_rounded(node: Node, dtype: torch.dtype | None) -> bool:
    """Whether a value of f32 is rounded to a type wherever it is used."""
    user = only_user(node)
    while is_call(user, aten.reshape.default, aten.permute.default):
        user = only_user(user)
    return is_call(user, aten.to.dtype) and dtype_of(user) == dtype


def outer_of(nodes: Sequence[Node]) -> tuple[Any, ...]:
    """Batch and heads of tensors that have both in one axis, as one of them had them before."""
    for node in nodes:
        if is_call(node, aten.reshape.default):
            before = shape_of(node.args[0])
            if len(before) == 4 and same(before[-2:], shape_of(node)[-2:]):
                return before[:2]
    return ()


def with_heads(node: Node, outer: tuple[Any, ...], write: Writer) -> Node:
    """A tensor [batch * heads, length, dim] as [batch, heads, length, dim]."""
    shape = shape_of(node)
    if len(shape) == 4:
        return node
    if not outer or not same(outer[0] * outer[1], shape[0]):
        return write.call(aten.unsqueeze.default, node, 1)
    wanted = (*outer, *shape[1:])
    if is_call(node, aten.reshape.default):
        source = node.args[0]
        if isinstance(source, Node) and same(shape_of(source), wanted):
            return source
    return write.reshape(node, wanted, node)


def once(k: Node, v: Node, heads: Any, write: Writer) -> tuple[Node, Node, bool]:
    """Keys and values before they were repeated for several heads; whether they were."""
    if same(shape_of(k)[1], 1) and same(shape_of(v)[1], 1) and not same(heads, 1):
        return k, v, True
    found = _unrepeated(k, write), _unrepeated(v, write)
    if found[0] is None or found[1] is None:
        return k, v, False
    counts = [shape_of(each)[1] for each in found]
    are_shared = same(counts[0], counts[1]) and isinstance(heads, int)
    if are_shared and isinstance(counts[0], int) and heads % counts[0] == 0:
        return found[0], found[1], True
    return k, v, False


def _unrepeated(node: Node, write: Writer) -> Node | None:
    """Heads [batch, heads, length, dim] of which each was repeated; None where none was."""
    node = _whole(node)
    if is_call(node, aten.permute.default):
        source, order = node.args
        assert isinstance(source, Node)  # noqa: S101 - operators of PyTorch
        found = _repeated_along(source, list(order)[1])
        return None if found is None else write.permute(found, [*order])
    return _repeated_along(node, 1)


def _repeated_along(node: Node, axis: int) -> Node | None:
    if is_call(node, aten.repeat_interleave.self_int):
        source, _, dim = node.args[:3]
        return source if dim == axis else None
    if is_call(node, aten.expand.default):
        before = shape_of(node.args[0])
        is_one = len(before) == 4 and same(before[axis], 1)
        return node.args[0] if is_one else None
    if not is_call(node, aten.reshape.default):
        return None
    expanded = node.args[0]
    while is_call(expanded, aten.reshape.default):  # heads were in the batch in between
        expanded = expanded.args[0]
    expanded = _whole(expanded)
    if not is_call(expanded, aten.expand.default) or len(shape_of(expanded)) != 5:
        return None
    single, wide, result = expanded.args[0], shape_of(expanded), shape_of(node)
    narrow = shape_of(single)
    # [.., heads, 1, ..] is made [.., heads, times, ..], and both are one axis then.
    if len(narrow) != 5 or not same(narrow[axis + 1], 1):
        return None
    merged = (*wide[:axis], wide[axis] * wide[axis + 1], *wide[axis + 2 :])
    kept = (*wide[: axis + 1], 1, *wide[axis + 2 :])
    if not same(merged, result) or not same(narrow, kept):
        return None
    single = _whole(single)
    source = single.args[0]
    squeezed = (*narrow[: axis + 1], *narrow[axis + 2 :])
    is_view = is_call(single, aten.unsqueeze.default, aten.reshape.default)
    if not is_view or not isinstance(source, Node) or not same(shape_of(source), squeezed):
        return None
    return _whole(source)


def _whole(node: Node) -> Node:
    """A value without slices that take all of it."""
    while is_call(node, aten.slice.Tensor) and same(shape_of(node.args[0]), shape_of(node)):
        node = node.args[0]
    return node
