"""Barriers of a block and of a warp (PTX ISA 9.0, section 9.7.13.1 and 9.7.13.2)."""

from collections.abc import Sequence

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads import block_memory
from custom_dispatch.ptx import Operand


def lower_barrier(frame: Frame) -> None:
    """`bar` and `barrier`: `.sync`, `.arrive`, `.red` and `bar.warp.sync`."""
    parts = frame.parts[1:]
    if parts == ("warp", "sync"):
        (mask,) = frame.operands(1)
        frame.waits().meet_lanes(frame.integer(mask, 32), [])
        return
    if "red" in parts:
        _reduce(frame)
    elif "arrive" in parts:
        number, count = frame.operands(2)
        _arrive(frame, number, count)
    else:
        number, *given = frame.operands(1, 2)
        at = _come(frame, number, given)
        frame.waits().wait_at_barrier(at)


def _number(frame: Frame, operand: Operand) -> SsaValue:
    return frame.integer(operand, 32) & (block_memory.BARRIERS - 1)


def _arrive(frame: Frame, number: Operand, count: Operand) -> None:
    b, memory = frame.b, frame.memory
    if not memory.suspends:
        return  # no thread of the kernel ever waits
    at = _number(frame, number)
    if frame.checks is not None:
        frame.checks.meeting(b, "come", "%thread", at)
    block_memory.count_up(b, memory, at, block_memory.ARRIVED, frame.count())
    b.store(frame.integer(count, 32), memory.barrier(b, at, block_memory.NEEDED))


def _come(
    frame: Frame, number: Operand, given: Sequence[Operand], predicate: SsaValue | None = None
) -> SsaValue:
    """Note at the barrier that this thread waits; returns the barrier's number.

    `given`: how many threads complete it, where the instruction says that.
    """
    b, memory = frame.b, frame.memory
    frame.waits()
    if memory.lockstep:
        at = b.const(0, 32)
    else:
        at = _number(frame, number)
        if frame.checks is not None:
            frame.checks.meeting(b, "come", "%thread", at)
        block_memory.count_up(b, memory, at, block_memory.WAITING, frame.count())
        needed = frame.integer(given[0], 32) if given else b.const(0, 32)
        b.store(needed, memory.barrier(b, at, block_memory.NEEDED))
    if predicate is not None:
        block_memory.count_up(b, memory, at, block_memory.SUM, frame.count(predicate))
    return at


def _reduce(frame: Frame) -> None:
    b, memory = frame.b, frame.memory
    d, number, *given, condition = frame.operands(3, 4)
    at = _come(frame, number, given, frame.predicate(condition))
    frame.waits().wait_at_barrier(at, keep=[number])
    at = b.const(0, 32) if memory.lockstep else _number(frame, number)
    total = b.load(memory.barrier(b, at, block_memory.LAST_SUM))
    if "popc" in frame.parts:
        frame.put(d, total)
    elif "or" in frame.parts:
        frame.put(d, total.cmp("ne", 0))
    else:
        frame.put(d, total.cmp("eq", b.load(memory.barrier(b, at, block_memory.LAST_COUNT))))
