"""`cvt` between integers and floating-point numbers (PTX ISA 9.0, section 9.7.9, "cvt").

Conversions to integers saturate; every other one takes any rounding, and rounds once. Pairs of
8-bit numbers come from f32 or f16 with `.satfinite`, and go to f16 only.
"""

from custom_dispatch.cpu.lowering.floating import saturate
from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounding import (
    narrow,
    relu,
    round_directed,
    round_odd,
    step_f64,
    to_integral,
    two_sum,
    widen,
)
from custom_dispatch.cpu.numbers.subnormals import flushed
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import TYPE_BITS

_ROUNDINGS = ("rn", "rz", "rm", "rp")
_TO_INTEGRAL = ("rni", "rzi", "rmi", "rpi")
_DIGITS = {"f32": 24, "f64": 53}


def lower_convert(frame: Frame) -> None:
    """`cvt` of one number."""
    *modifiers, target, source = frame.parts
    rounding = next((m for m in modifiers if m in _ROUNDINGS), "rn")
    integral = next((m for m in modifiers if m in _TO_INTEGRAL), "")
    ftz = "ftz" in modifiers and frame.thread.keeps_subnormals
    is_float, signed = target in FLOAT_BITS, source.startswith("s")
    d, a = frame.operands(2)
    if source in FLOAT_BITS:
        value = frame.float(a, source)
        value = flushed(value) if ftz and source == "f32" else value
        if integral and (is_float or integral != "rzi"):  # else casting does it
            value = to_integral(value, integral)
    elif is_float:
        value = frame.integer(a, TYPE_BITS[source])
        value = _integer_to_float(value, target, rounding, signed=signed)
    else:
        value = frame.integer(a, TYPE_BITS[source])
        value = _integer_to_integer(value, target, signed=signed, saturates="sat" in modifiers)
    if is_float:
        value = saturate(value) if "sat" in modifiers else value
        value = relu(value) if "relu" in modifiers else value
        value = _float_to_float(value, target, rounding)
        value = flushed(value) if ftz and target == "f32" else value
    elif source in FLOAT_BITS:
        value = _float_to_integer(value, target, wide=source == "f64")
    frame.put(d, value, signed=target.startswith("s"))


def lower_to_pair(frame: Frame) -> None:
    """`cvt` of two f32 to a pair of f16 or bf16, the upper one first."""
    element = frame.parts[-2].removesuffix("x2")
    d, upper, lower = frame.operands(3)
    halves = []
    for source in (lower, upper):
        value = frame.float(source, "f32")
        if "relu" in frame.parts:
            value = relu(value)
        halves.append(narrow(value, element, "rz" if "rz" in frame.parts else "rn"))
    frame.put(d, join(halves))


def lower_to_tf32(frame: Frame) -> None:
    """`cvt` to an f32 with 10 digits behind the point; the last 13 bits become zero."""
    rounding = frame.parts[1]
    d, a = frame.operands(2)
    value = frame.float(a, "f32")
    bits = value.as_bits()
    if rounding != "rz":
        half = frame.b.const(0x1000, 32)
        if rounding == "rn":
            half = (bits >> 13 & 1) + 0xFFF
        bits = bits + half
    bits = bits & -0x2000
    frame.put(d, value.cmp("uno", value).select(0x7FFFFFFF, bits))


def _float_to_float(value: SsaValue, target: str, rounding: str) -> SsaValue:
    """An f32 or f64 in another type; of f16 and bf16 the bits."""
    if target in ("f16", "bf16"):
        value = round_odd(value) if value.type == "f64" else value
        return narrow(value, target, rounding)
    if value.type == target:
        return value
    if target == "f64":
        return value.cast("fpext", "f64")
    if rounding == "rn":
        return value.cast("fptrunc", "f32")
    return round_directed(value, value.b.float_const(0, "f64"), rounding)


