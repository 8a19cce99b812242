"""`cvt` between integers and floating-point numbers (PTX ISA 9.0, section 9.7.9, "cvt").

Conversions to integers saturate. Directed roundings are lowered where digits are cut off (`.rz`)
and refused where they are rounded up or down (`.rm`, `.rp`), unless the conversion is exact.
"""

from __future__ import annotations

from custom_dispatch.cpu.builder import int_type
from custom_dispatch.cpu.fp8 import narrow_to_byte, widen_byte
from custom_dispatch.cpu.frame import FLOAT_BITS, Frame, value_type
from custom_dispatch.cpu.lower_float import saturate
from custom_dispatch.cpu.rounding import (
    narrow,
    relu,
    round_odd,
    to_integral,
    truncate_to_f32,
    widen,
)
from custom_dispatch.ptx import TYPE_BITS, Instruction, Operand

_TO_INTEGRAL = frozenset({"rni", "rzi", "rmi", "rpi"})
_MODIFIERS = frozenset({"ftz", "sat", "relu", "rn", "rz", "rm", "rp", *_TO_INTEGRAL})
_BYTE_PAIRS = ("e4m3x2", "e5m2x2")
_DIGITS = {"f16": 11, "bf16": 8, "f32": 24, "f64": 53}


def lower_convert(frame: Frame, instruction: Instruction) -> None:
    """`cvt`."""
    _, *modifiers, target, source = (*instruction.parts, "", "")[: len(instruction.parts)]
    if "e4m3x2" in (target, source) or "e5m2x2" in (target, source):
        _bytes(frame, instruction, tuple(modifiers), target, source)
        return
    frame.check_modifiers(instruction, tuple(modifiers), _MODIFIERS)
    if target in ("f16x2", "bf16x2") and source == "f32":
        _to_pair(frame, instruction, tuple(modifiers), target.removesuffix("x2"))
        return
    if not {target, source}.issubset(TYPE_BITS) or target.endswith("x2") or source.endswith("x2"):
        raise frame.unsupported(instruction)
    d, a = frame.operands(instruction, 2)
    if target in FLOAT_BITS and source in FLOAT_BITS:
        _float_to_float(frame, instruction, tuple(modifiers), (target, source), d, a)
    elif target in FLOAT_BITS:
        _integer_to_float(frame, instruction, tuple(modifiers), (target, source), d, a)
    elif source in FLOAT_BITS:
        _float_to_integer(frame, tuple(modifiers), (target, source), d, a)
    else:
        _integer_to_integer(frame, tuple(modifiers), (target, source), d, a)


def _to_pair(
    frame: Frame, instruction: Instruction, modifiers: tuple[str, ...], element: str
) -> None:
    b = frame.b
    if not {"rn", "rz", "relu"}.issuperset(modifiers):
        raise frame.unsupported(instruction)
    d, upper, lower = frame.operands(instruction, 3)
    halves = []
    for source in (upper, lower):
        value = frame.float(source, "f32")
        if "relu" in modifiers:
            value = relu(b, value)
        bits = narrow(b, value, element, towards_zero="rz" in modifiers)
        halves.append(b.resize(bits, 16, 32))
    shifted = b.binary("shl", halves[0], b.const(16, 32), "i32")
    frame.set_integer(d, b.binary("or", shifted, halves[1], "i32"), 32)


def _bytes(
    frame: Frame, instruction: Instruction, modifiers: tuple[str, ...], target: str, source: str
) -> None:
    """Pairs of 8-bit floating-point numbers, from f32 or f16x2 and to f16x2."""
    b = frame.b
    element = (target if target in _BYTE_PAIRS else source).removesuffix("x2")
    halves: list[str] = []
    if source in _BYTE_PAIRS and target == "f16x2" and {"rn", "relu"}.issuperset(modifiers):
        d, a = frame.operands(instruction, 2)
        pair = frame.integer(a, 16)
        upper = b.binary("lshr", pair, b.const(8, 16), "i16")
        for byte in (upper, pair):
            value = widen_byte(b, b.resize(byte, 16, 8), element)
            value = relu(b, value) if "relu" in modifiers else value
            halves.append(b.resize(narrow(b, value, "f16"), 16, 32))
        shifted = b.binary("shl", halves[0], b.const(16, 32), "i32")
        frame.set_integer(d, b.binary("or", shifted, halves[1], "i32"), 32)
        return
    wanted = {"rn", "satfinite"}
    if not wanted.issubset(modifiers) or not (wanted | {"relu"}).issuperset(modifiers):
        raise frame.unsupported(instruction)
    if source == "f32":
        d, high, low = frame.operands(instruction, 3)
        values = [frame.float(operand, "f32") for operand in (high, low)]
    elif source == "f16x2":
        d, a = frame.operands(instruction, 2)
        pair = frame.integer(a, 32)
        upper = b.binary("lshr", pair, b.const(16, 32), "i32")
        values = [widen(b, b.resize(half, 32, 16), "f16") for half in (upper, pair)]
    else:
        raise frame.unsupported(instruction)
    for value in values:
        kept = relu(b, value) if "relu" in modifiers else value
        halves.append(b.resize(narrow_to_byte(b, kept, element), 8, 16))
    shifted = b.binary("shl", halves[0], b.const(8, 16), "i16")
    frame.set_integer(d, b.binary("or", shifted, halves[1], "i16"), 16)


