"""Which places are taken, where patterns overlap."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from custom_dispatch.match.state import Match
from custom_dispatch.replaced import Place


@dataclass(frozen=True, slots=True)
class Placed:
    """A place that computes a pattern."""

    match: Match
    kernel: str
    """The pattern's."""
    order: int
    """The pattern's, in the order given."""
    position: float
    """The place's, in the model's order."""
    operations: tuple[tuple[float, ir.Operation], ...]
    """Those that the kernel stands for, in the model's order. Python's hash of an operation follows
    from its operands, so that none is found in a set any more when the model is being changed."""
    place: Place
    point: ir.Operation
    """Before this one the call is put: all operands are there, and nothing needs a result yet."""
    stays: bool
    """Whether no call is put there, since IREE's code is faster."""


def chosen(found: Sequence[Placed], note: Callable[[Match, str], None]) -> list[Placed]:
    """Those that are taken.

    If several patterns match one result, the one covering most operations is taken; ties go to the
    first given. If places overlap, the pattern given first wins, and of its places the first in
    the model; the other result then gets the next smaller match.

    `note`: is told what is not taken, and why.
    """
    by_root: dict[ir.Value, list[Placed]] = {}
    for item in found:
        by_root.setdefault(item.match.root, []).append(item)
    pending = [
        sorted(items, key=lambda item: (-len(item.operations), item.order))
        for items in by_root.values()
    ]
    taken: dict[ir.Operation, Placed] = {}
    kept = []
    while pending:
        items = min(pending, key=lambda items: (items[0].order, items[0].position))
        item = items.pop(0)
        own = item.match.own
        other = next((taken[part] for part in own if part in taken), None)
        if other is None:
            taken.update(dict.fromkeys(own, item))
            kept.append(item)
        else:
            note(item.match, f"the place overlaps one that `{other.kernel}` takes")
        if other is None or not items:
            pending = [group for group in pending if group is not items]
    return kept
