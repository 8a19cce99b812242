"""Functions of numbers that IREE 3.13 computes wrongly, in operations that it computes rightly.

Its sine and cosine subtract multiples of pi/2 in f32, on CPUs and GPUs: 3e-3 off at 60,000. Others
overflow or cancel where their results do neither. Found by running.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import as_written
from custom_dispatch.link.elementwise import Arithmetic, is_odd, over_elements
from custom_dispatch.link.operations import EQUAL, compare_integers, create, integer

_QUARTER = (1.5707962512969971, 7.549789415861596e-08, 5.390302858158119e-15)
"""Their sum is pi/2; the first two have 24 bits, so products with integers of 29 are exact."""
_TURNS = 2.0**29
"""Angles from here on are NaN: in f32 they are further apart than a turn."""
_TO_INTEGER = 1.5 * 2.0**52
"""Added to an f64 and taken away again, it leaves the nearest integer."""
_TERMS = 7
"""Of Taylor's series: what is left out is under 1e-11 up to pi/4."""
_LARGE = 2.0**30
"""From here on, x^2 + 1 is x^2 in f32 and f64."""


def sine(of: Arithmetic, x: Any) -> Any:
    """sin(x) of an f32."""
    return of.compute("arith.truncf", _sine_and_cosine(x)[0])


def cosine(of: Arithmetic, x: Any) -> Any:
    """cos(x) of an f32."""
    return of.compute("arith.truncf", _sine_and_cosine(x)[1])


def tangent(of: Arithmetic, x: Any) -> Any:
    """tan(x) of an f32."""
    return of.compute("arith.truncf", Arithmetic(ir.F64Type.get()).divide(*_sine_and_cosine(x)))


