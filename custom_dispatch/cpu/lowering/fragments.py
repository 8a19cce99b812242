"""The registers that hold a lane's part of a matrix (PTX ISA 9.0, sections 9.7.14 and 9.7.15)."""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.rounding import FORMATS, narrow, widen, widen_byte
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.ptx import Instruction, Operand, elements_of

ELEMENT_BITS: Final = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    **dict.fromkeys(("s8", "u8", *FORMATS), 8),
}
"""By an element's type, the bits it takes in a register."""


def fragment(
    frame: Frame, instruction: Instruction, operand: Operand, count: int
) -> tuple[Operand, ...]:
    """A fragment's registers, when there are as many as there must be."""
    elements = elements_of(operand)
    if len(elements) != count:
        raise frame.unsupported(instruction, f"a fragment of {len(elements)} registers")
    return elements


def unpack_sums(frame: Frame, operands: tuple[Operand, ...], type_name: str) -> list[str]:
    """Sums as f32, or i32 for `s32`."""
    if type_name == "s32":
        return [frame.integer(operand, 32) for operand in operands]
    if type_name == "f32":
        return [frame.float(operand, "f32") for operand in operands]
    halves = [half for o in operands for half in split(frame.b, frame.integer(o, 32), 16)]
    return [widen(frame.b, half, "f16") for half in halves]


def pack_sums(
    frame: Frame, operands: tuple[Operand, ...], values: list[str], type_name: str
) -> None:
    """Write sums to registers: of f16, two to each."""
    b = frame.b
    for index, operand in enumerate(operands):
        if type_name == "s32":
            frame.set_integer(operand, values[index], 32)
        elif type_name == "f32":
            frame.set_float(operand, values[index], "f32")
        else:
            low, high = (
                b.resize(narrow(b, value, "f16"), 16, 32)
                for value in values[2 * index : 2 * index + 2]
            )
            high = b.binary("shl", high, 16)
            frame.set_integer(operand, b.binary("or", low, high), 32)


def add_product(b: Builder, total: str, x: str, y: str, type_name: str) -> str:
    """A product of two numbers and a sum, rounded by themselves."""
    if type_name in ("s8", "u8"):
        return b.binary("add", total, b.binary("mul", x, y))
    return b.binary("fadd", total, b.binary("fmul", x, y, "f32"), "f32")


def numbers_in(b: Builder, word: str, type_name: str) -> list[str]:
    """The numbers packed in a register, as f32 or i32."""
    parts = split(b, word, ELEMENT_BITS[type_name])
    if type_name in ("s8", "u8"):
        return [b.resize(part, 8, 32, signed=type_name == "s8") for part in parts]
    if type_name == "tf32":  # the last 13 bits do not count
        kept = b.binary("and", parts[0], -8192)
        return [b.cast("bitcast", kept, "i32", "f32")]
    if type_name in FORMATS:
        return [widen_byte(b, part, type_name) for part in parts]
    return [widen(b, part, type_name) for part in parts]


def split(b: Builder, word: str, bits: int) -> list[str]:
    """The parts of a word that have so many bits, lowest first."""
    if bits == 32:
        return [word]
    parts = [word]
    for start in range(bits, 32, bits):
        parts.append(b.binary("lshr", word, start))
    return [b.resize(part, 32, bits) for part in parts]
