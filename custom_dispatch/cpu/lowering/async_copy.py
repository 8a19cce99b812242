"""Copies that a GPU makes in the background (PTX ISA 9.0, section 9.7.9.25, "Asynchronous copy").

`cp.async` copies at once, which is one of the orders that a GPU may choose; so there is nothing
left to wait for. Copies that report to a barrier in shared memory (`cp.async.mbarrier`,
`cp.async.bulk`, TMA) are refused: a waiting thread has to be suspended until such a barrier's phase
ends. They would be lowered here, with a third reason to wait beside `AT_BARRIER` and `IN_WARP`
(`threads/block_memory.py`), and the scheduler would look at the barriers' counts.
"""

from __future__ import annotations

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import POINTER, Builder, int_type
from custom_dispatch.cpu.text.builder import Operand as Number
from custom_dispatch.ptx import Instruction, Integer, Operand, Register

_WAITS = (("commit_group",), ("wait_group",), ("wait_all",))
_HINTS = frozenset({"L2::cache_hint", "L2::64B", "L2::128B", "L2::256B"})


def lower_async_copy(frame: Frame, instruction: Instruction) -> None:
    """`cp.async`: 4, 8 or 16 bytes from global to shared memory, and the waits for it."""
    b = frame.b
    parts = instruction.parts
    if parts[:2] != ("cp", "async"):
        raise frame.unsupported(instruction)
    if parts[2:] in _WAITS:
        return
    if parts[2:3] not in (("ca",), ("cg",)) or parts[4:5] != ("global",):
        raise frame.unsupported(instruction)
    if parts[3] not in ("shared", "shared::cta") or not _HINTS.issuperset(parts[5:]):
        raise frame.unsupported(instruction)
    operands = list(instruction.operands)
    if "L2::cache_hint" in parts:
        operands = operands[:-1]
    if len(operands) not in (3, 4):
        frame.operands(instruction, 3)
    target, source, size, *rest = operands
    if not isinstance(size, Integer) or size.value not in (4, 8, 16):
        raise frame.unsupported(instruction)
    to, at = frame.address(target, "shared"), frame.address(source)
    if frame.checks is not None:
        frame.check_part(source, "generic", [at], _read(frame, size.value, rest))
    words = range(0, size.value, 4)
    if not rest:
        for word in words:
            b.store(b.load(b.offset(at, word)), b.offset(to, word))
        return
    # What lies beyond the bytes given must not be read: zeros of the target are read instead.
    for word in words:
        b.store(0, b.offset(to, word))
    if _is_ignored(rest[0]):
        at = b.select(frame.predicate(rest[0]), to, at, POINTER)
        for word in words:
            b.store(b.load(b.offset(at, word)), b.offset(to, word))
        return
    given = frame.integer(rest[0], 32)
    for word in words:
        _copy(b, at, to, b.const(word, 64), b.icmp("uge", given, word + 4), 4)
    # The bytes of a word that is given in part.
    first = b.binary("and", given, 12)
    first = b.call_intrinsic("llvm.umin", [first, size.value - 4])
    for byte in range(3):
        place = b.binary("or", first, byte)
        is_given = b.icmp("ult", place, given)
        _copy(b, at, to, b.resize(place, 32, 64), is_given, 1)


def _is_ignored(operand: Operand) -> bool:
    """Whether a fourth operand says if the source is ignored, and not how much there is of it."""
    return isinstance(operand, Register) and operand.type == "pred"


def _read(frame: Frame, size: int, rest: list[Operand]) -> Number:
    """How many bytes of the source are read."""
    if not rest:
        return size
    if _is_ignored(rest[0]):
        return frame.b.select(frame.predicate(rest[0]), 0, size)
    return frame.integer(rest[0], 32)


def _copy(b: Builder, at: str, to: str, place: str, is_given: str, size: int) -> None:
    """Copy an i8 or i32 at an offset, or leave what is there."""
    integer, target = int_type(8 * size), b.offset(to, place)
    source = b.select(is_given, b.offset(at, place), target, POINTER)
    b.store(b.load(source, integer), target, integer)
