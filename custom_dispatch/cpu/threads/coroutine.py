"""A thread that stops and goes on: a stackless coroutine.

The function ``@symbol.step`` takes a thread from where it stopped to where it stops next. Going on,
it jumps to the place it left; the registers live there, and no others, are kept in the thread's
state meanwhile. Local memory of such a thread lies in its state too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from custom_dispatch.cpu.analysis.liveness import (
    live_after,
    live_before,
    local_registers,
    registers_in,
    writes,
)
from custom_dispatch.cpu.analysis.suspension import suspends
from custom_dispatch.cpu.analysis.waits import Waits
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import FunctionBuilder
from custom_dispatch.cpu.threads.block_memory import (
    AT_BARRIER,
    DONE,
    FINISHED,
    IN_WARP,
    BlockMemory,
)
from custom_dispatch.cpu.threads.thread_function import (
    THREAD,
    ThreadFunction,
    make_ids,
    signature_text,
)
from custom_dispatch.ptx import Instruction, Operand

THREAD_NUMBER = "%thread"
STATE = "%state"
_MAX_LOCAL_ALIGN = 16


class Coroutine(Waits):
    """What instruction lowerings use to make a thread wait.

    Parameters
    ----------
    frame
        The thread's registers.
    memory
        The block's memory.
    live
        By the ``id`` of an instruction: itself and the registers live after it.
    """

    def __init__(
        self,
        frame: Frame,
        memory: BlockMemory,
        live: dict[int, tuple[Instruction, frozenset[str]]],
    ) -> None:
        super().__init__(frame.b)
        self._frame = frame
        self.memory = memory
        self._live = live
        self._local_bytes = 0
        self.resume_labels: list[str] = []
        self.state_bytes = 0
        """Bytes of a thread's state: local memory and the largest set of live registers."""

    def place_local(self, size: int, align: int) -> tuple[str, int]:
        align = min(max(align, 8), _MAX_LOCAL_ALIGN)
        start = -(-self._local_bytes // align) * align
        self._local_bytes = start + size
        self._grow(self._local_bytes)
        return self._frame.b.offset(STATE, start), start

    def wait_at_barrier(
        self, instruction: Instruction, number: str, keep: Iterable[Operand] = ()
    ) -> None:
        b = self._frame.b
        if not self.memory.lockstep:
            b.store(number, self.memory.subject(b, THREAD_NUMBER), "i32", 4)
        self._suspend(instruction, AT_BARRIER, keep)

    def meet_lanes(
        self,
        instruction: Instruction,
        mask: str,
        words: Sequence[str],
        keep: Iterable[Operand] = (),
    ) -> None:
        b = self._frame.b
        b.store(mask, self.memory.subject(b, THREAD_NUMBER), "i32", 4)
        for index, word in enumerate(words):
            b.store(word, self.memory.shown(b, THREAD_NUMBER, index), "i32", 4)
        self._suspend(instruction, IN_WARP, keep)

    def group(self) -> str:
        b = self._frame.b
        return b.load(self.memory.group(b, THREAD_NUMBER), "i32", 4)

    def ballot(self) -> str:
        b = self._frame.b
        return b.load(self.memory.ballot(b, THREAD_NUMBER), "i32", 4)

    def lane(self) -> str:
        b = self._frame.b
        return b.binary("and", THREAD_NUMBER, b.const(31, 32), "i32")

    def seen(self, lane: str, word: int) -> str:
        b = self._frame.b
        first = b.binary("and", THREAD_NUMBER, b.const(-32, 32), "i32")
        thread = b.binary("or", first, lane, "i32")
        return b.load(self.memory.seen(b, thread, word), "i32", 4)

    def finish(self) -> None:
        """Note that the thread has ended."""
        b = self._frame.b
        b.store(b.const(FINISHED, 32), self.memory.place(b, THREAD_NUMBER), "i32", 4)
        self._set_status(DONE)

    def _set_status(self, status: int) -> None:
        b = self._frame.b
        if not self.memory.lockstep:
            b.store(b.const(status, 32), self.memory.status(b, THREAD_NUMBER), "i32", 4)

    def _suspend(self, instruction: Instruction, status: int, keep: Iterable[Operand]) -> None:
        b = self._frame.b
        self._set_status(status)
        names = self._live[id(instruction)][1] - writes(instruction)
        names |= {register.name for operand in keep for register in registers_in(operand)}
        ordered = (self._frame.slot(name) for name in sorted(names))
        slots = sorted(ordered, key=lambda slot: -slot[2])
        place = -(-self._local_bytes // 8) * 8
        saved = []
        for pointer, type_name, size in slots:
            saved.append((pointer, type_name, size, place))
            place += size
        self._grow(place)
        for pointer, type_name, size, at in saved:
            wide = "i8" if type_name == "i1" else type_name
            value = b.value(f"llvm.load {pointer} : !llvm.ptr -> {type_name}")
            b.store(b.cast("zext", value, type_name, wide), b.offset(STATE, at), wide, size)
        label = f"resume{len(self.resume_labels) + 1}"
        self.resume_labels.append(label)
        if self._frame.checks is not None:
            self._frame.checks.waiting.add(instruction)
        number = b.const(len(self.resume_labels), 32)
        b.store(number, self.memory.place(b, THREAD_NUMBER), "i32", 4)
        b.branch("stopped")
        b.block(label)
        for pointer, type_name, size, at in saved:
            wide = "i8" if type_name == "i1" else type_name
            value = b.cast("trunc", b.load(b.offset(STATE, at), wide, size), wide, type_name)
            b.line(f"llvm.store {value}, {pointer} : {type_name}, !llvm.ptr")

    def _grow(self, size: int) -> None:
        self.state_bytes = max(self.state_bytes, -(-size // 16) * 16)


def step_function(thread: ThreadFunction, memory: BlockMemory) -> list[str]:
    """The lines of ``@symbol.step``; sets the size of a state in `memory`.

    Parameters
    ----------
    thread
        The kernel's instructions, some of which suspend.
    memory
        The block's memory.
    """
    live = live_after(thread.graph, suspends, live_before(thread.graph))
    b = FunctionBuilder(thread.kernel.symbol)
    frame = thread.frame(b, make_ids(("%tid_x", "%tid_y", "%tid_z")))
    coroutine = Coroutine(frame, memory, live)
    frame.coroutine = coroutine
    frame.local = local_registers(thread.graph, suspends)
    thread.declare(frame)
    place = b.load(memory.place(b, THREAD_NUMBER), "i32", 4)
    entry_lines = len(b.lines)
    thread.lower_blocks(frame, b)
    b.block("exit")
    coroutine.finish()
    b.branch("stopped")
    b.block("stopped")
    b.line("llvm.return")
    cases = ", ".join(f"{i}: ^{label}" for i, label in enumerate(coroutine.resume_labels, 1))
    b.lines.insert(entry_lines, f"    llvm.switch {place} : i32, ^b0 [{cases}]")
    memory.state_bytes = coroutine.state_bytes
    thread.used_globals |= frame.used_globals
    arguments = signature_text((*thread.block_arguments, *THREAD, (THREAD_NUMBER, "i32")))
    return [
        *(line for lines in b.functions.values() for line in lines),
        f"  llvm.func internal @{thread.kernel.symbol}.step({arguments}, {STATE}: !llvm.ptr) "
        "attributes {always_inline} {",
        *b.entry_lines,
        *b.lines,
        "  }",
    ]
