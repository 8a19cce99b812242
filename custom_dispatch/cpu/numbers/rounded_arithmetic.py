"""f32 and f64 operations in roundings that processors have no instruction for, in plain operations
(IEEE 754-2019, section 4.3). All are exact.

A CPU rounds to nearest, and one without a fused multiply-add cannot even do that for `fma`: IREE's
own `fma` for such CPUs rounds twice. Here a result of f64 is worked out as a number and the sign of
what it lacks. That makes its digits with one more that stands for all the rest, which integer
arithmetic rounds. One of f32 is made from an f64 result and the sign of what that lacks.

Operands are brought between 1 and 2 first, so that nothing overflows or underflows on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.numbers.rounding import round_directed, two_sum
from custom_dispatch.cpu.text.builder import Builder

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

    number: str
    mantissa: str
    exponent: str
    ordinary: str


def _unpack(b: Builder, number: str) -> _Parts:
    magnitude = b.call_intrinsic("llvm.fabs", [number], _F64)
    small = b.fcmp("olt", magnitude, 2.0**-1000, _F64)
    scaled = b.binary("fmul", number, 2.0**100, _F64)
    bits = b.cast("bitcast", b.select(small, scaled, number, _F64), _F64, "i64")
    field = b.binary("lshr", bits, 52, "i64")
    field = b.binary("and", field, 0x7FF, "i64")
    lost = b.select(small, 1023 + 100, 1023, "i64")
    exponent = b.binary("sub", field, lost, "i64")
    mantissa = b.binary("and", bits, _SIGN | _FRACTION, "i64")
    mantissa = b.binary("or", mantissa, 1023 << 52, "i64")
    mantissa = b.cast("bitcast", mantissa, "i64", _F64)
    # Neither zero (nor what the hardware takes for it) nor NaN, and below infinity.
    infinity = b.cast("bitcast", b.const(_INFINITY, 64), "i64", _F64)
    nonzero = b.icmp("ne", field, 0, "i64")
    ordinary = b.binary("and", nonzero, b.fcmp("olt", magnitude, infinity, _F64), "i1")
    return _Parts(number, b.select(ordinary, mantissa, number, _F64), exponent, ordinary)


def _power_of_two(b: Builder, exponent: str) -> str:
    bits = b.binary("add", exponent, 1023, "i64")
    return b.cast("bitcast", b.binary("shl", bits, 52, "i64"), "i64", _F64)


def _two_product(b: Builder, x: str, y: str, *, fused: bool) -> tuple[str, str]:
    """The product of two f64, rounded, and exactly what the rounding lost."""
    product = b.binary("fmul", x, y, _F64)
    if fused:
        product = b.call_intrinsic("llvm.arithmetic.fence", [product], _F64)
        negated = b.unary("fneg", product, _F64)
        return product, b.call_intrinsic("llvm.fma", [x, y, negated], _F64)
    upper_x, lower_x = _halves(b, x)
    upper_y, lower_y = _halves(b, y)
    error = b.binary("fsub", b.binary("fmul", upper_x, upper_y, _F64), product, _F64)
    for left, right in ((upper_x, lower_y), (lower_x, upper_y), (lower_x, lower_y)):
        error = b.binary("fadd", error, b.binary("fmul", left, right, _F64), _F64)
    return product, error


def _halves(b: Builder, x: str) -> tuple[str, str]:
    """A number as a sum of two with at most 27 and 26 digits."""
    bits = b.cast("bitcast", x, _F64, "i64")
    # Rounding half away from zero leaves at most 26 digits for the rest.
    bits = b.binary("add", bits, 1 << 26, "i64")
    upper = b.cast("bitcast", b.binary("and", bits, -1 << 27, "i64"), "i64", _F64)
    return upper, b.binary("fsub", x, upper, _F64)


def _fma(b: Builder, x: str, y: str, z: str, rounding: str, *, fused: bool) -> str:
    """``x * y + z`` in one rounding.

    Parameters
    ----------
    x, y, z
        f64 values.
    rounding
        ``"rn"``, ``"rz"``, ``"rm"`` or ``"rp"``.
    fused
        Whether the processor has an instruction for it, rounding to nearest.
    """
    left, right, addend = (_unpack(b, value) for value in (x, y, z))
    product, product_rest = _two_product(b, left.mantissa, right.mantissa, fused=fused)
    exponent = b.binary("add", left.exponent, right.exponent, "i64")
    apart = b.binary("sub", addend.exponent, exponent, "i64")
    for name, bound in (("llvm.smax", -_FAR), ("llvm.smin", _FAR)):
        apart = b.call_intrinsic(name, [apart, bound], "i64")
    moved = b.binary("fmul", addend.mantissa, _power_of_two(b, apart), _F64)
    total, rest = two_sum(b, product, moved)
    # Where the addend lies far above, what it is measured by lies as far below.
    middle, lowest = two_sum(b, rest, product_rest)
    total, rest = two_sum(b, total, middle)
    exact = b.fcmp("oeq", rest, 0, _F64)
    rest = b.select(exact, lowest, rest, _F64)
    # The exponent that the sum is measured by moves along with an addend beyond the bounds.
    far = b.binary("sub", b.binary("sub", addend.exponent, exponent, "i64"), apart, "i64")
    far = b.call_intrinsic("llvm.smax", [far, 0], "i64")
    is_zero = b.fcmp("oeq", z, 0, _F64)
    far = b.select(is_zero, 0, far, "i64")
    result = _assemble(b, total, rest, b.binary("add", exponent, far, "i64"), rounding)
    plain = b.binary("fmul", left.mantissa, right.mantissa, _F64)
    negative_product = _is_negative(b, plain)
    unlike = b.binary("xor", negative_product, _is_negative(b, z), "i1")
    nothing = b.fcmp("oeq", total, 0, _F64)
    # Where an operand is zero, infinite or NaN, the sum of these mantissas is the result.
    plain = b.binary("fadd", plain, z, _F64)
    ordinary = b.binary("and", left.ordinary, right.ordinary, "i1")
    finite = b.binary("or", addend.ordinary, is_zero, "i1")
    result = b.select(b.binary("and", ordinary, finite, "i1"), result, plain, _F64)
    zero = b.float_const(-0.0 if rounding == "rm" else 0.0, _F64)
    return b.select(b.binary("and", nothing, unlike, "i1"), zero, result, _F64)


def _divide(b: Builder, x: str, y: str, rounding: str, *, fused: bool) -> str:
    """``x / y`` in one rounding; the parameters are those of `_fma`."""
    left, right = _unpack(b, x), _unpack(b, y)
    quotient, rest = _quotient(b, left.mantissa, right.mantissa, fused=fused)
    exponent = b.binary("sub", left.exponent, right.exponent, "i64")
    result = _assemble(b, quotient, rest, exponent, rounding)
    ordinary = b.binary("and", left.ordinary, right.ordinary, "i1")
    return b.select(ordinary, result, quotient, _F64)


def _quotient(b: Builder, x: str, y: str, *, fused: bool) -> tuple[str, str]:
    """A quotient, and a number with the sign of what it lacks."""
    quotient = b.binary("fdiv", x, y, _F64)
    product, product_rest = _two_product(b, quotient, y, fused=fused)
    rest = b.binary("fsub", b.binary("fsub", x, product, _F64), product_rest, _F64)
    return quotient, b.binary("fmul", rest, y, _F64)


def _root(b: Builder, x: str, *, fused: bool) -> tuple[str, str]:
    """A root, and a number with the sign of what it lacks."""
    root = b.call_intrinsic("llvm.sqrt", [x], _F64)
    product, product_rest = _two_product(b, root, root, fused=fused)
    return root, b.binary("fsub", b.binary("fsub", x, product, _F64), product_rest, _F64)


def _square_root(b: Builder, x: str, rounding: str, *, fused: bool) -> str:
    """The root of a number in one rounding; the parameters are those of `_fma`."""
    parts = _unpack(b, x)
    odd = b.binary("and", parts.exponent, 1, "i64")
    factor = _power_of_two(b, odd)
    square = b.binary("fmul", parts.mantissa, factor, _F64)
    root, rest = _root(b, square, fused=fused)
    exponent = b.binary("ashr", b.binary("sub", parts.exponent, odd, "i64"), 1, "i64")
    result = _assemble(b, root, rest, exponent, rounding)
    positive = b.fcmp("ogt", x, 0, _F64)
    return b.select(b.binary("and", parts.ordinary, positive, "i1"), result, root, _F64)


def _is_negative(b: Builder, value: str) -> str:
    return b.icmp("slt", b.cast("bitcast", value, _F64, "i64"), 0, "i64")


def _assemble(b: Builder, total: str, rest: str, exponent: str, rounding: str) -> str:
    """``(total + rest) * 2**exponent`` as an f64, in one rounding.

    Parameters
    ----------
    total
        A normal number: the sum rounded to nearest. For zero the result means nothing.
    rest
        Only its sign counts.
    exponent
        An i64 of moderate size.
    """
    bits = b.cast("bitcast", total, _F64, "i64")
    negative = _is_negative(b, total)
    field = b.binary("lshr", bits, 52, "i64")
    field = b.binary("and", field, 0x7FF, "i64")
    digits = b.binary("and", bits, _FRACTION, "i64")
    digits = b.binary("or", digits, 1 << 52, "i64")
    # Three digits more, the last of which stands for all that follow.
    digits = b.binary("shl", digits, 3, "i64")
    inexact = b.fcmp("une", rest, 0, _F64)
    inwards = b.binary("xor", b.fcmp("olt", rest, 0, _F64), negative, "i1")
    inwards = b.binary("and", inwards, inexact, "i1")
    digits = b.binary("sub", digits, b.resize(inwards, 1, 64), "i64")
    digits = b.binary("or", digits, b.resize(inexact, 1, 64), "i64")
    unit = b.binary("sub", field, 1023 + 52 + 3, "i64")
    unit = b.binary("add", unit, exponent, "i64")
    # The last digit kept is the 53rd, or that of the smallest subnormal number.
    zeros = b.call_intrinsic("llvm.ctlz", [digits, 0], "i64", ["i64", "i1"])
    last = b.binary("add", b.binary("sub", 63 - 52, zeros, "i64"), unit, "i64")
    last = b.call_intrinsic("llvm.smax", [last, -1074], "i64")
    count = b.binary("sub", last, unit, "i64")
    count = b.call_intrinsic("llvm.umin", [count, 62], "i64")
    kept = b.binary("lshr", digits, count, "i64")
    cut = b.binary("sub", digits, b.binary("shl", kept, count, "i64"), "i64")
    kept = b.binary("add", kept, _rounds_up(b, kept, cut, count, negative, rounding), "i64")
    last = b.binary("add", last, 1074, "i64")
    last = b.call_intrinsic("llvm.smin", [last, 0x7FF], "i64")
    code = b.binary("add", b.binary("shl", last, 52, "i64"), kept, "i64")
    infinity, largest = b.const(_INFINITY, 64), b.const(_INFINITY - 1, 64)
    if rounding == "rn":
        beyond = infinity
    elif rounding == "rz":
        beyond = largest
    else:
        outwards = (largest, infinity) if rounding == "rp" else (infinity, largest)
        beyond = b.select(negative, *outwards, "i64")
    code = b.select(b.icmp("uge", code, infinity, "i64"), beyond, code, "i64")
    sign = b.binary("and", bits, _SIGN, "i64")
    return b.cast("bitcast", b.binary("or", code, sign, "i64"), "i64", _F64)


def _rounds_up(b: Builder, kept: str, cut: str, count: str, negative: str, rounding: str) -> str:
    """One where the digits kept grow by one, as an i64."""
    if rounding == "rz":
        return b.const(0, 64)
    if rounding == "rn":
        half = b.binary("shl", 1, b.binary("sub", count, 1, "i64"), "i64")
        odd = b.binary("and", kept, 1, "i64")
        up = b.icmp("ugt", b.binary("add", cut, odd, "i64"), half, "i64")
    else:
        up = b.icmp("ne", cut, 0, "i64")
        if rounding == "rp":
            up = b.binary("and", up, b.binary("xor", negative, 1, "i1"), "i1")
        else:
            up = b.binary("and", up, negative, "i1")
    return b.resize(up, 1, 64)


ROUNDED: Final = frozenset({"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"})
"""The instructions that take a rounding."""


def rounded_f64(b: Builder, base: str, values: list[str], rounding: str, *, fused: bool) -> str:
    """An f64 operation: a directed rounding, or an `fma`.

    Parameters
    ----------
    base
        One of `ROUNDED`.
    values
        Its sources.
    rounding
        ``"rn"`` for `fma` alone, or ``"rz"``, ``"rm"``, ``"rp"``.
    fused
        Whether the processor has an `fma` to nearest.
    """
    if base == "div":
        return _divide(b, values[0], values[1], rounding, fused=fused)
    if base == "rcp":
        return _divide(b, b.float_const(1, _F64), values[0], rounding, fused=fused)
    if base == "sqrt":
        return _square_root(b, values[0], rounding, fused=fused)
    if base in ("fma", "mad"):
        x, y, z = values
        if rounding == "rn" and fused:
            return b.call_intrinsic("llvm.fma", [x, y, z], _F64)
    elif base == "mul":
        x, y = values
        # A zero of the product's own sign adds nothing to it.
        arguments = [b.float_const(0, _F64), b.binary("fmul", x, y, _F64)]
        z = b.call_intrinsic("llvm.copysign", arguments, _F64)
    else:
        x, y, z = values[0], b.float_const(1, _F64), values[1]
        z = b.unary("fneg", z, _F64) if base == "sub" else z
    return _fma(b, x, y, z, rounding, fused=fused)


def directed_f32(b: Builder, base: str, values: list[str], rounding: str) -> str:
    """An f32 operation rounded ``"rz"``, ``"rm"`` or ``"rp"``."""
    wide = [b.cast("fpext", value, "f32", _F64) for value in values]
    if base in ("div", "rcp"):
        x, y = (wide[0], wide[1]) if base == "div" else (b.float_const(1, _F64), wide[0])
        return round_directed(b, *_quotient(b, x, y, fused=b.processor.fused), rounding)
    if base == "sqrt":
        return round_directed(b, *_root(b, wide[0], fused=b.processor.fused), rounding)
    if base == "mul":  # exact in f64, here and below
        total = b.binary("fmul", wide[0], wide[1], _F64)
        return round_directed(b, total, b.float_const(0, _F64), rounding)
    if base in ("fma", "mad"):
        x, y = b.binary("fmul", wide[0], wide[1], _F64), wide[2]
    else:
        x, y = wide[0], wide[1]
        y = b.unary("fneg", y, _F64) if base == "sub" else y
    total, error = two_sum(b, x, y)
    result = round_directed(b, total, error, rounding)
    if rounding != "rm":
        return result
    # Numbers that cancel out give minus zero.
    signs = [b.cast("bitcast", term, _F64, "i64") for term in (x, y)]
    unlike = b.icmp("slt", b.binary("xor", signs[0], signs[1], "i64"), 0, "i64")
    cancelled = b.fcmp("oeq", total, 0, _F64)
    cancelled = b.binary("and", cancelled, unlike, "i1")
    return b.select(cancelled, -0.0, result, "f32")
