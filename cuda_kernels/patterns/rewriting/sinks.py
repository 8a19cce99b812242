"""Sinks of attention: a score of each head that no key has, beside the scores of keys.

Models put them behind or before the scores, take the softmax of all, and drop their weights.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    dtype_of,
    is_call,
    is_wider,
    named,
    number_of,
    same,
    shape_of,
)

FIRST, LAST = "first", "last"


@dataclass(frozen=True, slots=True)
class Sinks:
    """What stands beside scores."""

    value: Node | float


def dropped_by(node: Node) -> str | None:
    """Which column of the last axis a slice leaves out, where that is one at an end."""
    if not is_call(node, aten.slice.Tensor):
        return None
    given = named(node)
    before, after = shape_of(given["self"]), shape_of(node)
    is_last = given["dim"] in (len(before) - 1, -1) and given["step"] == 1
    if not is_last or not same(before[-1] - after[-1], 1) or given["start"] not in (None, 0, 1):
        return None
    return FIRST if given["start"] == 1 else LAST


def before_softmax(softmax: Node) -> Node | None:
    """What a softmax is of, before it was made f32 or its rows' maxima were subtracted.

    None where another operation reads it too.
    """
    node = softmax.args[0]
    readers = {softmax}
    while isinstance(node, Node) and set(node.users) == readers:
        is_cast = is_call(node, aten.to.dtype)
        if is_cast and (is_wider(node) or dtype_of(node.args[0]) == torch.float32):
            readers, node = {node}, node.args[0]
            continue
        maximum = _row_maximum(node)
        if maximum is None:
            return node
        readers, node = {node, maximum}, node.args[0]
    return None


def _row_maximum(node: Node) -> Node | None:
    """The operation that reads rows, where a value is these without their maxima."""
    if not is_call(node, aten.sub.Tensor) or named(node)["alpha"] != 1:
        return None
    return maximum_of(node.args[0], node.args[1])


def maximum_of(rows: Node, value: Any) -> Node | None:
    """The operation that gives a value that is the maximum of each row; None where it is not."""
    while is_call(value, aten.detach.default):
        value = value.args[0]
    if is_call(value, operator.getitem):
        value = value.args[0] if value.args[1] == 0 else None
    if not is_call(value, aten.amax.default, aten.max.dim):
        return None
    given = named(value)
    axis = given["dim"]
    axis = axis[0] if isinstance(axis, list | tuple) and len(axis) == 1 else axis
    is_of_rows = given["self"] is rows and axis in (-1, len(shape_of(rows)) - 1)
    return value if is_of_rows and given["keepdim"] else None


def without_sinks(
    node: Node, dropped: str, constants: Mapping[str, torch.Tensor]
) -> tuple[Node, Sinks] | None:
    """Scores, and the sinks that stand beside them at the end that is dropped."""
    if is_call(node, aten.constant_pad_nd.default, aten.pad.default):
        given = named(node)
        number = given["value"]
        pads = list(given["pad"])
        wanted = [1, 0] if dropped == FIRST else [0, 1]
        if given.get("mode", "constant") != "constant" or pads[:2] != wanted or any(pads[2:]):
            return None
        is_alone = given["self"].users.keys() == {node}
        return (given["self"], Sinks(float(number or 0.0))) if is_alone else None
    if not is_call(node, aten.cat.default):
        return None
    given = named(node)
    rank = len(shape_of(node))
    if len(given["tensors"]) != 2 or given["dim"] not in (-1, rank - 1) or rank != 4:
        return None
    scores, sinks = given["tensors"][:: -1 if dropped == FIRST else 1]
    if not same(shape_of(sinks)[-1], 1) or scores.users.keys() != {node}:
        return None
    number = number_of(_unexpanded(sinks), constants)
    return scores, Sinks(sinks if number is None else number)


def _unexpanded(node: Node) -> Node:
    while is_call(node, aten.expand.default, aten.repeat.default):
        node = node.args[0]
    return node


def as_operand(sinks: Sinks, outer: tuple[Any, ...], like: Node, write: Writer) -> Node:
    """Sinks as a number of each head, or of each head of each sequence.

    Parameters
    ----------
    outer
        Batch and heads.

    Raises
    ------
    ValueError
        They are others for each query, or more exact than the queries are.
    """
    heads = outer[1]
    dtype = dtype_of(like)
    if not isinstance(heads, int):
        raise ValueError("sinks of an unknown number of heads")
    if not isinstance(sinks.value, Node):
        device = like.meta["val"].device
        return write.call(aten.full.default, [heads], sinks.value, dtype=dtype, device=device)
    node = sinks.value
    while True:
        if is_wider(node):
            node = node.args[0]
        elif is_call(node, aten.expand.default, aten.repeat.default):
            source = node.args[0]
            before, after = shape_of(source), shape_of(node)
            narrow = (*[1] * (len(after) - len(before)), *before)
            if is_call(node, aten.repeat.default) and not all(
                same(one, 1) or same(one, other) for one, other in zip(narrow, after, strict=True)
            ):
                raise ValueError("sinks that are repeated in another order")
            node = source
        else:
            break
    shape = shape_of(node)
    shape = (*[1] * (4 - len(shape)), *shape)
    if len(shape) != 4 or not (same(shape[2], 1) and same(shape[3], 1)):
        raise ValueError("sinks of more than heads")
    if dtype_of(node) != dtype:
        raise ValueError("sinks of another type")
    if same(shape[:2], outer) and isinstance(outer[0], int):
        return write.reshape(node, (outer[0] * heads,), node)
    if not same(shape[0], 1) or not (same(shape[1], heads) or same(shape[1], 1)):
        raise ValueError("sinks of other heads")
    flat = write.reshape(node, (shape[1],), node)
    return flat if same(shape[1], heads) else write.call(aten.expand.default, flat, [heads])


def with_one_batch(
    tensors: Sequence[Node], mask: Node | None, outer: tuple[Any, ...], write: Writer
) -> tuple[list[Node], Node | None]:
    """Queries, keys, values and a mask with all sequences' heads as those of one sequence."""
    found = []
    for each in tensors:
        batch, heads, *rest = shape_of(each)
        found.append(write.reshape(each, (1, batch * heads, *rest), each))
    if mask is not None and not same(shape_of(mask)[:2], (1, 1)):
        sizes = (1, outer[0] * outer[1], *shape_of(mask)[2:])
        mask = write.call(aten.expand.default, mask, [*outer, -1, -1])
        mask = write.reshape(mask, sizes, mask)
    return found, mask
