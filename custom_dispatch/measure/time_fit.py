"""Fitting the models of time (`custom_dispatch.kernel.time_model`) to what was measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.expected import Expected, takes
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.target import Target
from custom_dispatch.kernel.time_model import TimeModel, counts
from custom_dispatch.kernel.tuning import Measured, MeasuredSizes

Array = numpy.ndarray[Any, numpy.dtype[numpy.float64]]

_MUCH = 0.9
NO_PLACES: Mapping[str, int] = {}
_HELD_OUT = 5
"""One of so many sizes is not fitted to, to see how well kernels are chosen there."""


@dataclass(frozen=True, slots=True)
class Quality:
    """The time of the best kernel, of that of the one chosen, for sizes that were not fitted to."""

    sizes: int
    mean: float
    """The geometric one."""
    worst: float
    worst_dims: Mapping[str, int]


def fitted(choice: Choice, measured: Measured, places: Mapping[str, int] = NO_PLACES) -> Measured:
    """The same with a model for each kernel that was timed, and never failed.

    One that failed for some sizes is taken only for those next to which it did not.

    `places`: blocks that the device runs at once, by kernel, where models do not say it yet.
    """
    models = {}
    for kernel in choice.kernels:
        rows = [item for item in measured.sizes if kernel.name in item.seconds]
        failed = any(
            result.kernel == kernel.name and result.problem and takes(kernel, item.dims)
            for item in measured.sizes
            if item.seconds
            for result in item.results
        )
        if rows and not failed:
            before = measured.models.get(kernel.name)
            most = places.get(kernel.name, before.places if before else 1)
            models[kernel.name] = _model(kernel, measured.target, most, rows)
    return replace(measured, models=models)


def _model(kernel: Kernel, target: Target, most: int, rows: Sequence[MeasuredSizes]) -> TimeModel:
    """The parts' seconds with the least squares of relative errors.

    They count by the square of how near a kernel is to the best: where it is slow, how slow does
    not matter. There are fewer places than the most where clusters do not fit into parts of the
    GPU, as far as that explains much more.
    """
    times = numpy.array([item.seconds[kernel.name] for item in rows])
    weights = (numpy.array([min(item.seconds.values()) for item in rows]) / times) ** 2
    cluster = math.prod(kernel.for_target(target).cluster or (1,))
    counted = [counts(kernel, target, most, item.dims) for item in rows]
    names = [*counted[0]]
    there = numpy.array([[*each.values()] for each in counted], float)
    blocks = there[:, [names.index("block")]]
    waves = [at for at, name in enumerate(names) if name.startswith("wave")]
    of_blocks = [names.index("block" + names[at].removeprefix("wave")) for at in waves]
    steps = there[:, of_blocks] / numpy.maximum(blocks, 1)
    found, least = TimeModel(most, {}), math.inf
    for places in range(most, most * 3 // 4 if cluster > 1 else most - 1, -cluster):
        there[:, waves] = numpy.ceil(blocks / places) * steps
        matrix = there * (weights / times)[:, None]
        seconds = not_negative(matrix, weights)
        error = float(numpy.square(matrix @ seconds - weights).sum())
        if error < _MUCH * least:
            pairs = zip(names, map(float, seconds), strict=True)
            found, least = TimeModel(places, {name: s for name, s in pairs if s > 0}), error
    return found


def not_negative(matrix: Array, wanted: Array) -> Array:
    """The least squares of `matrix @ x - wanted` among x of which nothing is below zero.

    Of C. L. Lawson and R. J. Hanson ("Solving Least Squares Problems", 1974, chapter 23).
    """
    scale = numpy.maximum(numpy.linalg.norm(matrix, axis=0), 1e-300)
    scaled, count = matrix / scale, matrix.shape[1]
    found, free = numpy.zeros(count), numpy.zeros(count, bool)
    for _ in range(3 * count):
        gradient = numpy.where(free, -math.inf, scaled.T @ (wanted - scaled @ found))
        if gradient.max() <= 1e-9:
            break
        free[gradient.argmax()] = True
        while True:
            trial = numpy.zeros(count)
            trial[free] = numpy.linalg.lstsq(scaled[:, free], wanted, rcond=None)[0]
            below = free & (trial <= 0)
            if not below.any():
                break
            step = (found / numpy.maximum(found - trial, 1e-300))[below].min()
            found = numpy.where(free, found + step * (trial - found), 0.0)
            free &= found > 1e-12
        found = trial
    result: Array = found / scale
    return result


def quality(choice: Choice, measured: Measured, seed: int = 0) -> Quality | None:
    """How well a table would choose for a random part of its sizes, had these not been measured.

    Returns: None where too few sizes were measured.
    """
    sizes = [item for item in measured.sizes if item.seconds]
    drawn = {*map(int, numpy.random.default_rng(seed).permutation(len(sizes))[::_HELD_OUT])}
    if len(sizes) < _HELD_OUT:
        return None
    unseen = [item for at, item in enumerate(sizes) if at in drawn]
    rest = tuple(item for at, item in enumerate(sizes) if at not in drawn)
    expected = Expected(choice.kernels, (fitted(choice, replace(measured, sizes=rest)),))
    found = []
    for item in unseen:
        seconds = expected.seconds(item.dims)
        taken = min(item.seconds, key=lambda name: seconds[name])
        found.append((min(item.seconds.values()) / item.seconds[taken], item))
    worst, at = min(found, key=lambda pair: pair[0])
    mean = math.exp(sum(math.log(each) for each, _ in found) / len(found))
    return Quality(len(found), mean, worst, at.dims)
