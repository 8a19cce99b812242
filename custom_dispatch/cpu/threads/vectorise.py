"""Whether LLVM will vectorise the loop over a row's threads.

Asking for it where it cannot makes LLVM warn the user, so the answer leans towards no.
"""

from __future__ import annotations

from custom_dispatch.cpu.analysis.graph import Graph, opcode_base
from custom_dispatch.cpu.analysis.guard import slopes_of
from custom_dispatch.ptx import TYPE_BITS, Address, Entry, Instruction, Register, Vector

_SCALAR_ONLY = frozenset(
    {"atom", "red", "membar", "fence", "trap", "__assertfail"}
    | {"volatile", "relaxed", "acquire", "release"}
)


def can_vectorise(entry: Entry, graph: Graph, pointers: frozenset[str]) -> bool:
    """Whether threads past the bounds check run straight on, over neighbouring elements.

    Parameters
    ----------
    entry, graph
        A kernel that has a bounds check (`analysis/guard.py`), and its basic blocks.
    pointers
        Its registers that are kept as pointers.
    """
    blocks = [block for block in graph.blocks if block.instructions]
    instructions = [instruction for block in blocks for instruction in block.instructions]
    if any(variable.space == "local" for variable in entry.variables):
        return False
    for block in blocks[1:]:
        if block.branch is not None and block.branch.opcode not in ("ret", "exit"):
            return False
    parts = {part for instruction in instructions for part in instruction.parts[:-1]}
    sums = [i.parts for i in instructions if i.parts[0] in ("add", "sub")]
    added = {parts[-1] for parts in sums}
    rounded = {parts[-1] for parts in sums if "rn" in parts}
    # Such a product is kept apart from a sum by an operation that has no vector form.
    kept_apart = any(
        i.parts[0] == "mul"
        and i.parts[-1] in ("f32", "f64")
        and i.parts[-1] in (added if "rn" in i.parts else rounded)
        for i in instructions
    )
    if kept_apart or _SCALAR_ONLY & parts:
        return False
    slopes = slopes_of(instructions)
    return all(_is_even(instruction, slopes, pointers) for instruction in instructions)


def _is_even(
    instruction: Instruction, slopes: dict[str, int | None], pointers: frozenset[str]
) -> bool:
    """Whether an instruction accesses, if any memory, one element or each its neighbour's."""
    base = opcode_base(instruction)
    if base in ("ret", "exit", "bra"):
        return True
    if instruction.predicate is not None:
        return False
    if base not in ("ld", "st") or "param" in instruction.parts:
        return True
    place, data = instruction.operands[:2] if base == "st" else instruction.operands[1::-1]
    register = place.base if isinstance(place, Address) else None
    if not isinstance(register, Register) or register.name not in pointers:
        return False
    elements = len(data.elements) if isinstance(data, Vector) else 1
    size = TYPE_BITS.get(instruction.parts[-1], 0) // 8 * elements
    return slopes.get(register.name) in ((size,) if base == "st" else (0, size))
