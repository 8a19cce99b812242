"""The sixteen barriers of a block (PTX ISA 9.0, section 9.7.13.1, "bar, barrier").

A barrier counts the threads that wait at it and those that have only arrived. It is complete when
they are as many as the instruction says, or, where it says nothing, as the block's threads that
have not ended. `bar.red` sums up a predicate on the way.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.structure import fold, loop, when
from custom_dispatch.cpu.threads.block_memory import (
    AT_BARRIER,
    BARRIER_BYTES,
    BARRIERS,
    RUNNING,
    BlockMemory,
)

WAITING: Final = 0
"""Field of a barrier: the threads that wait."""
ARRIVED: Final = 1
"""The threads that have arrived and gone on (`bar.arrive`)."""
NEEDED: Final = 2
"""How many complete it; 0 for all that there are."""
SUM: Final = 3
"""Of the waiting threads, how many came with a true predicate."""
LAST_SUM: Final = 4
"""The same when it was last complete."""
LAST_COUNT: Final = 5
"""How many threads waited then."""


def clear_barriers(b: Builder, memory: BlockMemory) -> None:
    """Make all barriers new."""
    with loop(b, BARRIERS * BARRIER_BYTES // 4) as index:
        number = b.binary("lshr", index, 3)
        within = b.binary("and", index, 7)
        place = memory.barrier(b, number, 0)
        offset = b.resize(b.binary("shl", within, 2), 32, 64)
        b.store(0, b.offset(place, offset))


def _read(b: Builder, memory: BlockMemory, number: str, field: int) -> str:
    return b.load(memory.barrier(b, number, field))


def count_up(b: Builder, memory: BlockMemory, number: str, field: int, amount: str) -> None:
    """Add to a field."""
    place = memory.barrier(b, number, field)
    b.store(b.binary("add", b.load(place), amount), place)


def turn_over(b: Builder, memory: BlockMemory, waiting: str) -> None:
    """Complete the one barrier of threads in lockstep."""
    zero = b.const(0, 32)
    total = _read(b, memory, zero, SUM)
    b.store(total, memory.barrier(b, zero, LAST_SUM))
    b.store(waiting, memory.barrier(b, zero, LAST_COUNT))
    b.store(zero, memory.barrier(b, zero, SUM))


def release_barriers(b: Builder, memory: BlockMemory, alive: str) -> str:
    """Complete the barriers that can be; returns which, as bits of an i32."""
    zero = b.const(0, 32)

    def check(number: str, carried: list[str]) -> list[str]:
        waiting = _read(b, memory, number, WAITING)
        come = b.binary("add", waiting, _read(b, memory, number, ARRIVED))
        needed = _read(b, memory, number, NEEDED)
        needed = b.select(b.icmp("eq", needed, zero), alive, needed)
        full = b.icmp("uge", come, needed)
        full = b.binary("and", full, b.icmp("ne", waiting, zero), "i1")
        for field, value in (
            (LAST_SUM, _read(b, memory, number, SUM)),
            (LAST_COUNT, waiting),
            (WAITING, zero),
            (ARRIVED, zero),
            (SUM, zero),
        ):
            kept = b.select(full, value, _read(b, memory, number, field))
            b.store(kept, memory.barrier(b, number, field))
        bit = b.binary("shl", b.resize(full, 1, 32), number)
        return [b.binary("or", carried[0], bit)]

    return fold(b, BARRIERS, [(zero, "i32")], check)[0]


@contextmanager
def each_released(b: Builder, memory: BlockMemory, free: str) -> Iterator[tuple[str, str]]:
    """Let those go on that wait at barriers whose bits are set, and write code for each: for its
    number, and that of the barrier.
    """
    with loop(b, memory.units) as number:
        status = b.load(memory.status(b, number))
        subject = b.load(memory.subject(b, number))
        shift = b.binary("and", subject, 31)
        open_ = b.resize(b.binary("lshr", free, shift), 32, 1)
        at = b.icmp("eq", status, AT_BARRIER)
        with when(b, b.binary("and", at, open_, "i1")):
            b.store(RUNNING, memory.status(b, number))
            yield number, subject
