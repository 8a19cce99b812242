"""How much a place in a model looks like an example, whether or not it computes the same."""

from __future__ import annotations

from iree.compiler import ir

from custom_dispatch.frontends.patterns.constants import is_constant, owner_of
from custom_dispatch.frontends.patterns.example import Example
from custom_dispatch.frontends.patterns.orders import orders_of

_Pairs = list[tuple[ir.Operation, ir.Operation]]


def likeness(example: Example, root: ir.Operation) -> float:
    """The share of an example's operations, from 0 to 1, that stand where the example has them.

    Only names are compared, and nothing before an operation of another name.
    """
    found: set[ir.Operation] = set()
    pending: _Pairs = [(example.root, root)]
    while pending:
        mine, its = pending.pop()
        if mine in found or mine.name != its.name or is_constant(mine):
            continue
        if mine not in example.free:
            found.add(mine)
        pending += _best_order(mine, its)
        for one, other in zip(mine.regions, its.regions, strict=False):
            for first, second in zip(one.blocks, other.blocks, strict=False):
                pending.append((_end(first), _end(second)))
    return len(found) / example.count


def _best_order(mine: ir.Operation, its: ir.Operation) -> _Pairs:
    """What gives the operands of two operations, paired so that most have the same names."""
    if len(mine.operands) != len(its.operands):
        return []
    best: _Pairs = []
    most = -1
    for order in orders_of(mine, its):
        pairs = [(mine.operands[i], its.operands[j]) for i, j in enumerate(order)]
        owners = [(owner_of(a), owner_of(b)) for a, b in pairs]
        known = [(a, b) for a, b in owners if a is not None and b is not None]
        same = sum(a.name == b.name for a, b in known)
        if same > most:
            most, best = same, known
    return best


def _end(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation
