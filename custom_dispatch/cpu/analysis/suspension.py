"""Which instructions make a thread wait for others (PTX ISA 9.0, sections 9.7.13 and 9.7.14)."""

from collections.abc import Sequence
from typing import Final

from custom_dispatch.ptx import Instruction, Integer, elements_of

_WARP_WORDS: Final = {"shfl": 1, "vote": 1, "activemask": 0, "redux": 1, "elect": 0}
_MATRIX: Final = frozenset({"ldmatrix", "stmatrix", "movmatrix"})


def is_barrier(instruction: Instruction) -> bool:
    """Whether it is a barrier of the block that makes a thread wait."""
    parts = instruction.parts
    return (
        parts[0] in ("bar", "barrier")
        and ("sync" in parts or "red" in parts)
        and parts[1] not in ("warp", "cluster")
    )


def is_warp_operation(instruction: Instruction) -> bool:
    """Whether the lanes of a warp do it together."""
    base = instruction.parts[0]
    return (
        base in _WARP_WORDS
        or base in _MATRIX
        or base in ("match", "mma")
        or instruction.parts[:2] in (("bar", "warp"), ("barrier", "warp"), ("wmma", "mma"))
    )


def suspends(instruction: Instruction) -> bool:
    """Whether a thread may have to wait here."""
    return is_barrier(instruction) or is_warp_operation(instruction)


def words_shown(instruction: Instruction) -> int:
    """How many 32-bit words a lane shows the others of its warp."""
    base = instruction.parts[0]
    if base == "match":
        return 2 if instruction.parts[-1] == "b64" else 1
    if base == "mma" or instruction.parts[:2] == ("wmma", "mma"):
        words = 2 if instruction.parts[-1] == "f64" else 1
        return words * sum(len(elements_of(o)) for o in instruction.operands[1:3])
    if base in _MATRIX:
        return 1
    return _WARP_WORDS.get(base, 0)


def is_lockstep(instructions: Sequence[Instruction]) -> bool:
    """Whether all threads wait for each other only, and always at the same barrier.

    Then nothing need be known of warps, and the block can run region by region: all threads up to
    the barrier, then all threads on from it.
    """
    numbers = set()
    for instruction in instructions:
        if is_warp_operation(instruction) or "arrive" in instruction.parts:
            return False
        if not is_barrier(instruction):
            continue
        operands = instruction.operands
        # `bar.sync a{, count}` and `bar.red d, a{, count}, p`; a count counts other threads
        first, length = (1, 3) if "red" in instruction.parts else (0, 1)
        number = operands[first] if len(operands) == length else None
        if not isinstance(number, Integer):
            return False
        numbers.add(number.value)
    return len(numbers) <= 1
