"""How much a place in a model looks like an example, whether or not it computes the same."""

from __future__ import annotations

from dataclasses import dataclass

from iree.compiler import ir

from custom_dispatch.frontends.patterns.constants import is_constant, owner_of
from custom_dispatch.frontends.patterns.example import Example

Pairs = frozenset[tuple[ir.Operation, ir.Operation]]
"""Operations of an example, each with the model's that stands where it does."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a place and an example have in common."""

    share: float
    """How many of the example's operations the place has, from 0 to 1."""
    exactly: int = 0
    """How many it has where none is another one, missing or one more."""
    operations: frozenset[ir.Operation] = frozenset()
    """The model's."""


def likeness(example: Example, root: ir.Operation) -> Likeness:
    """How much of an example stands in a place where the example has it.

    Only names are compared, and operands in any order. On each way from the root to an operand one
    operation may be another one, be missing or be one more, such as a cast.
    """
    comparison = _Comparison(example)
    pairs = comparison.of(example.root, root)
    found = {mine for mine, _ in pairs} & example.computing
    share = len(found) / max(len(example.computing), 1)
    exactly = len(comparison.of(example.root, root, changed=True))
    return Likeness(share, exactly, frozenset(its for _, its in pairs))


def before(op: ir.Operation) -> list[ir.Operation]:
    """What computes what an operation reads, and what ends its regions; no constants."""
    ends = [
        block.operations[len(block.operations) - 1].operation
        for region in op.regions
        for block in region.blocks
    ]
    given = (owner_of(value) for value in op.operands)
    return ends + [item for item in given if item is not None and not is_constant(item)]


class _Comparison:
    def __init__(self, example: Example) -> None:
        self._free = example.free
        self._known: dict[tuple[ir.Operation, ir.Operation, bool], Pairs] = {}

    def of(self, mine: ir.Operation, its: ir.Operation, changed: bool = False) -> Pairs:
        """What is alike from two operations on backwards."""
        key = (mine, its, changed)
        if key not in self._known:
            self._known[key] = self._compared(*key)
        return self._known[key]

    def _compared(self, mine: ir.Operation, its: ir.Operation, changed: bool) -> Pairs:
        if mine.name == its.name:
            own = frozenset() if mine in self._free else frozenset([(mine, its)])
            return own | self._paired(before(mine), before(its), changed)
        if changed:
            return frozenset()
        return max(
            self._paired(before(mine), before(its), True),
            *(self.of(mine, item, True) for item in before(its)),
            *(self.of(item, its, True) for item in before(mine)),
            frozenset(),
            key=len,
        )

    def _paired(self, mine: list[ir.Operation], its: list[ir.Operation], changed: bool) -> Pairs:
        """Each of some operations, beside that of others which looks most like it."""
        found: Pairs = frozenset()
        for item in mine:
            best = max((self.of(item, other, changed) for other in its), key=len, default=found)
            found |= best
        return found
