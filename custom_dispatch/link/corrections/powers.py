"""Powers as IEEE 754 has them, in place of those that IREE 3.13 computes wrongly on CPUs.

IREE expands powers with a few constant exponents into products, quotients and roots. All others
become exp(y * log(x)) there: NaN for every negative base, for x^0 where x is 0 or infinite, and for
1 to an infinite power. What it expands x^-n into has the wrong sign where x is 0. Found by running.

CUDA modules get the same operations: the compiler evaluates what is constant in them on a CPU.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import as_written
from custom_dispatch.link.elementwise import Arithmetic, is_odd
from custom_dispatch.link.operations import create, integer

_EXPANDED = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
"""Constant exponents of `math.powf` with which IREE is right."""
_INTEGERS, _INTEGERS_OF_DOUBLES = (32, 2.0**24), (64, 2.0**53)
"""The width of an integer, and from where on all floats are even ones; f64 has more of them."""


def power(of: Arithmetic, base: Any, exponent: Any) -> Any | None:
    """x^y of floats; None where IREE computes it rightly by itself."""
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
