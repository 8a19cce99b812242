"""Unrolled loops rolled up: what is computed for each step, as one computation for all of them.

An export unrolls a model's loop over time. Its steps are a series of nodes with the same operation,
whose operands are series again: `select(x, 1, t)` for t = 0, 1, ... is x. A series that needs what
the step before gave is a recurrence, which `scans.py` makes an operator of.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import Writer, aten, is_call, named, shape_of

Series = tuple[Node, ...]
_ELEMENTWISE = {
    *(aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.neg.default),
    *(aten.add.Scalar, aten.sub.Scalar, aten.mul.Scalar, aten.div.Scalar, aten.rsub.Scalar),
    *(aten.exp.default, aten.log.default, aten.sigmoid.default, aten.tanh.default),
    *(aten.silu.default, aten.relu.default, aten.gelu.default, aten.softplus.default),
    *(aten.square.default, aten.sqrt.default, aten.rsqrt.default, aten.reciprocal.default),
    *(aten.pow.Tensor_Scalar, aten.to.dtype, aten.abs.default, aten.clamp.default),
    *(aten.where.self, aten.maximum.default, aten.minimum.default, aten.log1p.default),
    *(aten.expm1.default, aten.bitwise_not.default, aten.sin.default, aten.cos.default),
}
_OF_LAST_AXES = {aten.rms_norm.default: 1, aten.layer_norm.default: 1}


class Rolled:
    """Series of a graph as tensors whose first axis is time.

    Parameters
    ----------
    write
        Writes what is new.
    recurrence
        What a series is that no operation of all steps gives: a tensor, or None.
    """

    def __init__(self, write: Writer, recurrence: Callable[[Rolled, Series], Node | None]) -> None:
        self.write = write
        self._recurrence = recurrence
        self._known: dict[Series, Node | None] = {}

    def tensor(self, series: Series) -> Node | None:
        """[time, ...] of a series that changes with time; None where there is no such."""
        if series not in self._known:
            self._known[series] = None  # what needs itself is no operation of all steps
            self._known[series] = self._recurrence(self, series) or self._rolled(series)
        return self._known[series]

    def _rolled(self, series: Series) -> Node | None:
        sequence = of_sequence(series)
        if sequence is not None:
            source, axis = sequence.written(self.write), sequence.axis
            rank = len(shape_of(source))
            found = self.write.permute(source, [axis, *(i for i in range(rank) if i != axis)])
            if not sequence.keeps_axis:
                return found
            return self.write.call(aten.unsqueeze.default, found, axis + 1)
        first = series[0]
        if first.op != "call_function" or any(node.target != first.target for node in series):
            return None
        if any(len(node.args) != len(first.args) for node in series):
            return None
        rank = len(shape_of(first))
        if first.target in _ELEMENTWISE:
            return self._call(series, rank)
        view = self._view(first)
        if view is not None and _equal([node.args[1:] for node in series]):
            source = self.value(tuple(node.args[0] for node in series), view[0])
            return None if source is None else self.write.call(first.target, source, *view[1])
        if is_call(first, aten.matmul.default):
            return self._product(series)
        if is_call(first, aten.einsum.default):
            return self._einsum(series)
        if is_call(first, aten.linear.default) or first.target in _OF_LAST_AXES:
            return self._call(series, 0)
        return None

    def _view(self, node: Node) -> tuple[int, tuple[Any, ...]] | None:
        """The rank of a view's source, and its arguments with an axis in front."""
        given, rank = named(node), len(shape_of(node))
        if not node.args or not isinstance(node.args[0], Node):
            return None
        before = len(shape_of(node.args[0]))
        if is_call(node, aten.unsqueeze.default, aten.squeeze.dim):
            return before, (given["dim"] + 1,)
        if is_call(node, aten.permute.default):
            return before, ([0, *(axis + 1 for axis in node.args[1])],)
        if is_call(node, aten.select.int, aten.slice.Tensor):
            return before, (given["dim"] + 1, *node.args[2:])
        if is_call(node, aten.sum.dim_IntList, aten.mean.dim) and given["dim"]:
            return before, ([axis + 1 for axis in given["dim"]], given["keepdim"])
        if is_call(node, aten.reshape.default, aten.expand.default):
            sizes = shape_of(node)
            if all(isinstance(size, int) for size in sizes):
                of_time = self._length
                return (before if is_call(node, aten.reshape.default) else rank), (
                    [of_time, *sizes],
                )
        return None

    def at(self, node: Node) -> Rolled:
        """The same, which writes in front of another node."""
        self.write = Writer(node)
        return self

    _length = 0

    def of_length(self, length: int) -> Rolled:
        """The same for series of so many steps."""
        self._length = length
        return self

    def value(self, series: Sequence[Any], rank: int) -> Any:
        """An operand of all steps, with the rank that it broadcasts to behind time."""
        first = series[0]
        if not all(isinstance(each, Node) for each in series):
            return first if _equal(series) and not isinstance(first, Node) else None
        if is_invariant(series):
            return first
        found = self.tensor(tuple(series))
        if found is None:
            return None
        shape = shape_of(found)
        return self.write.reshape(found, [shape[0], *[1] * (rank - len(shape) + 1), *shape[1:]])

    def _call(self, series: Series, rank: int) -> Node | None:
        given = []
        for index, each in enumerate(series[0].args):
            of_steps = [node.args[index] for node in series]
            value = self.value(of_steps, rank)
            if value is None and each is not None:
                return None
            given.append(value)
        if not _equal([node.kwargs for node in series]):
            return None
        if is_call(series[0], aten.linear.default, *_OF_LAST_AXES) and not all(
            is_invariant([node.args[index] for node in series])
            for index, each in enumerate(series[0].args)
            if index and isinstance(each, Node)
        ):
            return None
        return self.write.call(series[0].target, *given, **series[0].kwargs)

    def _product(self, series: Series) -> Node | None:
        first, second = (tuple(node.args[index] for node in series) for index in (0, 1))
        ranks = len(shape_of(first[0])), len(shape_of(second[0]))
        if min(ranks) >= 2:
            return self._call(series, max(ranks))
        if ranks == (1, 1) or ranks[0] == 1:
            return None
        one, other = self.value(first, ranks[0]), self.value(second, 1)
        if one is None or other is None:
            return None
        if is_invariant(second):
            return self.write.call(aten.matmul.default, one, other)
        shape = shape_of(other)
        sizes = [shape[0], *[1] * (ranks[0] - 2), shape[1], 1]
        result = self.write.call(aten.matmul.default, one, self.write.reshape(other, sizes))
        return self.write.call(aten.squeeze.dim, result, len(shape_of(result)) - 1)

    def _einsum(self, series: Series) -> Node | None:
        equation = str(series[0].args[0]).replace(" ", "")
        terms, arrow, result = equation.partition("->")
        letter = next((each for each in ascii_letters if each not in equation), "")
        if not arrow or "." in equation or not letter:
            return None
        if not _equal([str(node.args[0]) for node in series]):
            return None
        parts, tensors = terms.split(","), []
        for index in range(len(parts)):
            of_steps = [node.args[1][index] for node in series]
            value = self.value(of_steps, 0)
            if value is None:
                return None
            if not is_invariant(of_steps):
                parts[index] = letter + parts[index]
            tensors.append(value)
        equation = f"{','.join(parts)}->{letter}{result}"
        return self.write.call(aten.einsum.default, equation, tensors)


