"""Rounding to narrower floating-point types, and widening those of 16 and 8 bits.

The 16-bit types are converted with integer arithmetic where the processor has no instruction for
it: the routines that IREE links then flush subnormal f16 numbers. Where the hardware is left to
flush those of f32 and f64 (`numbers/subnormals.py`), every number here but a bf16 stays
clear of them. Of the 8-bit types (PTX ISA 9.0, section 5.2.3, "Alternate Floating-Point Data
Formats") e5m2 is the upper half of an f16; e4m3 has no infinity and one NaN, and reaches 448.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.text.builder import Builder, int_type


@dataclass(frozen=True, slots=True)
class _Format:
    """A floating-point format."""

    bits: int
    """All of them."""
    digits: int
    """Those of the fraction."""
    bias: int
    """What the exponent is stored with."""
    most: int
    """The bits of what a number becomes that is too large."""


_FORMATS: Final = {
    "f16": _Format(16, 10, 15, 0x7C00),
    "e4m3": _Format(8, 3, 7, 0x7E),
    "e5m2": _Format(8, 2, 15, 0x7B),
}
BYTES: Final = ("e4m3", "e5m2")
"""The types of 8 bits."""


def widen(b: Builder, bits: str, element: str) -> str:
    """The bits of an f16, a bf16 or one of `BYTES`, as f32; exact."""
    if element in BYTES:
        return _widen_byte(b, bits, element)
    wide = b.resize(bits, 16, 32)
    if element == "bf16":
        shifted = b.binary("shl", wide, 16)
        return b.cast("bitcast", shifted, "i32", "f32")
    if b.processor.halves:
        return b.cast("fpext", b.cast("bitcast", bits, "i16", "f16"), "f16", "f32")
    magnitude = b.binary("and", wide, 0x7FFF)
    shifted = b.binary("shl", magnitude, 13)
    normal = b.binary("add", shifted, 112 << 23)
    special = b.binary("add", shifted, 224 << 23)
    # A subnormal f16 is put behind the leading one of 2^-14, which is then taken away again.
    smallest = b.const(113 << 23, 32)
    above = b.cast("bitcast", b.binary("add", shifted, smallest), "i32", "f32")
    subnormal = b.binary("fsub", above, b.cast("bitcast", smallest, "i32", "f32"), "f32")
    subnormal = b.cast("bitcast", subnormal, "f32", "i32")
    is_special = b.icmp("uge", magnitude, 0x7C00)
    is_subnormal = b.icmp("ult", magnitude, 0x0400)
    value = b.select(is_special, special, normal)
    value = b.select(is_subnormal, subnormal, value)
    sign = b.binary("and", wide, 0x8000)
    sign = b.binary("shl", sign, 16)
    return b.cast("bitcast", b.binary("or", value, sign), "i32", "f32")


def _widen_byte(b: Builder, byte: str, element: str) -> str:
    wide = b.resize(byte, 8, 16)
    if element == "e5m2":
        return widen(b, b.binary("shl", wide, 8, "i16"), "f16")
    # As an f16 with the exponent too small by 8.
    magnitude = b.binary("and", wide, 0x7F, "i16")
    sign = b.binary("shl", b.binary("and", wide, 0x80, "i16"), 8, "i16")
    half = b.binary("or", b.binary("shl", magnitude, 7, "i16"), sign, "i16")
    value = b.binary("fmul", widen(b, half, "f16"), 256, "f32")
    nan = b.cast("bitcast", b.const(0x7FFFFFFF, 32), "i32", "f32")
    is_nan = b.icmp("eq", magnitude, 0x7F, "i16")
    return b.select(is_nan, nan, value, "f32")


def narrow(b: Builder, value: str, element: str, rounding: str = "rn") -> str:
    """An f32 rounded to another type, as its bits; those of NaN are ones, but for the sign.

    Parameters
    ----------
    value
        The f32.
    element
        ``"f16"``, ``"bf16"``, or one of `BYTES`: what is too large for these becomes the largest
        finite number.
    rounding
        ``"rn"`` (to nearest even; the only one of `BYTES`), ``"rz"`` (towards zero), ``"rm"``
        (down) or ``"rp"`` (up).
    """
    is_nan = b.fcmp("uno", value, value, "f32")
    bits = b.cast("bitcast", value, "f32", "i32")
    if element == "f16" and b.processor.halves:
        result = b.cast("bitcast", b.cast("fptrunc", value, "f32", "f16"), "f16", "i16")
    elif element == "bf16":
        rounded = b.binary("lshr", _round_off(b, bits, 16), 16)
        result = b.resize(rounded, 32, 16)
    else:
        result = _to_format(b, bits, _FORMATS[element])
    if rounding != "rn":
        back = widen(b, result, element)
        above, below = (b.fcmp(how, back, value, "f32") for how in ("ogt", "olt"))
        negative = b.icmp("slt", bits, 0)
        result = _step(b, result, 16, (above, below), negative, rounding)
    width = 8 if element in BYTES else 16
    return b.select(is_nan, (1 << (width - 1)) - 1, result, int_type(width))


def _step(
    b: Builder, code: str, width: int, beyond: tuple[str, str], negative: str, rounding: str
) -> str:
    """The bits of a number rounded to nearest, moved to where a directed rounding puts it.

    Parameters
    ----------
    code
        The bits, an integer of `width` bits.
    beyond
        Whether the number lies above, and whether below, what it was rounded from.
    negative
        Whether that is negative.
    """
    above, below = beyond
    positive = b.binary("xor", negative, 1, "i1")
    inwards = outwards = b.const(0, 1)
    if rounding in ("rm", "rz"):  # down from a positive number is towards zero
        inwards = b.binary("and", above, positive, "i1")
    if rounding in ("rp", "rz"):
        inwards = b.binary("or", inwards, b.binary("and", below, negative, "i1"), "i1")
    if rounding == "rm":
        outwards = b.binary("and", above, negative, "i1")
    elif rounding == "rp":
        outwards = b.binary("and", below, positive, "i1")
    integer = int_type(width)
    code = b.binary("sub", code, b.resize(inwards, 1, width), integer)
    return b.binary("add", code, b.resize(outwards, 1, width), integer)


def _round_off(b: Builder, bits: str, count: int) -> str:
    """Add what makes cutting off the last bits a rounding to nearest even."""
    last = b.binary("and", b.binary("lshr", bits, count), 1)
    bias = b.binary("add", last, (1 << (count - 1)) - 1)
    return b.binary("add", bits, bias)


def _to_format(b: Builder, bits: str, kind: _Format) -> str:
    """An f32, by its bits, rounded to nearest even; not for NaN."""
    magnitude = b.binary("and", bits, 0x7FFFFFFF)
    cut = 23 - kind.digits
    rounded = b.binary("lshr", _round_off(b, magnitude, cut), cut)
    normal = b.binary("sub", rounded, (127 - kind.bias) << kind.digits)
    # Adding a power of two leaves a subnormal result's digits, rounded, in the sum's last bits.
    magic = b.const((150 - (kind.bias - 1 + kind.digits)) << 23, 32)
    aligned = b.binary(
        "fadd",
        b.cast("bitcast", magnitude, "i32", "f32"),
        b.cast("bitcast", magic, "i32", "f32"),
        "f32",
    )
    subnormal = b.binary("sub", b.cast("bitcast", aligned, "f32", "i32"), magic)
    is_small = b.icmp("ult", magnitude, (128 - kind.bias) << 23)
    value = b.select(is_small, subnormal, normal)
    value = b.select(b.icmp("sgt", value, kind.most), kind.most, value)
    sign = b.binary("and", b.binary("lshr", bits, 32 - kind.bits), 1 << (kind.bits - 1))
    return b.resize(b.binary("or", value, sign), 32, kind.bits)


def round_odd(b: Builder, value: str) -> str:
    """An f64 as an f32 whose last bit is one when digits were lost.

    Rounding such a number once more, to at most 22 digits, gives what one rounding would.
    """
    near = b.cast("fptrunc", value, "f64", "f32")
    back = b.cast("fpext", near, "f32", "f64")
    left, right = (b.call_intrinsic("llvm.fabs", [number], "f64") for number in (back, value))
    beyond = b.fcmp("ogt", left, right, "f64")
    bits = b.cast("bitcast", near, "f32", "i32")
    bits = b.binary("sub", bits, b.resize(beyond, 1, 32))
    inexact = b.fcmp("one", back, value, "f64")
    odd = b.binary("or", bits, b.resize(inexact, 1, 32))
    return b.cast("bitcast", odd, "i32", "f32")


def relu(b: Builder, value: str) -> str:
    """An f32 with its negative values made zero; NaN stays NaN."""
    return b.select(b.fcmp("ole", value, 0, "f32"), 0, value, "f32")


def to_integral(b: Builder, value: str, how: str, type_name: str) -> str:
    """Round to an integral value of the same type, in plain arithmetic.

    LLVM would call `roundeven`, `ceil` and so on where the CPU has no instruction, and IREE links
    only some of them.

    Parameters
    ----------
    value
        An f32 or f64.
    how
        ``"rni"`` (nearest even), ``"rzi"`` (towards zero), ``"rmi"`` (down) or ``"rpi"`` (up).
    type_name
        ``"f32"`` or ``"f64"``.
    """
    magnitude = b.call_intrinsic("llvm.fabs", [value], type_name)
    # From here on upwards every number is integral; adding it rounds the digits behind the point.
    limit = b.float_const(2.0**23 if type_name == "f32" else 2.0**52, type_name)
    near = b.binary("fadd", magnitude, limit, type_name)
    near = b.binary("fsub", near, limit, type_name)
    if how == "rzi":
        beyond = b.fcmp("ogt", near, magnitude, type_name)
        near = b.select(beyond, b.binary("fsub", near, 1, type_name), near, type_name)
    near = b.call_intrinsic("llvm.copysign", [near, value], type_name)
    if how in ("rmi", "rpi"):
        wrong = b.fcmp("ogt" if how == "rmi" else "olt", near, value, type_name)
        step = b.binary("fsub" if how == "rmi" else "fadd", near, 1, type_name)
        near = b.select(wrong, step, near, type_name)
        near = b.call_intrinsic("llvm.copysign", [near, value], type_name)
    small = b.fcmp("olt", magnitude, limit, type_name)
    return b.select(small, near, value, type_name)


def two_sum(b: Builder, x: str, y: str) -> tuple[str, str]:
    """The sum of two f64, rounded, and exactly what the rounding lost (Knuth's two-sum)."""
    total = b.binary("fadd", x, y, "f64")
    virtual = b.binary("fsub", total, x, "f64")
    rest = b.binary("fsub", total, virtual, "f64")
    error = b.binary(
        "fadd", b.binary("fsub", x, rest, "f64"), b.binary("fsub", y, virtual, "f64"), "f64"
    )
    return total, error


def round_directed(b: Builder, total: str, error: str, rounding: str) -> str:
    """The exact sum of two f64, as `two_sum` gives it, rounded to f32.

    Parameters
    ----------
    total, error
        A number and a part of it too small to show.
    rounding
        ``"rz"`` (towards zero), ``"rm"`` (down) or ``"rp"`` (up).
    """
    near = b.cast("fptrunc", total, "f64", "f32")
    back = b.cast("fpext", near, "f32", "f64")
    same = b.fcmp("oeq", back, total, "f64")
    above = _either(b, b.fcmp("ogt", back, total, "f64"), same, b.fcmp("olt", error, 0, "f64"))
    below = _either(b, b.fcmp("olt", back, total, "f64"), same, b.fcmp("ogt", error, 0, "f64"))
    negative = b.fcmp("olt", total, 0, "f64")
    bits = b.cast("bitcast", near, "f32", "i32")
    bits = _step(b, bits, 32, (above, below), negative, rounding)
    return b.cast("bitcast", bits, "i32", "f32")


def step_f64(b: Builder, total: str, error: str, rounding: str) -> str:
    """As `round_directed`, to f64, of numbers far from zero and from the largest."""
    beyond = b.fcmp("olt", error, 0, "f64"), b.fcmp("ogt", error, 0, "f64")
    negative = b.fcmp("olt", total, 0, "f64")
    bits = b.cast("bitcast", total, "f64", "i64")
    return b.cast("bitcast", _step(b, bits, 64, beyond, negative, rounding), "i64", "f64")


def _either(b: Builder, certain: str, same: str, hidden: str) -> str:
    return b.binary("or", certain, b.binary("and", same, hidden, "i1"), "i1")
