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
    magnitude = b.binary("and", bits, b.const(0x7FFFFFFF, 32), "i32")
    cut = 23 - kind.digits
    last = b.binary("lshr", magnitude, b.const(cut, 32), "i32")
    odd = b.binary("and", last, b.const(1, 32), "i32")
    rounded = b.binary("add", magnitude, b.const((1 << (cut - 1)) - 1, 32), "i32")
    rounded = b.binary("lshr", b.binary("add", rounded, odd, "i32"), b.const(cut, 32), "i32")
    normal = b.binary("sub", rounded, b.const((127 - kind.bias) << kind.digits, 32), "i32")
    # Below the smallest normal number, adding a power of two leaves the digits in the last bits.
    magic = (150 - (kind.bias - 1 + kind.digits)) << 23
    aligned = b.binary(
        "fadd",
        b.cast("bitcast", magnitude, "i32", "f32"),
        b.cast("bitcast", b.const(magic, 32), "i32", "f32"),
        "f32",
    )
    small = b.binary("sub", b.cast("bitcast", aligned, "f32", "i32"), b.const(magic, 32), "i32")
    smallest = b.const((128 - kind.bias) << 23, 32)
    code = b.select(b.icmp("ult", magnitude, smallest, "i32"), small, normal, "i32")
    largest = b.const(kind.largest, 32)
    code = b.select(b.icmp("sgt", code, largest, "i32"), largest, code, "i32")
    is_nan = b.icmp("ugt", magnitude, b.const(0x7F800000, 32), "i32")
    sign = b.binary(
        "lshr", b.binary("and", bits, b.const(1 << 31, 32), "i32"), b.const(24, 32), "i32"
    )
    code = b.select(is_nan, b.const(_NAN, 32), b.binary("or", code, sign, "i32"), "i32")
    return b.resize(code, 32, 8)


def widen_byte(b: Builder, byte: str, name: str) -> str:
    """An i8 as f32; exact."""
    wide = b.resize(byte, 8, 16)
    if name == "e5m2":
        return widen(b, b.binary("shl", wide, b.const(8, 16), "i16"), "f16")
    # As an f16 with the exponent too small by 8.
    magnitude = b.binary("and", wide, b.const(0x7F, 16), "i16")
    sign = b.binary("shl", b.binary("and", wide, b.const(0x80, 16), "i16"), b.const(8, 16), "i16")
    half = b.binary("or", b.binary("shl", magnitude, b.const(7, 16), "i16"), sign, "i16")
    value = b.binary("fmul", widen(b, half, "f16"), b.float_const(256, "f32"), "f32")
    nan = b.cast("bitcast", b.const(0x7FFFFFFF, 32), "i32", "f32")
    is_nan = b.icmp("eq", magnitude, b.const(0x7F, 16), "i16")
    return b.select(is_nan, nan, value, "f32")
