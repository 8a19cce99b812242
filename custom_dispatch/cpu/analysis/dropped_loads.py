"""Loads whose values a thread may drop: by a branch around the store, by a select, or altogether.

A race of such a read changes nothing where the thread does drop the value. Which that are is known
when the thread runs, so the code notes which loads' values it uses. What counts as a use is more
than what is one: whatever a register gets is taken for all that it ever holds, a value that is
stored or selected once for one that always is, and a load that leads to anything else than stores
and selects (an address, a branch, a shuffle, an atomic, a call) is none that is dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from custom_dispatch.cpu.analysis.liveness import reads, written_registers
from custom_dispatch.ptx import ONLY_COMPUTES, Instruction, Operand, registers_in

MOST_DROPPED = 63
"""Bits of a word, in which a thread notes what it uses."""
_ENDS = frozenset({"bra", "brx", "ret", "exit", "trap", "bar", "barrier"})
"""Behind them another instruction need not be executed, or others come between."""


@dataclass(frozen=True, slots=True)
class DroppedLoads:
    """The loads, and what uses them; instructions by their ``id``."""

    numbers: Mapping[int, int] = field(default_factory=dict)
    """The loads' own, from 1 on."""
    stored: Mapping[int, int] = field(default_factory=dict)
    """By store, the bits of what it stores."""
    selected: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """By select, those of the value for true and for false."""


def dropped_loads(instructions: Sequence[Instruction]) -> DroppedLoads:
    """The loads of a kernel that may be dropped.

    `instructions`: all of its instructions, in the order of its blocks.
    """
    loads = [item for item in instructions if _is_load(item)]
    held = _held(instructions, {id(load): 1 << bit for bit, load in enumerate(loads)})

    def of(registers: Iterable[str]) -> int:
        bits = 0
        for name in registers:
            bits |= held.get(name, 0)
        return bits

    known = 0
    since = 0
    for item in instructions:
        base = item.parts[0]
        known |= of([item.predicate.name] if item.predicate is not None else ())
        if base == "st":
            known |= of(_registers(item.operands[:1]))
            if item.predicate is None:  # of those loads that come to it in any case
                known |= of(_registers(item.operands[1:])) & since
        elif base == "selp":
            known |= of(_registers(item.operands[3:]))
        elif base not in ONLY_COMPUTES:
            known |= of(reads(item))
        since = 0 if base in _ENDS else since
        if _is_load(item) and item.predicate is None:
            since |= of(written_registers(item))
    kept = [load for bit, load in enumerate(loads) if not known >> bit & 1][:MOST_DROPPED]
    numbers = {id(load): number for number, load in enumerate(kept, 1)}
    if not numbers:
        return DroppedLoads()
    held = _held(instructions, {key: 1 << number for key, number in numbers.items()})
    stored, selected = {}, {}
    for item in instructions:
        if item.parts[0] == "st" and (bits := of(_registers(item.operands[1:]))):
            stored[id(item)] = bits
        elif item.parts[0] == "selp":
            one, other = (of(_registers([value])) for value in item.operands[1:3])
            if one or other:
                selected[id(item)] = (one, other)
    return DroppedLoads(numbers, stored, selected)


def _is_load(item: Instruction) -> bool:
    return item.parts[0] in ("ld", "ldu") and not {"param", "const"} & {*item.parts}


def _registers(operands: Iterable[Operand]) -> list[str]:
    return [register.name for register in registers_in(*operands)]


def _held(instructions: Sequence[Instruction], bits: Mapping[int, int]) -> dict[str, int]:
    """By register, which of some loads' values may be in it; not behind a select."""
    held: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for item in instructions:
            given = bits.get(id(item), 0)
            base = item.parts[0]
            if base in ONLY_COMPUTES and base != "selp":
                for name in reads(item):
                    given |= held.get(name, 0)
            for name in written_registers(item) if given else ():
                if given & ~held.get(name, 0):
                    held[name] = held.get(name, 0) | given
                    changed = True
    return held
