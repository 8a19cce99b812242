"""What an instruction does to the memory at its address operand (PTX ISA 9.0, section 9.7.9)."""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.ptx import TYPE_BITS, Instruction, Integer, Operand, Vector

_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
"""Modifiers of accesses that do not race with each other (PTX ISA, "Memory Consistency Model":
strong operations; a volatile access is a relaxed one)."""
_MATRIX_ROW_BYTES = 16


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """An access to consecutive bytes.

    Attributes
    ----------
    size
        Its bytes; the address is a multiple of them. 0 where the instruction's lowering says of
        each part by itself that it is accessed (`Frame.check_part`).
    reads, writes
        What it does; an atomic operation does both.
    strong
        Whether it races only with accesses that are not.
    swap
        Whether it is a compare and swap, before which the value may be read in any way: the loop
        around it starts over if another thread came between (CUDA C++ Programming Guide, "Atomic
        Functions").
    lanes
        How many of a warp's first lanes access memory; the others' addresses mean nothing.
    """

    size: int
    reads: bool
    writes: bool
    strong: bool = False
    swap: bool = False
    lanes: int = 32


def access_of(instruction: Instruction, space: str) -> MemoryAccess | None:
    """The access that an instruction makes in a state space, or None for one not known here.

    Parameters
    ----------
    space
        That of the operand in question: `cp.async` reads generic memory and writes shared memory.
    """
    base, *modifiers = instruction.parts
    bits = TYPE_BITS.get(instruction.parts[-1], 0)
    strong = not _STRONG.isdisjoint(modifiers)
    if base in ("ld", "ldu", "st"):
        count = next((int(m[1:]) for m in modifiers if m in ("v2", "v4", "v8")), 1)
        return MemoryAccess(count * bits // 8, base != "st", base == "st", strong)
    if base in ("atom", "red"):
        value = instruction.operands[-1 if base == "red" else 2]
        size = _count(value) * bits // 8
        return MemoryAccess(size, True, True, strong=True, swap="cas" in modifiers)
    if instruction.parts[:2] == ("cp", "async") and len(instruction.operands) >= 3:
        copied = instruction.operands[2]
        if isinstance(copied, Integer):
            stores = space == "shared"
            return MemoryAccess(copied.value if stores else 0, not stores, stores)
    if base in ("ldmatrix", "stmatrix"):
        matrices = next((int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4")), 1)
        reads = base == "ldmatrix"
        return MemoryAccess(_MATRIX_ROW_BYTES, reads, not reads, lanes=8 * matrices)
    if base == "wmma" and modifiers[0] in ("load", "store"):
        return MemoryAccess(0, modifiers[0] == "load", modifiers[0] == "store")
    return None


def _count(operand: Operand) -> int:
    return len(operand.elements) if isinstance(operand, Vector) else 1
