"""Halves of the last axis of a tensor, however a model takes them: sliced, chunked, unbound."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import aten, is_call, named, narrow, same, shape_of

LOW, HIGH, EVEN, ODD = "low", "high", "even", "odd"


@dataclass(frozen=True, slots=True)
class Part:
    """Half of the elements of the last axis."""

    base: Node
    which: str


def part_of(node: Any) -> Part | None:
    """Which half of what a tensor is."""
    if not isinstance(node, Node):
        return None
    node = narrow(node)
    found = _sliced(node) or _chosen(node)
    return None if found is None else Part(narrow(found.base), found.which)


def _sliced(node: Node) -> Part | None:
    if is_call(node, aten.slice.Tensor):
        given = named(node)
        base, start, step = given["self"], given["start"], given["step"]
        size = shape_of(base)[-1]
        if given["dim"] != len(shape_of(base)) - 1 or not isinstance(size, int) or size % 2:
            return None
        end = given["end"]
        end = size if end is None else min(end, size) if isinstance(end, int) else None
        if step == 2 and end == size and start in (0, 1):
            return Part(base, ODD if start else EVEN)
        halves: dict[Any, str] = {(0, size // 2): LOW, (size // 2, size): HIGH}
        return Part(base, halves[start, end]) if step == 1 and (start, end) in halves else None
    if not is_call(node, operator.getitem):
        return None
    source, index = node.args
    if not is_call(source, aten.chunk.default, aten.split.Tensor, aten.split_with_sizes.default):
        return None
    given = named(source)
    base = given["self"]
    size = shape_of(base)[-1]
    halves_of = same(shape_of(node)[-1] * 2, size) and given["dim"] == len(shape_of(base)) - 1
    return Part(base, HIGH if index else LOW) if halves_of else None


def _chosen(node: Node) -> Part | None:
    """Of what is reshaped to pairs or to halves first."""
    if is_call(node, aten.select.int):
        source, dim, index = node.args
    elif is_call(node, operator.getitem) and is_call(node.args[0], aten.unbind.int):
        source, index = node.args[0].args[0], node.args[1]
        dim = named(node.args[0])["dim"]
    else:
        return None
    if not is_call(source, aten.reshape.default) or index not in (0, 1):
        return None
    base = source.args[0]
    before, after = shape_of(base), shape_of(source)
    if not before or len(after) != len(before) + 1 or not same(after[:-2], before[:-1]):
        return None
    if dim == len(after) - 1 and same(after[-1], 2):
        return Part(base, ODD if index else EVEN)
    if dim == len(after) - 2 and same(after[-2], 2):
        return Part(base, HIGH if index else LOW)
    return None
