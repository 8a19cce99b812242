"""A thread that stops and goes on: a stackless coroutine.

The function ``@symbol.step`` takes a thread from where it stopped to where it stops next. Going on,
it jumps to the place it left; the registers live there, and no others, are kept in the thread's
state meanwhile. Local memory of such a thread lies in its state too.
"""

from collections.abc import Iterable, Sequence

from custom_dispatch.cpu.analysis import liveness
from custom_dispatch.cpu.analysis.suspension import suspends
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.lowering.waits import STATE, STOPPED, StoppingWaits
from custom_dispatch.cpu.text.builder import POINTER, FunctionBuilder
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import AT_BARRIER, DONE, FINISHED, IN_WARP
from custom_dispatch.cpu.threads.thread_code import THREAD, ThreadCode
from custom_dispatch.cpu.threads.thread_function import declare, inlined_function, lower_blocks
from custom_dispatch.ptx import Operand

THREAD_NUMBER = "%thread"
_MAX_LOCAL_ALIGN = 16


class Coroutine(StoppingWaits):
    """What instruction lowerings use to make a thread wait."""

    def __init__(self, frame: Frame, live: liveness.Live) -> None:
        super().__init__(frame.b, frame.b, frame.memory, THREAD_NUMBER, 16)
        self._frame = frame
        self._live = live

    def place_local(self, size: int, align: int) -> tuple[str, int]:
        align = min(max(align, 8), _MAX_LOCAL_ALIGN)
        start = -(-self._local_bytes // align) * align
        self._local_bytes = start + size
        self._grow(self._local_bytes)
        return self.b.offset(STATE, start), start

    def wait_at_barrier(self, number: str, keep: Iterable[Operand] = ()) -> None:
        b = self.b
        if not self.memory.lockstep:
            b.store(number, self.memory.subject(b, THREAD_NUMBER))
        self._suspend(AT_BARRIER, keep)

    def meet_lanes(self, mask: str, words: Sequence[str], keep: Iterable[Operand] = ()) -> None:
        b = self.b
        b.store(mask, self.memory.subject(b, THREAD_NUMBER))
        for index, word in enumerate(words):
            b.store(word, self.memory.shown(b, THREAD_NUMBER, index))
        self._suspend(IN_WARP, keep)

    def group(self) -> SsaValue:
        b = self.b
        return b.load(self.memory.group(b, THREAD_NUMBER))

    def ballot(self) -> SsaValue:
        b = self.b
        return b.load(self.memory.ballot(b, THREAD_NUMBER))

    def lane(self) -> SsaValue:
        return self.b.named(THREAD_NUMBER, "i32") & 31

    def seen(self, lane: str, word: int) -> SsaValue:
        first = self.b.named(THREAD_NUMBER, "i32") & -32
        return self.b.load(self.memory.seen(self.b, first | lane, word))

    def finish(self) -> None:
        """Note that the thread has ended."""
        b = self.b
        b.store(FINISHED, self.memory.place(b, THREAD_NUMBER))
        self._set_status(DONE)

    def _set_status(self, status: int) -> None:
        b = self.b
        if not self.memory.lockstep:
            b.store(status, self.memory.status(b, THREAD_NUMBER))

    def _suspend(self, status: int, keep: Iterable[Operand]) -> None:
        self._set_status(status)
        instruction = self._frame.current
        names = liveness.kept_across(instruction, self._live, keep)
        if self._frame.checks is not None and instruction is not None:
            self._frame.checks.waiting.add(instruction)
        self._stop(map(self._frame.slot, names))


def step_function(thread: ThreadCode) -> list[str]:
    """The lines of ``@symbol.step``; sets the size of a state in the block's memory."""
    live = liveness.live_after(thread.graph, suspends, liveness.live_before(thread.graph))
    b, memory = FunctionBuilder(thread.kernel.symbol), thread.memory
    frame = Frame(b, thread)
    coroutine = Coroutine(frame, live)
    frame.coroutine = coroutine
    frame.local = liveness.local_registers(thread.graph, suspends)
    declare(frame)
    place = b.load(memory.place(b, THREAD_NUMBER))
    entry_lines = len(b.lines)
    lower_blocks(frame, b)
    b.block("exit")
    coroutine.finish()
    b.branch(STOPPED)
    b.block(STOPPED)
    b.return_()
    cases = ", ".join(f"{i}: ^{label}" for i, label in enumerate(coroutine.resume_labels, 1))
    b.lines.insert(entry_lines, f"    llvm.switch {place} : i32, ^b0 [{cases}]")
    memory.state_bytes = coroutine.state_bytes
    more = (*THREAD, (THREAD_NUMBER, "i32"), (STATE, POINTER))
    return inlined_function(thread, b, "step", more)
