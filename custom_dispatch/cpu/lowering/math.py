"""The approximate functions `ex2`, `lg2`, `sin`, `cos` and `tanh` (PTX ISA 9.0, section 9.7.3).

Each is computed in f64 from a polynomial, with no call of a math library, so that the thread loop
can be vectorised and the code links on every CPU. Relative errors are below 1e-9 (sin and cos:
absolute, for arguments up to 1e5), so results are at least as near as the GPU's.
"""

import math
from collections.abc import Callable, Sequence
from typing import Final

from custom_dispatch.cpu.numbers.rounding import to_integral
from custom_dispatch.cpu.text.ssa_value import SsaValue

_INTEGERS: Final = 1.5 * 2**52
"""A number below 2^51 that is added to this is rounded to an integer, which is then the sum's last
bits; NaN that was an f32 leaves them zero. LLVM converts vectors to integers one by one instead.
"""


def _polynomial(x: SsaValue, coefficients: Sequence[float]) -> SsaValue:
    """The polynomial with these coefficients, highest power first."""
    value = x.b.float_const(coefficients[0], x.type)
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


def exp2(x: SsaValue) -> SsaValue:
    """Two to the power of an f64 that came from an f32."""
    # 2^300 overflows f32 and 2^-300 underflows it, so clamping loses nothing; NaN passes both.
    x = x.cmp("olt", -300).select(-300, x)
    x = x.cmp("ogt", 300).select(300, x)
    shifted = x + _INTEGERS
    part = x - (shifted - _INTEGERS)
    mantissa = _polynomial(part, [math.log(2) ** k / math.factorial(k) for k in range(11, -1, -1)])
    bits = (shifted.as_bits() + 1023) << 52
    return mantissa * bits.as_float()


def log2(x: SsaValue) -> SsaValue:
    """The binary logarithm of an f64 that came from an f32."""
    bits = x.as_bits()
    # Exponent and mantissa split so that the mantissa lies in [sqrt(1/2), sqrt(2)).
    exponent = (bits - 0x3FE6A09E667F3BCD).ashr(52)
    m = (bits - (exponent << 52)).as_float()
    s = (m - 1) / (m + 1)
    series = [2 / math.log(2) / (2 * k + 1) for k in range(7, -1, -1)]
    value = s * _polynomial(s * s, series) + exponent.resize(32).cast("sitofp", "f64")
    infinity, minus_infinity, nan = (
        x.b.const(code, 64).as_float() for code in (0x7FF << 52, 0xFFF << 52, 0x7FF8 << 48)
    )
    value = x.cmp("oeq", infinity).select(infinity, value)
    value = x.cmp("oeq", 0).select(minus_infinity, value)
    return x.cmp("ult", 0).select(nan, value)


def _sine(x: SsaValue, quarter_turns: int) -> SsaValue:
    quotient = to_integral(x * (2 / math.pi), "rni")
    # pi/2 in two parts: the first has 33 bits, so that its product with the quotient is exact.
    upper = float.fromhex("0x1.921fb544p+0")
    reduced = x - quotient * upper - quotient * (math.pi / 2 - upper + 6.123233995736766e-17)
    square = reduced * reduced
    sines = [(-1) ** k / math.factorial(2 * k + 1) for k in range(6, -1, -1)]
    cosines = [(-1) ** k / math.factorial(2 * k) for k in range(7, -1, -1)]
    sine = reduced * _polynomial(square, sines)
    cosine = _polynomial(square, cosines)
    quadrant = (quotient + _INTEGERS).as_bits()
    if quarter_turns:
        quadrant = quadrant + quarter_turns
    value = quadrant.resize(1).select(cosine, sine)
    half_turn = (quadrant >> 1).resize(1)
    return half_turn.select(-value, value)


def sin(x: SsaValue) -> SsaValue:
    """The sine of an f64 that came from an f32."""
    return _sine(x, 0)


def cos(x: SsaValue) -> SsaValue:
    """The cosine of an f64 that came from an f32."""
    return _sine(x, 1)


def tanh(x: SsaValue) -> SsaValue:
    """The hyperbolic tangent of an f64 that came from an f32."""
    power = exp2(x * (2 / math.log(2)))
    value = 1 - 2 / (power + 1)
    # Near zero the subtraction cancels; there x - x^3/3 is exact enough, and keeps -0.
    square = x * x
    small = x * (1 - square * (1 / 3))
    return square.cmp("olt", 1e-6).select(small, value)


MATH: Final[dict[str, Callable[[SsaValue], SsaValue]]] = {
    "ex2": exp2,
    "lg2": log2,
    "sin": sin,
    "cos": cos,
    "tanh": tanh,
}
"""By opcode: from an f64 holding an f32's value to an f64."""
