"""Which places are taken, where patterns overlap, and which near misses are told of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from iree.compiler import ir

from custom_dispatch.match.state import Match, Miss, place_of
from custom_dispatch.replaced import NearMiss, Place


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


def chosen(found: Sequence[Placed], note: Callable[[Match, str], None]) -> list[Placed]:
    """Those that are taken.

    If several patterns match one result, the one covering most operations is taken; ties go to the
    first given. If places overlap, the pattern given first wins, and of its places the first in
    the model; the other result then gets the next smaller match.

    Parameters
    ----------
    note
        Is told what is not taken, and why.
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


# -- near misses


NEAR = 0.75
"""A place with this share of a pattern's operations, from 0 to 1, is told of."""
PARTLY = 0.5
"""A place with more than this is, if it is the best one of a pattern that is found nowhere."""


@dataclass(frozen=True, slots=True)
class _Note:
    at: float
    rank: tuple[float, ...]
    covers: frozenset[float]
    miss: NearMiss


class NearMisses:
    """The places that look like patterns: the best that was said of each."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, float], _Note] = {}
        self._lacking: dict[str, list[str]] = {}

    def note(
        self,
        name: str,
        root: ir.Operation,
        at: float,
        rank: tuple[float, ...],
        miss: Miss,
        covers: frozenset[float],
    ) -> None:
        """Note a place.

        Parameters
        ----------
        name
            The kernel's.
        at
            Where its last operation stands in the model's order.
        rank
            How much it looks like the pattern, from 0 to 1, and what tells equal ones apart.
        covers
            What of the model looks like the pattern there: of places that have some of it in
            common, the best is told of.
        """
        known = self._known.get((name, at))
        if rank[0] > PARTLY and (known is None or rank > known.rank):
            place, source = place_of(root), place_of(miss.operation).source
            where = f" ({source})" if source not in ("", place.source) else ""
            said = NearMiss(name, place, miss.reason + where)
            self._known[name, at] = _Note(at, rank, covers, said)

    def compare(self, name: str, wanted: Collection[str], there: Collection[str]) -> None:
        """Note which operations a required pattern has, and which the model."""
        lacking = sorted(set(wanted) - set(there))
        self._lacking[name] = min(self._lacking.get(name, lacking), lacking, key=len)

    def told(self, gone: Mapping[float, str], found: Collection[str]) -> tuple[NearMiss, ...]:
        """What is told.

        Parameters
        ----------
        gone
            What of the model kernels took, and which: it may well look like another pattern.
        found
            The kernels that took something.
        """
        rest = [note for note in self._known.values() if note.at not in gone]
        said = []
        for name in dict.fromkeys([*(note.miss.kernel for note in rest), *self._lacking]):
            mine = [note for note in rest if note.miss.kernel == name]
            mine = [note for note in mine if not _is_part(note, mine, gone)]
            near = [note.miss for note in mine if note.rank[0] >= NEAR]
            if not near and name not in found:
                near = [max(mine, key=lambda note: note.rank).miss] if mine else self._nothing(name)
            said += near
        return tuple(said)

    def _nothing(self, name: str) -> list[NearMiss]:
        if name not in self._lacking:
            return []
        lacking = ", ".join(self._lacking[name])
        reason = (
            f"the model has no {lacking}"
            if lacking
            else "no place that ends as the pattern does has more than half of its operations"
        )
        return [NearMiss(name, Place("", ""), reason)]


def _is_part(note: _Note, others: Collection[_Note], gone: Mapping[float, str]) -> bool:
    """Whether a place looks like a pattern only because of what it has in common with another."""
    return any(gone.get(item) == note.miss.kernel for item in note.covers) or any(
        note.rank < other.rank or (note.rank == other.rank and note.at in other.covers)
        for other in others
        if other is not note and not note.covers.isdisjoint(other.covers)
    )
