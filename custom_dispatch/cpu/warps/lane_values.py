"""What the lanes of a warp hold of one value.

A warp runs as one: an instruction is lowered once for its 32 lanes. A value that is the same in all
lanes is a scalar; one whose lanes lie at known distances from each other is a scalar and these
distances, so that its lanes' addresses are known to be neighbours; any other is a vector. Distances
may also be multiples of a second scalar: the rows of a matrix, where a warp has lanes in several.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from custom_dispatch.cpu.analysis.bounds import Bounds, within

LANES: Final = 32
"""Threads of a warp (PTX ISA 9.0, section 3.1)."""
FULL: Final = -1
"""The lanes of a whole warp, as bits of an i32."""

Distances = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Lanes as a vector, to be written where it is needed."""

    write: Callable[[], str]
    """Writes it, and what it is computed from."""
    depth: int = 0
    """How many operations, one after the other, are still to be written for it."""


@dataclass(frozen=True, slots=True)
class Value:
    """What the lanes hold."""

    base: str = ""
    """The SSA name of a vector for a varying value, of a scalar for any other; empty where the
    scalar is zero."""
    distances: Distances = ()
    """What each lane adds to the scalar, as signed numbers, the first nothing; empty where all
    lanes are equal."""
    stride: str = ""
    factors: Distances = ()
    """A second scalar, of which each lane adds a multiple; empty where there is none."""
    varying: bool = False
    """Whether `base` is a vector."""
    known: int | None = None
    """The scalar's value if it is a constant."""
    multiple: int = 1
    """A power of two that divides the scalar."""
    bounds: Bounds | None = None
    """What the scalar is at least and at most, as a signed number, if that is known."""
    valid: str = ""
    """An i1: where it is false, scalar and distances do not describe the lanes, and `lanes` gives
    them. Empty where they always do."""
    lanes: Lanes | None = None
    """The lanes as a vector; set together with `valid`."""

    @property
    def is_uniform(self) -> bool:
        """Whether all lanes are equal."""
        return not self.varying and not self.distances

    @property
    def is_known(self) -> bool:
        """Whether every lane is a constant."""
        if self.varying or self.valid or self.stride:
            return False
        return self.base == "" or self.known is not None

    def constants(self) -> Distances:
        """The lanes of a known value."""
        start = self.known or 0
        return tuple(start + d for d in self.distances) if self.distances else (start,) * LANES

    def scalar_bounds(self) -> Bounds | None:
        """What the scalar is at least and at most."""
        return self.bounds if self.base else (self.known or 0, self.known or 0)

    def lane_bounds(self, bits: int) -> Bounds | None:
        """What any lane is at least and at most, as an integer of a width."""
        scalar = self.scalar_bounds()
        if scalar is None or self.varying or self.stride or self.valid:
            return None
        if not self.distances:
            return scalar
        return within(scalar[0] + min(self.distances), scalar[1] + max(self.distances), bits)


@dataclass(frozen=True, slots=True)
class Form:
    """How a register is kept between instructions; from the narrowest to the widest."""

    rank: int
    """`UNSET`, `UNIFORM`, `DISTANT` or `VARYING`."""
    distances: Distances = ()
    """Of a distant register."""
    factors: Distances = ()
    """Of a distant register that has a stride."""
    multiple: int = 1
    """A power of two that divides the scalar; 0 where the scalar is zero."""
    bounds: Bounds | None = None
    """What the scalar is at least and at most, where that is known."""
    checked: bool = False
    """Whether a distant register needs to say if it is valid."""

    @property
    def known(self) -> int | None:
        """The scalar if it is a constant: it is kept nowhere then."""
        if self.bounds is None or self.bounds[0] != self.bounds[1]:
            return None
        return self.bounds[0]

    def value(self, base: str, stride: str, valid: str, lanes: Callable[[], str]) -> Value:
        """What a register of this form holds, from SSA names; `lanes` for where it is not valid."""
        return Value(
            base,
            self.distances,
            stride,
            self.factors,
            known=self.known,
            multiple=max(self.multiple, 1),
            bounds=self.bounds if base else None,
            valid=valid,
            lanes=Lanes(lanes) if valid else None,
        )

    def join(self, other: Form) -> Form:
        """The narrowest form that can hold what either can."""
        low, high = sorted((self, other), key=lambda form: form.rank)
        if low.rank == UNSET or low == high:
            return high
        same = (low.distances, low.factors) == (high.distances, high.factors)
        if low.rank != high.rank:
            same = not any(high.distances + high.factors)
        if not same or high.rank == VARYING:
            return VARYING_FORM
        return replace(
            high,
            multiple=math.gcd(low.multiple, high.multiple),
            bounds=low.bounds if low.bounds == high.bounds else None,
            checked=low.checked or high.checked,
        )


