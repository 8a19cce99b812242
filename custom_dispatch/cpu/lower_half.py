"""Arithmetic of f16, bf16 and their pairs (PTX ISA 9.0, section 9.7.4).

Sums, products and roots are computed in f32 and rounded once more, which gives the correctly
rounded result because f32 has more than twice the digits. `fma` needs one rounding of an exact sum:
it is computed in f64 with the lost digits kept as an odd last bit.
"""

from __future__ import annotations

from custom_dispatch.cpu.frame import Frame
from custom_dispatch.cpu.lower_float import compute, saturate
from custom_dispatch.cpu.rounding import narrow, relu, round_odd, two_sum, widen
from custom_dispatch.ptx import Instruction

_MODIFIERS = frozenset({"rn", "ftz", "sat", "approx", "NaN", "relu"})
_SOURCES = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "min": 2, "max": 2}
_OPERATIONS = frozenset({*_SOURCES, "abs", "neg", "ex2", "tanh"})


def lower_half(frame: Frame, instruction: Instruction) -> None:
    """Every f16, bf16, f16x2 and bf16x2 instruction that computes."""
    base, *modifiers, type_name = instruction.parts
    frame.check_modifiers(instruction, tuple(modifiers), _MODIFIERS)
    if base not in _OPERATIONS:
        raise frame.unsupported(instruction)
    d, *sources = frame.operands(instruction, 1 + _SOURCES.get(base, 1))
    whole = [frame.integer(source, 16 if type_name[-2:] != "x2" else 32) for source in sources]
    result = packed(frame, instruction, base, tuple(modifiers), whole, type_name)
    frame.set_integer(d, result, 32 if type_name.endswith("x2") else 16)


def packed(
    frame: Frame,
    instruction: Instruction,
    base: str,
    modifiers: tuple[str, ...],
    sources: list[str],
    type_name: str,
) -> str:
    """An operation on one or two elements, from and to an i16 or i32 that holds them."""
    element = type_name.removesuffix("x2")
    lanes = 2 if type_name.endswith("x2") else 1
    result = ""
    for lane in range(lanes):
        parts = [_lane(frame, value, lane, lanes) for value in sources]
        bits = _compute(frame, instruction, base, modifiers, parts, element)
        if lanes == 1:
            return bits
        wide = frame.b.resize(bits, 16, 32)
        if lane:
            wide = frame.b.binary("shl", wide, frame.b.const(16, 32), "i32")
            wide = frame.b.binary("or", result, wide, "i32")
        result = wide
    return result


def _lane(frame: Frame, value: str, lane: int, lanes: int) -> str:
    if lanes == 1:
        return value
    if lane:
        value = frame.b.binary("lshr", value, frame.b.const(16, 32), "i32")
    return frame.b.resize(value, 32, 16)


def _compute(
    frame: Frame,
    instruction: Instruction,
    base: str,
    modifiers: tuple[str, ...],
    sources: list[str],
    element: str,
) -> str:
    """One element: from i16 to i16."""
    b = frame.b
    if base in ("neg", "abs"):
        mask = b.const(0x8000 if base == "neg" else 0x7FFF, 16)
        return b.binary("xor" if base == "neg" else "and", sources[0], mask, "i16")
    values = [widen(b, source, element) for source in sources]
    if base == "fma":
        value = _odd_fma(frame, values)
    else:
        value = compute(frame, instruction, base, values, "f32", propagate_nan="NaN" in modifiers)
    if "sat" in modifiers:
        value = saturate(frame, value, "f32")
    if "relu" in modifiers:
        value = relu(b, value)
    return narrow(b, value, element)


def _odd_fma(frame: Frame, values: list[str]) -> str:
    """``a * b + c`` as an f32 rounded to odd, which one rounding to 16 bits makes exact."""
    b = frame.b
    x, y, z = (b.cast("fpext", value, "f32", "f64") for value in values)
    product = b.binary("fmul", x, y, "f64")  # exact: at most 22 digits
    total, error = two_sum(b, product, z)
    bits = b.cast("bitcast", total, "f64", "i64")
    zero = b.float_const(0, "f64")
    inexact = b.fcmp("one", error, zero, "f64")
    # An even sum moves towards the error by one; an odd one is already right.
    up = b.binary("xor", b.fcmp("ogt", error, zero, "f64"), b.fcmp("olt", total, zero, "f64"), "i1")
    step = b.select(up, b.const(1, 64), b.const(-1, 64), "i64")
    even = b.binary("xor", b.resize(bits, 64, 1), b.const(1, 1), "i1")
    moved = b.binary("add", bits, step, "i64")
    bits = b.select(b.binary("and", inexact, even, "i1"), moved, bits, "i64")
    return round_odd(b, b.cast("bitcast", bits, "i64", "f64"))
