"""`cvt` of pairs of 8-bit floating-point numbers (PTX ISA 9.0, section 9.7.9, "cvt").

From f32 or f16 they come with `.satfinite`, and go to f16 only.
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.lowering.half import halves_of, join_halves
from custom_dispatch.cpu.numbers.fp8 import narrow_to_byte, widen_byte
from custom_dispatch.cpu.numbers.rounding import narrow, relu, widen
from custom_dispatch.ptx import Instruction

BYTE_PAIRS: Final = ("e4m3x2", "e5m2x2")


def lower_convert_bytes(
    frame: Frame, instruction: Instruction, modifiers: tuple[str, ...], target: str, source: str
) -> None:
    """`cvt` from or to one of `BYTE_PAIRS`."""
    b = frame.b
    if source in BYTE_PAIRS:
        if target != "f16x2" or not {"rn", "relu"}.issuperset(modifiers):
            raise frame.unsupported(instruction)
        d, a = frame.operands(instruction, 2)
        pair = frame.integer(a, 16)
        upper = b.binary("lshr", pair, 8, "i16")
        values = [
            widen_byte(b, b.resize(byte, 16, 8), source.removesuffix("x2"))
            for byte in (pair, upper)
        ]
        if "relu" in modifiers:
            values = [relu(b, value) for value in values]
        frame.set_integer(d, join_halves(b, [narrow(b, value, "f16") for value in values]), 32)
        return
    wanted = {"rn", "satfinite"}
    if not wanted.issubset(modifiers) or not (wanted | {"relu"}).issuperset(modifiers):
        raise frame.unsupported(instruction)
    if source == "f32":
        d, *sources = frame.operands(instruction, 3)  # the upper one first
        values = [frame.float(operand, "f32") for operand in reversed(sources)]
    elif source == "f16x2":
        d, a = frame.operands(instruction, 2)
        values = [widen(b, half, "f16") for half in halves_of(b, frame.integer(a, 32))]
    else:
        raise frame.unsupported(instruction)
    if "relu" in modifiers:
        values = [relu(b, value) for value in values]
    element = target.removesuffix("x2")
    low, high = (b.resize(narrow_to_byte(b, value, element), 8, 16) for value in values)
    high = b.binary("shl", high, 8, "i16")
    frame.set_integer(d, b.binary("or", low, high, "i16"), 16)
