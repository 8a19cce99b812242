"""Which 64-bit registers hold pointers.

PTX computes addresses with integer arithmetic. LLVM can tell where a pointer comes from, and so
vectorise the thread loop, only when the arithmetic is done on pointers. A register is kept as a
pointer when every instruction that writes it moves a pointer or adds an integer to one; every other
register stays an integer, and is made a pointer where it is used as an address.
"""

from __future__ import annotations

from custom_dispatch.cpu.analysis.graph import opcode_base
from custom_dispatch.ptx import Address, Entry, Instruction, Operand, Register, Symbol

_ADD = frozenset({"add.s64", "add.u64", "add.b64"})
_SUB = frozenset({"sub.s64", "sub.u64"})
_MOVE = frozenset({"mov.u64", "mov.b64", "mov.s64"})


def pointer_registers(entry: Entry, bindings: int, shared: frozenset[str]) -> frozenset[str]:
    """The names of the registers to keep as pointers.

    Parameters
    ----------
    entry
        The kernel.
    bindings
        How many of its first parameters are pointers.
    shared
        Names of variables in shared memory, whose addresses are numbers.
    """
    pointers = {parameter.name for parameter in entry.parameters[:bindings]}
    writes: dict[str, list[Instruction]] = {}
    for statement in entry.body:
        if isinstance(statement, Instruction):
            for register in _written(statement):
                writes.setdefault(register.name, []).append(statement)
    # Starts with every register that could be a pointer and takes away until nothing changes, so
    # that a pointer incremented in a loop keeps being one.
    kept = {
        name
        for name, instructions in writes.items()
        if all(_may_make_pointer(i, pointers) and not _names(i, shared) for i in instructions)
    }
    grounded: set[str] = set()
    changed = True
    while changed:
        changed = False
        for name in sorted(kept):
            if not all(_makes_pointer(i, kept) for i in writes[name]):
                kept.discard(name)
                changed = True
    changed = True
    while changed:  # drop cycles that no actual pointer enters
        changed = False
        for name in sorted(kept - grounded):
            if any(_grounds(i, grounded) for i in writes[name]):
                grounded.add(name)
                changed = True
    return frozenset(grounded)


def _written(instruction: Instruction) -> list[Register]:
    if not instruction.operands or opcode_base(instruction) in ("st", "red", "bra", "brx"):
        return []
    first = instruction.operands[0]
    elements = getattr(first, "elements", (first,))
    return [element for element in elements if isinstance(element, Register)]


def _names(instruction: Instruction, names: frozenset[str]) -> bool:
    return any(isinstance(o, Symbol) and o.name in names for o in instruction.operands)


def _sources(instruction: Instruction) -> tuple[Operand, ...]:
    return instruction.operands[1:]


def _is_parameter_load(instruction: Instruction) -> bool:
    return instruction.opcode in ("ld.param.u64", "ld.param.b64", "ld.param.s64")


def _may_make_pointer(instruction: Instruction, pointers: set[str]) -> bool:
    if _is_parameter_load(instruction):
        (source,) = _sources(instruction) or (None,)
        return (
            isinstance(source, Address)
            and isinstance(source.base, Symbol)
            and source.base.name in pointers
            and source.offset + source.base.offset == 0
        )
    return (
        instruction.opcode in _ADD | _SUB | _MOVE or _is_plain_cvta(instruction)
    ) and isinstance(instruction.operands[0], Register)


def _is_plain_cvta(instruction: Instruction) -> bool:
    """Whether it is a `cvta` that changes nothing; one of shared memory counts from its start."""
    parts = instruction.parts
    return parts[0] == "cvta" and not any(part.startswith("shared") for part in parts)


def _is_pointer(operand: Operand, registers: set[str]) -> bool:
    return isinstance(operand, Symbol) or (
        isinstance(operand, Register) and operand.name in registers
    )


def _makes_pointer(instruction: Instruction, kept: set[str]) -> bool:
    if _is_parameter_load(instruction):
        return True
    flags = [_is_pointer(operand, kept) for operand in _sources(instruction)]
    if instruction.opcode in _ADD:
        return flags.count(True) == 1
    if instruction.opcode in _SUB:
        return flags == [True, False]
    return flags == [True]


def _grounds(instruction: Instruction, grounded: set[str]) -> bool:
    return _is_parameter_load(instruction) or any(
        _is_pointer(operand, grounded) for operand in _sources(instruction)
    )
