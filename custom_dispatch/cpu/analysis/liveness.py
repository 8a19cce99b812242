"""Which registers an instruction reads and writes, and which are live where a thread stops.

A thread that stops at a barrier or a warp operation keeps just the registers that are read later on
some path (backward data flow over the control-flow graph; PTX ISA 9.0, chapter 6, "Instruction
Operands", says which operand of an instruction is its destination).
"""

from collections.abc import Callable, Iterable, Sequence

from custom_dispatch.cpu.analysis.control_flow import Block, Graph
from custom_dispatch.ptx import (
    Address,
    Instruction,
    Operand,
    Register,
    registers_in,
    written_operands,
)

Live = dict[int, frozenset[str]]
"""By the ``id`` of an instruction of a graph, the registers that are live after it."""


def registers_of(instructions: Sequence[Instruction]) -> list[Register]:
    """Each register of the instructions once, in the order of first mention."""
    found: dict[str, Register] = {}
    for instruction in instructions:
        guard = () if instruction.predicate is None else (instruction.predicate,)
        for register in registers_in(*instruction.operands, *guard):
            found.setdefault(register.name, register)
    return list(found.values())


def writes(instruction: Instruction) -> set[str]:
    """The registers that an instruction always writes."""
    return set() if instruction.predicate is not None else written_registers(instruction)


def written_registers(instruction: Instruction) -> set[str]:
    """The registers that an instruction writes, if it is executed."""
    written = instruction.operands[: written_operands(instruction)]
    return {r.name for r in registers_in(*(o for o in written if not isinstance(o, Address)))}


def reads(instruction: Instruction) -> set[str]:
    """The registers that an instruction reads."""
    count, operands = written_operands(instruction), instruction.operands
    places = (operand for operand in operands[:count] if isinstance(operand, Address))
    found = {register.name for register in registers_in(*places, *operands[count:])}
    if instruction.predicate is not None:
        found.add(instruction.predicate.name)
    return found


def local_registers(graph: Graph, ends: Callable[[Instruction], bool]) -> frozenset[str]:
    """The registers that are written and read in one stretch of instructions only.

    `ends`: which instructions end a stretch, as the end of a block does; one belongs to both sides.
    """
    place: dict[str, int] = {}
    shared: set[str] = set()
    stretch = 0
    for block in graph.blocks:
        stretch += 1
        for instruction in block.instructions:
            between = ends(instruction)
            read, written = reads(instruction), written_registers(instruction)
            unsure = instruction.predicate is not None or between
            for name in read | written:
                fresh = name not in place
                if place.setdefault(name, stretch) != stretch or (fresh and name in read):
                    shared.add(name)
                if unsure and (between or name in written):
                    shared.add(name)
            stretch += between
    return frozenset(place) - shared


def written_once(graph: Graph) -> frozenset[str]:
    """The registers that one instruction writes, whenever it is executed."""
    count: dict[str, int] = {}
    for block in graph.blocks:
        for instruction in block.instructions:
            for name in written_registers(instruction):
                unsure = instruction.predicate is not None
                count[name] = count.get(name, 0) + 1 + unsure
    return frozenset(name for name, times in count.items() if times == 1)


def live_before(graph: Graph) -> list[frozenset[str]]:
    """The registers live where each basic block starts."""
    blocks = graph.blocks
    before: list[frozenset[str]] = [frozenset()] * len(blocks)
    effects = [_effects(block) for block in blocks]
    known: list[frozenset[str]] = []
    while known != before:
        known = list(before)
        for index in range(len(blocks) - 1, -1, -1):
            written, read = effects[index]
            live = frozenset[str]().union(*(before[s] for s in blocks[index].successors))
            before[index] = (live - written) | read
    return before


def _effects(block: Block) -> tuple[set[str], set[str]]:
    """The registers that a block writes, and those that it reads as they were before it."""
    written: set[str] = set()
    read: set[str] = set()
    for instruction in block.instructions:
        read |= reads(instruction) - written
        written |= writes(instruction)
    return written, read


def kept_across(instruction: Instruction | None, live: Live, keep: Iterable[Operand]) -> list[str]:
    """The registers that a thread that waits at an instruction has to keep, in order.

    - `live`: what is live after such instructions.
    - `keep`: operands of the instruction that are read after the wait.
    """
    if instruction is None:
        return []
    names = live[id(instruction)] - writes(instruction)
    return sorted(names | {register.name for register in registers_in(*keep)})


def live_after(
    graph: Graph, chosen: Callable[[Instruction], bool], before: Sequence[frozenset[str]]
) -> Live:
    """The registers live just after chosen instructions.

    - `graph`: a kernel's basic blocks; no instruction object occurs twice in it.
    - `before`: the registers live where each block starts.
    """
    found: Live = {}
    for block in graph.blocks:
        left = sum(map(chosen, block.instructions))
        live = set[str]().union(*(before[s] for s in block.successors)) if left else set[str]()
        for instruction in reversed(block.instructions):
            if not left:
                break
            if chosen(instruction):
                found[id(instruction)] = frozenset(live)
                left -= 1
            live -= writes(instruction)
            live |= reads(instruction)
    return found
