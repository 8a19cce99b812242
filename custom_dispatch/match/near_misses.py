"""Places in a model that look like patterns, and are none of theirs: which ones are told of.

Whether they look alike is a matter of names, and of operands in any order. On each way from a
pattern's last operation to an operand, one operation may be another one, be missing or be one more,
such as a cast.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

from iree.compiler import ir

from custom_dispatch.link.constants import is_constant, owner_of
from custom_dispatch.link.operations import kind_of, last_of
from custom_dispatch.match.choosing import Placed
from custom_dispatch.match.example import Example
from custom_dispatch.match.state import Match, Miss, place_of
from custom_dispatch.match.text import Examples
from custom_dispatch.reachable import reachable
from custom_dispatch.replaced import NearMiss, Place

NEAR = 0.75
"""A place with this share of a pattern's operations, from 0 to 1, is told of."""
PARTLY = 0.5
"""A place with more than this is, if it is the best one of a pattern that is found nowhere."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A place, and the best that is known of how it differs from a pattern."""

    at: float
    """Where its last operation stands in the model's order."""
    rank: tuple[float, ...]
    """The share of the pattern's operations that it has, how many it has where none is another one,
    missing or one more, and how much is the same before the first difference."""
    covers: frozenset[float]
    """What of the model looks like the pattern."""
    root: ir.Operation
    miss: Miss

    def told(self, kernel: str) -> NearMiss:
        place, source = place_of(self.root), place_of(self.miss.operation).source
        where = f" ({source})" if source not in ("", place.source) else ""
        return NearMiss(kernel, place, self.miss.reason + where)

    @property
    def nearness(self) -> tuple[float, ...]:
        """What it has in common with its pattern, against another kernel's place."""
        share, exactly, before = self.rank
        return (before > 0, exactly, share, before, self.at)

    def is_part(self, kernel: str, others: Collection[_Place], gone: Mapping[float, str]) -> bool:
        """Whether it looks like a pattern only because of what it shares with another place."""
        return any(gone.get(item) == kernel for item in self.covers) or any(
            self.rank < other.rank or (self.rank == other.rank and self.at in other.covers)
            for other in others
            if other is not self and not self.covers.isdisjoint(other.covers)
        )


class NearMisses:
    """What is noted of places while patterns are looked for, and what is told of it.

    - `order`: the model's operations, each with its position.
    - `match`: compares a place with an example.
    """

    def __init__(
        self,
        order: Mapping[ir.Operation, float],
        match: Callable[[Example, ir.Operation], Match | Miss],
    ) -> None:
        self._order = order
        self._operations = list(order)
        self._match = match
        self._notes: list[tuple[str, ir.Operation, Miss | None, Example | None]] = []
        self._lacking: dict[str, list[str]] = {}
        self._shape_of = cache(_shape_of)
        self._alike = cache(lambda shape: _comparison(shape, self._model))

    def note(
        self, kernel: str, root: ir.Operation, miss: Miss | None, like: Example | None
    ) -> None:
        """Note a place: how much it looks like an example is found out if it is to be told of.

        Without an example all but what is said is as in the pattern.
        """
        self._notes.append((kernel, root, miss, like))

    def refuse(self, match: Match, reason: str, like: Example | None = None) -> None:
        """Note that a place is not replaced although it computes the same.

        With the example, other places that have part of it in common are not told of.
        """
        op = ir.OpResult(match.root).owner.operation
        self.note(match.example.pattern.item.name, op, Miss(op, (reason,), 1.0), like)

    def look_further(self, examples: Examples) -> None:
        """Note places that end in another operation than a pattern found nowhere."""
        pattern, name = examples.pattern, examples.pattern.item.name
        for example in examples.known:
            if pattern.required:
                lacking = sorted(set(example.names) - set(self._model.names))
                self._lacking[name] = min(self._lacking.get(name, lacking), lacking, key=len)
            root = kind_of(example.root)
            names = {kind_of(item) for item in _before(example.root)} - {root}
            for at in {at: None for each in names for at in self._after.get(each, ())}:
                op = self._operations[at]
                if self._model.names[at] != root and op.results:
                    self.note(name, op, None, example)

    def told(self, placed: Sequence[Placed], required: Collection[str]) -> tuple[NearMiss, ...]:
        """What is told, as long as the model is as it was.

        - `placed`: the places that kernels take: part of one may well look like another pattern.
        - `required`: kernels that have to be found: each has its own near misses. Of all others a
          place names the nearest alone.
        """
        gone = {position: item.kernel for item in placed for position, _ in item.operations}
        found = set(gone.values())
        best = self._best(gone)
        said: list[NearMiss] = []
        others: list[tuple[str, _Place]] = []
        for kernel in dict.fromkeys([*best, *self._lacking]):
            places = best.get(kernel, {}).values()
            mine = [place for place in places if not place.is_part(kernel, places, gone)]
            near = [place for place in mine if place.rank[0] >= NEAR]
            if not near and mine and kernel not in found:
                near = [max(mine, key=lambda place: place.rank)]
            if kernel not in required:
                others += ((kernel, place) for place in near)
            elif not near and kernel not in found and kernel in self._lacking:
                said.append(NearMiss(kernel, Place("", ""), _nothing(self._lacking[kernel])))
            else:
                said += (place.told(kernel) for place in near)
        return (*said, *_nearest(others))

    def _best(self, gone: Collection[float]) -> dict[str, dict[float, _Place]]:
        """The best that was noted of each place for each kernel, but for those that are gone."""
        found: dict[str, dict[float, _Place]] = {}
        for kernel, root, said, like in self._notes:
            at = self._order[root]
            if at in gone:
                continue
            share, exactly, covers = 1.0, sys.maxsize, frozenset[float]()
            if like:
                share, exactly, covers = self._likeness(like, int(at))
            if said and said.share == 1.0:  # it computes the same
                share = 1.0
            if share <= PARTLY:
                continue
            miss = self._match(like, root) if like and not said else said
            assert isinstance(miss, Miss)  # noqa: S101 - it ends in another operation
            rank = (share, exactly, miss.share)
            known = found.setdefault(kernel, {}).get(at)
            if known is None or rank > known.rank:
                found[kernel][at] = _Place(at, rank, covers, root, miss)
        return found

    def _likeness(self, example: Example, at: int) -> tuple[float, int, frozenset[float]]:
        """How much of an example a place has: its share, how many exactly, and what it has."""
        shape = self._shape_of(example)
        alike = self._alike(shape)
        pairs = alike(0, at, False)
        computing = {mine for mine, _ in pairs} & shape.computing
        share = len(computing) / max(shape.total, 1)
        return share, len(alike(0, at, True)), frozenset(its for _, its in pairs)

    @cached_property
    def _model(self) -> _Graph:
        return _graph({op: at for at, op in enumerate(self._operations)})

    @cached_property
    def _after(self) -> dict[str, list[int]]:
        """What reads something that an operation of a kind computes."""
        found: dict[str, list[int]] = {}
        for at, needed in enumerate(self._model.before):
            for name in {self._model.names[item] for item in needed}:
                found.setdefault(name, []).append(at)
        return found


