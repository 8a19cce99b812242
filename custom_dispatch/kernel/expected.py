"""What the kernels of a choice are expected to take for some sizes, by what was measured.

A kernel's model says it for any sizes; what it took of that for the nearest of the measured sizes
corrects it, the less the farther they are. In a table without models the nearest measured sizes
alone count.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from functools import reduce
from operator import add

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.evaluation import dims_of, holds
from custom_dispatch.kernel.expr import Condition, Expr, where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.time_model import TimeModel, cost, predicted
from custom_dispatch.kernel.tuning import EQUAL, Measured, MeasuredSizes, covering

_FAR = 4.0
"""Sizes whose ratios multiply to 16, as a power of two, do not correct each other any more."""
_NEAREST = 8
"""Of the measured sizes so many correct a model."""
_MOST_POINTS = 48
"""Sizes that stand for all that are open."""
_MOST_OPEN = 4
"""So many kernels a module has to choose from, and as many more for each size that is open: each
is recorded in every call."""
_EQUAL_OPEN = 1.0005
_NEVER = 2**62
_GOLDEN = (5**0.5 - 1) / 2
"""Its multiples are spread evenly between whole numbers."""

Near = Sequence[tuple[float, MeasuredSizes]]
"""Measured sizes that correct models, and how much each counts; a model alone counts 1."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The kernels of a choice on one target.

    - `measured`: on one device, or on several: then it is the sum of the times there.
    """

    kernels: tuple[Kernel, ...]
    measured: tuple[Measured, ...]
    _ratios: dict[tuple[int, str], float] = field(init=False, default_factory=dict)
    """What kernels took of what their models say, by the identity of the measured sizes."""
    _taking: dict[tuple[object, ...], frozenset[str]] = field(init=False, default_factory=dict)
    """The kernels that take calls of measured sizes, by their identity and the dims that count."""

    @property
    def has_models(self) -> bool:
        """Whether they say it for any sizes."""
        return all(item.models for item in self.measured)

    @property
    def dims(self) -> set[str]:
        """The names of the dims that times depend on."""
        there = [item for kernel in self.kernels for item in kernel.buffers if not item.optional]
        return {dim.name for dim in dims_of(*(size for item in there for size in item.shape))}

    def nearest(self, dims: Mapping[str, int]) -> list[MeasuredSizes]:
        """The measured sizes that are nearest, on the first device, where they say something."""
        return self.measured[0].nearest(dims) if self.measured[0].corrects else []

    def best_of(self, names: Collection[str]) -> list[str]:
        """Of some kernels, those of which one is about the best for each of the measured sizes."""
        sizes = [size for item in self.measured for size in item.sizes]
        rows = [{n: s for n, s in size.seconds.items() if n in names} for size in sizes]
        return covering([row for row in rows if row])

    def seconds(self, dims: Mapping[str, int]) -> dict[str, float]:
        """Of each kernel by name; infinite where it takes no such call, or has no time."""
        near = [(item, self._near(item, dims)) for item in self.measured]
        return {
            kernel.name: sum(self._on(item, of, kernel, dims) for item, of in near)
            if takes(kernel, dims)
            else math.inf
            for kernel in self.kernels
        }

    def ranked(self, dims: Mapping[str, int]) -> tuple[Kernel, ...]:
        """The kernels, the fastest first; those within `EQUAL` of it come as they are declared."""
        seconds = self.seconds(dims)
        equal = EQUAL * min(seconds.values())
        return tuple(sorted(self.kernels, key=lambda item: max(seconds[item.name], equal)))

    def _on(self, item: Measured, near: Near, kernel: Kernel, dims: Mapping[str, int]) -> float:
        """The seconds on one device."""
        model = item.models.get(kernel.name)
        if model is None:
            times = [size.seconds.get(kernel.name, math.inf) for size in item.nearest(dims)]
            return math.exp(sum(map(math.log, times)) / len(times)) if times else math.inf
        return predicted(kernel, item.target, model, dims) * self._times(item, near, kernel)

    def _near(self, measured: Measured, dims: Mapping[str, int]) -> Near:
        """The measured sizes that correct models for calls of which these sizes are known.

        Where other kernels take calls, as those for rows of whole 16 bytes do, all run otherwise.
        """
        if not (measured.corrects and measured.models):
            return []
        found = [(size.distance(dims), size) for size in measured.sizes if size.seconds]
        found = sorted((pair for pair in found if pair[0] < _FAR), key=lambda pair: pair[0])
        known = [name for name in measured.dims if name in dims]
        taking = self._takers(measured, {name: dims[name] for name in known})
        most = _NEAREST if len(known) == len(measured.dims) else _MOST_POINTS
        near: list[tuple[float, MeasuredSizes]] = []
        for distance, size in found:
            key = id(size), *known
            if key not in self._taking:
                of_size = {name: size.dims[name] for name in known}
                self._taking[key] = self._takers(measured, of_size)
            if self._taking[key] == taking:
                near.append((_FAR / max(distance, 1e-3) - 1, size))
            if len(near) == most:
                break
        return near

    def _takers(self, measured: Measured, dims: Mapping[str, int]) -> frozenset[str]:
        modelled = (kernel for kernel in self.kernels if kernel.name in measured.models)
        return frozenset(kernel.name for kernel in modelled if takes(kernel, dims))

    def _times(self, item: Measured, near: Near, kernel: Kernel) -> float:
        """What a kernel takes of what its model says, by the nearest of the measured sizes."""
        total, weights = 0.0, 1.0
        for weight, size in near:
            if kernel.name in size.seconds:
                total += weight * self._ratio(item, size, kernel)
                weights += weight
        return math.exp(total / weights)

    def _ratio(self, item: Measured, size: MeasuredSizes, kernel: Kernel) -> float:
        key = id(size), kernel.name
        if key not in self._ratios:
            model = item.models[kernel.name]
            dims = {dim.name: 1 for dim in kernel.dims} | dict(size.dims)
            of_model = predicted(kernel, item.target, model, dims)
            self._ratios[key] = math.log(size.seconds[kernel.name] / of_model) if of_model else 0.0
        return self._ratios[key]

    def open_order(self, dims: Mapping[str, int]) -> tuple[Kernel, ...]:
        """The kernels for calls of which some sizes are not known, each with its condition.

        Of a few, of which one is about the fastest for each of the measured sizes, that one is
        taken whose cost is the least, which the module computes. Kernels that take all that others
        do are behind them, for calls that those do not take.
        """
        near = [(item, self._near(item, dims)) for item in self.measured]
        modelled = set.intersection(*({*item.models} for item in self.measured))
        kernels = [kernel for kernel in self.kernels if kernel.name in modelled]
        models = {
            k: [(i.target, i.models[k.name].times(self._times(i, of, k))) for i, of in near]
            for k in kernels
        }
        rows = [
            {
                k.name: sum(predicted(k, *of, at) for of in models[k])
                for k in kernels
                if takes(k, at)
            }
            for at in self._points(dims)
        ]
        best = covering([row for row in rows if row], _EQUAL_OPEN)
        most = _MOST_OPEN * (1 + len(self.dims - {*dims}))
        taken = [item for item in kernels if item.name in best[:most]]
        taken.sort(key=lambda item: -len(item.requires))
        costs = {k.name: _where_taken(k, models[k]) for k in taken}
        first = [
            each.requiring([Condition("<=", costs[each.name], costs[k.name]) for k in taken[at:]])
            for at, each in enumerate(taken, 1)
        ]
        rest = [item for item in self.kernels if item not in taken]
        rest.sort(key=lambda item: [*best, item.name].index(item.name))
        return (*first, *rest)

    def _points(self, dims: Mapping[str, int]) -> list[dict[str, int]]:
        """Sizes about those that were measured where they are open, a fifth of them odd, and as the
        others are known.
        """
        every = {dim.name: 1 for kernel in self.kernels for dim in kernel.dims}
        sizes = (size for item in self.measured for size in item.sizes if size.seconds)
        points = [{**every, **size.dims, **dims} for size in sizes] or [{**every, **dims}]
        found = [*{tuple(point.values()): point for point in points}.values()]
        found = found[:: -(-len(found) // _MOST_POINTS)]
        return [
            {n: size if n in dims else _about(size, at) | at % 5 // 4 for n, size in point.items()}
            for at, point in enumerate(found * 5)
        ]


def _where_taken(kernel: Kernel, models: Sequence[tuple[Target, TimeModel]]) -> Expr:
    """A kernel's cost; beyond all others where it takes no call."""
    each = reduce(add, (cost(kernel, *of) for of in models))
    for condition in kernel.requires:
        each = where(condition, each, _NEVER)
    return each


def _about(size: int, turn: int) -> int:
    """One of the sizes near another one, which ends in as many zeros up to six."""
    unit = min(size & -size, 64) or 1
    factor = 2 ** (turn * _GOLDEN % 1 - 0.5)
    return max(round(size * factor / unit), 1) * unit


def takes(kernel: Kernel, dims: Mapping[str, int]) -> bool:
    """Whether a kernel's requirements hold, as far as sizes are known."""
    try:
        return all(
            holds(each, dims)
            for each in kernel.requires
            if all(dim.name in dims for dim in dims_of(each.left, each.right))
        )
    except DeclarationError:
        return False
