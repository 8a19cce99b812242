"""What was measured of a choice's kernels, and which of them is best for a call because of it.

A table is data that `custom-dispatch tune` writes and `cd.compile` reads without a GPU: for each
target the seconds that every kernel took for some sizes, or why it has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from custom_dispatch.dataclass import dataclass
from custom_dispatch.kernel.target import Target

_CLOSE = 1e-9
EQUAL = 1.01
"""Kernels whose times differ by no more are as good as each other."""
_ALIKE = 1.03
"""Times of one kernel differ by so much from run to run."""


@dataclass(frozen=True, slots=True)
class Result:
    """One kernel for some sizes."""

    kernel: str
    seconds: float | None
    """The median; None where it could not be measured."""
    problem: str = ""
    """Why not: it spills, does not fit, gave wrong results, failed."""


@dataclass(frozen=True, slots=True)
class MeasuredSizes:
    """Every kernel for the same sizes."""

    dims: Mapping[str, int]
    results: tuple[Result, ...]

    @property
    def seconds(self) -> dict[str, float]:
        """The kernels that were measured."""
        return {item.kernel: item.seconds for item in self.results if item.seconds is not None}

    def distance(self, dims: Mapping[str, int]) -> float:
        """How far other sizes are: the factors between them, as powers of two; 0 if the same."""
        known = [(size, dims[name]) for name, size in self.dims.items() if name in dims]
        return sum(abs(math.log2(max(a, 1) / max(b, 1))) for a, b in known)


def _slowness(nearest: Sequence[Mapping[str, float]], name: str) -> float:
    """How much longer a kernel takes than the best, as the sum of logarithms."""
    if not nearest or any(name not in seconds for seconds in nearest):
        return math.inf
    return sum(math.log(seconds[name] / min(seconds.values())) for seconds in nearest)


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured on one device."""

    target: Target
    device: str
    compiler: str
    date: str
    """As 2026-11-21."""
    digests: Mapping[str, str]
    """What each kernel was built from, by its name."""
    sizes: tuple[MeasuredSizes, ...]
    scalars: Mapping[str, float | int] = field(default_factory=dict)
    """The values of scalars that were given, by name."""

    def ranked(self, names: Sequence[str], dims: Mapping[str, int]) -> tuple[str, ...]:
        """Kernels, the best for some sizes first; those that were not measured last, as they come.

        What counts are the measured sizes that are nearest, as far as sizes are known; of several,
        the geometric mean of how much longer a kernel takes than the best one. Those within
        `EQUAL` of the best come as they are given.

        `dims`: the sizes that are known: none, where only the call tells.
        """
        nearest = self._nearest(dims)
        slowness = {name: _slowness(nearest, name) for name in names}
        equal = min(slowness.values(), default=0.0) + math.log(EQUAL) * len(nearest)
        return tuple(sorted(names, key=lambda name: max(slowness[name], equal)))

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the dims; empty where nothing was measured."""
        return tuple(
            dict.fromkeys(name for item in self.sizes if item.seconds for name in item.dims)
        )

    def pieces(
        self, names: Sequence[str], dims: Mapping[str, int], name: str
    ) -> tuple[tuple[str, int | None], ...]:
        """The best kernels along one dim that is not known, each up to a size; the last has none.

        Between two measured sizes the nearer one counts, by their ratio. A kernel that is `_ALIKE`
        of the best goes on, so that a module has few to choose from.

        `dims`: the sizes of the others.
        """
        along = sorted({item.dims[name] for item in self.sizes if item.seconds})
        found: list[tuple[str, int | None]] = []
        before = ""
        for size, following in zip(along, [*along[1:], None], strict=True):
            seconds = self._nearest({**dims, name: size})
            best = self.ranked(names, {**dims, name: size})[0]
            if before and _slowness(seconds, before) <= math.log(_ALIKE) + _slowness(seconds, best):
                best = before
            end = None if following is None else math.isqrt(max(size, 1) * max(following, 1))
            if best == before:
                found.pop()
            found.append((best, end))
            before = best
        return tuple(found)

    def _nearest(self, dims: Mapping[str, int]) -> list[dict[str, float]]:
        return [item.seconds for item in self.nearest(dims)]

    def nearest(self, dims: Mapping[str, int]) -> list[MeasuredSizes]:
        """The measured sizes that are nearest, as far as sizes are known."""
        found = [(item.distance(dims), item) for item in self.sizes if item.seconds]
        least = min((distance for distance, _ in found), default=0.0)
        return [item for distance, item in found if distance <= least + _CLOSE]

    def times_as_long(self, name: str, dims: Mapping[str, int]) -> float:
        """How much longer than the best one a kernel takes there; infinite if it has no time."""
        nearest = self._nearest(dims)
        return math.exp(_slowness(nearest, name) / max(len(nearest), 1))

    def best(self, names: Sequence[str]) -> tuple[str, ...]:
        """The kernels that are the best of these for some measured sizes, or for all together."""
        wanted: list[Mapping[str, int]] = [{}, *(item.dims for item in self.sizes)]
        return tuple(dict.fromkeys(self.ranked(names, dims)[0] for dims in wanted))

    def is_like(self, other: Measured) -> bool:
        """Whether the same kernels were measured alike on the same device."""
        return (self.device, self.compiler, dict(self.digests), dict(self.scalars)) == (
            other.device,
            other.compiler,
            dict(other.digests),
            dict(other.scalars),
        )

    def without(self, kernels: Sequence[str]) -> Measured:
        """The same as if some kernels had not been measured."""
        sizes = tuple(
            replace(item, results=tuple(r for r in item.results if r.kernel not in kernels))
            for item in self.sizes
        )
        return replace(self, sizes=sizes)

    def renamed(self, names: Mapping[str, str]) -> Measured:
        """The same of other kernels in the place of these."""
        sizes = tuple(
            replace(item, results=tuple(replace(r, kernel=names[r.kernel]) for r in item.results))
            for item in self.sizes
        )
        return replace(self, sizes=sizes, digests={})
