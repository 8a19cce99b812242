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
from custom_dispatch.kernel.time_model import TimeModel

_CLOSE = 1e-9
EQUAL = 1.01
"""Kernels whose times differ by no more are as good as each other."""
_WORST = 1.1
"""What a kernel that is not built or dispatched may gain for some size."""
_NEVER = 1e6
"""As many times as long takes a kernel that cannot be taken."""


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
    seconds: dict[str, float] = field(init=False, compare=False, repr=False)
    """Of the kernels that were measured."""

    def __post_init__(self) -> None:
        found = {item.kernel: item.seconds for item in self.results if item.seconds is not None}
        object.__setattr__(self, "seconds", found)

    def distance(self, dims: Mapping[str, int]) -> float:
        """How far other sizes are: the factors between them, as powers of two; 0 if the same."""
        known = [(size, dims[name]) for name, size in self.dims.items() if name in dims]
        return sum(abs(math.log2(max(a, 1) / max(b, 1))) for a, b in known)


def covering(rows: Sequence[Mapping[str, float]], equal: float = EQUAL) -> list[str]:
    """The fewest kernels of which one is about as good as the best for each of some sizes.

    Whichever helps most comes next, until they are as good as the best in the mean, and nowhere
    need `_WORST` of its time.

    - `rows`: the seconds of kernels by name, for some sizes.
    - `equal`: what is as good: so many times as long.
    """
    logs = [
        {name: math.log(each / min(row.values())) for name, each in row.items()} for row in rows
    ]
    lost = [math.log(_NEVER)] * len(rows)
    found: list[str] = []
    names = list(dict.fromkeys(name for row in rows for name in row))
    enough = len(rows) * math.log(equal)
    while len(found) < len(names):
        if found and sum(lost) <= enough and max(lost) <= math.log(_WORST):
            break
        with_each = {
            name: [min(a, row.get(name, a)) for a, row in zip(lost, logs, strict=True)]
            for name in names
            if name not in found
        }
        best = min(with_each, key=lambda name: sum(with_each[name]), default=None)
        if best is None or sum(with_each[best]) >= sum(lost):
            break
        found.append(best)
        lost = with_each[best]
    return found


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
    models: Mapping[str, TimeModel] = field(default_factory=dict)
    """What was fitted to the times of each kernel, by its name."""
    corrects: bool = True
    """Whether the measured sizes say something of calls of the same sizes, besides the models."""
    dims: tuple[str, ...] = field(init=False, compare=False, repr=False)
    """The names of the dims; empty where nothing was measured."""

    def __post_init__(self) -> None:
        names = dict.fromkeys(name for size in self.sizes if size.seconds for name in size.dims)
        object.__setattr__(self, "dims", (*names,))

    def nearest(self, dims: Mapping[str, int]) -> list[MeasuredSizes]:
        """The measured sizes that are nearest, as far as sizes are known."""
        found = [(item.distance(dims), item) for item in self.sizes if item.seconds]
        least = min((distance for distance, _ in found), default=0.0)
        return [item for distance, item in found if distance <= least + _CLOSE]

    def is_like(self, other: Measured) -> bool:
        """Whether the same kernels were measured alike on the same device."""
        names = "device", "compiler", "digests", "scalars"
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def renamed(self, names: Mapping[str, str], *, corrects: bool) -> Measured:
        """The same of other kernels in the place of these, without those that have none there.

        `corrects`: whether the same sizes are the same work for these.
        """
        sizes = tuple(
            replace(
                item,
                results=tuple(
                    replace(r, kernel=names[r.kernel]) for r in item.results if r.kernel in names
                ),
            )
            for item in self.sizes
        )
        models = {names[name]: each for name, each in self.models.items() if name in names}
        return replace(self, sizes=sizes, models=models, digests={}, corrects=corrects)
