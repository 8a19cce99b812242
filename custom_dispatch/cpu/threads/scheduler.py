"""One CUDA block as a function that runs its threads, or its warps.

A block runs on one CPU core. Where none of its threads ever waits, they run one after another, x
fastest, as a GPU might schedule them. Else they take turns: each runs until it waits; when all do,
barriers and warp operations whose threads have all come are released (`threads/block_memory.py`,
`_release_lanes`). Where none can be, the threads wait for ones that will never come: on a GPU the
kernel would hang, here the block ends and the dispatch fails (`custom_dispatch.format.keys`).

Threads that only wait for each other at one barrier run in lockstep: all up to the barrier, then
all on from it.
"""

from custom_dispatch.cpu.text.builder import FAILURE, POINTER, Builder, function_text
from custom_dispatch.cpu.text.control_structures import Cell, fold, loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads import block_memory
from custom_dispatch.cpu.threads.thread_code import ThreadCode, place_in_block
from custom_dispatch.format.keys import Failure


def block_function(thread: ThreadCode) -> list[str]:
    """The lines of ``@symbol.block``, which calls ``@symbol.thread``, ``.step`` or ``.warp``."""
    b = Builder()
    memory = thread.memory
    if memory.suspends:
        _take_turns(b, thread)
    elif memory.by_warps:
        with loop(b, memory.threads, 32) as first:
            thread.call(b, "warp", (first, "i32"))
    else:
        width, height, depth = (b.const(size, 32) for size in thread.kernel.block)
        with loop(b, depth) as z, loop(b, height) as y, loop(b, width) as x:
            thread.call(b, "thread", (x, "i32"), (y, "i32"), (z, "i32"))
    b.return_()
    return function_text(f"{thread.kernel.symbol}.block", thread.block_arguments, b.lines)


def _take_turns(b: Builder, thread: ThreadCode) -> None:
    """Run all to where they wait, and let those go on that have met, until none is left."""
    memory = thread.memory
    by_lanes = not memory.lockstep and not memory.by_warps
    cells = [Cell(b, 0) for _ in range(3 if by_lanes else 0)]
    alive = Cell(b, 0)
    block_memory.clear_barriers(b, memory)
    units = b.const(memory.units, 32)
    with loop(b, units) as number:
        b.store(0, memory.place(b, number))
        if not memory.lockstep:
            b.store(block_memory.RUNNING, memory.status(b, number))
    b.branch("round")
    b.block("round")
    alive.set(0)
    if by_lanes:
        _run_lanes(b, thread, cells, alive)
    else:
        with loop(b, units) as number:
            (_run_warp if memory.by_warps else _run_thread)(b, thread, number, alive)
    if memory.lockstep:
        block_memory.turn_over(b, memory, alive.get())
        if thread.checks is not None:
            thread.checks.waiting.converged(b)
            thread.checks.note(b, "all_met")
        b.cond_branch(alive.get().cmp("ne", 0), "round", "ended")
    else:
        _release_barriers(b, thread, alive)
    b.block("ended")


def _step(b: Builder, thread: ThreadCode, number: SsaValue) -> None:
    """Run a thread until it waits or ends."""
    place = place_in_block(number, thread.kernel.block)
    state = thread.memory.state(b, number)
    if thread.checks is not None:
        thread.checks.note(b, "turn")
    thread.call(b, "step", *((v, "i32") for v in (*place, number)), (state, POINTER))
    if thread.checks is not None:
        thread.checks.stop_block(b)


def _run_thread(b: Builder, thread: ThreadCode, number: SsaValue, alive: Cell) -> None:
    """Run a thread in lockstep with others, if it has not ended; count it if it goes on."""
    memory = thread.memory
    place = b.load(memory.place(b, number))
    with when(b, place.cmp("ne", block_memory.FINISHED)):
        _step(b, thread, number)
        goes_on = b.load(memory.place(b, number)).cmp("ne", block_memory.FINISHED)
        alive.set(alive.get() + goes_on.resize(32))


def _run_warp(b: Builder, thread: ThreadCode, number: SsaValue, alive: Cell) -> None:
    """Run a warp to its next barrier, if it can go on; count its threads that have not ended."""
    memory = thread.memory
    if memory.lockstep:
        runs = b.load(memory.place(b, number)).cmp("ne", block_memory.FINISHED)
    else:
        runs = b.load(memory.status(b, number)).cmp("eq", block_memory.RUNNING)
    with when(b, runs):
        first = number << 5
        state = memory.state(b, number)
        thread.call(b, "warp", (first, "i32"), (number, "i32"), (state, POINTER))
    count = b.load(memory.alive(b, number))
    alive.set(alive.get() + count)


def _run_lanes(b: Builder, thread: ThreadCode, cells: list[Cell], alive: Cell) -> None:
    """Run the threads of each warp until all of them wait at barriers, or have ended.

    `cells`: for the lanes that wait, that have ended, and that are released, as bits.
    """
    threads = b.const(thread.memory.threads, 32)
    _, ended, released = cells
    with loop(b, threads, 32) as first:
        lanes = (threads - first).call("umin", 32)
        again, on = b.fresh_label("again"), b.fresh_label("on")
        b.branch(again)
        b.block(again)
        for cell in cells:
            cell.set(0)
        _run_each(b, thread, (first, lanes), cells)
        _release_lanes(b, thread, (first, lanes), cells)
        b.cond_branch(released.get().cmp("ne", 0), again, on)
        b.block(on)
        left = lanes - ended.get().call("ctpop")
        alive.set(alive.get() + left)


