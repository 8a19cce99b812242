"""Rounding to narrower floating-point types, and widening those of 16 and 8 bits.

The 16-bit types are converted with integer arithmetic where the processor has no instruction for
it: the routines that IREE links then flush subnormal f16 numbers. Where the hardware is left to
flush those of f32 and f64 (`numbers/subnormals.py`), every number here but a bf16 stays
clear of them. Of the 8-bit types (PTX ISA 9.0, section 5.2.3, "Alternate Floating-Point Data
Formats") e5m2 is the upper half of an f16; e4m3 has no infinity and one NaN, and reaches 448.
"""

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.text.ssa_value import SsaValue


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


def widen(bits: SsaValue, element: str) -> SsaValue:
    """The bits of an f16, a bf16 or one of `BYTES`, as f32; exact."""
    if element in BYTES:
        return _widen_byte(bits, element)
    wide = bits.resize(32)
    if element == "bf16":
        return (wide << 16).as_float()
    if bits.b.processor.halves:
        return bits.as_float().cast("fpext", "f32")
    magnitude = wide & 0x7FFF
    shifted = magnitude << 13
    normal, special = shifted + (112 << 23), shifted + (224 << 23)
    # A subnormal f16 is put behind the leading one of 2^-14, which is then taken away again.
    smallest = bits.b.const(113 << 23, 32)
    above = (shifted + smallest).as_float()
    subnormal = (above - smallest.as_float()).as_bits()
    is_special, is_subnormal = magnitude.cmp("uge", 0x7C00), magnitude.cmp("ult", 0x0400)
    value = is_subnormal.select(subnormal, is_special.select(special, normal))
    return (value | (wide & 0x8000) << 16).as_float()


def _widen_byte(byte: SsaValue, element: str) -> SsaValue:
    wide = byte.resize(16)
    if element == "e5m2":
        return widen(wide << 8, "f16")
    # As an f16 with the exponent too small by 8.
    magnitude = wide & 0x7F
    sign = (wide & 0x80) << 8
    value = widen(magnitude << 7 | sign, "f16") * 256
    nan = byte.b.const(0x7FFFFFFF, 32).as_float()
    return magnitude.cmp("eq", 0x7F).select(nan, value)


def narrow(value: SsaValue, element: str, rounding: str = "rn") -> SsaValue:
    """An f32 rounded to another type, as its bits; those of NaN are ones, but for the sign.

    - `value`: the f32.
    - `element`: ``"f16"``, ``"bf16"``, or one of `BYTES`: what is too large for these becomes the
      largest finite number.
    - `rounding`: ``"rn"`` (to nearest even; the only one of `BYTES`), ``"rz"`` (towards zero),
      ``"rm"`` (down) or ``"rp"`` (up).
    """
    is_nan = value.cmp("uno", value)
    bits = value.as_bits()
    if element == "f16" and value.b.processor.halves:
        result = value.cast("fptrunc", "f16").as_bits()
    elif element == "bf16":
        result = (_round_off(bits, 16) >> 16).resize(16)
    else:
        result = _to_format(bits, _FORMATS[element])
    if rounding != "rn":
        back = widen(result, element)
        beyond = back.cmp("ogt", value), back.cmp("olt", value)
        result = _step(result, beyond, bits.cmp("slt", 0), rounding)
    return is_nan.select((1 << (result.bits - 1)) - 1, result)


def _step(
    code: SsaValue, beyond: tuple[SsaValue, SsaValue], negative: SsaValue, rounding: str
) -> SsaValue:
    """The bits of a number rounded to nearest, moved to where a directed rounding puts it.

    - `beyond`: whether the number lies above, and whether below, what it was rounded from.
    - `negative`: whether that is negative.
    """
    above, below = beyond
    positive = ~negative
    inwards = outwards = code.b.const(0, 1)
    if rounding in ("rm", "rz"):  # down from a positive number is towards zero
        inwards = above & positive
    if rounding in ("rp", "rz"):
        inwards = inwards | below & negative
    if rounding == "rm":
        outwards = above & negative
    elif rounding == "rp":
        outwards = below & positive
    return code - inwards.resize(code.bits) + outwards.resize(code.bits)


def _round_off(bits: SsaValue, count: int) -> SsaValue:
    """Add what makes cutting off the last bits a rounding to nearest even."""
    last = bits >> count & 1
    return bits + (last + ((1 << (count - 1)) - 1))


