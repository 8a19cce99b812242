"""What was measured of a function, and whether its results agree with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy

from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.measure.check import compare
from custom_dispatch.measure.timing import Timing


@dataclass(frozen=True, slots=True)
class Agreement:
    """How results compare with others."""

    with_what: str
    equal: bool
    """Bit for bit."""
    problem: str
    """What is wrong; empty within the tolerance of the type."""
    largest_difference: float

    def __str__(self) -> str:
        if self.problem:
            return f"DIFFERS from {self.with_what}: {self.problem}"
        how = "equals" if self.equal else f"within {self.largest_difference:.2g} of"
        return f"{how} {self.with_what}"


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

    argument_bytes: int = 0
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


def read_measurement(values: Mapping[str, Any]) -> Measurement:
    """A measurement that `dataclasses.asdict` made plain."""
    read = dict(values)
    for name in ("call", "invoke", "native", "kernel", "copy"):
        read[name] = read[name] and Timing(**read[name])
    read["agreements"] = tuple(Agreement(**item) for item in read["agreements"])
    return Measurement(**read | {"shapes": tuple(read["shapes"])})


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured, and on what."""

    function: str
    type: str
    device: str
    device_name: str
    reason: str
    """Why it is this device."""
    variant: str
    """The target whose code IREE chooses; empty where the module does not say."""
    dispatches: int | None
    """Launches of a call, at least: of kernels, and of code that IREE generated."""
    native_note: str
    """Why there is no native launch; empty if there is."""


def agreement(
    with_what: str,
    kernel: Kernel,
    found: tuple[numpy.ndarray[Any, Any], ...],
    wanted: tuple[numpy.ndarray[Any, Any], ...],
) -> Agreement:
    """Compare a kernel's results with those of something else."""
    largest, equal = 0.0, True
    for operand, got, want in zip(kernel.outputs, found, wanted, strict=True):
        if got.shape != want.shape:
            problem = f"`{operand.name}` has shape {list(got.shape)} instead of {list(want.shape)}"
            return Agreement(with_what, False, problem, largest)
        # Integers of a module are signless; their bits are the same.
        typed = got.view(operand.dtype.to_numpy()) if got.dtype != want.dtype else got
        if _bits(typed, want):
            continue
        equal = False
        wrong, difference = compare(operand.dtype, typed, want)
        largest = max(largest, difference)
        if wrong:
            problem = f"`{operand.name}` differs in {wrong} of {got.size} elements"
            return Agreement(with_what, False, problem, largest)
    return Agreement(with_what, equal, "", largest)


def _bits(left: numpy.ndarray[Any, Any], right: numpy.ndarray[Any, Any]) -> bool:
    """Whether two arrays of one shape are equal bit for bit; NaNs with them."""
    if left.dtype != right.dtype:
        return False
    raw = numpy.dtype(f"u{left.dtype.itemsize}")
    one, other = (numpy.ascontiguousarray(side).reshape(-1).view(raw) for side in (left, right))
    return bool(numpy.array_equal(one, other))