UNSET, UNIFORM, DISTANT, VARYING = range(4)
UNSET_FORM: Final = Form(UNSET)
VARYING_FORM: Final = Form(VARYING)


def form_of(value: Value, *, checked: bool = False) -> Form:
    """The narrowest form that holds a value.

    `checked`: whether some lanes may become those of another value.
    """
    if value.varying:
        return VARYING_FORM
    multiple = value.multiple if value.base else lowest_bit(value.known or 0)
    distances = value.distances or ((0,) * LANES if checked else ())
    rank = DISTANT if distances else UNIFORM
    bounds = value.scalar_bounds()
    return Form(rank, distances, value.factors, multiple, bounds, checked or bool(value.valid))


def stand_in(form: Form, name: str) -> Value:
    """A value of a form, for looking for forms only."""
    if form.rank == VARYING:
        return Value(name, varying=True)
    return form.value(
        name if form.known is None else "",
        name if form.factors else "",
        name if form.checked else "",
        lambda: name,
    )


def lowest_bit(number: int) -> int:
    """The largest power of two that divides a number; 0 for 0."""
    return number & -number


def signed(value: int, bits: int) -> int:
    """A number's low bits as a signed number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) and bits > 1 else value


def wrapped(lanes: Iterable[int], bits: int) -> Distances:
    """The low bits of numbers as signed ones; most are as they should be."""
    lanes, end = tuple(lanes), 1 << (bits - 1)
    if bits > 1 and lanes and -end <= min(lanes) and max(lanes) < end:
        return lanes
    return tuple(signed(lane, bits) for lane in lanes)


def unsigned(lanes: Distances, bits: int) -> Distances:
    """The low bits of numbers as numbers that are not negative."""
    mask = (1 << bits) - 1
    return tuple(lane & mask for lane in lanes)


BITWISE: Final = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
_FOLDED: Final[dict[str, Callable[[int, int], int]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    **BITWISE,
    "shl": operator.lshift,
    "lshr": operator.rshift,
    "ashr": operator.rshift,
}
_CONDITIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def from_constants(lanes: Iterable[int], bits: int) -> Value:
    """The value whose lanes hold integers of a width."""
    lanes = wrapped(lanes, bits)
    if len(set(lanes)) == 1:
        return Value("", known=lanes[0])
    return Value("", tuple(lane - lanes[0] for lane in lanes), known=lanes[0])


def fold(operation: str, x: Value, y: Value, bits: int) -> Value | None:
    """An operation on constants; None where it is left to LLVM."""
    left, right = x.constants(), y.constants()
    is_shift = operation in ("shl", "lshr", "ashr")
    if operation not in _FOLDED or (is_shift and not all(0 <= q < bits for q in right)):
        return None
    if is_shift:
        left = unsigned(left, bits) if operation == "lshr" else wrapped(left, bits)
    return from_constants(map(_FOLDED[operation], left, right), bits)


def compare(condition: str, left: Distances, right: Distances, bits: int) -> Distances:
    """Compare integers of a width; 1 where the condition holds."""
    as_numbers = unsigned if condition[0] == "u" else wrapped
    holds = map(_CONDITIONS[condition[-2:]], as_numbers(left, bits), as_numbers(right, bits))
    return tuple(map(int, holds))


def resized(operation: str, x: Value, source: int, target: int) -> Value:
    """``zext``, ``sext`` or ``trunc`` of constants, from one width to another."""
    lanes = x.constants()
    if operation == "zext":
        lanes = unsigned(lanes, source)
    elif operation == "sext":
        lanes = tuple(-(v & 1) for v in lanes) if source == 1 else wrapped(lanes, source)
    return from_constants(lanes, target)