def _to_format(bits: SsaValue, kind: _Format) -> SsaValue:
    """An f32, by its bits, rounded to nearest even; not for NaN."""
    magnitude = bits & 0x7FFFFFFF
    cut = 23 - kind.digits
    normal = (_round_off(magnitude, cut) >> cut) - ((127 - kind.bias) << kind.digits)
    # Adding a power of two leaves a subnormal result's digits, rounded, in the sum's last bits.
    magic = bits.b.const((150 - (kind.bias - 1 + kind.digits)) << 23, 32)
    aligned = magnitude.as_float() + magic.as_float()
    subnormal = aligned.as_bits() - magic
    is_small = magnitude.cmp("ult", (128 - kind.bias) << 23)
    value = is_small.select(subnormal, normal)
    value = value.cmp("sgt", kind.most).select(kind.most, value)
    sign = (bits >> (32 - kind.bits)) & (1 << (kind.bits - 1))
    return (value | sign).resize(kind.bits)


def round_odd(value: SsaValue) -> SsaValue:
    """An f64 as an f32 whose last bit is one when digits were lost.

    Rounding such a number once more, to at most 22 digits, gives what one rounding would.
    """
    near = value.cast("fptrunc", "f32")
    back = near.cast("fpext", "f64")
    left, right = back.call("fabs"), value.call("fabs")
    beyond = left.cmp("ogt", right)
    bits = near.as_bits() - beyond.resize(32)
    inexact = back.cmp("one", value)
    return (bits | inexact.resize(32)).as_float()


def relu(value: SsaValue) -> SsaValue:
    """An f32 with its negative values made zero; NaN stays NaN."""
    return value.cmp("ole", 0).select(0, value)


def to_integral(value: SsaValue, how: str) -> SsaValue:
    """Round to an integral value of the same type, in plain arithmetic.

    LLVM would call `roundeven`, `ceil` and so on where the CPU has no instruction, and IREE links
    only some of them.

    - `value`: an f32 or f64.
    - `how`: ``"rni"`` (nearest even), ``"rzi"`` (towards zero), ``"rmi"`` (down) or ``"rpi"`` (up).
    """
    magnitude = value.call("fabs")
    # From here on upwards every number is integral; adding it rounds the digits behind the point.
    limit = value.b.float_const(2.0**23 if value.type == "f32" else 2.0**52, value.type)
    near = magnitude + limit - limit
    if how == "rzi":
        near = near.cmp("ogt", magnitude).select(near - 1, near)
    near = near.call("copysign", value)
    if how in ("rmi", "rpi"):
        wrong = near.cmp("ogt" if how == "rmi" else "olt", value)
        near = wrong.select(near - 1 if how == "rmi" else near + 1, near)
        near = near.call("copysign", value)
    return magnitude.cmp("olt", limit).select(near, value)


def two_sum(x: SsaValue, y: SsaValue) -> tuple[SsaValue, SsaValue]:
    """The sum of two f64, rounded, and exactly what the rounding lost (Knuth's two-sum)."""
    total = x + y
    virtual = total - x
    rest = total - virtual
    return total, (x - rest) + (y - virtual)


def round_directed(total: SsaValue, error: SsaValue, rounding: str) -> SsaValue:
    """The exact sum of two f64, as `two_sum` gives it, rounded to f32.

    - `total`, `error`: a number and a part of it too small to show.
    - `rounding`: ``"rz"`` (towards zero), ``"rm"`` (down) or ``"rp"`` (up).
    """
    near = total.cast("fptrunc", "f32")
    back = near.cast("fpext", "f64")
    same = back.cmp("oeq", total)
    above = back.cmp("ogt", total) | same & error.cmp("olt", 0)
    below = back.cmp("olt", total) | same & error.cmp("ogt", 0)
    negative = total.cmp("olt", 0)
    return _step(near.as_bits(), (above, below), negative, rounding).as_float()


def step_f64(total: SsaValue, error: SsaValue, rounding: str) -> SsaValue:
    """As `round_directed`, to f64, of numbers far from zero and from the largest."""
    beyond = error.cmp("olt", 0), error.cmp("ogt", 0)
    negative = total.cmp("olt", 0)
    return _step(total.as_bits(), beyond, negative, rounding).as_float()
