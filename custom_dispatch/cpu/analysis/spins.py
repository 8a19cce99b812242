"""Loops in which a thread waits for another one to write memory.

On the CPU, warps and blocks run one after another, so such a loop may never end. A loop that asks
memory and changes none is therefore left after so many turns, and the kernel fails
(`custom_dispatch.format.keys`). On a GPU a thread in such a loop goes on when another one has
written; here, only if that one belongs to an earlier warp or block, to the same warp, or to a block
that another worker runs.
"""

from dataclasses import dataclass, replace
from typing import Final

from custom_dispatch.cpu.analysis.control_flow import Graph
from custom_dispatch.cpu.analysis.divergence import loop_through
from custom_dispatch.cpu.text.builder import FAILURE, POINTER, FunctionBuilder
from custom_dispatch.format.keys import Failure
from custom_dispatch.ptx import Instruction, Integer

MOST_TURNS = 1 << 33
"""Turns of a loop. They take 3 to 50 s, an iteration being one load or one atomic operation: longer
than a block waits for one that another worker runs, and far more than a loop has that ends."""
_ORDERED: Final = frozenset({"volatile", "relaxed", "acquire", "mmio"})
_EFFECTS: Final = frozenset(
    {"st", "red", "atom", "bar", "barrier", "cp", "stmatrix", "wmma", "trap", "__assertfail"}
)
_NEUTRAL: Final = frozenset({"add", "or", "xor"})


def asks_memory(instruction: Instruction) -> bool:
    """Whether an instruction is one that a thread may wait by."""
    base, *modifiers = instruction.parts
    if base == "atom":
        return "cas" in modifiers or "exch" in modifiers or _changes_nothing(instruction)
    return base == "ld" and not _ORDERED.isdisjoint(modifiers)


def _changes_nothing(instruction: Instruction) -> bool:
    """Whether an atomic operation only reads: `atomicAdd(p, 0)`."""
    value = instruction.operands[-1]
    is_zero = isinstance(value, Integer) and value.value == 0
    return is_zero and not _NEUTRAL.isdisjoint(instruction.parts)


@dataclass(frozen=True, slots=True)
class Spins:
    """Where a kernel may wait in loops."""

    asking: frozenset[int]
    """The blocks in such loops that ask memory."""
    after: frozenset[int]
    """The blocks that come next when one has been left."""


def find_spins(graph: Graph) -> Spins:
    """Find the loops that ask memory and change none."""
    changing = {
        index
        for index, block in enumerate(graph.blocks)
        if any(i.parts[0] in _EFFECTS and not asks_memory(i) for i in block.instructions)
    }
    rest = Graph(
        tuple(
            replace(
                block,
                successors=()
                if index in changing
                else tuple(target for target in block.successors if target not in changing),
            )
            for index, block in enumerate(graph.blocks)
        )
    )
    asking: set[int] = set()
    after: set[int] = set()
    for index, block in enumerate(graph.blocks):
        if index in changing or not any(map(asks_memory, block.instructions)):
            continue
        loop = loop_through(rest, index)
        if index in loop:
            asking.add(index)
            after |= {target for member in loop for target in graph.blocks[member].successors}
            after -= loop
    return Spins(frozenset(asking), frozenset(after - asking))


class SpinCounter:
    """Counts the turns of a kernel's waiting loops, in a function that runs a thread or a warp."""

    def __init__(self, builder: FunctionBuilder, spins: Spins) -> None:
        self._b = builder
        self._spins = spins
        self._turns = self._start = ""
        if spins.asking:
            # Put the count where it begins; where a thread has failed already, others fail at once.
            b, most = builder, builder.const(MOST_TURNS, 64)
            failure = b.at_entry(f"llvm.load {FAILURE} : {POINTER} -> i32")
            failed = b.at_entry(f'llvm.icmp "ne" {failure}, {b.const(0, 32)} : i32')
            self._start = b.at_entry(f"llvm.select {failed}, {most}, {b.const(0, 64)} : i1, i64")
            self._turns = b.variable("i64", self._start)

    def begin(self, index: int) -> None:
        """A block begins. It is written for one thread, or for a warp as a whole."""
        b = self._b
        if index in self._spins.after:
            b.store(self._start, self._turns, "i64")
        if index not in self._spins.asking:
            return
        turns = b.load(self._turns, "i64") + 1
        b.store(turns, self._turns, "i64")
        waits, on = b.fresh_label("waits"), b.fresh_label("asks")
        b.cond_branch(turns.cmp("ugt", MOST_TURNS), waits, on)
        b.block(waits)
        b.fail(Failure.SPIN)
        b.block(on)
