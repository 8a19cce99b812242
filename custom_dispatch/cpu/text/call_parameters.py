"""Making registers of the `.param` variables that calls pass values in (PTX ISA 9.0, section
5.1.6.3, "Device Function Parameters").

A part of such a variable that is always written and read in one width becomes a register; a
variable of which an address is taken, or whose parts overlap, stays memory of the thread.
"""

from __future__ import annotations

from dataclasses import replace

from custom_dispatch.ptx import (
    TYPE_BITS,
    Address,
    Entry,
    Instruction,
    Operand,
    Register,
    Statement,
    Symbol,
    Vector,
)

_Part = tuple[int, int]
"""Offset and size in bytes."""


def promote_parameters(entry: Entry) -> Entry:
    """An entry without those `.param` variables of its body that can be registers."""
    names = {variable.name for variable in entry.variables if variable.space == "param"}
    parts: dict[str, set[_Part]] = {name: set() for name in names}
    for statement in entry.body:
        if not isinstance(statement, Instruction):
            continue
        access = _access(statement, names)
        if access is not None:
            parts[access[0]].update(access[1])
            continue
        for name in names & _names_in(statement):
            parts[name].add((0, 0))  # stays memory
    kept = {name for name in names if _overlap(parts[name])}
    promoted = names - kept
    body: list[Statement] = []
    for statement in entry.body:
        access = _access(statement, promoted) if isinstance(statement, Instruction) else None
        if access is not None and isinstance(statement, Instruction):
            body += _moves(statement, *access)
        else:
            body.append(statement)
    variables = tuple(variable for variable in entry.variables if variable.name not in promoted)
    return replace(entry, body=tuple(body), variables=variables)


def _names_in(instruction: Instruction) -> set[str]:
    found: set[str] = set()
    for operand in instruction.operands:
        for element in getattr(operand, "elements", (operand,)):
            base = element.base if isinstance(element, Address) else element
            if isinstance(base, Symbol):
                found.add(base.name)
    return found


def _access(instruction: Instruction, names: set[str]) -> tuple[str, list[_Part]] | None:
    """The variable that a load or store of parameter space accesses, and which parts."""
    opcode = instruction.parts
    if opcode[0] not in ("ld", "st") or "param" not in opcode[1].partition("::")[0]:
        return None
    bits = TYPE_BITS.get(opcode[-1])
    if bits is None or bits < 8 or bits > 64 or len(instruction.operands) != 2:
        return None
    place, value = instruction.operands if opcode[0] == "st" else instruction.operands[::-1]
    if not isinstance(place, Address) or not isinstance(place.base, Symbol) or place.extra:
        return None
    if place.base.name not in names or (isinstance(value, Symbol) and value.name in names):
        return None
    count = len(value.elements) if isinstance(value, Vector) else 1
    start = place.offset + place.base.offset
    return place.base.name, [(start + i * bits // 8, bits // 8) for i in range(count)]


def _overlap(parts: set[_Part]) -> bool:
    """Whether parts overlap, or one has no size."""
    end = 0
    for start, size in sorted(parts):
        if start < end or size == 0:
            return True
        end = start + size
    return False


def _moves(instruction: Instruction, name: str, parts: list[_Part]) -> list[Instruction]:
    """What a load or store becomes."""
    is_store = instruction.parts[0] == "st"
    value = instruction.operands[1 if is_store else 0]
    values: tuple[Operand, ...] = value.elements if isinstance(value, Vector) else (value,)
    signed = instruction.parts[-1].startswith("s")
    found = []
    for (start, size), element in zip(parts, values, strict=True):
        register = Register(f"{name}+{start}", f"b{8 * size}")
        target, source = (register, element) if is_store else (element, register)
        opcode = f"mov.b{8 * size}"
        if signed and not is_store and isinstance(target, Register):
            opcode = f"cvt.s{TYPE_BITS[target.type]}.s{8 * size}"
        if isinstance(target, Symbol):  # `_`: not wanted
            continue
        found.append(replace(instruction, opcode=opcode, operands=(target, source)))
    return found
