"""One CUDA block whose threads wait for each other, as a function.

All threads run on one CPU core, in turns. A thread runs until it waits; when all do, barriers and
warp operations whose threads have all come are released (`threads/barriers.py`,
`_release_lanes`). Where none can be, the threads wait for ones that will never come: on a GPU the
kernel would hang, here the block ends and the dispatch fails (`custom_dispatch.format.failure`).

Threads that only wait for each other at one barrier run in lockstep: all up to the barrier, then
all on from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.cpu.text.builder import FAILURE, Builder
from custom_dispatch.cpu.text.structure import Cell, fold, loop, when
from custom_dispatch.cpu.threads.barriers import (
    clear_barriers,
    each_released,
    release_barriers,
    turn_over,
)
from custom_dispatch.cpu.threads.block_memory import (
    DONE,
    FINISHED,
    IN_WARP,
    RUNNING,
    BlockMemory,
)
from custom_dispatch.cpu.threads.thread_function import ThreadFunction, signature_text
from custom_dispatch.format.failure import Failure


def scheduler_function(thread: ThreadFunction, memory: BlockMemory) -> list[str]:
    """The lines of the function ``@symbol.block``, which calls ``@symbol.step``."""
    b = Builder()
    if memory.lockstep:
        _run_in_lockstep(b, thread, memory)
    else:
        _run_by_warps(b, thread, memory)
    b.line("llvm.return")
    return [
        f"  llvm.func internal @{thread.kernel.symbol}.block("
        f"{signature_text(thread.block_arguments)}) {{",
        *b.lines,
        "  }",
    ]


def _step(b: Builder, thread: ThreadFunction, memory: BlockMemory, number: str) -> None:
    """Run a thread until it waits or ends."""
    width, height, _ = thread.kernel.block
    x, y, z = number, b.const(0, 32), b.const(0, 32)
    if memory.threads != width:
        x = b.binary("urem", number, b.const(width, 32), "i32")
        row = b.binary("udiv", number, b.const(width, 32), "i32")
        y = b.binary("urem", row, b.const(height, 32), "i32")
        z = b.binary("udiv", row, b.const(height, 32), "i32")
    state = memory.state(b, number)
    arguments = [*(name for name, _ in thread.block_arguments), x, y, z, number, state]
    types = [type_name for _, type_name in thread.block_arguments] + ["i32"] * 4 + ["!llvm.ptr"]
    if thread.checks is not None:
        thread.checks.begin_turn(b)
    b.line(
        f"llvm.call @{thread.kernel.symbol}.step({', '.join(arguments)}) : "
        f"({', '.join(types)}) -> ()"
    )
    if thread.checks is not None:
        thread.checks.stop_block(b)


def _run_in_lockstep(b: Builder, thread: ThreadFunction, memory: BlockMemory) -> None:
    alive = Cell(b, 0)
    threads = b.const(memory.threads, 32)
    clear_barriers(b, memory)
    with loop(b, threads) as number:
        b.store(b.const(0, 32), memory.place(b, number), "i32", 4)
    b.branch("round")
    b.block("round")
    alive.clear()
    with loop(b, threads) as number:
        place = b.load(memory.place(b, number), "i32", 4)
        with when(b, b.icmp("ne", place, b.const(FINISHED, 32), "i32")):
            _step(b, thread, memory, number)
            place = b.load(memory.place(b, number), "i32", 4)
            goes_on = b.icmp("ne", place, b.const(FINISHED, 32), "i32")
            alive.set(b.binary("add", alive.get(), b.resize(goes_on, 1, 32), "i32"))
    turn_over(b, memory, alive.get())
    if thread.checks is not None:
        thread.checks.waiting.converged(b)
        thread.checks.all_met(b)
    b.cond_branch(b.icmp("ne", alive.get(), b.const(0, 32), "i32"), "round", "ended")
    b.block("ended")


def _run_by_warps(b: Builder, thread: ThreadFunction, memory: BlockMemory) -> None:
    waiting, ended, released = Cell(b, 0), Cell(b, 0), Cell(b, 0)
    alive = Cell(b, 0)
    threads = b.const(memory.threads, 32)
    clear_barriers(b, memory)
    with loop(b, threads) as number:
        b.store(b.const(0, 32), memory.place(b, number), "i32", 4)
        b.store(b.const(RUNNING, 32), memory.status(b, number), "i32", 4)
    b.branch("round")
    b.block("round")
    alive.clear()
    with loop(b, threads, 32) as first:
        rest = b.binary("sub", threads, first, "i32")
        lanes = b.call_intrinsic("llvm.umin", [rest, b.const(32, 32)], ["i32", "i32"], "i32")
        again = b.fresh_label("again")
        b.branch(again)
        b.block(again)
        _run_warp(b, thread, memory, (first, lanes), (waiting, ended, released))
        on = b.fresh_label("on")
        b.cond_branch(b.icmp("ne", released.get(), b.const(0, 32), "i32"), again, on)
        b.block(on)
        gone = b.call_intrinsic("llvm.ctpop", [ended.get()], ["i32"], "i32")
        left = b.binary("sub", lanes, gone, "i32")
        alive.set(b.binary("add", alive.get(), left, "i32"))
    b.cond_branch(b.icmp("eq", alive.get(), b.const(0, 32), "i32"), "ended", "barriers")
    b.block("barriers")
    _release_threads(b, thread, memory, alive)
    b.branch("round")
    b.block("deadlock")
    if thread.checks is not None:
        thread.checks.waiting.deadlock(b)
    else:
        b.store(b.const(Failure.DEADLOCK, 32), FAILURE, "i32", 4)
    b.branch("ended")
    b.block("ended")


def _run_warp(
    b: Builder,
    thread: ThreadFunction,
    memory: BlockMemory,
    warp: tuple[str, str],
    cells: tuple[Cell, Cell, Cell],
) -> None:
    """Run each lane that can go on until it waits or ends; then release those that have met.

    The parameters are those of `_release_lanes`.
    """
    first, lanes = warp
    waiting, ended, released = cells
    waiting.clear()
    ended.clear()
    released.clear()
    with loop(b, lanes) as lane:
        number = b.binary("add", first, lane, "i32")
        status = b.load(memory.status(b, number), "i32", 4)
        with when(b, b.icmp("eq", status, b.const(RUNNING, 32), "i32")):
            _step(b, thread, memory, number)
        status = b.load(memory.status(b, number), "i32", 4)
        for cell, wanted in ((waiting, IN_WARP), (ended, DONE)):
            holds = b.resize(b.icmp("eq", status, b.const(wanted, 32), "i32"), 1, 32)
            bit = b.binary("shl", holds, lane, "i32")
            cell.set(b.binary("or", cell.get(), bit, "i32"))
    _release_lanes(b, thread, memory, warp, cells)


def _release_threads(b: Builder, thread: ThreadFunction, memory: BlockMemory, alive: Cell) -> None:
    """Let the threads go on whose barriers are complete; where none is, go to ``^deadlock``."""
    free = release_barriers(b, memory, alive.get())
    b.cond_branch(b.icmp("eq", free, b.const(0, 32), "i32"), "deadlock", "release")
    b.block("release")
    if thread.checks is not None:
        thread.checks.waiting.converged(b, free)
        thread.checks.barriers_met(b, free, alive.get())
    with each_released(b, memory, free) as (number, barrier):
        if thread.checks is not None:
            thread.checks.leave(b, number, barrier)
    if thread.checks is not None:
        thread.checks.barriers_left(b, free)


def _release_lanes(
    b: Builder,
    thread: ThreadFunction,
    memory: BlockMemory,
    warp: tuple[str, str],
    cells: tuple[Cell, Cell, Cell],
) -> None:
    """Let lanes go on whose masks name only lanes that have come, or have ended.

    A mask of zero stands for the lanes at the same place (`activemask`).

    Parameters
    ----------
    warp
        The number of its first thread, and how many lanes it has.
    cells
        The lanes that wait, that have ended, and that are released, as bits.
    """
    first, lanes = warp
    waiting, ended, released = cells
    zero, one = b.const(0, 32), b.const(1, 32)
    missing_lanes = b.binary("sub", b.const(32, 32), lanes, "i32")
    exist = b.binary("lshr", b.const(-1, 32), missing_lanes, "i32")
    head, body, after = (b.fresh_label(name) for name in ("pending", "mask", "masks"))
    b.branch(head)
    b.block(head)
    pending = waiting.get()
    b.cond_branch(b.icmp("ne", pending, zero, "i32"), body, after)
    b.block(body)
    lowest = b.value(f'"llvm.intr.cttz"({pending}) <{{is_zero_poison = true}}> : (i32) -> i32')
    leader = b.binary("add", first, lowest, "i32")
    mask = b.load(memory.subject(b, leader), "i32", 4)
    place = b.load(memory.place(b, leader), "i32", 4)
    masked = b.icmp("ne", mask, zero, "i32")
    meeting = _Meeting(pending, mask, place, masked, zero)
    same, votes = _gather(b, memory, warp, meeting)
    come = b.binary("or", same, ended.get(), "i32")
    missing = b.binary("and", b.binary("and", mask, exist, "i32"), _not(b, come), "i32")
    waiting.set(b.binary("and", pending, _not(b, same), "i32"))
    with when(b, b.icmp("eq", missing, zero, "i32")):
        released.set(b.binary("or", released.get(), same, "i32"))
        if thread.checks is not None:
            with when(b, masked):
                thread.checks.lanes_met(b, first, lanes, same)
                absent = b.binary("and", mask, _not(b, same), "i32")
                thread.checks.waiting.absent(b, leader, place, absent)
        with loop(b, lanes) as lane:
            bit = b.binary("and", b.binary("lshr", same, lane, "i32"), one, "i32")
            with when(b, b.icmp("ne", bit, zero, "i32")):
                number = b.binary("add", first, lane, "i32")
                _release_lane(b, memory, number, same, votes)
    b.branch(head)
    b.block(after)


@dataclass(frozen=True, slots=True)
class _Meeting:
    """Where lanes wait for each other.

    Attributes
    ----------
    pending
        The bits of the lanes that wait.
    mask, place
        The mask that one of them gave, and where it waits.
    masked
        Whether that mask names lanes, an i1.
    zero
        An i32.
    """

    pending: str
    mask: str
    place: str
    masked: str
    zero: str


def _gather(
    b: Builder, memory: BlockMemory, warp: tuple[str, str], meeting: _Meeting
) -> tuple[str, str]:
    """The lanes that have come to a meeting, and the votes of these, as bits."""
    first, lanes = warp

    def add(lane: str, carried: list[str]) -> list[str]:
        number = b.binary("add", first, lane, "i32")
        waits = b.resize(b.binary("lshr", meeting.pending, lane, "i32"), 32, 1)
        theirs = b.load(memory.subject(b, number), "i32", 4)
        same_mask = b.icmp("eq", theirs, meeting.mask, "i32")
        there = b.icmp("eq", b.load(memory.place(b, number), "i32", 4), meeting.place, "i32")
        meets = b.binary("and", same_mask, b.binary("or", meeting.masked, there, "i1"), "i1")
        meets = b.binary("and", waits, meets, "i1")
        same = b.binary("shl", b.resize(meets, 1, 32), lane, "i32")
        votes = meeting.zero
        if memory.words:
            word = b.load(memory.shown(b, number, 0), "i32", 4)
            vote = b.binary("and", word, b.resize(meets, 1, 32), "i32")
            votes = b.binary("shl", vote, lane, "i32")
        return [
            b.binary("or", carried[0], same, "i32"),
            b.binary("or", carried[1], votes, "i32"),
        ]

    same, votes = fold(b, lanes, [(meeting.zero, "i32"), (meeting.zero, "i32")], add)
    return same, votes


def _release_lane(b: Builder, memory: BlockMemory, number: str, same: str, votes: str) -> None:
    """Give a thread the lanes it met, their votes and their words, and let it go on."""
    b.store(same, memory.group(b, number), "i32", 4)
    b.store(votes, memory.ballot(b, number), "i32", 4)
    b.store(b.const(RUNNING, 32), memory.status(b, number), "i32", 4)
    for word in range(memory.words):
        value = b.load(memory.shown(b, number, word), "i32", 4)
        b.store(value, memory.seen(b, number, word), "i32", 4)


def _not(b: Builder, value: str) -> str:
    return b.binary("xor", value, b.const(-1, 32), "i32")