def _sine_and_cosine(x: Any) -> tuple[Any, Any]:
    of = Arithmetic(ir.F64Type.get())
    angle = of.compute("arith.extf", x)
    is_near = of.less(of.compute("math.absf", angle), of.constant(_TURNS))
    angle = of.select(is_near, angle, of.constant(float("nan")))
    shifted = of.add(of.multiply(angle, of.constant(2 / math.pi)), of.constant(_TO_INTEGER))
    quarters = of.subtract(shifted, of.constant(_TO_INTEGER))
    for part in _QUARTER:
        angle = of.subtract(angle, of.multiply(quarters, of.constant(part)))
    square = of.multiply(angle, angle)
    factors = [(-1) ** (n // 2) / math.factorial(n) for n in range(2 * _TERMS)]
    along = of.multiply(angle, _polynomial(of, factors[1::2], square))
    across = _polynomial(of, factors[::2], square)
    bits = create("arith.bitcast", ir.IntegerType.get_signless(64), shifted)

    def turned(by: int) -> Any:
        quarter = create("arith.addi", bits.type, bits, integer(by, bits.type))
        is_opposite = is_odd(create("arith.shrui", bits.type, quarter, integer(1, bits.type)))
        number = of.select(is_odd(quarter), across, along)
        return of.select(is_opposite, of.compute("arith.negf", number), number)

    return turned(0), turned(1)


def _polynomial(of: Arithmetic, factors: list[float], x: Any) -> Any:
    total = of.constant(factors[-1])
    for factor in factors[-2::-1]:
        total = of.add(of.multiply(total, x), of.constant(factor))
    return total


def area_sine(of: Arithmetic, x: Any) -> Any:
    """asinh(x): log(1 + |x| + x^2 / (1 + sqrt(x^2 + 1)))."""
    one, size = of.constant(1.0), of.compute("math.absf", x)
    square = of.multiply(size, size)
    root = of.compute("math.sqrt", of.add(square, one))
    more = of.add(size, of.divide(square, of.add(root, one)))
    return of.compute("math.copysign", _log_of_one_and(of, more, size), x)


def area_cosine(of: Arithmetic, x: Any) -> Any:
    """acosh(x): log(1 + t + sqrt(t (t + 2))), where t is x - 1; NaN below 1."""
    above = of.subtract(x, of.constant(1.0))
    square = of.multiply(above, of.add(above, of.constant(2.0)))
    result = _log_of_one_and(of, of.add(above, of.compute("math.sqrt", square)), x)
    is_less = of.less(x, of.constant(1.0))
    return of.select(is_less, of.constant(float("nan")), result)


def _log_of_one_and(of: Arithmetic, more: Any, size: Any) -> Any:
    """log(1 + more), and log(2 size) where that is the same, though `more` overflows."""
    double = of.add(of.compute("math.log", size), of.constant(math.log(2)))
    is_large = of.less(of.constant(_LARGE), size)
    return of.select(is_large, double, of.compute("math.log1p", more))


def angle_of(of: Arithmetic, y: Any, x: Any) -> Any:
    """atan2(y, x), also of zeros and infinities."""
    one, zero = of.constant(1.0), of.constant(0.0)
    height, width = of.compute("math.absf", y), of.compute("math.absf", x)
    is_steep = of.less(width, height)
    small, large = of.select(is_steep, width, height), of.select(is_steep, height, width)
    slope = of.select(of.equal(small, large), one, of.divide(small, large))
    slope = of.select(of.equal(of.add(small, large), zero), zero, slope)
    angle = of.compute("math.atan", slope)
    angle = of.select(is_steep, of.subtract(of.constant(math.pi / 2), angle), angle)
    is_left = of.less(of.compute("math.copysign", one, x), zero)
    angle = of.select(is_left, of.subtract(of.constant(math.pi), angle), angle)
    return of.compute("math.copysign", angle, y)


def floor_of_quotient(of: Arithmetic, x: Any, y: Any) -> Any:
    """The floor of x / y, not of x / y rounded; NaN of an infinite x, but for y = 0."""
    zero = of.constant(0.0)
    quotient = of.divide(x, y)
    whole = of.compute("math.floor", quotient)
    rest = of.compute("math.fma", of.compute("arith.negf", whole), y, x)
    rest = of.select(of.equal(whole, zero), x, rest)  # y may be infinite
    is_beyond = of.either(
        of.both(of.less(rest, zero), of.less(zero, y)),
        of.both(of.less(zero, rest), of.less(y, zero)),
    )
    whole = of.select(is_beyond, of.subtract(whole, of.constant(1.0)), whole)
    is_infinite = of.equal(of.compute("math.absf", x), of.constant(math.inf))
    has_none = of.both(is_infinite, of.unequal(y, zero))
    return of.select(has_none, of.constant(math.nan), whole)


_EXPANDED = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
"""Constant exponents of `math.powf` with which IREE is right."""
_INTEGERS, _INTEGERS_OF_DOUBLES = (32, 2.0**24), (64, 2.0**53)
"""The width of an integer, and from where on all floats are even ones; f64 has more of them."""


def power(of: Arithmetic, base: Any, exponent: Any) -> Any | None:
    """x^y of floats; None where IREE computes it rightly by itself.

    IREE expands powers with a few constant exponents into products, quotients and roots. All others
    become exp(y * log(x)) there: NaN for every negative base, for x^0 where x is 0 or infinite, and
    for 1 to an infinite power. What it expands x^-n into has the wrong sign where x is 0. Found by
    running.

    CUDA modules get the same operations: the compiler evaluates what is constant in them on a CPU.
    """
    return None if as_written(exponent) in _EXPANDED else _power(of, base, exponent)


def integer_power(of: Arithmetic, base: Any, exponent: Any) -> Any | None:
    """x^n of a float and an integer; None where IREE computes it rightly by itself."""
    constant = as_written(exponent)
    if constant is None:
        return _signed_power(of, base, of.compute("arith.sitofp", exponent), is_odd(exponent))
    return None if constant >= 0 else _reciprocal(of, base, exponent.type, -int(constant))


def _power(of: Arithmetic, base: Any, exponent: Any) -> Any:
    """x^y of floats: |x|^y with the sign of x where y is odd; NaN of x < 0 where it is no integer.

    An infinite x < 0 has a power all the same, and an infinite y counts as an even integer.
    """
    # Converted to an integer and back, since IREE links no `floor` for x86-64 without SSE4.1.
    bits, limit = _INTEGERS_OF_DOUBLES if of.kind == ir.F64Type.get() else _INTEGERS
    is_small = of.less(of.compute("math.absf", exponent), of.constant(limit))
    small = of.select(is_small, exponent, of.constant(0.0))
    integer = create("arith.fptosi", ir.IntegerType.get_signless(bits), small)
    is_fraction = of.unequal(of.compute("arith.sitofp", integer), small)
    power = _signed_power(of, base, exponent, is_odd(integer))
    is_no_integer = of.either(is_fraction, of.unequal(exponent, exponent))
    is_finite = of.unequal(of.compute("math.absf", base), of.constant(float("inf")))
    is_negative = of.both(of.less(base, of.constant(0.0)), is_finite)
    return of.select(of.both(is_no_integer, is_negative), of.constant(float("nan")), power)


def _reciprocal(of: Arithmetic, base: Any, kind: ir.Type, exponent: int) -> Any:
    """1 / x^n for a constant n > 0, which is an integer of the type given."""
    number = integer(exponent, kind)
    power = of.compute("math.fpowi", base, number)
    return of.compute("arith.divf", of.constant(1.0), power)


def _signed_power(of: Arithmetic, base: Any, exponent: Any, has_sign: Any) -> Any:
    """|x|^y, with the sign of x where y is odd. It is 1 where |x| is 1 or y 0, even with NaN."""
    one = of.constant(1.0)
    magnitude = of.compute("math.absf", base)
    is_one = of.either(of.equal(magnitude, one), of.equal(exponent, of.constant(0.0)))
    power = of.select(is_one, one, of.compute("math.powf", magnitude, exponent))
    return of.select(has_sign, of.compute("math.copysign", power, base), power)


DIVISIONS = tuple(
    f"arith.{name}"
    for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
)


def divide_safely(op: ir.Operation) -> None:
    """Divide by one where there is no quotient, and give the result that is promised.

    A quotient by zero is -1, all bits ones, and the remainder the dividend: what RISC-V and XLA
    have. The smallest integer by -1 is itself, and the remainder 0.
    """
    is_tensor = isinstance(op.result.type, ir.RankedTensorType)
    kind = op.result.type.element_type if is_tensor else op.result.type
    if not isinstance(kind, ir.IntegerType) or as_written(op.operands[1]) not in (None, 0, -1):
        return
    if is_tensor:
        with ir.InsertionPoint(op), op.location:
            op = over_elements(op).operation
    dividend, divisor = op.operands
    with ir.InsertionPoint(op), op.location:
        is_zero = has_none = _equal(divisor, 0)
        if "ui" not in op.name:
            is_least = _equal(dividend, -(2 ** (kind.width - 1)))
            overflows = create("arith.andi", is_zero.type, is_least, _equal(divisor, -1))
            has_none = create("arith.ori", is_zero.type, is_zero, overflows)
        op.operands[1] = create("arith.select", kind, has_none, integer(1, kind), divisor)
    with ir.InsertionPoint.after(op), op.location:
        promised = dividend if "rem" in op.name else integer(-1, kind)
        result = create("arith.select", kind, is_zero, promised, op.result)
        op.result.replace_all_uses_except(result, result.owner.operation)


def _equal(number: Any, other: int) -> Any:
    return compare_integers(EQUAL, number, integer(other, number.type))
