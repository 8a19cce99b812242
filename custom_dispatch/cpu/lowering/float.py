"""Arithmetic of f32 and f64 (PTX ISA 9.0, section 9.7.3).

Every rounding is exact (`numbers/rounded_arithmetic.py`). A NaN's payload may differ from
the GPU's.
"""

from __future__ import annotations

from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame
from custom_dispatch.cpu.lowering.math import MATH
from custom_dispatch.cpu.numbers.rounded_arithmetic import ROUNDED, directed_f32, rounded_f64
from custom_dispatch.cpu.numbers.subnormals import flushed
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.ptx import Instruction

_MODIFIERS = frozenset({"rn", "ftz", "sat", "approx", "full", "NaN"})
_DIRECTED = frozenset({"rz", "rm", "rp"})
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def lower_float(frame: Frame, instruction: Instruction) -> None:
    """Every f32 and f64 instruction that computes."""
    base, *modifiers, type_name = instruction.parts
    rounding = next((m for m in modifiers if m in _DIRECTED), "rn")
    if rounding != "rn" and base not in ROUNDED:
        raise frame.unsupported(instruction)
    frame.check_modifiers(instruction, modifiers, _MODIFIERS | _DIRECTED)
    count = {"fma": 4, "mad": 4}.get(
        base, 3 if base in (*_ARITHMETIC, "min", "max", "copysign") else 2
    )
    d, *sources = frame.operands(instruction, count)
    ftz = "ftz" in modifiers and frame.thread.keeps_subnormals
    values = [frame.float(source, type_name) for source in sources]
    if ftz and base != "ex2":  # whose result for them is 1 in any case
        values = [flushed(frame.b, value, type_name) for value in values]
    if type_name == "f64" and (rounding != "rn" or base == "fma"):
        value = frame.b.long_function(
            f"{base}_{rounding}_f64",
            values,
            "f64",
            lambda b, given: rounded_f64(b, base, given, rounding, fused=b.processor.fused),
        )
    elif rounding != "rn":
        value = directed_f32(frame.b, base, values, rounding)
    else:
        is_nan_wanted = "NaN" in modifiers
        value = compute(frame, instruction, base, values, type_name, propagate_nan=is_nan_wanted)
    if base == "mul" and frame.thread.is_apart(instruction):
        value = frame.b.call_intrinsic("llvm.arithmetic.fence", [value], type_name)
    if ftz:
        value = flushed(frame.b, value, type_name)
    if "sat" in modifiers:
        value = saturate(frame, value, type_name)
    frame.set_float(d, value, type_name)


def compute(
    frame: Frame,
    instruction: Instruction,
    base: str,
    values: list[str],
    type_name: str,
    *,
    propagate_nan: bool,
) -> str:
    """An operation on values of ``f32`` or ``f64``.

    Parameters
    ----------
    base
        The opcode without modifiers.
    values
        The sources, in order.
    propagate_nan
        Whether `min` and `max` return NaN when either source is one.
    """
    b = frame.b
    if base in _ARITHMETIC:
        return b.binary(_ARITHMETIC[base], values[0], values[1], type_name)
    if base in ("fma", "mad"):
        return b.call_intrinsic("llvm.fma", values, type_name)
    if base in ("min", "max"):
        name = f"llvm.{base}imum" + ("" if propagate_nan else "num")
        return b.call_intrinsic(name, values, type_name)
    if base == "neg":
        return flip_sign(frame, values[0], type_name)
    if base == "abs":
        return b.call_intrinsic("llvm.fabs", values, type_name)
    if base == "copysign":  # the sign of the first, the magnitude of the second
        return b.call_intrinsic("llvm.copysign", [values[1], values[0]], type_name)
    if base in ("sqrt", "rcp", "rsqrt"):
        value = values[0]
        if base != "rcp":
            value = b.call_intrinsic("llvm.sqrt", [value], type_name)
        if base == "sqrt":
            return value
        return b.binary("fdiv", 1, value, type_name)
    if base in MATH and type_name == "f32":
        wide = b.cast("fpext", values[0], "f32", "f64")
        return b.cast("fptrunc", MATH[base](b, wide), "f64", "f32")
    raise frame.unsupported(instruction)


def flip_sign(frame: Frame, value: str, type_name: str) -> str:
    """Negate, NaN and zero included."""
    return frame.b.unary("fneg", value, type_name)


def saturate(frame: Frame, value: str, type_name: str) -> str:
    """Clamp to [0, 1]; NaN becomes 0."""
    b = frame.b
    value = b.select(b.fcmp("ogt", value, 0, type_name), value, 0, type_name)
    return b.select(b.fcmp("olt", value, 1, type_name), value, 1, type_name)


def lower_testp(frame: Frame, instruction: Instruction) -> None:
    """`testp`: what kind of number it is, from its bits."""
    b = frame.b
    _, kind, type_name = (*instruction.parts, "", "")[:3]
    if type_name not in ("f32", "f64"):
        raise frame.unsupported(instruction)
    d, a = frame.operands(instruction, 2)
    bits = FLOAT_BITS[type_name]
    integer = int_type(bits)
    fraction = 23 if bits == 32 else 52
    infinity = b.const(((1 << (bits - 1)) - 1) >> fraction << fraction, bits)
    smallest_normal = b.const(1 << fraction, bits)
    magnitude = b.binary("and", frame.integer(a, bits), (1 << (bits - 1)) - 1, integer)
    is_finite = b.icmp("ult", magnitude, infinity, integer)
    is_small = b.icmp("ult", magnitude, smallest_normal, integer)
    if kind == "finite":
        result = is_finite
    elif kind == "infinite":
        result = b.icmp("eq", magnitude, infinity, integer)
    elif kind == "number":
        result = b.icmp("ule", magnitude, infinity, integer)
    elif kind == "notanumber":
        result = b.icmp("ugt", magnitude, infinity, integer)
    elif kind == "normal":  # zeros are, as on an H200
        nonzero = b.icmp("ne", magnitude, 0, integer)
        is_small = b.binary("and", is_small, nonzero, "i1")
        not_small = b.binary("xor", is_small, 1, "i1")
        result = b.binary("and", is_finite, not_small, "i1")
    elif kind == "subnormal":
        nonzero = b.icmp("ne", magnitude, 0, integer)
        result = b.binary("and", is_small, nonzero, "i1")
    else:
        raise frame.unsupported(instruction)
    frame.set_integer(d, result, 1)