def _equal(values: Sequence[Any]) -> bool:
    return all(each == values[0] for each in values)


def is_invariant(series: Sequence[Node]) -> bool:
    """Whether all steps have the same value: one node, or the same computed again."""
    return all(_is_same(node, series[0], _DEEPEST) for node in series)


_DEEPEST = 8
"""Operations that are compared; what steps compute of the same values is less."""


def _is_same(one: Any, other: Any, depth: int) -> bool:
    if isinstance(one, list | tuple):
        return (
            isinstance(other, list | tuple)
            and len(one) == len(other)
            and all(_is_same(*pair, depth) for pair in zip(one, other, strict=True))
        )
    if not isinstance(one, Node) or not isinstance(other, Node) or one is other:
        return bool(one == other)
    if depth == 0 or one.op != "call_function" or one.target != other.target:
        return False
    return one.kwargs == other.kwargs and _is_same(one.args, other.args, depth - 1)


@dataclass(frozen=True, slots=True)
class Parts:
    """Adjacent parts of a tensor along an axis, one for each step."""

    source: Node
    axis: int
    first: int
    count: int
    is_backwards: bool
    keeps_axis: bool
    """Whether parts have an axis of size 1 there."""

    def written(self, write: Writer) -> Node:
        """All of them, in the order of the steps."""
        found = self.source
        if self.count != shape_of(found)[self.axis]:
            end = self.first + self.count
            found = write.call(aten.slice.Tensor, found, self.axis, self.first, end, 1)
        return write.call(aten.flip.default, found, [self.axis]) if self.is_backwards else found


