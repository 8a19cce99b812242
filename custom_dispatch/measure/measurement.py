"""What was measured of a function: calls of several kinds, timed in turn.

So what disturbs the machine disturbs them all.
"""

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from custom_dispatch.measure.comparison import Agreement

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

    - `calls`: each makes one call, and returns the seconds it took.
    - `repetitions`: calls of each kind, at most; at least one a round is made.
    - `budget_s`: seconds after which no more calls of a kind are made, over all rounds.
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


@dataclass(frozen=True, slots=True)
class Measurement:
    """One size."""

    dims: Mapping[str, int]
    shapes: tuple[str, ...]
    """What each argument is."""
    call: Timing
    """A call through this package: operands and results stay on the device."""
    invoke: Timing
    """The same through IREE's VM alone."""
    native: Timing | None
    """The same object launched through the CUDA driver, and waited for."""
    kernel: Timing | None
    """That launch between two events: the kernel's own time."""
    bytes_moved: int | None
    """What the declaration says must be read and written."""
    flops: int | None
    agreements: tuple[Agreement, ...]

    copy: Timing | None = None
    """A copy on the device that reads and writes `bytes_moved` together: what a kernel that only
    moves memory cannot be much faster than."""
    why_not_compared: str = ""
    """Why there is no agreement."""

    @property
    def best(self) -> Timing:
        """What rates are computed with: the kernel's own time where it is known."""
        return self.kernel or self.invoke

    @property
    def bytes_per_second(self) -> float | None:
        """The bandwidth."""
        return self.bytes_moved and self.bytes_moved / max(self.best.median_s, 1e-9)

    @property
    def flops_per_second(self) -> float | None:
        """Floating-point operations."""
        return self.flops and self.flops / max(self.best.median_s, 1e-9)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, and on what."""

    function: str
    type: str
    device: str
    reason: str
    """Why it is this device."""
    variant: str
    """The target whose code IREE chooses; empty where the module does not say."""
    dispatches: int | None
    """Launches of a call, at least: of kernels, and of code that IREE generated."""
    native_note: str
    """Why there is no native launch; empty if there is."""
