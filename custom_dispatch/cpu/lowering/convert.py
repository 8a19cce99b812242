"""`cvt` between integers and floating-point numbers (PTX ISA 9.0, section 9.7.9, "cvt").

Conversions to integers saturate; every other one takes any rounding, and rounds once. Pairs of
8-bit numbers come from f32 or f16 with `.satfinite`, and go to f16 only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.lowering.floating import saturate
from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame, value_type
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
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.ptx import TYPE_BITS, Operand

_ROUNDINGS = ("rn", "rz", "rm", "rp")
_TO_INTEGRAL = ("rni", "rzi", "rmi", "rpi")
_MODIFIERS = frozenset({"ftz", "sat", "relu", *_ROUNDINGS, *_TO_INTEGRAL})
_DIGITS = {"f32": 24, "f64": 53}


@dataclass(frozen=True, slots=True)
class _Conversion:
    """A `cvt` of one number."""

    frame: Frame
    """Where it is."""
    target: str
    source: str
    """The types."""
    d: Operand
    a: Operand
    """The operands."""

    def says(self, modifier: str) -> bool:
        """Whether it has a modifier."""
        return modifier in self.frame.parts

    @property
    def rounding(self) -> str:
        """How it rounds to a floating-point type."""
        return next((r for r in _ROUNDINGS if self.says(r)), "rn")

    @property
    def integral(self) -> str:
        """How it rounds to an integral value, or nothing."""
        return next((r for r in _TO_INTEGRAL if self.says(r)), "")

    def value(self) -> str:
        """The floating-point number to convert, as its `value_type`."""
        value = self.frame.float(self.a, self.source)
        return self.flush(value) if self.source == "f32" else value

    def flush(self, value: str) -> str:
        """An f32 as `.ftz` has it."""
        if not self.says("ftz") or not self.frame.thread.keeps_subnormals:
            return value
        return flushed(self.frame.b, value, "f32")


def lower_convert(frame: Frame) -> None:
    """`cvt`."""
    *modifiers, target, source = frame.parts[1:]
    if target in BYTE_PAIRS or source in BYTE_PAIRS:
        lower_convert_bytes(frame, tuple(modifiers), target, source)
        return
    if target == "tf32":
        _to_tf32(frame, tuple(modifiers), source)
        return
    frame.check_modifiers(modifiers, _MODIFIERS)
    if target in ("f16x2", "bf16x2") and source == "f32":
        _to_pair(frame, tuple(modifiers), target.removesuffix("x2"))
        return
    if not {target, source}.issubset(TYPE_BITS) or target.endswith("x2") or source.endswith("x2"):
        raise frame.unsupported()
    d, a = frame.operands(2)
    conversion = _Conversion(frame, target, source, d, a)
    if target in FLOAT_BITS and source in FLOAT_BITS:
        _float_to_float(conversion)
    elif target in FLOAT_BITS:
        _integer_to_float(conversion)
    elif source in FLOAT_BITS:
        _float_to_integer(conversion)
    else:
        _integer_to_integer(conversion)


def _to_pair(frame: Frame, modifiers: tuple[str, ...], element: str) -> None:
    if not {"rn", "rz", "relu"}.issuperset(modifiers):
        raise frame.unsupported()
    d, upper, lower = frame.operands(3)
    halves = []
    for source in (lower, upper):
        value = frame.float(source, "f32")
        if "relu" in modifiers:
            value = relu(frame.b, value)
        halves.append(narrow(frame.b, value, element, "rz" if "rz" in modifiers else "rn"))
    frame.set_integer(d, join(frame.b, halves, 16), 32)


def _to_tf32(frame: Frame, modifiers: tuple[str, ...], source: str) -> None:
    """An f32 with 10 digits behind the point; the last 13 bits become zero."""
    b = frame.b
    if source != "f32" or modifiers not in (("rna",), ("rn",), ("rz",)):
        raise frame.unsupported()
    d, a = frame.operands(2)
    value = frame.float(a, "f32")
    bits = b.cast("bitcast", value, "f32", "i32")
    if modifiers != ("rz",):
        half = b.const(0x1000, 32)
        if modifiers == ("rn",):
            last = b.binary("lshr", bits, 13)
            last = b.binary("and", last, 1)
            half = b.binary("add", last, 0xFFF)
        bits = b.binary("add", bits, half)
    bits = b.binary("and", bits, -0x2000)
    is_nan = b.fcmp("uno", value, value, "f32")
    frame.set_integer(d, b.select(is_nan, 0x7FFFFFFF, bits), 32)


def _float_to_float(c: _Conversion) -> None:
    frame, b = c.frame, c.frame.b
    value, kind = c.value(), value_type(c.source)
    if c.integral:
        value = to_integral(b, value, c.integral, kind)
    if c.says("sat"):
        value = saturate(frame, value, kind)
    if c.says("relu"):
        if kind != "f32":
            raise frame.unsupported()
        value = relu(b, value)
    if c.target in ("f16", "bf16"):
        if kind == "f64":
            value = round_odd(b, value)
        frame.set_integer(c.d, narrow(b, value, c.target, c.rounding), 16)
    elif c.target == "f32" and kind == "f64":
        if c.rounding == "rn":
            value = b.cast("fptrunc", value, "f64", "f32")
        else:
            value = round_directed(b, value, b.float_const(0, "f64"), c.rounding)
        frame.set_float(c.d, c.flush(value), "f32")
    elif c.target == "f32":
        frame.set_float(c.d, c.flush(value), "f32")
    else:
        frame.set_float(c.d, b.cast("fpext", value, kind, "f64"), "f64")


def _float_to_integer(c: _Conversion) -> None:
    b = c.frame.b
    bits, signed = TYPE_BITS[c.target], c.target.startswith("s")
    value, kind = c.value(), value_type(c.source)
    if c.integral not in ("", "rzi"):
        value = to_integral(b, value, c.integral, kind)
    # In plain operations: LLVM takes vectors apart for x86's conversions that saturate.
    low = b.float_const(-(2.0 ** (bits - 1)) if signed else 0, kind)
    high = b.float_const(2.0 ** (bits - signed), kind)
    inside = b.select(b.fcmp("olt", value, low, kind), low, value, kind)
    inside = b.select(b.fcmp("olt", inside, high, kind), inside, 0, kind)
    result = b.cast("fptosi" if signed else "fptoui", inside, kind, int_type(bits))
    largest = b.const((1 << (bits - signed)) - 1, bits)
    result = b.select(b.fcmp("oge", value, high, kind), largest, result, int_type(bits))
    if c.source == "f64" or bits == 64:  # where NaN is not zero but the highest bit alone
        is_nan = b.fcmp("uno", value, value, kind)
        result = b.select(is_nan, 1 << (bits - 1), result, int_type(bits))
    c.frame.set_integer(c.d, result, bits, signed=signed)


def _integer_to_float(c: _Conversion) -> None:
    frame, b = c.frame, c.frame.b
    bits, signed = TYPE_BITS[c.source], c.source.startswith("s")
    value = frame.integer(c.a, bits)
    if c.target in ("f16", "bf16"):
        half = narrow(b, round_odd(b, _odd_f64(c, value)), c.target, c.rounding)
        frame.set_integer(c.d, half, 16)
        return
    if c.rounding == "rn" or bits - signed <= _DIGITS[c.target]:
        operation = "sitofp" if signed else "uitofp"
        result = b.cast(operation, value, int_type(bits), c.target)
    else:
        total, error = _as_two_f64(c, value)
        directed = round_directed if c.target == "f32" else step_f64
        result = directed(b, total, error, c.rounding)
    if c.says("sat"):
        result = saturate(frame, result, c.target)
    frame.set_float(c.d, result, c.target)


def _odd_f64(c: _Conversion, value: str) -> str:
    """An integer as an f64; of one with more than 53 digits, the last stands for what is lost."""
    b = c.frame.b
    bits, signed = TYPE_BITS[c.source], c.source.startswith("s")
    wide = b.resize(value, bits, 64, signed=signed)
    if bits == 64:
        magnitude = b.call_intrinsic("llvm.smax", [wide, b.binary("sub", 0, wide, "i64")], "i64")
        size = b.binary("lshr", magnitude if signed else wide, 53, "i64")
        is_long = b.icmp("ne", size, 0, "i64")
        lost = b.binary("and", wide, 0x7FF, "i64")
        inexact = b.resize(b.icmp("ne", lost, 0, "i64"), 1, 64)
        odd = b.binary("shl", inexact, 11, "i64")
        odd = b.binary("or", b.binary("sub", wide, lost, "i64"), odd, "i64")
        wide = b.select(is_long, odd, wide, "i64")
    return b.cast("sitofp" if signed else "uitofp", wide, "i64", "f64")


def _as_two_f64(c: _Conversion, value: str) -> tuple[str, str]:
    """An integer as the exact sum of an f64, rounded, and another."""
    b = c.frame.b
    bits, signed = TYPE_BITS[c.source], c.source.startswith("s")
    operation = "sitofp" if signed else "uitofp"
    if bits < 64:
        return b.cast(operation, value, int_type(bits), "f64"), b.float_const(0, "f64")
    lower = b.binary("and", value, 0x7FF, "i64")
    upper = b.binary("sub", value, lower, "i64")
    parts = (b.cast(operation, part, "i64", "f64") for part in (upper, lower))
    return two_sum(b, *parts)


def _integer_to_integer(c: _Conversion) -> None:
    frame, b = c.frame, c.frame.b
    target_bits, target_signed = TYPE_BITS[c.target], c.target.startswith("s")
    source_bits, source_signed = TYPE_BITS[c.source], c.source.startswith("s")
    value = frame.integer(c.a, source_bits)
    if c.says("sat"):
        # In twice the larger width, every bound of both types is a signed number.
        wide = 2 * max(source_bits, target_bits)
        low = -(1 << (target_bits - 1)) if target_signed else 0
        high = (1 << (target_bits - target_signed)) - 1
        value = b.resize(value, source_bits, wide, signed=source_signed)
        for name, bound in (("llvm.smax", low), ("llvm.smin", high)):
            bounds = [value, b.const(bound, wide)]
            value = b.call_intrinsic(name, bounds, int_type(wide))
        source_bits = wide
    value = b.resize(value, source_bits, target_bits, signed=source_signed)
    frame.set_integer(c.d, value, target_bits, signed=target_signed)


BYTE_PAIRS: Final = ("e4m3x2", "e5m2x2")


def lower_convert_bytes(frame: Frame, modifiers: tuple[str, ...], target: str, source: str) -> None:
    """`cvt` from or to one of `BYTE_PAIRS`."""
    b = frame.b
    if source in BYTE_PAIRS:
        if target != "f16x2" or not {"rn", "relu"}.issuperset(modifiers):
            raise frame.unsupported()
        d, a = frame.operands(2)
        pair = frame.integer(a, 16)
        upper = b.binary("lshr", pair, 8, "i16")
        values = [
            widen(b, b.resize(byte, 16, 8), source.removesuffix("x2")) for byte in (pair, upper)
        ]
        if "relu" in modifiers:
            values = [relu(b, value) for value in values]
        frame.set_integer(d, join(b, [narrow(b, value, "f16") for value in values], 16), 32)
        return
    wanted = {"rn", "satfinite"}
    if not wanted.issubset(modifiers) or not (wanted | {"relu"}).issuperset(modifiers):
        raise frame.unsupported()
    if source == "f32":
        d, *sources = frame.operands(3)  # the upper one first
        values = [frame.float(operand, "f32") for operand in reversed(sources)]
    elif source == "f16x2":
        d, a = frame.operands(2)
        values = [widen(b, half, "f16") for half in split(b, frame.integer(a, 32), 16)]
    else:
        raise frame.unsupported()
    if "relu" in modifiers:
        values = [relu(b, value) for value in values]
    element = target.removesuffix("x2")
    frame.set_integer(d, join(b, [narrow(b, value, element) for value in values], 8, 16), 16)
