"""Comparison and selection (PTX ISA 9.0, sections 9.7.6, 9.7.7)."""

from __future__ import annotations

from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame, value_type
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounding import widen
from custom_dispatch.cpu.numbers.subnormals import flushed
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.ptx import TYPE_BITS, Operand, Pair

_SIGNS = ("eq", "ne", "lt", "le", "gt", "ge")
_FLOAT_CONDITIONS = {
    **{sign: f"o{sign}" for sign in _SIGNS},
    **{f"{sign}u": f"u{sign}" for sign in _SIGNS},
    "num": "ord",
    "nan": "uno",
}
_UNSIGNED_CONDITIONS = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}
_PAIRS = ("f16x2", "bf16x2")
_ONES = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80}
"""The bits of 1.0, which `set` gives in a floating-point type; in an integer type it is -1."""


def lower_compare(frame: Frame) -> None:
    """`setp` and `set`, with a second destination and with a predicate to combine with."""
    base, condition, *modifiers, type_name = frame.parts
    target = modifiers.pop() if base == "set" else "pred"
    ftz = "ftz" in modifiers and frame.thread.keeps_subnormals
    modifiers = [m for m in modifiers if m != "ftz"]
    combine = modifiers.pop(0) if modifiers else ""
    if modifiers or combine not in ("", "and", "or", "xor"):
        raise frame.unsupported()
    d, a, c, *rest = frame.operands(4 if combine else 3)
    predicate = frame.predicate(rest[0]) if combine else ""
    results = [
        (_combined(frame, combine, holds, predicate), holds)
        for holds in _compare(frame, condition, type_name, (a, c), ftz=ftz)
    ]
    if base == "set":
        _set(frame, d, target, [result for result, _ in results])
        return
    if len(results) == 2:  # one predicate for each half
        if not isinstance(d, Pair):
            raise frame.unsupported()
        frame.set_integer(d.first, results[0][0], 1)
        frame.set_integer(d.second, results[1][0], 1)
        return
    ((result, holds),) = results
    if isinstance(d, Pair):
        fails = frame.b.binary("xor", holds, 1, "i1")
        frame.set_integer(d.first, result, 1)
        frame.set_integer(d.second, _combined(frame, combine, fails, predicate), 1)
    else:
        frame.set_integer(d, result, 1)


def _combined(frame: Frame, combine: str, holds: str, predicate: str) -> str:
    return frame.b.binary(combine, holds, predicate, "i1") if combine else holds


def _set(frame: Frame, d: Operand, target: str, results: list[str]) -> None:
    b = frame.b
    element = target.removesuffix("x2")
    bits = 16 if len(results) == 2 else TYPE_BITS[target]
    if (target in _PAIRS) != (len(results) == 2) and target not in ("u32", "s32"):
        raise frame.unsupported()
    if element not in (*_ONES, "u16", "s16", "u32", "s32"):
        raise frame.unsupported()
    yes = b.const(_ONES.get(element, -1), bits)
    values = [b.select(result, yes, 0, int_type(bits)) for result in results]
    if len(values) == 2:
        frame.set_integer(d, join(b, values, 16), 32)
    else:
        frame.set_integer(d, values[0], bits, signed=element[0] == "s")


def _compare(
    frame: Frame,
    condition: str,
    type_name: str,
    operands: tuple[Operand, Operand],
    *,
    ftz: bool,
) -> list[str]:
    """Compare two operands, subnormal f32 as zero for `ftz`: an i1 for each element."""
    b = frame.b
    if type_name in (*FLOAT_BITS, *_PAIRS):
        if condition not in _FLOAT_CONDITIONS:
            raise frame.unsupported()
        how, kind = _FLOAT_CONDITIONS[condition], value_type(type_name)
        if type_name in _PAIRS:
            element = type_name.removesuffix("x2")
            words = [split(b, frame.integer(operand, 32), 16) for operand in operands]
            rows = [[widen(b, half, element) for half in halves] for halves in words]
            return [b.fcmp(how, x, y, kind) for x, y in zip(*rows, strict=True)]
        x, y = (frame.float(operand, type_name) for operand in operands)
        if ftz and type_name == "f32":
            x, y = flushed(b, x, "f32"), flushed(b, y, "f32")
        return [b.fcmp(how, x, y, kind)]
    if type_name not in TYPE_BITS:
        raise frame.unsupported()
    bits = TYPE_BITS[type_name]
    if condition in ("lt", "le", "gt", "ge"):
        condition = ("s" if type_name.startswith("s") else "u") + condition
    elif condition in _UNSIGNED_CONDITIONS:
        condition = _UNSIGNED_CONDITIONS[condition]
    elif condition not in ("eq", "ne"):
        raise frame.unsupported()
    x, y = (frame.integer(operand, bits) for operand in operands)
    return [b.icmp(condition, x, y, int_type(bits))]


def lower_select(frame: Frame) -> None:
    """`selp`, by a predicate, and `slct`, by a sign."""
    b = frame.b
    base, *modifiers = frame.parts
    d, a, c, by = frame.operands(4)
    bits = TYPE_BITS[modifiers[-1] if base == "selp" else modifiers[-2]]
    if base == "selp":
        frame.check_modifiers(tuple(modifiers[:-1]))
        condition = frame.predicate(by)
        if frame.checks is not None:
            frame.checks.select(b, frame.instruction, condition)
    elif modifiers[-1] == "f32":
        value = frame.float(by, "f32")
        if "ftz" in modifiers and frame.thread.keeps_subnormals:
            value = flushed(b, value, "f32")
        condition = b.fcmp("oge", value, 0, "f32")
    else:
        condition = b.icmp("sge", frame.integer(by, 32), 0)
    value = b.select(condition, frame.integer(a, bits), frame.integer(c, bits), int_type(bits))
    frame.set_integer(d, value, bits)
