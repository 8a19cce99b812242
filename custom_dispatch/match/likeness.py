"""How much a place in a model looks like an example, whether or not it computes the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from iree.compiler import ir

from custom_dispatch.link.constants import is_constant, owner_of
from custom_dispatch.link.operations import kind_of
from custom_dispatch.match.example import Example


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a place and an example have in common."""

    share: float
    """How many of the example's operations the place has, from 0 to 1."""
    exactly: int = 0
    """How many it has where none is another one, missing or one more."""
    operations: frozenset[ir.Operation] = frozenset()
    """The model's."""


class Shape(NamedTuple):
    """The operations of an example, by position; the first is its root.

    Examples of several types and sizes have one shape, and are compared with a place once.
    """

    names: tuple[str, ...]
    before: tuple[tuple[int, ...], ...]
    free: frozenset[int]
    computing: frozenset[int]
    total: int
    """How many operations compute, those among them that no position stands for."""


class Likenesses:
    """How much the places of one model look like examples.

    Only names are compared, and operands in any order. On each way from the root to an operand one
    operation may be another one, be missing or be one more, such as a cast.
    """

    def __init__(self) -> None:
        self._nodes: dict[ir.Operation, _Node] = {}
        self._shapes: dict[Example, Shape] = {}
        self._known: dict[tuple[Shape, _Node], Likeness] = {}

    def of(self, example: Example, root: ir.Operation) -> Likeness:
        """How much of an example stands in a place where the example has it."""
        if example not in self._shapes:
            self._shapes[example] = _shape_of(example)
        key = (self._shapes[example], self._node(root))
        if key not in self._known:
            self._known[key] = self._compared(*key)
        return self._known[key]

    def _compared(self, shape: Shape, root: _Node) -> Likeness:
        comparison = _Comparison(shape, self)
        pairs = comparison.of(0, root, False)
        found = {mine for mine, _ in pairs} & shape.computing
        share = len(found) / max(shape.total, 1)
        exactly = len(comparison.of(0, root, True))
        return Likeness(share, exactly, frozenset(its.operation for _, its in pairs))

    def _node(self, op: ir.Operation) -> _Node:
        if op not in self._nodes:
            self._nodes[op] = _Node(op)
        return self._nodes[op]

    def before(self, node: _Node) -> Sequence[_Node]:
        """What computes what an operation of the model reads."""
        if node.before is None:
            node.before = [self._node(op) for op in before(node.operation)]
        return node.before


def before(op: ir.Operation) -> list[ir.Operation]:
    """What computes what an operation reads, and what ends its regions; no constants."""
    ends = [
        block.operations[len(block.operations) - 1].operation
        for region in op.regions
        for block in region.blocks
    ]
    given = (owner_of(value) for value in op.operands)
    return ends + [item for item in given if item is not None and not is_constant(item)]


def _shape_of(example: Example) -> Shape:
    positions = {example.root: 0}
    read = []
    for op in (pending := [example.root]):
        needed = before(op)
        for item in needed:
            if item not in positions:
                positions[item] = len(positions)
                pending.append(item)
        read.append(tuple(positions[item] for item in needed))
    return Shape(
        tuple(kind_of(op) for op in positions),
        tuple(read),
        frozenset(positions[op] for op in example.free if op in positions),
        frozenset(positions[op] for op in example.computing if op in positions),
        len(example.computing),
    )


class _Node:
    """An operation of the model: it costs less to ask than IREE's."""

    __slots__ = ("before", "name", "operation")

    def __init__(self, operation: ir.Operation) -> None:
        self.operation = operation
        self.name = kind_of(operation)
        self.before: list[_Node] | None = None


_Pairs = frozenset[tuple[int, _Node]]
"""Operations of an example, each with the model's that stands where it does."""


class _Comparison:
    def __init__(self, shape: Shape, model: Likenesses) -> None:
        self._shape = shape
        self._model = model
        self._known: dict[tuple[int, _Node, bool], _Pairs] = {}

    def of(self, mine: int, its: _Node, changed: bool) -> _Pairs:
        """What is alike from two operations on backwards."""
        key = (mine, its, changed)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compared(*key)
        return found

    def _compared(self, mine: int, its: _Node, changed: bool) -> _Pairs:
        needed, read = self._shape.before[mine], self._model.before(its)
        if self._shape.names[mine] == its.name:
            own: _Pairs = frozenset() if mine in self._shape.free else frozenset([(mine, its)])
            return own | self._paired(needed, read, changed)
        if changed:
            return frozenset()
        return max(
            self._paired(needed, read, True),
            *(self.of(mine, item, True) for item in read),
            *(self.of(item, its, True) for item in needed),
            frozenset(),
            key=len,
        )

    def _paired(self, mine: Sequence[int], its: Sequence[_Node], changed: bool) -> _Pairs:
        """Each of some operations, beside that of others which looks most like it."""
        found: _Pairs = frozenset()
        for item in mine:
            best = max((self.of(item, other, changed) for other in its), key=len, default=found)
            found |= best
        return found
