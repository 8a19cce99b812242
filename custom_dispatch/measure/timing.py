"""Timing calls: several kinds in turn, so that what disturbs the machine disturbs them all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_ROUNDS = 5
_WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Timing:
    """How long calls took, in seconds."""

    median_s: float
    low_s: float
    """The first quartile."""
    high_s: float
    """The third quartile."""
    calls: int
    """How many were timed."""


def time_in_turn(
    calls: Mapping[str, Callable[[], float]], repetitions: int, budget_s: float
) -> dict[str, Timing]:
    """Time calls in turn, in rounds of blocks: a block of one kind warms up before it is timed.

    Parameters
    ----------
    calls
        Each makes one call, and returns the seconds it took.
    repetitions
        Calls of each kind, at most; at least one a round is made.
    budget_s
        Seconds after which no more calls of a kind are made, over all rounds.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(min(_ROUNDS, repetitions)):
        for name, call in calls.items():
            for _ in range(_WARM_UP):
                call()
            end = time.perf_counter() + budget_s / _ROUNDS
            for _ in range(max(1, repetitions // _ROUNDS)):
                times[name].append(call())
                if time.perf_counter() > end:
                    break
    return {name: _timing(values) for name, values in times.items()}


def _timing(values: list[float]) -> Timing:
    if len(values) == 1:
        return Timing(values[0], values[0], values[0], 1)
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return Timing(middle, low, high, len(values))
