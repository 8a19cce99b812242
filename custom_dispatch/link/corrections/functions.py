"""Functions of numbers that IREE 3.13 computes wrongly, in operations that it computes rightly.

Its sine and cosine subtract multiples of pi/2 in f32, on CPUs and GPUs: 3e-3 off at 60,000. Others
overflow or cancel where their results do neither. Found by running.
"""

from __future__ import annotations

import math
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.elementwise import Arithmetic, is_odd
from custom_dispatch.link.operations import create, integer

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
