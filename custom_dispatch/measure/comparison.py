"""Whether results of a kernel are those of its reference, of another launch, or of another kernel.

Results that another process compares come as samples: of one of more than `_MOST` elements runs of
neighbours are taken, evenly spaced. A tile of a matrix that is wrong has some of them, a single
element may have none.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.kernel.dtypes import ElementType, from_named_bits, named_bits
from custom_dispatch.kernel.kernel import Kernel

Array = numpy.ndarray[Any, Any]

_MOST = 1 << 20
_RUN = 1 << 11

# Unit roundoff times a small factor: a reference may round its steps in another order.
_RELATIVE_TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}
_COARSE_TOLERANCE = 0.25


def compare(kind: ElementType, got: Array, want: Array) -> tuple[int, float]:
    """The number of elements that differ, and the largest difference."""
    if got.size == 0:
        return 0, 0.0
    if not kind.is_float:
        return int(numpy.count_nonzero(got != want)), 0.0
    left, right = got.astype(numpy.float64), want.astype(numpy.float64)
    tolerance = _RELATIVE_TOLERANCE.get(kind.name, _COARSE_TOLERANCE)
    # A sum's error goes with the size of what was summed, which the largest result stands for.
    finite_right = numpy.abs(right[numpy.isfinite(right)])
    scale = max(1.0, float(finite_right.max())) if finite_right.size else 1.0
    same = numpy.isclose(left, right, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    difference = numpy.abs(left - right)
    finite = difference[numpy.isfinite(difference)]
    return int(numpy.count_nonzero(~same)), float(finite.max()) if finite.size else 0.0


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


def agreement(
    with_what: str, kernel: Kernel, found: tuple[Array, ...], wanted: tuple[Array, ...]
) -> Agreement:
    """Compare a kernel's results with those of something else."""
    largest, equal = 0.0, True
    for operand, got, want in zip(kernel.outputs, found, wanted, strict=True):
        if got.shape != want.shape:
            problem = f"`{operand.name}` has shape {got.shape}, {with_what} {want.shape}"
            return Agreement(with_what, False, problem, largest)
        # Integers of a module are signless; their bits are the same.
        typed = got.view(operand.dtype.to_numpy()) if got.dtype != want.dtype else got
        if typed.dtype == want.dtype and typed.tobytes() == want.tobytes():  # NaNs, too
            continue
        equal = False
        wrong, difference = compare(operand.dtype, typed, want)
        largest = max(largest, difference)
        if wrong:
            problem = f"`{operand.name}` differs in {wrong} of {got.size} elements"
            return Agreement(with_what, False, problem, largest)
    return Agreement(with_what, equal, "", largest)


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """What was taken of a result: its elements, flat, and how many the whole has."""

    size: int
    elements: Array


def sample_of(result: Array) -> Sample:
    """A sample of a whole result."""
    flat = numpy.ascontiguousarray(result).reshape(-1)
    return Sample(flat.size, taken(flat.size, lambda first, end: flat[first:end]))


def taken(size: int, read: Callable[[int, int], Array]) -> Array:
    """The elements that a sample has of so many, each run read by its first and its end."""
    if size <= _MOST:
        return read(0, size)
    count = _MOST // _RUN
    firsts = [(size - _RUN) * i // (count - 1) for i in range(count)]
    return numpy.concatenate([read(first, first + _RUN) for first in firsts])


def write_samples(path: Path, samples: Mapping[str, Sample]) -> None:
    """Write samples of results, by operand name, to a file; `read_samples` reads them."""
    named = {f"{item.size} {name}": named_bits(item.elements) for name, item in samples.items()}
    numpy.savez(path, **named)  # type: ignore[arg-type]


def read_samples(path: Path) -> dict[str, Sample]:
    """The samples that `write_samples` wrote."""
    with numpy.load(path) as held:
        found = [(*key.split(), from_named_bits(held[key])) for key in held.files]
    return {name: Sample(int(size), elements) for size, name, elements in found}


def difference(
    kernel: Kernel, got: Mapping[str, Sample], want: Mapping[str, Sample], of: str
) -> str:
    """How results differ from others, or from the reference's; empty if they do not."""
    for operand in kernel.outputs:
        name = operand.name
        size, mine = got[name].size, got[name].elements
        if want[name].size != size:
            return f"gives wrong results: `{name}` has {size} elements, {of} {want[name].size}"
        count, largest = compare(operand.dtype, mine, want[name].elements)
        if count:
            part = f" that were compared, of {size}" if mine.size < size else ""
            return (
                f"gives wrong results: `{name}` differs from {of} in {count} of {mine.size} "
                f"elements{part}, by up to {largest:.3g}"
            )
    return ""
