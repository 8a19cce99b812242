"""Arithmetic of f16, bf16 and their pairs (PTX ISA 9.0, section 9.7.4).

Sums and products are computed in f32 and rounded once more, which gives the correctly rounded
result because f32 has more than twice the digits. `fma` needs one rounding of an exact sum: it is
computed in f64 with the lost digits kept as an odd last bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.cpu.lowering.float import compute, saturate
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.rounding import narrow, relu, round_odd, two_sum, widen
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.ptx import Instruction

_MODIFIERS = frozenset({"rn", "ftz", "sat", "approx", "NaN", "relu"})
_SOURCES = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "min": 2, "max": 2}
_OPERATIONS = frozenset({*_SOURCES, "abs", "neg", "ex2", "tanh"})


def lower_half(frame: Frame, instruction: Instruction) -> None:
    """Every f16, bf16, f16x2 and bf16x2 instruction that computes."""
    base, *modifiers, type_name = instruction.parts
    frame.check_modifiers(instruction, modifiers, _MODIFIERS)
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
    if element == type_name:
        return _compute(frame, instruction, base, modifiers, sources, element)
    halves = zip(*(halves_of(frame.b, source) for source in sources), strict=True)
    return join_halves(
        frame.b, [_compute(frame, instruction, base, modifiers, list(h), element) for h in halves]
    )


def halves_of(b: Builder, word: str) -> list[str]:
    """An i32 as two i16, the lower first."""
    upper = b.binary("lshr", word, 16)
    return [b.resize(half, 32, 16) for half in (word, upper)]


def join_halves(b: Builder, halves: Sequence[str]) -> str:
    """Two i16, the lower first, as an i32."""
    lower, upper = (b.resize(half, 16, 32) for half in halves)
    return b.binary("or", lower, b.binary("shl", upper, 16))


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
    ftz = "ftz" in modifiers and element == "f16"
    if ftz:
        sources = [_flushed(b, source) for source in sources]
    values = [widen(b, source, element) for source in sources]
    if base == "fma":
        value = _odd_fma(frame, values)
    elif base == "mul" and element == "bf16":  # f32 has no digits to spare for small products
        wide = [b.cast("fpext", value, "f32", "f64") for value in values]
        value = round_odd(b, b.binary("fmul", wide[0], wide[1], "f64"))
    else:
        value = compute(frame, instruction, base, values, "f32", propagate_nan="NaN" in modifiers)
    if "sat" in modifiers:
        value = saturate(frame, value, "f32")
    if "relu" in modifiers:
        value = relu(b, value)
    result = narrow(b, value, element)
    return _flushed(b, result) if ftz else result


def _flushed(b: Builder, half: str) -> str:
    """An f16 with subnormal numbers made zero of the same sign."""
    exponent = b.binary("and", half, 0x7C00, "i16")
    sign = b.binary("and", half, 0x8000, "i16")
    return b.select(b.icmp("eq", exponent, 0, "i16"), sign, half, "i16")


def _odd_fma(frame: Frame, values: list[str]) -> str:
    """``a * b + c`` as an f32 rounded to odd, which one rounding to 16 bits makes exact."""
    b = frame.b
    x, y, z = (b.cast("fpext", value, "f32", "f64") for value in values)
    product = b.binary("fmul", x, y, "f64")  # exact: at most 22 digits
    total, error = two_sum(b, product, z)
    bits = b.cast("bitcast", total, "f64", "i64")
    inexact = b.fcmp("one", error, 0, "f64")
    # An even sum moves towards the error by one; an odd one is already right.
    up = b.binary("xor", b.fcmp("ogt", error, 0, "f64"), b.fcmp("olt", total, 0, "f64"), "i1")
    step = b.select(up, 1, -1, "i64")
    even = b.binary("xor", b.resize(bits, 64, 1), 1, "i1")
    moved = b.binary("add", bits, step, "i64")
    bits = b.select(b.binary("and", inexact, even, "i1"), moved, bits, "i64")
    return round_odd(b, b.cast("bitcast", bits, "i64", "f64"))
