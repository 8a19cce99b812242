"""Finding the bounds check of a kernel: ``if (i >= n) return;`` at its start.

When the check passes for the first and the last thread of a row of a block, and what it compares
grows evenly along the row without wrapping around, it passes for every thread between. The loop
over such a row then runs without the check, and LLVM can vectorise it; a CPU without masked stores
could not otherwise. This module decides where that holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from custom_dispatch.cpu.analysis.graph import Graph, opcode_base
from custom_dispatch.ptx import Instruction, Integer, Operand, Register, SpecialRegister, Vector

_MAX_INSTRUCTIONS = 400
_MAX_SLOPE = 1 << 16
_ORDERED = ("lt", "le", "gt", "ge", "lo", "ls", "hi", "hs")
_INTEGER_TYPES = ("s32", "u32", "s64", "u64")
# What may stand before the check: instructions without side effects that cannot trap.
_PURE = frozenset(
    {"mov", "cvta", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "cvt"}
    | {"setp", "selp", "min", "max"}
)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison that a bounds check depends on.

    Attributes
    ----------
    instruction
        The `setp`.
    slope
        How much its growing operand grows from one thread of a row to the next, modulo two to the
        power of its width.
    grows
        The operand that grows.
    """

    instruction: Instruction
    slope: int
    grows: Operand


@dataclass(frozen=True, slots=True)
class Guard:
    """A bounds check: the branch that ends the first block, and what decides it."""

    branch: Instruction
    comparisons: tuple[Comparison, ...]


def find_guard(graph: Graph) -> Guard | None:
    """The bounds check at a kernel's start, or None where it must stay or is not worth dropping."""
    first = graph.blocks[0]
    branch = first.branch
    instructions = first.instructions[:-1]
    if branch is None or branch.predicate is None or graph.has_cycle:
        return None
    if sum(len(block.instructions) for block in graph.blocks) > _MAX_INSTRUCTIONS:
        return None
    if not all(_is_pure(instruction) for instruction in instructions):
        return None
    written_by: dict[str, Instruction] = {}
    for instruction in instructions:
        target = instruction.operands[0] if instruction.operands else None
        if not isinstance(target, Register) or target.name in written_by:
            return None
        written_by[target.name] = instruction
    slopes = slopes_of(instructions)
    # The branch is not taken when every comparison fails (joined by `or`), or, for a negated
    # predicate, when every one holds (joined by `and`).
    joined = "and" if branch.predicate.negated else "or"
    comparisons: list[Comparison] = []
    pending = [branch.predicate.register.name]
    while pending:
        made = written_by.get(pending.pop())
        if made is None or len(comparisons) > 8:
            return None
        sources = made.operands[1:]
        if made.opcode == f"{joined}.pred":
            if not all(isinstance(s, Register) and not s.negated for s in sources):
                return None
            pending.extend(s.name for s in sources if isinstance(s, Register))
            continue
        parts = made.parts
        if parts[0] != "setp" or parts[-1] not in _INTEGER_TYPES or len(parts) not in (3, 4):
            return None
        if len(parts) == 4:
            last = sources[-1]
            if parts[2] != joined or not isinstance(last, Register) or last.negated:
                return None
            pending.append(last.name)
        left, right = (_operand_slope(s, slopes) for s in sources[:2])
        if left is None or right is None or (left and right):
            return None
        if left or right:
            if parts[1] not in _ORDERED:
                return None
            comparisons.append(Comparison(made, left or right, sources[0 if left else 1]))
    return Guard(branch, tuple(comparisons)) if comparisons else None


def slopes_of(instructions: Iterable[Instruction]) -> dict[str, int | None]:
    """How much registers grow from one thread of a row to the next, in straight-line code.

    None stands for what does not grow evenly, or is written more than once.
    """
    slopes: dict[str, int | None] = {}
    for instruction in instructions:
        target = instruction.operands[0] if instruction.operands else None
        if isinstance(target, Register):
            known = _is_pure(instruction) and target.name not in slopes
            slopes[target.name] = _slope(instruction, slopes) if known else None
        elif isinstance(target, Vector):
            slopes.update((e.name, None) for e in target.elements if isinstance(e, Register))
    return slopes


def _is_pure(instruction: Instruction) -> bool:
    if instruction.predicate is not None:
        return False
    base = opcode_base(instruction)
    return base in _PURE or instruction.opcode.startswith("ld.param.")


def _operand_slope(operand: Operand, slopes: dict[str, int | None]) -> int | None:
    if isinstance(operand, SpecialRegister):
        if operand.name == "%tid.x":
            return 1
        return 0 if operand.name.startswith(("%tid.", "%ntid.", "%ctaid.", "%nctaid.")) else None
    if isinstance(operand, Register):
        return slopes.get(operand.name)
    return 0


def _slope(instruction: Instruction, slopes: dict[str, int | None]) -> int | None:
    """How the value an instruction writes grows with ``%tid.x``; None when not evenly upwards."""
    if instruction.opcode.startswith("ld.param."):
        return 0
    sources = instruction.operands[1:]
    known = [_operand_slope(source, slopes) for source in sources]
    if any(slope is None for slope in known):
        return None
    values = [slope for slope in known if slope is not None]
    if not any(values):
        return 0
    slope = _even_slope(instruction, sources, values)
    return slope if slope is not None and 0 <= slope < _MAX_SLOPE else None


def _even_slope(
    instruction: Instruction, sources: tuple[Operand, ...], slopes: list[int]
) -> int | None:
    base, *modifiers = instruction.parts
    if modifiers[-1] not in (*_INTEGER_TYPES, "b32", "b64"):
        return None
    if base == "mov" and len(slopes) == 1:
        return slopes[0]
    if base == "add" and len(modifiers) == 1:
        return slopes[0] + slopes[1]
    if base == "sub" and len(modifiers) == 1 and slopes[1] == 0:
        return slopes[0]
    if base in ("mul", "mad") and modifiers[0] in ("lo", "wide") and len(modifiers) == 2:
        product = _product_slope(sources[:2], slopes[:2])
        return None if product is None else product + sum(slopes[2:])
    if base == "shl" and isinstance(sources[1], Integer) and 0 <= sources[1].value < 16:
        return slopes[0] << sources[1].value
    widens = ("u64", "u32"), ("s64", "s32")
    if base == "cvt" and tuple(modifiers) in widens:
        return slopes[0]
    return None


def _product_slope(sources: tuple[Operand, ...], slopes: list[int]) -> int | None:
    if slopes == [0, 0]:
        return 0
    for mine, other in ((0, 1), (1, 0)):
        factor = sources[other]
        if slopes[mine] and isinstance(factor, Integer) and 0 <= factor.value < _MAX_SLOPE:
            return slopes[mine] * factor.value
    return None
