"""Which places are taken, where patterns are found in several that overlap: for every front end."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Match = TypeVar("Match")


@dataclass(frozen=True, slots=True)
class Found(Generic[Match]):
    """A place that computes a pattern."""

    match: Match
    kernel: str
    order: int
    """The pattern's, in the order given."""
    position: float
    """The place's, in the model's order."""
    root: Hashable
    """The result that is looked for first."""
    size: int
    """How many operations it stands for."""
    parts: Collection[Hashable]
    """Those that no other kernel may stand for, too."""


def chosen(found: Sequence[Found[Match]], note: Callable[[Match, str], None]) -> list[Found[Match]]:
    """Those that are taken.

    If several patterns match one result, the one covering most operations is taken; ties go to the
    first given. If places overlap, the pattern given first wins, and of its places the first in
    the model; the other result then gets the next smaller match.

    Parameters
    ----------
    note
        Is told what is not taken, and why.
    """
    by_root: dict[Hashable, list[Found[Match]]] = {}
    for item in found:
        by_root.setdefault(item.root, []).append(item)
    pending = [
        sorted(items, key=lambda item: (-item.size, item.order)) for items in by_root.values()
    ]
    taken: dict[Hashable, Found[Match]] = {}
    kept = []
    while pending:
        items = min(pending, key=lambda items: (items[0].order, items[0].position))
        item = items.pop(0)
        other = next((taken[part] for part in item.parts if part in taken), None)
        if other is None:
            taken.update(dict.fromkeys(item.parts, item))
            kept.append(item)
        else:
            note(item.match, f"the place overlaps one that `{other.kernel}` takes")
        if other is None or not items:
            pending = [group for group in pending if group is not items]
    return kept