_Warp = tuple[SsaValue, SsaValue]
"""The number of its first thread, and how many lanes it has."""


def _run_each(b: Builder, thread: ThreadCode, warp: _Warp, cells: list[Cell]) -> None:
    """Run each lane that can go on until it waits or ends."""
    first, lanes = warp
    waiting, ended, _ = cells
    memory = thread.memory
    with loop(b, lanes) as lane:
        number = first + lane
        with when(b, b.load(memory.status(b, number)).cmp("eq", block_memory.RUNNING)):
            _step(b, thread, number)
        status = b.load(memory.status(b, number))
        for cell, wanted in ((waiting, block_memory.IN_WARP), (ended, block_memory.DONE)):
            bit = status.cmp("eq", wanted).resize(32) << lane
            cell.set(cell.get() | bit)


def _release_barriers(b: Builder, thread: ThreadCode, alive: Cell) -> None:
    """Begin a new round with those whose barriers are complete; without any, fail."""
    memory, checks = thread.memory, thread.checks
    b.cond_branch(alive.get().cmp("eq", 0), "ended", "barriers")
    b.block("barriers")
    free = block_memory.release_barriers(b, memory, alive.get())
    b.cond_branch(free.cmp("eq", 0), "deadlock", "release")
    b.block("release")
    if checks is not None:
        checks.waiting.converged(b, free)
        checks.barriers_met(b, free, alive.get())
    with block_memory.each_released(b, memory, free) as (number, barrier):
        if checks is not None:
            checks.meeting(b, "leave", number, barrier)
    if checks is not None:
        checks.meeting(b, "clear", free)
    b.branch("round")
    b.block("deadlock")
    if checks is not None:
        checks.waiting.deadlock(b)
    else:
        b.store(Failure.DEADLOCK, FAILURE)
    b.branch("ended")


def _release_lanes(b: Builder, thread: ThreadCode, warp: _Warp, cells: list[Cell]) -> None:
    """Let lanes go on whose masks name only lanes that have come, or have ended.

    A mask of zero stands for the lanes at the same place (`activemask`).

    `cells`: the lanes that wait, that have ended, and that are released, as bits.
    """
    memory, checks = thread.memory, thread.checks
    first, lanes = warp
    waiting, ended, released = cells
    exist = b.binary("lshr", -1, 32 - lanes)
    head, body, after = (b.fresh_label(name) for name in ("pending", "mask", "masks"))
    b.branch(head)
    b.block(head)
    pending = waiting.get()
    b.cond_branch(pending.cmp("ne", 0), body, after)
    b.block(body)
    lowest = b.value(f'"llvm.intr.cttz"({pending}) <{{is_zero_poison = true}}> : (i32) -> i32')
    leader = first + lowest
    mask = b.load(memory.subject(b, leader))
    place = b.load(memory.place(b, leader))
    masked = mask.cmp("ne", 0)

    def gather(lane: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
        """The lanes that have come here, and the votes of these, as bits."""
        number = first + lane
        waits = (pending >> lane).resize(1)
        same_mask = b.load(memory.subject(b, number)).cmp("eq", mask)
        there = b.load(memory.place(b, number)).cmp("eq", place)
        meets = same_mask & (masked | there)
        meets = waits & meets
        found = [meets.resize(32) << lane, b.const(0, 32)]
        if memory.words:
            vote = b.load(memory.shown(b, number, 0)) & meets.resize(32)
            found[1] = vote << lane
        return [one | other for one, other in zip(carried, found, strict=True)]

    zero = b.const(0, 32)
    same, votes = fold(b, lanes, [(zero, "i32"), (zero, "i32")], gather)
    come = same | ended.get()
    missing = mask & exist & ~come
    waiting.set(pending & ~same)
    with when(b, missing.cmp("eq", 0)):
        released.set(released.get() | same)
        if checks is not None:
            with when(b, masked):
                checks.note(b, "lanes_met", first, lanes, same)
                checks.waiting.absent(b, leader, place, mask & ~same)
        with loop(b, lanes) as lane, when(b, (same >> lane & 1).cmp("ne", 0)):
            _release_lane(b, thread, first + lane, same, votes)
    b.branch(head)
    b.block(after)


def _release_lane(b: Builder, thread: ThreadCode, number: str, same: str, votes: str) -> None:
    """Give a thread the lanes it met, their votes and their words, and let it go on."""
    memory = thread.memory
    b.store(same, memory.group(b, number))
    b.store(votes, memory.ballot(b, number))
    b.store(block_memory.RUNNING, memory.status(b, number))
    for word in range(memory.words):
        value = b.load(memory.shown(b, number, word))
        b.store(value, memory.seen(b, number, word))
