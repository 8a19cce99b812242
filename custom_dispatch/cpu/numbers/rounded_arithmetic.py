"""f32 and f64 operations in roundings that processors have no instruction for, in plain operations
(IEEE 754-2019, section 4.3). All are exact.

A CPU rounds to nearest, and one without a fused multiply-add cannot even do that for `fma`: IREE's
own `fma` for such CPUs rounds twice. Here a result of f64 is worked out as a number and the sign of
what it lacks. That makes its digits with one more that stands for all the rest, which integer
arithmetic rounds. One of f32 is made from an f64 result and the sign of what that lacks.

Operands are brought between 1 and 2 first, so that nothing overflows or underflows on the way.
"""

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.numbers.rounding import round_directed, two_sum
from custom_dispatch.cpu.text.ssa_value import SsaValue

_F64: Final = "f64"
_INFINITY: Final = 0x7FF << 52
_FRACTION: Final = (1 << 52) - 1
_SIGN: Final = 1 << 63
_FAR: Final = 200
"""So many powers of two apart, the smaller of two numbers only decides a rounding."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """A number as ``mantissa * 2**exponent``.

    For zero, infinity and NaN the mantissa is the number itself, and `ordinary` is false.
    """

    mantissa: SsaValue
    exponent: SsaValue
    ordinary: SsaValue


def _unpack(number: SsaValue) -> _Parts:
    magnitude = number.call("fabs")
    small = magnitude.cmp("olt", 2.0**-1000)
    scaled = number * 2.0**100
    bits = small.select(scaled, number).as_bits()
    field = bits >> 52 & 0x7FF
    exponent = field - small.select(1023 + 100, 1023, "i64")
    mantissa = (bits & (_SIGN | _FRACTION) | 1023 << 52).as_float()
    # Neither zero (nor what the hardware takes for it) nor NaN, and below infinity.
    infinity = number.b.const(_INFINITY, 64).as_float()
    ordinary = field.cmp("ne", 0) & magnitude.cmp("olt", infinity)
    return _Parts(ordinary.select(mantissa, number), exponent, ordinary)


def _power_of_two(exponent: SsaValue) -> SsaValue:
    return ((exponent + 1023) << 52).as_float()


def _two_product(x: SsaValue, y: SsaValue) -> tuple[SsaValue, SsaValue]:
    """The product of two f64, rounded, and exactly what the rounding lost."""
    product = x * y
    if x.b.processor.fused:
        product = product.call("arithmetic.fence")
        return product, x.call("fma", y, -product)
    upper_x, lower_x = _halves(x)
    upper_y, lower_y = _halves(y)
    error = upper_x * upper_y - product
    for left, right in ((upper_x, lower_y), (lower_x, upper_y), (lower_x, lower_y)):
        error = error + left * right
    return product, error


def _halves(x: SsaValue) -> tuple[SsaValue, SsaValue]:
    """A number as a sum of two with at most 27 and 26 digits."""
    # Rounding half away from zero leaves at most 26 digits for the rest.
    upper = ((x.as_bits() + (1 << 26)) & (-1 << 27)).as_float()
    return upper, x - upper


def _fma(x: SsaValue, y: SsaValue, z: SsaValue, rounding: str) -> SsaValue:
    """``x * y + z``, of f64 values, in one rounding: ``"rn"``, ``"rz"``, ``"rm"`` or ``"rp"``."""
    left, right, addend = (_unpack(value) for value in (x, y, z))
    product, product_rest = _two_product(left.mantissa, right.mantissa)
    exponent = left.exponent + right.exponent
    apart = (addend.exponent - exponent).call("smax", -_FAR).call("smin", _FAR)
    total, rest = two_sum(product, addend.mantissa * _power_of_two(apart))
    # Where the addend lies far above, what it is measured by lies as far below.
    middle, lowest = two_sum(rest, product_rest)
    total, rest = two_sum(total, middle)
    rest = rest.cmp("oeq", 0).select(lowest, rest)
    # The exponent that the sum is measured by moves along with an addend beyond the bounds.
    far = (addend.exponent - exponent - apart).call("smax", 0)
    is_zero = z.cmp("oeq", 0)
    far = is_zero.select(0, far)
    result = _assemble(total, rest, exponent + far, rounding)
    plain = left.mantissa * right.mantissa
    unlike = _is_negative(plain) ^ _is_negative(z)
    nothing = total.cmp("oeq", 0)
    # Where an operand is zero, infinite or NaN, the sum of these mantissas is the result.
    plain = plain + z
    ordinary = left.ordinary & right.ordinary
    finite = addend.ordinary | is_zero
    result = (ordinary & finite).select(result, plain)
    zero = x.b.float_const(-0.0 if rounding == "rm" else 0.0, _F64)
    return (nothing & unlike).select(zero, result)


def _divide(x: SsaValue, y: SsaValue, rounding: str) -> SsaValue:
    """``x / y`` in one rounding."""
    left, right = _unpack(x), _unpack(y)
    quotient, rest = _quotient(left.mantissa, right.mantissa)
    result = _assemble(quotient, rest, left.exponent - right.exponent, rounding)
    return (left.ordinary & right.ordinary).select(result, quotient)


def _quotient(x: SsaValue, y: SsaValue) -> tuple[SsaValue, SsaValue]:
    """A quotient, and a number with the sign of what it lacks."""
    quotient = x / y
    product, product_rest = _two_product(quotient, y)
    return quotient, (x - product - product_rest) * y


def _root(x: SsaValue) -> tuple[SsaValue, SsaValue]:
    """A root, and a number with the sign of what it lacks."""
    root = x.call("sqrt")
    product, product_rest = _two_product(root, root)
    return root, x - product - product_rest


def _square_root(x: SsaValue, rounding: str) -> SsaValue:
    """The root of a number in one rounding."""
    parts = _unpack(x)
    odd = parts.exponent & 1
    root, rest = _root(parts.mantissa * _power_of_two(odd))
    result = _assemble(root, rest, (parts.exponent - odd).ashr(1), rounding)
    positive = x.cmp("ogt", 0)
    return (parts.ordinary & positive).select(result, root)


def _is_negative(value: SsaValue) -> SsaValue:
    return value.as_bits().cmp("slt", 0)


def _assemble(total: SsaValue, rest: SsaValue, exponent: SsaValue, rounding: str) -> SsaValue:
    """``(total + rest) * 2**exponent`` as an f64, in one rounding.

    - `total`: a normal number: the sum rounded to nearest. For zero the result means nothing.
    - `rest`: only its sign counts.
    - `exponent`: an i64 of moderate size.
    """
    bits = total.as_bits()
    negative = _is_negative(total)
    field = bits >> 52 & 0x7FF
    # Three digits more, the last of which stands for all that follow.
    digits = (bits & _FRACTION | 1 << 52) << 3
    inexact = rest.cmp("une", 0)
    inwards = (rest.cmp("olt", 0) ^ negative) & inexact
    digits = (digits - inwards.resize(64)) | inexact.resize(64)
    unit = field - (1023 + 52 + 3) + exponent
    # The last digit kept is the 53rd, or that of the smallest subnormal number.
    last = (63 - 52 - digits.leading_zeros() + unit).call("smax", -1074)
    count = (last - unit).call("umin", 62)
    kept = digits >> count
    cut = digits - (kept << count)
    kept = kept + _rounds_up(kept, cut, count, negative, rounding)
    code = ((last + 1074).call("smin", 0x7FF) << 52) + kept
    infinity, largest = total.b.const(_INFINITY, 64), total.b.const(_INFINITY - 1, 64)
    if rounding == "rn":
        beyond = infinity
    elif rounding == "rz":
        beyond = largest
    else:
        outwards = (largest, infinity) if rounding == "rp" else (infinity, largest)
        beyond = negative.select(*outwards)
    code = code.cmp("uge", infinity).select(beyond, code)
    return (code | bits & _SIGN).as_float()


def _rounds_up(
    kept: SsaValue, cut: SsaValue, count: SsaValue, negative: SsaValue, rounding: str
) -> SsaValue:
    """One where the digits kept grow by one, as an i64."""
    if rounding == "rz":
        return kept.b.const(0, 64)
    if rounding == "rn":
        half = 1 << (count - 1)
        odd = kept & 1
        up = (cut + odd).cmp("ugt", half)
    else:
        up = cut.cmp("ne", 0) & (~negative if rounding == "rp" else negative)
    return up.resize(64)


def rounded_f64(base: str, values: list[SsaValue], rounding: str) -> SsaValue:
    """An f64 operation: a directed rounding, or an `fma`.

    - `base`: the opcode, of those that take a rounding.
    - `values`: its sources.
    - `rounding`: ``"rn"`` for `fma` alone, or ``"rz"``, ``"rm"``, ``"rp"``.
    """
    b = values[0].b
    if base == "div":
        return _divide(values[0], values[1], rounding)
    if base == "rcp":
        return _divide(b.float_const(1, _F64), values[0], rounding)
    if base == "sqrt":
        return _square_root(values[0], rounding)
    if base in ("fma", "mad"):
        x, y, z = values
        if rounding == "rn" and b.processor.fused:
            return x.call("fma", y, z)
    elif base == "mul":
        x, y = values
        # A zero of the product's own sign adds nothing to it.
        z = b.float_const(0, _F64).call("copysign", x * y)
    else:
        x, y, z = values[0], b.float_const(1, _F64), values[1]
        z = -z if base == "sub" else z
    return _fma(x, y, z, rounding)


def directed_f32(base: str, values: list[SsaValue], rounding: str) -> SsaValue:
    """An f32 operation rounded ``"rz"``, ``"rm"`` or ``"rp"``."""
    b = values[0].b
    wide = [value.cast("fpext", _F64) for value in values]
    if base in ("div", "rcp"):
        x, y = (wide[0], wide[1]) if base == "div" else (b.float_const(1, _F64), wide[0])
        return round_directed(*_quotient(x, y), rounding)
    if base == "sqrt":
        return round_directed(*_root(wide[0]), rounding)
    if base == "mul":  # exact in f64, here and below
        return round_directed(wide[0] * wide[1], b.float_const(0, _F64), rounding)
    if base in ("fma", "mad"):
        x, y = wide[0] * wide[1], wide[2]
    else:
        x, y = wide[0], wide[1]
        y = -y if base == "sub" else y
    total, error = two_sum(x, y)
    result = round_directed(total, error, rounding)
    if rounding != "rm":
        return result
    # Numbers that cancel out give minus zero.
    unlike = (x.as_bits() ^ y.as_bits()).cmp("slt", 0)
    return (total.cmp("oeq", 0) & unlike).select(-0.0, result)