def _nearest(places: Sequence[tuple[str, _Place]]) -> Iterator[NearMiss]:
    """Of places that overlap, the one that has most in common with its pattern, its type first."""
    kept: list[tuple[str, _Place]] = []
    covered: set[float] = set()
    for kernel, place in sorted(places, key=lambda item: item[1].nearness, reverse=True):
        covers = {place.at, *place.covers}
        if covered.isdisjoint(covers):
            kept.append((kernel, place))
            covered |= covers
    for kernel, place in sorted(kept, key=lambda item: item[1].at):
        yield place.told(kernel)


def _nothing(lacking: Collection[str]) -> str:
    if lacking:
        return f"the model has no {', '.join(lacking)}"
    return "no place that ends as the pattern does has more than half of its operations"


# -- how much a place looks like an example


class _Graph(NamedTuple):
    """Operations by position, and the positions of what each reads. IREE's take long to ask."""

    names: tuple[str, ...]
    before: tuple[tuple[int, ...], ...]


class _Shape(NamedTuple):
    """The operations of an example, by position; the first is its root.

    Examples of several types and sizes have one shape, and are compared with a place once.
    """

    graph: _Graph
    free: frozenset[int]
    computing: frozenset[int]
    total: int
    """How many operations compute, those among them that no position stands for."""


def _before(op: ir.Operation) -> list[ir.Operation]:
    """What computes what an operation reads, and what ends its regions; no constants."""
    ends = [last_of(block) for region in op.regions for block in region.blocks]
    given = (owner_of(value) for value in op.operands)
    return ends + [item for item in given if item is not None and not is_constant(item)]


def _graph(positions: Mapping[ir.Operation, int]) -> _Graph:
    """Operations that are given in the order of their positions."""
    read = (tuple(positions[item] for item in _before(op) if item in positions) for op in positions)
    return _Graph(tuple(map(kind_of, positions)), tuple(read))


def _shape_of(example: Example) -> _Shape:
    positions = {op: at for at, op in enumerate(reachable([example.root], _before))}
    return _Shape(
        _graph(positions),
        frozenset(positions[op] for op in example.free if op in positions),
        frozenset(positions[op] for op in example.computing if op in positions),
        len(example.computing),
    )


_Pairs = frozenset[tuple[int, int]]
"""Operations of an example, each with the model's that stands where it does."""


def _comparison(shape: _Shape, model: _Graph) -> Callable[[int, int, bool], _Pairs]:
    example = shape.graph

    @cache
    def alike(mine: int, its: int, changed: bool) -> _Pairs:
        """What is alike from these two on; if `changed`, no operation may differ any more."""
        needed, read = example.before[mine], model.before[its]
        if example.names[mine] == model.names[its]:
            own: _Pairs = frozenset() if mine in shape.free else frozenset([(mine, its)])
            return own | paired(needed, read, changed)
        if changed:
            return frozenset()
        return max(
            paired(needed, read, True),
            *(alike(mine, item, True) for item in read),
            *(alike(item, its, True) for item in needed),
            frozenset(),
            key=len,
        )

    def paired(mine: Sequence[int], its: Sequence[int], changed: bool) -> _Pairs:
        """Each of some operations, beside that of others which looks most like it."""
        found: _Pairs = frozenset()
        for item in mine:
            best = max((alike(item, other, changed) for other in its), key=len, default=found)
            found |= best
        return found

    return alike
