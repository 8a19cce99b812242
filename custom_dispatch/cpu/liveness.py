"""Which registers an instruction reads and writes, and which are live where a thread stops.

A thread that stops at a barrier or a warp operation keeps just the registers that are read later on
some path (backward data flow over the control-flow graph; PTX ISA 9.0, chapter 6, "Instruction
Operands", says which operand of an instruction is its destination).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from custom_dispatch.cpu.graph import Graph, opcode_base
from custom_dispatch.ptx import Address, Instruction, Operand, Pair, Register, Symbol, Vector

# Their first operand is read, or is memory.
_WITHOUT_RESULT = frozenset(
    {"st", "red", "bra", "brx", "ret", "exit", "membar", "fence", "trap", "cp", "prefetch"}
    | {"prefetchu", "nanosleep", "stmatrix", "discard", "applypriority"}
    | {"__assertfail", "__vprintf"}
)


def registers_in(operand: Operand) -> Iterator[Register]:
    """Every register of an operand."""
    if isinstance(operand, Register):
        yield operand
    elif isinstance(operand, Vector):
        for element in operand.elements:
            yield from registers_in(element)
    elif isinstance(operand, Pair):
        yield from registers_in(operand.first)
        yield from registers_in(operand.second)
    elif isinstance(operand, Address):
        if operand.base is not None:
            yield from registers_in(operand.base)
        for element in operand.extra:
            yield from registers_in(element)


def symbols_in(instruction: Instruction) -> set[str]:
    """The names of variables and labels that an instruction mentions."""
    found: set[str] = set()
    for operand in instruction.operands:
        elements = getattr(operand, "elements", (operand,))
        for element in elements:
            base = element.base if isinstance(element, Address) else element
            if isinstance(base, Symbol):
                found.add(base.name)
    return found


def registers_of(instructions: Sequence[Instruction]) -> list[Register]:
    """Each register of the instructions once, in the order of first mention."""
    found: dict[str, Register] = {}
    for instruction in instructions:
        for operand in instruction.operands:
            for register in registers_in(operand):
                found.setdefault(register.name, register)
        if instruction.predicate is not None:
            register = instruction.predicate.register
            found.setdefault(register.name, register)
    return list(found.values())


def written_operands(instruction: Instruction) -> int:
    """How many of an instruction's first operands are destinations: 0 or 1."""
    base = opcode_base(instruction)
    if base in ("bar", "barrier"):
        return 1 if "red" in instruction.parts else 0
    return 0 if base in _WITHOUT_RESULT else 1


def writes(instruction: Instruction) -> set[str]:
    """The registers that an instruction always writes."""
    if instruction.predicate is not None:
        return set()
    found: set[str] = set()
    for operand in instruction.operands[: written_operands(instruction)]:
        if not isinstance(operand, Address):
            found |= {register.name for register in registers_in(operand)}
    return found


def reads(instruction: Instruction) -> set[str]:
    """The registers that an instruction reads."""
    count = written_operands(instruction)
    found = {r.name for operand in instruction.operands[count:] for r in registers_in(operand)}
    for operand in instruction.operands[:count]:
        if isinstance(operand, Address):
            found |= {register.name for register in registers_in(operand)}
    if instruction.predicate is not None:
        found.add(instruction.predicate.register.name)
    return found


def live_after(
    graph: Graph, chosen: Callable[[Instruction], bool]
) -> dict[int, tuple[Instruction, frozenset[str]]]:
    """The registers live just after chosen instructions.

    Parameters
    ----------
    graph
        A kernel's basic blocks; no instruction object occurs twice in it.
    chosen
        Which instructions to answer for.

    Returns
    -------
    dict
        By the instruction's ``id``: itself, and the names of the registers read after it.
    """
    blocks = graph.blocks
    before: list[frozenset[str]] = [frozenset()] * len(blocks)
    effects = [[(writes(i), reads(i)) for i in block.instructions] for block in blocks]
    changed = True
    while changed:
        changed = False
        for index in range(len(blocks) - 1, -1, -1):
            live = set[str]().union(*(before[s] for s in blocks[index].successors))
            for written, read in reversed(effects[index]):
                live -= written
                live |= read
            if len(live) != len(before[index]):
                before[index] = frozenset(live)
                changed = True
    found: dict[int, tuple[Instruction, frozenset[str]]] = {}
    for index, block in enumerate(blocks):
        live = set[str]().union(*(before[s] for s in block.successors))
        for instruction, (written, read) in zip(
            reversed(block.instructions), reversed(effects[index]), strict=True
        ):
            if chosen(instruction):
                found[id(instruction)] = (instruction, frozenset(live))
            live -= written
            live |= read
    return found
