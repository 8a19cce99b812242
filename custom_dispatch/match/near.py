"""Which places that are no match are told of."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from iree.compiler import ir

from custom_dispatch.match.state import Miss, place_of
from custom_dispatch.replaced import NearMiss, Place

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
