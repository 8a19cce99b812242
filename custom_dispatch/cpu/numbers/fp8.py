"""The 8-bit floating-point types e4m3 and e5m2 (PTX ISA 9.0, section 5.2.3, "Alternate
Floating-Point Data Formats").

e5m2 is the upper half of an f16. e4m3 has no infinity and one NaN, and reaches 448.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.numbers.rounding import widen
from custom_dispatch.cpu.text.builder import Builder


@dataclass(frozen=True, slots=True)
class _Format:
    digits: int
    """Bits of the fraction."""
    bias: int
    largest: int
    """The bits of the largest finite number."""


FORMATS: Final = {"e4m3": _Format(3, 7, 0x7E), "e5m2": _Format(2, 15, 0x7B)}
_NAN = 0x7F


def narrow_to_byte(b: Builder, value: str, name: str) -> str:
    """An f32 rounded to nearest even, as an i8; what is too large becomes the largest finite."""
    kind = FORMATS[name]
    bits = b.cast("bitcast", value, "f32", "i32")
    magnitude = b.binary("and", bits, 0x7FFFFFFF)
    cut = 23 - kind.digits
    last = b.binary("lshr", magnitude, cut)
    odd = b.binary("and", last, 1)
    rounded = b.binary("add", magnitude, (1 << (cut - 1)) - 1)
    rounded = b.binary("lshr", b.binary("add", rounded, odd), cut)
    normal = b.binary("sub", rounded, (127 - kind.bias) << kind.digits)
    # Below the smallest normal number, adding a power of two leaves the digits in the last bits.
    magic = (150 - (kind.bias - 1 + kind.digits)) << 23
    aligned = b.binary(
        "fadd",
        b.cast("bitcast", magnitude, "i32", "f32"),
        b.cast("bitcast", b.const(magic, 32), "i32", "f32"),
        "f32",
    )
    small = b.binary("sub", b.cast("bitcast", aligned, "f32", "i32"), magic)
    smallest = b.const((128 - kind.bias) << 23, 32)
    code = b.select(b.icmp("ult", magnitude, smallest), small, normal)
    largest = b.const(kind.largest, 32)
    code = b.select(b.icmp("sgt", code, largest), largest, code)
    is_nan = b.icmp("ugt", magnitude, 0x7F800000)
    sign = b.binary("lshr", b.binary("and", bits, 1 << 31), 24)
    code = b.select(is_nan, _NAN, b.binary("or", code, sign))
    return b.resize(code, 32, 8)


def widen_byte(b: Builder, byte: str, name: str) -> str:
    """An i8 as f32; exact."""
    wide = b.resize(byte, 8, 16)
    if name == "e5m2":
        return widen(b, b.binary("shl", wide, 8, "i16"), "f16")
    # As an f16 with the exponent too small by 8.
    magnitude = b.binary("and", wide, 0x7F, "i16")
    sign = b.binary("shl", b.binary("and", wide, 0x80, "i16"), 8, "i16")
    half = b.binary("or", b.binary("shl", magnitude, 7, "i16"), sign, "i16")
    value = b.binary("fmul", widen(b, half, "f16"), 256, "f32")
    nan = b.cast("bitcast", b.const(0x7FFFFFFF, 32), "i32", "f32")
    is_nan = b.icmp("eq", magnitude, 0x7F, "i16")
    return b.select(is_nan, nan, value, "f32")