def of_sequence(series: Sequence[Node]) -> Parts | None:
    """The parts of a tensor that a series is."""
    places = [_part_of(node) for node in series]
    first = places[0]
    if first is None or any(each is None or each[:2] != first[:2] for each in places):
        return None
    indices = [each[2] for each in places if each is not None]
    keeps = [each[3] for each in places if each is not None]
    source, axis = first[:2]
    is_backwards = len(indices) > 1 and indices[0] > indices[-1]
    start = min(indices)
    wanted = [*range(start, start + len(series))]
    if (indices[::-1] if is_backwards else indices) != wanted or len(set(keeps)) != 1:
        return None
    return Parts(source, axis, start, len(series), is_backwards, keeps[0])


def _part_of(node: Node) -> tuple[Node, int, int, bool] | None:
    """The tensor that a value is a part of, the axis, which part, and whether the axis is kept."""
    if node.op == "call_function" and node.target is operator.getitem:
        parts, index = node.args[0], node.args[1]
        if not is_call(parts, aten.unbind.int):
            return None
        given = named(parts)
        return given["self"], given["dim"], index, False
    if not is_call(node, aten.select.int, aten.slice.Tensor):
        return None
    given = named(node)
    source, axis = given["self"], given["dim"]
    size = shape_of(source)[axis]
    index = given["index"] if is_call(node, aten.select.int) else given["start"]
    if not isinstance(index, int) or not isinstance(size, int):
        return None
    if is_call(node, aten.select.int):
        return source, axis, index % size, False
    is_one = shape_of(node)[axis] == 1 and size != 1
    return (source, axis, index % size, True) if is_one else None


def collected(node: Node) -> tuple[Series, int, bool] | None:
    """The steps that a tensor is made of along an axis, and whether each has an axis there."""
    if is_call(node, aten.stack.default):
        return _stacked(node.args[0], named(node)["dim"])
    if is_call(node, aten.cat.default):
        axis = named(node)["dim"]
        parts = node.args[0]
        if all(is_call(each, aten.unsqueeze.default) for each in parts) and all(
            named(each)["dim"] == axis for each in parts
        ):
            return _stacked([each.args[0] for each in parts], axis)
        if any(not isinstance(each, Node) or shape_of(each)[axis] != 1 for each in parts):
            return None
        return tuple(parts), axis, True
    if is_call(node, aten.select_scatter.default):
        return _put(node)
    return None


def _stacked(parts: Any, axis: int) -> tuple[Series, int, bool] | None:
    if not isinstance(parts, list | tuple) or not all(isinstance(each, Node) for each in parts):
        return None
    return tuple(parts), axis, False


def _put(node: Node) -> tuple[Series, int, bool] | None:
    """The last of writes into all parts of a tensor, in order."""
    axis = named(node)["dim"]
    size = shape_of(node)[axis]
    if not isinstance(size, int) or any(
        is_call(user, aten.select_scatter.default) and user.args[0] is node for user in node.users
    ):
        return None
    steps: list[Node] = []
    for index in reversed(range(size)):
        given = named(node)
        if not is_call(node, aten.select_scatter.default):
            return None
        if (given["dim"], given["index"] % size) != (axis, index):
            return None
        value = given["src"]
        if is_call(value, aten.copy.default):
            value = value.args[1]
        if not isinstance(value, Node) or shape_of(value) != shape_of(given["src"]):
            return None
        steps.append(value)
        node = given["self"]
    return tuple(reversed(steps)), axis, False


def in_order(graph: torch.fx.Graph) -> None:
    """Put nodes behind what they read, where they are not; others stay in their order."""
    nodes = list(graph.nodes)
    seen: set[Node] = set()
    last: Node | None = None
    for node in nodes:
        waiting = [node]
        while waiting:
            each = waiting[-1]
            missing = [one for one in each.all_input_nodes if one not in seen]
            if missing:
                waiting += missing
                continue
            waiting.pop()
            if each in seen:
                continue
            seen.add(each)
            if last is not None and each.prev is not last:
                last.append(each)
            last = each
