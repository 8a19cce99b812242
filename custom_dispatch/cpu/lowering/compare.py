"""Comparison and selection (PTX ISA 9.0, sections 9.7.6, 9.7.7)."""

from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounding import widen
from custom_dispatch.cpu.numbers.subnormals import flushed
from custom_dispatch.cpu.text.ssa_value import SsaValue
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
    ftz = "ftz" in modifiers and frame.thread.keeps_subnormals
    combine = next((m for m in modifiers if m in ("and", "or", "xor")), "")
    d, a, c, *rest = frame.operands(4 if combine else 3)
    predicate = frame.predicate(rest[0]) if combine else None

    def combined(holds: SsaValue) -> SsaValue:
        return holds if predicate is None else frame.b.binary(combine, holds, predicate, "i1")

    held = _compare(frame, condition, type_name, (a, c), ftz=ftz)
    results = [combined(holds) for holds in held]
    if base == "set":
        _set(frame, d, modifiers[-1], results)
        return
    if not isinstance(d, Pair):
        if len(results) == 2:
            raise frame.unsupported()
        frame.put(d, results[0])
        return
    # A pair gets one predicate for each half, or one for the opposite.
    opposite = results[1] if len(results) == 2 else ~held[0]
    frame.put(d.first, results[0])
    frame.put(d.second, opposite if len(results) == 2 else combined(opposite))


def _set(frame: Frame, d: Operand, target: str, results: list[SsaValue]) -> None:
    element = target.removesuffix("x2")
    bits = 16 if len(results) == 2 else TYPE_BITS[target]
    yes = frame.b.const(_ONES.get(element, -1), bits)
    values = [result.select(yes, 0) for result in results]
    if len(values) == 2:
        frame.put(d, join(values))
    else:
        frame.put(d, values[0], signed=element[0] == "s")


def _compare(
    frame: Frame, condition: str, type_name: str, operands: tuple[Operand, Operand], *, ftz: bool
) -> list[SsaValue]:
    """Compare two operands, subnormal f32 as zero for `ftz`: an i1 for each element."""
    if type_name in (*FLOAT_BITS, *_PAIRS):
        how = _FLOAT_CONDITIONS[condition]
        if type_name in _PAIRS:
            element = type_name.removesuffix("x2")
            words = [split(frame.integer(operand, 32), 16) for operand in operands]
            rows = [[widen(half, element) for half in halves] for halves in words]
            return [x.cmp(how, y) for x, y in zip(*rows, strict=True)]
        x, y = (frame.float(operand, type_name) for operand in operands)
        if ftz and type_name == "f32":
            x, y = flushed(x), flushed(y)
        return [x.cmp(how, y)]
    if condition in ("lt", "le", "gt", "ge"):
        condition = ("s" if type_name.startswith("s") else "u") + condition
    condition = _UNSIGNED_CONDITIONS.get(condition, condition)
    x, y = (frame.integer(operand, TYPE_BITS[type_name]) for operand in operands)
    return [x.cmp(condition, y)]


def lower_select(frame: Frame) -> None:
    """`selp`, by a predicate, and `slct`, by a sign."""
    base, *_, type_name = frame.parts
    d, a, c, by = frame.operands(4)
    bits = TYPE_BITS[frame.parts[-2] if base == "slct" else type_name]
    if base == "selp":
        condition = frame.predicate(by)
        if frame.checks is not None:
            frame.checks.select(frame.b, frame.instruction, condition)
    elif type_name == "f32":
        value = frame.float(by, "f32")
        if "ftz" in frame.parts and frame.thread.keeps_subnormals:
            value = flushed(value)
        condition = value.cmp("oge", 0)
    else:
        condition = frame.integer(by, 32).cmp("sge", 0)
    frame.put(d, condition.select(frame.integer(a, bits), frame.integer(c, bits)))