def _float_to_integer(value: SsaValue, target: str, *, wide: bool) -> SsaValue:
    """An f32 or f64 as an integer, which saturates.

    `wide`: whether the number was an f64.
    """
    bits, signed = TYPE_BITS[target], target.startswith("s")
    b, kind = value.b, value.type
    # In plain operations: LLVM takes vectors apart for x86's conversions that saturate.
    low = b.float_const(-(2.0 ** (bits - 1)) if signed else 0, kind)
    high = b.float_const(2.0 ** (bits - signed), kind)
    inside = value.cmp("olt", low).select(low, value)
    inside = inside.cmp("olt", high).select(inside, 0)
    result = inside.cast("fptosi" if signed else "fptoui", f"i{bits}")
    largest = b.const((1 << (bits - signed)) - 1, bits)
    result = value.cmp("oge", high).select(largest, result)
    if wide or bits == 64:  # where NaN is not zero but the highest bit alone
        result = value.cmp("uno", value).select(1 << (bits - 1), result)
    return result


def _integer_to_float(value: SsaValue, target: str, rounding: str, *, signed: bool) -> SsaValue:
    """An integer as an f32 or f64; for f16 and bf16, which are made of that, rounded to odd."""
    if target in ("f16", "bf16"):
        return round_odd(_odd_f64(value, signed=signed))
    if rounding == "rn" or value.bits - signed <= _DIGITS[target]:
        return value.cast(_to_float(signed=signed), target)
    directed = round_directed if target == "f32" else step_f64
    return directed(*_as_two_f64(value, signed=signed), rounding)


def _to_float(*, signed: bool) -> str:
    return "sitofp" if signed else "uitofp"


def _odd_f64(value: SsaValue, *, signed: bool) -> SsaValue:
    """An integer as an f64; of one with more than 53 digits, the last stands for what is lost."""
    wide = value.resize(64, signed=signed)
    if value.bits == 64:
        magnitude = wide.call("smax", -wide)
        is_long = ((magnitude if signed else wide) >> 53).cmp("ne", 0)
        lost = wide & 0x7FF
        inexact = lost.cmp("ne", 0).resize(64)
        odd = inexact << 11
        odd = (wide - lost) | odd
        wide = is_long.select(odd, wide)
    return wide.cast(_to_float(signed=signed), "f64")


def _as_two_f64(value: SsaValue, *, signed: bool) -> tuple[SsaValue, SsaValue]:
    """An integer as the exact sum of an f64, rounded, and another."""
    operation = _to_float(signed=signed)
    if value.bits < 64:
        return value.cast(operation, "f64"), value.b.float_const(0, "f64")
    lower = value & 0x7FF
    upper = value - lower
    return two_sum(upper.cast(operation, "f64"), lower.cast(operation, "f64"))


def _integer_to_integer(value: SsaValue, target: str, *, signed: bool, saturates: bool) -> SsaValue:
    """An integer in another width; its own bits are extended by a sign or with zeros."""
    bits, target_signed = TYPE_BITS[target], target.startswith("s")
    if saturates:
        # In twice the larger width, every bound of both types is a signed number.
        value = value.resize(2 * max(value.bits, bits), signed=signed)
        value = value.call("smax", -(1 << (bits - 1)) if target_signed else 0)
        value = value.call("smin", (1 << (bits - target_signed)) - 1)
    return value.resize(bits, signed=signed)


def lower_from_bytes(frame: Frame) -> None:
    """`cvt` from a pair of 8-bit numbers."""
    element = frame.parts[-1].removesuffix("x2")
    d, (pair,) = frame.taking(16)
    values = [widen(byte, element) for byte in split(pair, 8)]
    if "relu" in frame.parts:
        values = [relu(value) for value in values]
    frame.put(d, join([narrow(value, "f16") for value in values]))


def lower_to_bytes(frame: Frame) -> None:
    """`cvt` to a pair of 8-bit numbers."""
    *_, target, source = frame.parts
    if source == "f32":
        d, *sources = frame.operands(3)  # the upper one first
        values = [frame.float(operand, "f32") for operand in reversed(sources)]
    else:
        d, (word,) = frame.taking(32)
        values = [widen(half, "f16") for half in split(word, 16)]
    if "relu" in frame.parts:
        values = [relu(value) for value in values]
    frame.put(d, join([narrow(value, target.removesuffix("x2")) for value in values], 16))
