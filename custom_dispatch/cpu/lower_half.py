"""Arithmetic of f16, bf16 and their pairs (PTX ISA 9.0, section 9.7.4).

Sums, products and roots are computed in f32 and rounded once more, which gives the correctly
rounded result because f32 has more than twice the digits. `fma` needs one rounding of an exact sum:
it is computed in f64 with the lost digits kept as an odd last bit. A bfloat16 value is an f32 here
(see `Frame.float`).
"""

from __future__ import annotations

from custom_dispatch.cpu.builder import int_type
from custom_dispatch.cpu.frame import Frame
from custom_dispatch.cpu.lower_float import compute, saturate
from custom_dispatch.ptx import Instruction, Operand

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
    element = type_name.removesuffix("x2")
    lanes = 2 if type_name.endswith("x2") else 1
    whole = [_bits(frame, source, 16 * lanes) for source in sources]
    result = ""
    for lane in range(lanes):
        parts = [_lane(frame, value, lane, lanes) for value in whole]
        bits = _compute(frame, instruction, base, tuple(modifiers), parts, element)
        if lanes == 1:
            result = bits
        else:
            wide = frame.b.resize(bits, 16, 32)
            if lane:
                wide = frame.b.binary("shl", wide, frame.b.const(16, 32), "i32")
                wide = frame.b.binary("or", result, wide, "i32")
            result = wide
    frame.set_integer(d, result, 16 * lanes)


def _bits(frame: Frame, operand: Operand, bits: int) -> str:
    return frame.integer(operand, bits)


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
    values = [widen(frame, source, element) for source in sources]
    if base == "fma":
        value = _odd_fma(frame, values)
    else:
        value = compute(frame, instruction, base, values, "f32", propagate_nan="NaN" in modifiers)
    if "sat" in modifiers:
        value = saturate(frame, value, "f32")
    if "relu" in modifiers:
        value = relu(frame, value)
    return narrow(frame, value, element)


def relu(frame: Frame, value: str) -> str:
    """An f32 with its negative values made zero; NaN stays NaN."""
    b = frame.b
    zero = b.float_const(0, "f32")
    return b.select(b.fcmp("ole", value, zero, "f32"), zero, value, "f32")


def _odd_fma(frame: Frame, values: list[str]) -> str:
    """``a * b + c`` as an f32 rounded to odd, which one rounding to 16 bits makes exact."""
    b = frame.b
    x, y, z = (b.cast("fpext", value, "f32", "f64") for value in values)
    product = b.binary("fmul", x, y, "f64")  # exact: at most 22 digits
    total = b.binary("fadd", product, z, "f64")
    # Knuth's two-sum gives what the addition lost.
    virtual = b.binary("fsub", total, product, "f64")
    rest = b.binary("fsub", total, virtual, "f64")
    error = b.binary(
        "fadd", b.binary("fsub", product, rest, "f64"), b.binary("fsub", z, virtual, "f64"), "f64"
    )
    bits = b.cast("bitcast", total, "f64", "i64")
    zero = b.float_const(0, "f64")
    inexact = b.fcmp("one", error, zero, "f64")
    # An even sum moves towards the error by one; an odd one is already right.
    up = b.binary("xor", b.fcmp("ogt", error, zero, "f64"), b.fcmp("olt", total, zero, "f64"), "i1")
    step = b.select(up, b.const(1, 64), b.const(-1, 64), "i64")
    even = b.binary("xor", b.resize(bits, 64, 1), b.const(1, 1), "i1")
    moved = b.binary("add", bits, step, "i64")
    bits = b.select(b.binary("and", inexact, even, "i1"), moved, bits, "i64")
    return round_odd(frame, b.cast("bitcast", bits, "i64", "f64"))


def round_odd(frame: Frame, value: str) -> str:
    """An f64 as an f32 whose last bit is one when digits were lost."""
    b = frame.b
    near = b.cast("fptrunc", value, "f64", "f32")
    back = b.cast("fpext", near, "f32", "f64")
    bits = b.cast("bitcast", near, "f32", "i32")
    beyond = _farther_from_zero(frame, back, value)
    towards_zero = b.binary("sub", bits, b.resize(beyond, 1, 32), "i32")
    inexact = b.fcmp("one", back, value, "f64")
    odd = b.binary("or", towards_zero, b.resize(inexact, 1, 32), "i32")
    return b.cast("bitcast", odd, "i32", "f32")


def _farther_from_zero(frame: Frame, a: str, b: str, type_name: str = "f64") -> str:
    builder = frame.b
    magnitudes = [
        builder.call_intrinsic("llvm.fabs", [value], [type_name], type_name) for value in (a, b)
    ]
    return builder.fcmp("ogt", magnitudes[0], magnitudes[1], type_name)


def widen(frame: Frame, bits: str, element: str) -> str:
    """An i16 holding an f16 or bf16, as f32; exact."""
    b = frame.b
    if element == "f16":
        return b.cast("fpext", b.cast("bitcast", bits, "i16", "f16"), "f16", "f32")
    shifted = b.binary("shl", b.resize(bits, 16, 32), b.const(16, 32), "i32")
    return b.cast("bitcast", shifted, "i32", "f32")


def narrow(frame: Frame, value: str, element: str, *, towards_zero: bool = False) -> str:
    """An f32 rounded to f16 or bf16, as its bits in an i16.

    Parameters
    ----------
    value
        The f32.
    element
        ``"f16"`` or ``"bf16"``.
    towards_zero
        Cut digits off instead of rounding to nearest even.
    """
    b = frame.b
    is_nan = b.fcmp("uno", value, value, "f32")
    if element == "f16":
        half = b.cast("fptrunc", value, "f32", "f16")
        result = b.cast("bitcast", half, "f16", "i16")
        if towards_zero:
            back = b.cast("fpext", half, "f16", "f32")
            beyond = _farther_from_zero(frame, back, value, "f32")
            result = b.binary("sub", result, b.resize(beyond, 1, 16), "i16")
    else:
        bits = b.cast("bitcast", value, "f32", "i32")
        if not towards_zero:
            last = b.binary("lshr", bits, b.const(16, 32), "i32")
            last = b.binary("and", last, b.const(1, 32), "i32")
            bias = b.binary("add", last, b.const(0x7FFF, 32), "i32")
            bits = b.binary("add", bits, bias, "i32")
        result = b.resize(b.binary("lshr", bits, b.const(16, 32), "i32"), 32, 16)
    return b.select(is_nan, b.const(0x7FFF, 16), result, int_type(16))


def truncate_to_f32(frame: Frame, value: str) -> str:
    """An f64 as f32 with its digits cut off (`.rz`)."""
    b = frame.b
    near = b.cast("fptrunc", value, "f64", "f32")
    beyond = _farther_from_zero(frame, b.cast("fpext", near, "f32", "f64"), value)
    bits = b.cast("bitcast", near, "f32", "i32")
    bits = b.binary("sub", bits, b.resize(beyond, 1, 32), "i32")
    return b.cast("bitcast", bits, "i32", "f32")
