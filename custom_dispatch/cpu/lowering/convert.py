"""`cvt` between integers and floating-point numbers (PTX ISA 9.0, section 9.7.9, "cvt").

Conversions to integers saturate; every other one takes any rounding, and rounds once. Pairs of
8-bit numbers come from f32 or f16 with `.satfinite`, and go to f16 only.
"""

from dataclasses import dataclass

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
from custom_dispatch.ptx import TYPE_BITS, Operand

_ROUNDINGS = ("rn", "rz", "rm", "rp")
_TO_INTEGRAL = ("rni", "rzi", "rmi", "rpi")
_DIGITS = {"f32": 24, "f64": 53}


@dataclass(frozen=True, slots=True)
class _Conversion:
    """A `cvt` of one number."""

    frame: Frame
    """Where it is."""
    target: str
    source: str
    """The types."""
    a: Operand
    """What it converts."""

    def says(self, modifier: str) -> bool:
        """Whether it has a modifier."""
        return modifier in self.frame.parts

    @property
    def signs(self) -> tuple[bool, bool]:
        """Whether target and source are signed."""
        return self.target.startswith("s"), self.source.startswith("s")

    @property
    def rounding(self) -> str:
        """How it rounds to a floating-point type."""
        return next((r for r in _ROUNDINGS if self.says(r)), "rn")

    @property
    def integral(self) -> str:
        """How it rounds to an integral value, or nothing."""
        return next((r for r in _TO_INTEGRAL if self.says(r)), "")

    def value(self) -> SsaValue:
        """The floating-point number to convert, an f32 or f64."""
        value = self.frame.float(self.a, self.source)
        return self.flush(value) if self.source == "f32" else value

    def flush(self, value: SsaValue) -> SsaValue:
        """An f32 as `.ftz` has it."""
        if not self.says("ftz") or not self.frame.thread.keeps_subnormals:
            return value
        return flushed(value)


def lower_convert(frame: Frame) -> None:
    """`cvt` of one number."""
    *_, target, source = frame.parts
    d, a = frame.operands(2)
    conversion = _Conversion(frame, target, source, a)
    if target in FLOAT_BITS:
        convert = _float_to_float if source in FLOAT_BITS else _integer_to_float
    else:
        convert = _float_to_integer if source in FLOAT_BITS else _integer_to_integer
    frame.put(d, convert(conversion), signed=target.startswith("s"))


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


def _float_to_float(c: _Conversion) -> SsaValue:
    value = c.value()
    if c.integral:
        value = to_integral(value, c.integral)
    if c.says("sat"):
        value = saturate(value)
    if c.says("relu"):
        value = relu(value)
    if c.target in ("f16", "bf16"):
        value = round_odd(value) if value.type == "f64" else value
        return narrow(value, c.target, c.rounding)
    if c.target == "f64":
        return value.cast("fpext", "f64")
    if value.type == "f64":
        if c.rounding == "rn":
            value = value.cast("fptrunc", "f32")
        else:
            value = round_directed(value, value.b.float_const(0, "f64"), c.rounding)
    return c.flush(value)


def _float_to_integer(c: _Conversion) -> SsaValue:
    bits, signed = TYPE_BITS[c.target], c.signs[0]
    value = c.value()
    b, kind = value.b, value.type
    if c.integral not in ("", "rzi"):
        value = to_integral(value, c.integral)
    # In plain operations: LLVM takes vectors apart for x86's conversions that saturate.
    low = b.float_const(-(2.0 ** (bits - 1)) if signed else 0, kind)
    high = b.float_const(2.0 ** (bits - signed), kind)
    inside = value.cmp("olt", low).select(low, value)
    inside = inside.cmp("olt", high).select(inside, 0)
    result = inside.cast("fptosi" if signed else "fptoui", f"i{bits}")
    largest = b.const((1 << (bits - signed)) - 1, bits)
    result = value.cmp("oge", high).select(largest, result)
    if c.source == "f64" or bits == 64:  # where NaN is not zero but the highest bit alone
        result = value.cmp("uno", value).select(1 << (bits - 1), result)
    return result


def _integer_to_float(c: _Conversion) -> SsaValue:
    bits, signed = TYPE_BITS[c.source], c.signs[1]
    value = c.frame.integer(c.a, bits)
    if c.target in ("f16", "bf16"):
        return narrow(round_odd(_odd_f64(value, signed=signed)), c.target, c.rounding)
    if c.rounding == "rn" or bits - signed <= _DIGITS[c.target]:
        result = value.cast(_to_float(signed=signed), c.target)
    else:
        total, error = _as_two_f64(value, signed=signed)
        directed = round_directed if c.target == "f32" else step_f64
        result = directed(total, error, c.rounding)
    return saturate(result) if c.says("sat") else result


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


def _integer_to_integer(c: _Conversion) -> SsaValue:
    target_bits, source_bits = TYPE_BITS[c.target], TYPE_BITS[c.source]
    target_signed, source_signed = c.signs
    value = c.frame.integer(c.a, source_bits)
    if c.says("sat"):
        # In twice the larger width, every bound of both types is a signed number.
        value = value.resize(2 * max(source_bits, target_bits), signed=source_signed)
        value = value.call("smax", -(1 << (target_bits - 1)) if target_signed else 0)
        value = value.call("smin", (1 << (target_bits - target_signed)) - 1)
    return value.resize(target_bits, signed=source_signed)


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