def _rounding(
    frame: Frame, instruction: Instruction, modifiers: tuple[str, ...], *, exact: bool
) -> str:
    rounding = next((m for m in modifiers if m in ("rn", "rz", "rm", "rp")), "rn")
    if exact:
        return "rn"
    if rounding in ("rm", "rp"):
        raise frame.unsupported(instruction)
    return rounding


def _float_to_float(
    frame: Frame,
    instruction: Instruction,
    modifiers: tuple[str, ...],
    types: tuple[str, str],
    d: Operand,
    a: Operand,
) -> None:
    b = frame.b
    target, source = types
    value = frame.float(a, source)
    kind = value_type(source)
    for modifier in modifiers:
        if modifier in _TO_INTEGRAL:
            value = to_integral(b, value, modifier, kind)
    if "sat" in modifiers:
        value = saturate(frame, value, kind)
    if "relu" in modifiers:
        if kind != "f32":
            raise frame.unsupported(instruction)
        value = relu(b, value)
    is_exact = FLOAT_BITS[target] > FLOAT_BITS[source] or target == source
    cut = _rounding(frame, instruction, modifiers, exact=is_exact) == "rz"
    if target in ("f16", "bf16"):
        if kind == "f64":
            value = truncate_to_f32(b, value) if cut else round_odd(b, value)
        frame.set_integer(d, narrow(b, value, target, towards_zero=cut), 16)
    elif target == "f32" and kind == "f64":
        value = truncate_to_f32(b, value) if cut else b.cast("fptrunc", value, "f64", "f32")
        frame.set_float(d, value, "f32")
    else:
        frame.set_float(d, b.cast("fpext", value, kind, target), target)


def _float_to_integer(
    frame: Frame,
    modifiers: tuple[str, ...],
    types: tuple[str, str],
    d: Operand,
    a: Operand,
) -> None:
    b = frame.b
    target, source = types
    bits, signed = TYPE_BITS[target], target.startswith("s")
    value = frame.float(a, source)
    kind = value_type(source)
    rounding = next((m for m in modifiers if m in _TO_INTEGRAL), "rzi")
    if rounding != "rzi":
        value = to_integral(b, value, rounding, kind)
    name = "llvm.fptosi.sat" if signed else "llvm.fptoui.sat"
    result = b.call_intrinsic(name, [value], [kind], int_type(bits))
    if source == "f64" or bits == 64:  # where NaN is not zero but the highest bit alone
        is_nan = b.fcmp("uno", value, value, kind)
        result = b.select(is_nan, b.const(1 << (bits - 1), bits), result, int_type(bits))
    frame.set_integer(d, result, bits, signed=signed)


def _integer_to_float(
    frame: Frame,
    instruction: Instruction,
    modifiers: tuple[str, ...],
    types: tuple[str, str],
    d: Operand,
    a: Operand,
) -> None:
    b = frame.b
    target, source = types
    bits, signed = TYPE_BITS[source], source.startswith("s")
    is_exact = bits - signed <= _DIGITS[target] and target != "f16"
    cut = _rounding(frame, instruction, modifiers, exact=is_exact) == "rz"
    value = frame.integer(a, bits)
    operation = "sitofp" if signed else "uitofp"
    if target in ("f16", "bf16"):
        if bits == 64:
            raise frame.unsupported(instruction)
        wide = b.cast(operation, value, int_type(bits), "f64")  # exact
        narrowed = truncate_to_f32(b, wide) if cut else round_odd(b, wide)
        frame.set_integer(d, narrow(b, narrowed, target, towards_zero=cut), 16)
        return
    if cut and (target == "f64" or bits == 64):
        raise frame.unsupported(instruction)
    if cut:
        wide = b.cast(operation, value, int_type(bits), "f64")
        result = truncate_to_f32(b, wide)
    else:
        result = b.cast(operation, value, int_type(bits), target)
    if "sat" in modifiers:
        result = saturate(frame, result, target)
    frame.set_float(d, result, target)


def _integer_to_integer(
    frame: Frame,
    modifiers: tuple[str, ...],
    types: tuple[str, str],
    d: Operand,
    a: Operand,
) -> None:
    b = frame.b
    target, source = types
    target_bits, target_signed = TYPE_BITS[target], target.startswith("s")
    source_bits, source_signed = TYPE_BITS[source], source.startswith("s")
    value = frame.integer(a, source_bits)
    if "sat" in modifiers:
        # In twice the larger width, every bound of both types is a signed number.
        wide = 2 * max(source_bits, target_bits)
        low = -(1 << (target_bits - 1)) if target_signed else 0
        high = (1 << (target_bits - target_signed)) - 1
        value = b.resize(value, source_bits, wide, signed=source_signed)
        for name, bound in (("llvm.smax", low), ("llvm.smin", high)):
            bounds = [value, b.const(bound, wide)]
            value = b.call_intrinsic(name, bounds, [int_type(wide)] * 2, int_type(wide))
        source_bits = wide
    value = b.resize(value, source_bits, target_bits, signed=source_signed)
    frame.set_integer(d, value, target_bits, signed=target_signed)
