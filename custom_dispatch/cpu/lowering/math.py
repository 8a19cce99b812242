"""The approximate functions `ex2`, `lg2`, `sin`, `cos` and `tanh` (PTX ISA 9.0, section 9.7.3).

Each is computed in f64 from a polynomial, with no call of a math library, so that the thread loop
can be vectorised and the code links on every CPU. Relative errors are below 1e-9 (sin and cos:
absolute, for arguments up to 1e5), so results are at least as near as the GPU's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from custom_dispatch.cpu.numbers.rounding import to_integral
from custom_dispatch.cpu.text.builder import Builder

_F64 = "f64"
_INTEGERS: Final = 1.5 * 2**52
"""A number below 2^51 that is added to this is rounded to an integer, which is then the sum's last
bits; NaN that was an f32 leaves them zero. LLVM converts vectors to integers one by one instead.
"""


def _polynomial(b: Builder, x: str, coefficients: Sequence[float]) -> str:
    """The polynomial with these coefficients, highest power first."""
    value = b.float_const(coefficients[0], _F64)
    for coefficient in coefficients[1:]:
        value = b.binary("fmul", value, x, _F64)
        value = b.binary("fadd", value, coefficient, _F64)
    return value


def _scale(b: Builder, x: str, factor: float) -> str:
    return b.binary("fmul", x, factor, _F64)


def exp2(b: Builder, x: str) -> str:
    """Two to the power of an f64 that came from an f32."""
    # 2^300 overflows f32 and 2^-300 underflows it, so clamping loses nothing; NaN passes both.
    x = b.select(b.fcmp("olt", x, -300, _F64), -300, x, _F64)
    x = b.select(b.fcmp("ogt", x, 300, _F64), 300, x, _F64)
    shifted = b.binary("fadd", x, _INTEGERS, _F64)
    part = b.binary("fsub", x, b.binary("fsub", shifted, _INTEGERS, _F64), _F64)
    taylor = [math.log(2) ** k / math.factorial(k) for k in range(11, -1, -1)]
    mantissa = _polynomial(b, part, taylor)
    exponent = b.cast("bitcast", shifted, _F64, "i64")
    exponent = b.binary("add", exponent, 1023, "i64")
    bits = b.binary("shl", exponent, 52, "i64")
    return b.binary("fmul", mantissa, b.cast("bitcast", bits, "i64", _F64), _F64)


def log2(b: Builder, x: str) -> str:
    """The binary logarithm of an f64 that came from an f32."""
    bits = b.cast("bitcast", x, _F64, "i64")
    # Exponent and mantissa split so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    exponent = b.binary("ashr", b.binary("sub", bits, 0x3FE6A09E667F3BCD, "i64"), 52, "i64")
    mantissa = b.binary("sub", bits, b.binary("shl", exponent, 52, "i64"), "i64")
    m = b.cast("bitcast", mantissa, "i64", _F64)
    s = b.binary("fdiv", b.binary("fsub", m, 1, _F64), b.binary("fadd", m, 1, _F64), _F64)
    series = [2 / math.log(2) / (2 * k + 1) for k in range(7, -1, -1)]
    square = b.binary("fmul", s, s, _F64)
    value = b.binary("fmul", s, _polynomial(b, square, series), _F64)
    narrow = b.resize(exponent, 64, 32)
    value = b.binary("fadd", value, b.cast("sitofp", narrow, "i32", _F64), _F64)
    infinity = b.cast("bitcast", b.const(0x7FF << 52, 64), "i64", _F64)
    minus_infinity = b.cast("bitcast", b.const(0xFFF << 52, 64), "i64", _F64)
    nan = b.cast("bitcast", b.const(0x7FF8 << 48, 64), "i64", _F64)
    value = b.select(b.fcmp("oeq", x, infinity, _F64), infinity, value, _F64)
    value = b.select(b.fcmp("oeq", x, 0, _F64), minus_infinity, value, _F64)
    return b.select(b.fcmp("ult", x, 0, _F64), nan, value, _F64)


def _sine(b: Builder, x: str, quarter_turns: int) -> str:
    quotient = to_integral(b, _scale(b, x, 2 / math.pi), "rni", _F64)
    # pi/2 in two parts: the first has 33 bits, so that its product with the quotient is exact.
    upper = float.fromhex("0x1.921fb544p+0")
    reduced = b.binary("fsub", x, _scale(b, quotient, upper), _F64)
    rest = math.pi / 2 - upper + 6.123233995736766e-17
    reduced = b.binary("fsub", reduced, _scale(b, quotient, rest), _F64)
    square = b.binary("fmul", reduced, reduced, _F64)
    sines = [(-1) ** k / math.factorial(2 * k + 1) for k in range(6, -1, -1)]
    cosines = [(-1) ** k / math.factorial(2 * k) for k in range(7, -1, -1)]
    sine = b.binary("fmul", reduced, _polynomial(b, square, sines), _F64)
    cosine = _polynomial(b, square, cosines)
    shifted = b.binary("fadd", quotient, _INTEGERS, _F64)
    quadrant = b.cast("bitcast", shifted, _F64, "i64")
    if quarter_turns:
        quadrant = b.binary("add", quadrant, quarter_turns, "i64")
    odd = b.resize(quadrant, 64, 1)
    value = b.select(odd, cosine, sine, _F64)
    half_turn = b.resize(b.binary("lshr", quadrant, 1, "i64"), 64, 1)
    negated = b.unary("fneg", value, _F64)
    return b.select(half_turn, negated, value, _F64)


def sin(b: Builder, x: str) -> str:
    """The sine of an f64 that came from an f32."""
    return _sine(b, x, 0)


def cos(b: Builder, x: str) -> str:
    """The cosine of an f64 that came from an f32."""
    return _sine(b, x, 1)


def tanh(b: Builder, x: str) -> str:
    """The hyperbolic tangent of an f64 that came from an f32."""
    power = exp2(b, _scale(b, x, 2 / math.log(2)))
    fraction = b.binary("fdiv", 2, b.binary("fadd", power, 1, _F64), _F64)
    value = b.binary("fsub", 1, fraction, _F64)
    # Near zero the subtraction cancels; there x - x^3/3 is exact enough, and keeps -0.
    square = b.binary("fmul", x, x, _F64)
    factor = b.binary("fsub", 1, _scale(b, square, 1 / 3), _F64)
    small = b.binary("fmul", x, factor, _F64)
    is_small = b.fcmp("olt", square, 1e-6, _F64)
    return b.select(is_small, small, value, _F64)


MATH: Final[dict[str, Callable[[Builder, str], str]]] = {
    "ex2": exp2,
    "lg2": log2,
    "sin": sin,
    "cos": cos,
    "tanh": tanh,
}
"""By opcode: from an f64 holding an f32's value to an f64."""
