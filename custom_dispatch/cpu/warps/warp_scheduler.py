"""Running the warps of a block: each to its next barrier, in turn."""

from __future__ import annotations

from custom_dispatch.cpu.text.builder import FAILURE, Builder
from custom_dispatch.cpu.text.structure import Cell, loop, when
from custom_dispatch.cpu.threads.barriers import (
    clear_barriers,
    each_released,
    release_barriers,
    turn_over,
)
from custom_dispatch.cpu.threads.block_memory import FINISHED, RUNNING, BlockMemory
from custom_dispatch.cpu.threads.thread_function import ThreadFunction, signature_text
from custom_dispatch.format.failure import Failure


def warp_scheduler(thread: ThreadFunction, memory: BlockMemory) -> list[str]:
    """The lines of the function ``@symbol.block``, which calls ``@symbol.warp``."""
    b = Builder()
    if memory.suspends:
        _run_in_turn(b, thread, memory)
    else:
        with loop(b, b.const(memory.threads, 32), 32) as first:
            _run(b, thread, [(first, "i32")])
    b.line("llvm.return")
    return [
        f"  llvm.func internal @{thread.kernel.symbol}.block("
        f"{signature_text(thread.block_arguments)}) {{",
        *b.lines,
        "  }",
    ]


def _run(b: Builder, thread: ThreadFunction, more: list[tuple[str, str]]) -> None:
    arguments = [*thread.block_arguments, *more]
    names = ", ".join(name for name, _ in arguments)
    types = ", ".join(type_name for _, type_name in arguments)
    b.line(f"llvm.call @{thread.kernel.symbol}.warp({names}) : ({types}) -> ()")


def _run_in_turn(b: Builder, thread: ThreadFunction, memory: BlockMemory) -> None:
    alive = Cell(b, 0)
    warps = b.const(memory.units, 32)
    zero = b.const(0, 32)
    clear_barriers(b, memory)
    with loop(b, warps) as number:
        b.store(zero, memory.place(b, number), "i32", 4)
        if not memory.lockstep:
            b.store(b.const(RUNNING, 32), memory.status(b, number), "i32", 4)
    b.branch("round")
    b.block("round")
    alive.clear()
    with loop(b, warps) as number:
        if memory.lockstep:
            place = b.load(memory.place(b, number), "i32", 4)
            runs = b.icmp("ne", place, b.const(FINISHED, 32), "i32")
        else:
            status = b.load(memory.status(b, number), "i32", 4)
            runs = b.icmp("eq", status, b.const(RUNNING, 32), "i32")
        with when(b, runs):
            first = b.binary("shl", number, b.const(5, 32), "i32")
            state = memory.state(b, number)
            _run(b, thread, [(first, "i32"), (number, "i32"), (state, "!llvm.ptr")])
        count = b.load(memory.alive(b, number), "i32", 4)
        alive.set(b.binary("add", alive.get(), count, "i32"))
    if memory.lockstep:
        turn_over(b, memory, alive.get())
        b.cond_branch(b.icmp("ne", alive.get(), zero, "i32"), "round", "ended")
    else:
        _release(b, memory, alive)
    b.block("ended")


def _release(b: Builder, memory: BlockMemory, alive: Cell) -> None:
    """Let the warps go on that wait at complete barriers."""
    zero = b.const(0, 32)
    b.cond_branch(b.icmp("eq", alive.get(), zero, "i32"), "ended", "barriers")
    b.block("barriers")
    free = release_barriers(b, memory, alive.get())
    b.cond_branch(b.icmp("eq", free, zero, "i32"), "deadlock", "release")
    b.block("release")
    with each_released(b, memory, free):
        pass
    b.branch("round")
    b.block("deadlock")
    b.store(b.const(Failure.DEADLOCK, 32), FAILURE, "i32", 4)
    b.branch("ended")
