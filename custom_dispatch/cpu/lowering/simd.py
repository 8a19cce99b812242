"""Integers packed in a register (PTX ISA 9.0, sections 9.7.1, "add", "min" and "max" of 16-bit
pairs, and 9.7.15, "Video Instructions").

Of the video instructions these are the ones on two or four numbers at once, without masks and byte
selection; nvcc emits `vabsdiff2` and `vabsdiff4`.
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.ptx import Instruction

VIDEO: Final = frozenset(
    f"{operation}{count}"
    for operation in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
    for count in (2, 4)
)


def lower_pairs(frame: Frame, instruction: Instruction) -> None:
    """`add`, `min` and `max` of ``.s16x2`` and ``.u16x2``."""
    base, *modifiers, type_name = instruction.parts
    known = frozenset({"relu"}) if type_name == "s16x2" and base != "add" else frozenset[str]()
    frame.check_modifiers(instruction, modifiers, known)
    d, a, c = frame.operands(instruction, 3)
    signed = type_name == "s16x2"
    results = [
        _compute(frame.b, base, x, y, signed=signed)
        for x, y in zip(
            _numbers(frame.b, frame.integer(a, 32), 16, signed=signed),
            _numbers(frame.b, frame.integer(c, 32), 16, signed=signed),
            strict=True,
        )
    ]
    if "relu" in modifiers:
        results = [_call(frame.b, "llvm.smax", r, frame.b.const(0, 32)) for r in results]
    frame.set_integer(d, _packed(frame.b, results, 16), 32)


def lower_video(frame: Frame, instruction: Instruction) -> None:
    """`vadd2`, `vabsdiff4` and so on: with `.add`, the results' sum is added to a third operand."""
    b = frame.b
    base, *modifiers = instruction.parts
    types, rest = modifiers[:3], modifiers[3:]
    known = len(types) == 3 and {"u32", "s32"}.issuperset(types)
    if not known or rest not in ([], ["sat"], ["add"]):
        raise frame.unsupported(instruction)
    d, a, c, e = frame.operands(instruction, 4)
    target, left, right = (name == "s32" for name in types)
    bits = 32 // int(base[-1])
    results = []
    for x, y in zip(
        _numbers(b, frame.integer(a, 32), bits, signed=left),
        _numbers(b, frame.integer(c, 32), bits, signed=right),
        strict=True,
    ):
        result = _compute(b, base[1:-1], x, y, signed=True)  # all fit into 32 bits with a sign
        if rest == ["sat"]:
            low = -(1 << (bits - 1)) if target else 0
            high = (1 << (bits - target)) - 1
            result = _call(b, "llvm.smax", result, b.const(low, 32))
            result = _call(b, "llvm.smin", result, b.const(high, 32))
        results.append(result)
    if rest != ["add"]:
        frame.set_integer(d, _packed(b, results, bits), 32)
        return
    total = frame.integer(e, 32)
    for result in results:  # with all their bits, as an H200 adds them
        total = b.binary("add", total, result)
    frame.set_integer(d, total, 32)


def _compute(b: Builder, operation: str, x: str, y: str, *, signed: bool) -> str:
    if operation in ("add", "sub"):
        return b.binary(operation, x, y)
    if operation in ("min", "max"):
        return _call(b, f"llvm.{'s' if signed else 'u'}{operation}", x, y)
    larger, smaller = _call(b, "llvm.smax", x, y), _call(b, "llvm.smin", x, y)
    return b.binary("sub", larger, smaller)


def _call(b: Builder, name: str, x: str, y: str) -> str:
    return b.call_intrinsic(name, [x, y])


def _numbers(b: Builder, word: str, bits: int, *, signed: bool) -> list[str]:
    """The numbers in a word, lowest first, each as an i32."""
    found = []
    for start in range(0, 32, bits):
        part = b.binary("lshr", word, start) if start else word
        found.append(b.resize(b.resize(part, 32, bits), bits, 32, signed=signed))
    return found


def _packed(b: Builder, numbers: list[str], bits: int) -> str:
    """The low bits of i32 values in one word."""
    word = ""
    for index, number in enumerate(numbers):
        part = b.binary("and", number, (1 << bits) - 1)
        if index:
            part = b.binary("shl", part, index * bits)
        word = b.binary("or", word, part) if word else part
    return word
