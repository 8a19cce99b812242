"""Arithmetic on scalars with distances.

Sums, products with constants and extensions of what lies at known distances lie at known distances
again, so that the addresses that a kernel computes from `%tid` stay neighbours until they are
used. Integers wrap around (PTX ISA 9.0, section 9.7.1): before one is extended, its scalar is
compared with the ends of its type, and the result says whether it is valid.
"""

import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from custom_dispatch.cpu.analysis.bounds import bounds_of, resized
from custom_dispatch.cpu.text.builder import POINTER, int_type
from custom_dispatch.cpu.warps.lane_names import LaneNames, vector_of
from custom_dispatch.cpu.warps.lane_values import (
    BITWISE,
    LANES,
    Distances,
    Lanes,
    Value,
    fold,
    from_constants,
    lowest_bit,
    signed,
    wrapped,
)

_MOST_FACTORS: Final = 8
"""Different distances beyond which a product with an unknown scalar is a vector."""
_MOST_MULTIPLE: Final = 1 << 12
_Named = tuple[str, Value]


class DistantBuilder(LaneNames):
    """Writes operations on what is no vector."""

    def combine(self, operation: str, left: _Named, right: _Named, bits: int) -> Value | None:
        """An integer operation on values that are no vectors.

        Returns: None where the result is a vector.
        """
        (a, x), (b, y) = left, right
        if x.is_known and y.is_known:
            folded = fold(operation, x, y, bits)
            if folded is not None:
                return folded
        bounds = bounds_of(operation, x.lane_bounds(bits), y.lane_bounds(bits), bits)
        if bounds is not None and bounds[0] == bounds[1]:
            return Value("", known=bounds[0])
        if x.is_uniform and y.is_uniform:
            return self._of_scalars(operation, x, y, bits)
        if operation in ("add", "sub"):
            return self._sum(operation, left, right, bits)
        if operation == "mul" and x.is_uniform:
            (a, x), (b, y) = right, left
        if operation in ("mul", "shl") and y.is_uniform:
            if y.known is not None:
                return self._scaled(operation, (a, x), (b, y), bits)
            return self._stepped((a, x), (b, y), bits) if operation == "mul" else None
        return self._of_bits(operation, left, right, bits)

    def _of_scalars(self, operation: str, x: Value, y: Value, bits: int) -> Value:
        multiple = 1
        if operation in ("add", "sub"):
            multiple = min(_multiple(x), _multiple(y))
        elif operation == "mul":
            multiple = min(_multiple(x) * _multiple(y), _MOST_MULTIPLE)
        elif operation == "shl" and y.known is not None and 0 <= y.known < bits:
            multiple = min(_multiple(x) << y.known, _MOST_MULTIPLE)
        return Value(
            self._on_scalars(operation, x, y, bits),
            multiple=multiple,
            bounds=bounds_of(operation, x.scalar_bounds(), y.scalar_bounds(), bits),
        )

    def _on_scalars(self, operation: str, x: Value, y: Value, bits: int) -> str:
        """The operation on the scalars of two values."""
        kind = int_type(bits)
        return self.one.binary(operation, self.base(x, kind), self.base(y, kind), kind)

    def _sum(self, operation: str, left: _Named, right: _Named, bits: int) -> Value | None:
        (a, x), (b, y) = left, right
        if x.stride and y.stride and x.stride != y.stride:
            return None
        sign = 1 if operation == "add" else -1
        compute = operator.add if operation == "add" else operator.sub
        distances = wrapped(map(compute, _steps(x), _steps(y)), bits)
        return self._settled(
            Value(
                self._on_scalars(operation, x, y, bits),
                distances,
                x.stride or y.stride,
                _combined(x, y, sign),
                multiple=min(_multiple(x), _multiple(y)),
                bounds=bounds_of(operation, x.scalar_bounds(), y.scalar_bounds(), bits),
                valid=self.both(x.valid, y.valid),
                lanes=self._later(operation, (a, b), int_type(bits)),
            ),
            bits,
        )

    def _scaled(self, operation: str, left: _Named, right: _Named, bits: int) -> Value | None:
        (a, x), (b, y) = left, right
        if operation == "shl" and not 0 <= (y.known or 0) < bits:
            return None
        factor = 1 << (y.known or 0) if operation == "shl" else y.known or 0
        return self._settled(
            Value(
                self._on_scalars(operation, x, y, bits),
                wrapped((d * factor for d in x.distances), bits),
                x.stride,
                tuple(f * factor for f in x.factors),
                multiple=_multiple(x) * (lowest_bit(factor) or 1),
                bounds=bounds_of("mul", x.scalar_bounds(), (factor, factor), bits),
                valid=x.valid,
                lanes=self._later(operation, (a, b), int_type(bits)),
            ),
            bits,
        )

    def _stepped(self, left: _Named, right: _Named, bits: int) -> Value | None:
        """A product with a scalar that is not known: the distances become factors of a stride."""
        (a, x), (b, y) = left, right
        if x.stride or len(set(x.distances)) > _MOST_FACTORS:
            return None
        type_name = int_type(bits)
        stride = self.base(y, type_name)
        scalar = self.emit(f"llvm.mul {self.base(x, type_name)}, {stride} : {type_name}")
        lanes = self._later("mul", (a, b), type_name) if x.valid else None
        return Value(scalar, (0,) * LANES, stride, x.distances, valid=x.valid, lanes=lanes)

    def _of_bits(self, operation: str, left: _Named, right: _Named, bits: int) -> Value | None:
        """An operation with a constant on a scalar and distances that share no bit."""
        if not left[1].distances and operation in BITWISE:
            left, right = right, left
        (a, x), (b, y) = left, right
        if y.known is None or y.distances or x.stride or not x.distances:
            return None
        unit, constant = _multiple(x), y.known & ((1 << bits) - 1)
        if min(x.distances) < 0 or max(x.distances) >= unit:
            return None
        type_name = int_type(bits)
        if operation in ("lshr", "ashr") and constant < bits:
            distances = tuple(d >> constant for d in x.distances)
            kept, multiple = constant, max(unit >> constant, 1)
        elif operation in BITWISE:
            low = constant & (unit - 1)
            distances = tuple(BITWISE[operation](d, low) for d in x.distances)
            kept, multiple = constant - low, unit
        else:
            return None
        end = signed(kept, bits)
        bounds = bounds_of(operation, x.scalar_bounds(), (end, end), bits)
        if bounds == (0, 0) and not x.valid:
            return from_constants(distances, bits)
        other = self.number(kept, bits)
        scalar = self.emit(f"llvm.{operation} {self.base(x, type_name)}, {other} : {type_name}")
        if distances[0]:
            multiple, bounds = 1, None
            step = self.number(distances[0], bits)
            scalar = self.emit(f"llvm.add {scalar}, {step} : {type_name}")
            distances = tuple(d - distances[0] for d in distances)
        lanes = self._later(operation, (a, b), type_name)
        found = Value(
            scalar, distances, multiple=multiple, bounds=bounds, valid=x.valid, lanes=lanes
        )
        return self._settled(found, bits)

    def _later(self, operation: str, names: tuple[str, str], type_name: str) -> Lanes:
        """An operation on vectors, for lanes that are not where they were expected."""

        def lanes() -> str:
            x, y = (self.vector(name, type_name) for name in names)
            return self.emit(f"llvm.{operation} {x}, {y} : {vector_of(type_name)}")

        return self.later(names, lanes)

    def _settled(self, value: Value, bits: int) -> Value:
        """A value in its simplest form."""
        type_name = int_type(bits)
        scalar, stride, factors = value.base, value.stride, value.factors
        multiple, bounds = min(value.multiple, _MOST_MULTIPLE), value.bounds
        if stride and len(set(factors)) == 1:  # every lane adds as much: it belongs to the scalar
            if factors[0]:
                factor = self.number(factors[0], bits)
                step = self.emit(f"llvm.mul {stride}, {factor} : {type_name}")
                scalar = self.emit(f"llvm.add {scalar}, {step} : {type_name}")
                multiple, bounds = 1, None
            stride, factors = "", ()
        if len(set(value.distances)) == 1 and not value.valid and not stride:
            return Value(scalar, multiple=multiple, bounds=bounds)
        return Value(
            scalar,
            value.distances,
            stride,
            factors,
            multiple=multiple,
            bounds=bounds,
            valid=value.valid,
            lanes=value.lanes if value.valid else None,
        )

    def both(self, a: str, b: str) -> str:
        """Whether two i1 hold, of which an empty one always does."""
        if not a or not b or a == b:
            return a or b
        return self.once((f"and {a}", b), f"llvm.and {a}, {b} : i1")

    # ---- other types

    def converted(self, operation: str, a: str, x: Value, source: str, target: str) -> Value:
        """A pointer's or number's other type, or a number's low bits."""
        distances, stride = x.distances, x.stride
        if operation == "trunc":
            distances = wrapped(distances, int(target[1:]))
            stride = stride and self._scalar_cast("trunc", stride, source, target)
        scalar = self.base(x, source)

        def lanes() -> str:
            vector = self.vector(a, source)
            if operation != "trunc":
                return vector
            return self.emit(f"llvm.trunc {vector} : {vector_of(source)} to {vector_of(target)}")

        return replace(
            x,
            base=self.emit(f"llvm.{operation} {scalar} : {source} to {target}"),
            distances=distances,
            stride=stride,
            known=None,
            bounds=resized(operation, x.scalar_bounds(), source, target),
            lanes=self.later((a,), lanes) if x.valid else None,
        )

    def extended(self, operation: str, a: str, x: Value, source: str, target: str) -> Value:
        """A wider integer: valid as long as no lane passes the end of the narrow one's range."""
        bits = int(source[1:])
        scalar = self.base(x, source)
        wide = self._scalar_cast(operation, scalar, source, target)
        lane_bounds = x.lane_bounds(bits)
        bounds = resized(operation, x.scalar_bounds(), source, target)
        if lane_bounds is not None and (operation == "sext" or lane_bounds[0] >= 0):
            return Value(wide, x.distances, multiple=x.multiple, bounds=bounds)
        low, high = min(x.distances), max(x.distances)
        stride = x.stride and self._scalar_cast("sext", x.stride, source, target)
        if stride:
            valid = self._check_steps(operation, (wide, stride), x, (source, target))
        else:
            valid = self._check_range(operation, scalar, (low, high), bits, x.valid)

        def lanes() -> str:
            vector = self.vector(a, source)
            kinds = f"{vector_of(source)} to {vector_of(target)}"
            return self.emit(f"llvm.{operation} {vector} : {kinds}")

        lanes_later = self.later((a,), lanes) if valid else None
        return replace(
            x, base=wide, stride=stride, known=None, bounds=bounds, valid=valid, lanes=lanes_later
        )

    def of_scalar(self, operation: str, x: Value, source: str, target: str) -> Value:
        """An integer of another width."""
        return Value(
            self._scalar_cast(operation, self.base(x, source), source, target),
            multiple=x.multiple,
            bounds=resized(operation, x.scalar_bounds(), source, target),
        )

    def _scalar_cast(self, operation: str, scalar: str, source: str, target: str) -> str:
        """A cast of a scalar, the same name for the same cast."""
        text = f"llvm.{operation} {scalar} : {source} to {target}"
        return self.once((f"{operation} {target}", scalar), text)

    def _check_steps(
        self, operation: str, wide: tuple[str, str], x: Value, types: tuple[str, str]
    ) -> str:
        """Whether no lane wraps around where lanes add multiples of a stride, each by itself."""
        if types != ("i32", "i64"):
            return self.number(0, 1)
        bottom, top = (0, (1 << 32) - 1) if operation == "zext" else (-(1 << 31), (1 << 31) - 1)
        valid = x.valid
        for factor in sorted(set(x.factors)):
            ends = [d for d, f in zip(x.distances, x.factors, strict=True) if f == factor]
            scalar, stride = (self.one.named(name, "i64") for name in wide)
            start = scalar + stride * factor
            for limit, condition in ((bottom - min(ends), "sge"), (top - max(ends), "sle")):
                valid = self.both(valid, start.cmp(condition, limit))
        return valid

    def _check_range(
        self, operation: str, scalar: str, ends: tuple[int, int], bits: int, valid: str
    ) -> str:
        """Whether no lane wraps around."""
        low, high = ends
        sign = "s" if operation == "sext" else "u"
        bottom, top = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        if operation == "zext":
            bottom, top = 0, (1 << bits) - 1
        for limit, condition, needed in (
            (top - high, f"{sign}le", high > 0),
            (bottom - low, f"{sign}ge", low < 0),
        ):
            if needed:
                end = self.number(limit, bits)
                text = f'llvm.icmp "{condition}" {scalar}, {end} : i{bits}'
                valid = self.both(valid, self.once((f"{condition} {limit}", scalar), text))
        return valid

    # ---- pointers

    def moved(self, pointer: str, offset: str) -> Value:
        """A pointer and an i64 number of bytes, added."""
        p, q = self.of(pointer), self.of(offset)
        differ = p.stride and q.stride and p.stride != q.stride

        def sums() -> str:
            lanes, steps = self.vector(pointer, POINTER), self.vector(offset, "i64")
            return self.emit(f"llvm.add {lanes}, {steps} : {vector_of('i64')}")

        if p.varying or q.varying or differ:
            return Value(sums(), varying=True)
        scalar = self.base(p, POINTER)
        if q.base:
            scalar = self._moved_by(scalar, q.base)
        elif q.known:
            scalar = self._moved_bytes(scalar, q.known)
        if p.is_uniform and q.is_uniform:
            return Value(scalar)
        stride, factors = p.stride or q.stride, _combined(p, q, 1)
        if stride and len(set(factors)) == 1:
            scalar, stride, factors = self._stepped_by(scalar, stride, factors[0]), "", ()
        valid = self.both(p.valid, q.valid)
        return Value(
            scalar,
            tuple(a + b for a, b in zip(_steps(p), _steps(q), strict=True)),
            stride,
            factors,
            valid=valid,
            lanes=self.later((pointer, offset), sums) if valid else None,
        )

    def _moved_by(self, pointer: str, step: str) -> str:
        text = f"llvm.getelementptr {pointer}[{step}] : ({POINTER}, i64) -> {POINTER}, i8"
        return self.once((f"moved by {step}", pointer), text)

    def _moved_bytes(self, pointer: str, step: int) -> str:
        """A scalar pointer moved by a number; MLIR has those of 32 bits within the operation."""
        if abs(step) >= 1 << 31:
            return self._moved_by(pointer, self.number(step, 64))
        return self.emit(f"llvm.getelementptr {pointer}[{step}] : ({POINTER}) -> {POINTER}, i8")

    def _stepped_by(self, pointer: str, stride: str, factor: int) -> str:
        """A scalar pointer moved by a multiple of an i64."""
        if not factor:
            return pointer
        step = self.emit(f"llvm.mul {stride}, {self.number(factor, 64)} : i64")
        return self._moved_by(pointer, step)

    def lane_pointer(self, value: Value, lane: int) -> str:
        """The scalar pointer of one lane of a distant value that is valid."""
        factor = value.factors[lane] if value.stride else 0
        pointer = self._stepped_by(value.base, value.stride, factor)
        distance = value.distances[lane]
        return self._moved_bytes(pointer, distance) if distance else pointer


def _steps(value: Value) -> Sequence[int]:
    return value.distances or (0,) * LANES


def _combined(x: Value, y: Value, sign: int) -> Distances:
    """The factors of a sum or difference; empty where neither has any."""
    if not x.stride and not y.stride:
        return ()
    zero = (0,) * LANES
    return tuple(p + sign * q for p, q in zip(x.factors or zero, y.factors or zero, strict=True))


def _multiple(value: Value) -> int:
    """A power of two that divides a scalar."""
    if value.base:
        return value.multiple
    return lowest_bit(value.known or 0) or _MOST_MULTIPLE
