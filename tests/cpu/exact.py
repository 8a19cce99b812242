"""Binary floating-point arithmetic on Python's fractions: exact, then rounded once.

It is what the CPU target's instructions are compared with, and shares nothing with it: no hardware
arithmetic, no bit tricks. Numbers are codes: the bits of a number as an int.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Number = Fraction | float
"""A finite number as a fraction; an infinity or NaN as a float."""


@dataclass(frozen=True)
class Format:
    """A floating-point format of IEEE 754's make.

    Attributes
    ----------
    name
        As PTX calls it.
    bits, digits
        Of the whole, and of the fraction behind the leading one.
    finite_only
        e4m3: no infinities, and one NaN of each sign.
    """

    name: str
    bits: int
    digits: int
    finite_only: bool = False

    @property
    def sign(self) -> int:
        return 1 << (self.bits - 1)

    @property
    def bias(self) -> int:
        return (1 << (self.bits - 2 - self.digits)) - 1

    @property
    def infinity(self) -> int:
        return (self.sign - 1) >> self.digits << self.digits

    @property
    def largest(self) -> int:
        return self.sign - 2 if self.finite_only else self.infinity - 1

    @property
    def nan(self) -> int:
        return self.sign - 1

    @property
    def smallest_normal(self) -> int:
        return 1 << self.digits

    def is_nan(self, code: int) -> bool:
        magnitude = code & (self.sign - 1)
        return magnitude == self.nan if self.finite_only else magnitude > self.infinity

    def is_negative(self, code: int) -> bool:
        return bool(code & self.sign)

    def is_subnormal(self, code: int) -> bool:
        return 0 < code & (self.sign - 1) < self.smallest_normal

    def flushed(self, code: int) -> int:
        """The code, or zero of the same sign for a subnormal number."""
        return code & self.sign if self.is_subnormal(code) else code

    def decode(self, code: int) -> Number:
        """The number with this code."""
        if self.is_nan(code):
            return math.nan
        sign = -1 if self.is_negative(code) else 1
        magnitude = code & (self.sign - 1)
        if magnitude >= self.infinity and not self.finite_only:
            return sign * math.inf
        exponent, fraction = magnitude >> self.digits, magnitude & (self.smallest_normal - 1)
        if exponent:
            fraction |= self.smallest_normal
        return (
            sign * Fraction(fraction) * Fraction(2) ** (max(exponent, 1) - self.bias - self.digits)
        )

    def encode(self, value: Number, rounding: str = "rn", *, negative_zero: bool = False) -> int:
        """The code of a number rounded ``rn``, ``rna``, ``rz``, ``rm`` or ``rp``."""
        if isinstance(value, float):
            if math.isnan(value):
                return self.nan
            return self.infinity | (self.sign if value < 0 else 0)
        if value == 0:
            return self.sign if negative_zero else 0
        sign = self.sign if value < 0 else 0
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        exponent = max(exponent, 1 - self.bias)
        units = magnitude / Fraction(2) ** (exponent - self.digits)
        whole, rest = units.numerator // units.denominator, units - math.floor(units)
        code = ((exponent + self.bias - 1) << self.digits) + whole
        half = Fraction(1, 2)
        up = {
            "rn": rest > half or (rest == half and code & 1 == 1),
            "rna": rest >= half,
            "rz": False,
            "rm": sign != 0 and rest > 0,
            "rp": sign == 0 and rest > 0,
        }[rounding]
        code += up
        if code > self.largest:
            to_largest = rounding == "rz" or (rounding == "rm") == (sign == 0)
            code = self.largest if to_largest and rounding not in ("rn", "rna") else self.infinity
        return code | sign


F16 = Format("f16", 16, 10)
BF16 = Format("bf16", 16, 7)
F32 = Format("f32", 32, 23)
F64 = Format("f64", 64, 52)
E4M3 = Format("e4m3", 8, 3, finite_only=True)
E5M2 = Format("e5m2", 8, 2)
FORMATS = {f.name: f for f in (F16, BF16, F32, F64, E4M3, E5M2)}


def _special(*values: Number) -> list[float] | None:
    """The numbers as floats if one is no finite number; finite ones keep their sign only."""
    if all(isinstance(value, Fraction) for value in values):
        return None
    return [v if isinstance(v, float) else float((v > 0) - (v < 0)) for v in values]


def add(f: Format, rounding: str, a: int, b: int) -> int:
    x, y = f.decode(a), f.decode(b)
    special = _special(x, y)
    if special:
        return f.encode(special[0] + special[1])
    negative = f.is_negative(a) if f.is_negative(a) == f.is_negative(b) else rounding == "rm"
    return f.encode(x + y, rounding, negative_zero=negative)


def subtract(f: Format, rounding: str, a: int, b: int) -> int:
    return add(f, rounding, a, b ^ f.sign)


def multiply(f: Format, rounding: str, a: int, b: int) -> int:
    x, y = f.decode(a), f.decode(b)
    special = _special(x, y)
    if special:
        return f.encode(special[0] * special[1])
    return f.encode(x * y, rounding, negative_zero=f.is_negative(a) != f.is_negative(b))


def fma(f: Format, rounding: str, a: int, b: int, c: int) -> int:
    x, y, z = f.decode(a), f.decode(b), f.decode(c)
    special = _special(x, y, z)
    if special:
        product = special[0] * special[1]
        return f.encode(product + special[2])
    negative = f.is_negative(a) != f.is_negative(b)
    zero = f.is_negative(c) if negative == f.is_negative(c) else rounding == "rm"
    return f.encode(x * y + z, rounding, negative_zero=zero)


def divide(f: Format, rounding: str, a: int, b: int) -> int:
    x, y = f.decode(a), f.decode(b)
    negative = f.is_negative(a) != f.is_negative(b)
    if isinstance(y, Fraction) and y == 0:
        nan = x == 0 or (isinstance(x, float) and math.isnan(x))
        return f.encode(math.nan if nan else -math.inf if negative else math.inf)
    special = _special(x, y)
    if special:
        if isinstance(y, float) and math.isinf(y) and isinstance(x, Fraction):
            return f.encode(Fraction(0), negative_zero=negative)
        return f.encode(special[0] / special[1])
    return f.encode(x / y, rounding, negative_zero=negative)


def square_root(f: Format, rounding: str, a: int) -> int:
    x = f.decode(a)
    if isinstance(x, float):
        return f.encode(math.nan if x < 0 else x)
    if x < 0:
        return f.nan
    if x == 0:
        return a
    scaled = x * 4 ** (f.bias + 2 * f.digits)
    whole = scaled.numerator // scaled.denominator
    root = math.isqrt(whole)
    exact = Fraction(root) if root * root == scaled else Fraction(2 * root + 1, 2)
    return f.encode(exact / 2 ** (f.bias + 2 * f.digits), rounding)


def reciprocal(f: Format, rounding: str, a: int) -> int:
    return divide(f, rounding, f.encode(Fraction(1)), a)


def least(f: Format, a: int, b: int) -> int:
    """The smaller; NaN only if both are, and -0 is below +0."""
    if f.is_nan(a) or f.is_nan(b):
        return b if f.is_nan(a) else a
    x, y = f.decode(a), f.decode(b)
    return a if x < y or (x == y and f.is_negative(a)) else b


def greatest(f: Format, a: int, b: int) -> int:
    """The larger; NaN only if both are, and +0 is above -0."""
    if f.is_nan(a) or f.is_nan(b):
        return b if f.is_nan(a) else a
    return b if least(f, a, b) == a else a


def nan_wins(operation: Callable[..., int]) -> Callable[..., int]:
    """`least` or `greatest` where a NaN among the operands is the result."""
    return lambda f, a, b: f.nan if f.is_nan(a) or f.is_nan(b) else operation(f, a, b)


def saturated(f: Format, code: int) -> int:
    """Clamped to [0, 1], NaN to zero."""
    x = f.decode(code)
    if f.is_nan(code) or x <= 0:
        return 0
    return f.encode(Fraction(1)) if x > 1 else code


def relu(f: Format, code: int) -> int:
    """Negative numbers as zero; NaN stays NaN."""
    return 0 if f.is_negative(code) and not f.is_nan(code) else code


def ulps(f: Format, a: int, b: int) -> float:
    """How many numbers of the format two codes are apart; 0 for two NaNs."""
    if f.is_nan(a) or f.is_nan(b):
        return 0 if f.is_nan(a) and f.is_nan(b) else math.inf

    def rank(code: int) -> int:
        return -(code & (f.sign - 1)) if f.is_negative(code) else code

    return abs(rank(a) - rank(b))
