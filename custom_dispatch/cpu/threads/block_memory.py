"""The memory of one CUDA block: a workgroup's local memory, and what lies where in it.

From the start: the kernel's shared memory (PTX ISA 9.0, section 5.1.7: static variables, then the
dynamic array), the barriers, what the scheduler knows of every thread, what the lanes of a warp
show each other, and the states of suspended threads. A thread finds its part by its number.

Asynchronous copies that a barrier counts (`mbarrier`, `cp.async.bulk`, TMA) are not lowered; their
barriers are objects in shared memory, and a queue of pending copies would have its place here,
between the barriers and the threads, to be run when a thread waits.

Each of the sixteen barriers (PTX ISA 9.0, section 9.7.13.1, "bar, barrier") counts the threads that
wait at it and those that have only arrived. It is complete when they are as many as the instruction
says, or, where it says nothing, as the block's threads that have not ended. `bar.red` sums up a
predicate on the way.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import fold, loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.errors import PtxError
from custom_dispatch.ptx import Entry, Variable

MEMORY = "%memory"
"""The function argument that points to a block's memory."""
BARRIERS = 16
BARRIER_BYTES = 32
MAX_BLOCK_BYTES = 512 * 1024
"""What a block may need. IREE gives a worker of local-task as much as the L2 cache has, which is
512 KiB or more on server CPUs; `--task_worker_local_memory=` gives more at run time."""
_ALIGN = 64

RUNNING, DONE, AT_BARRIER, IN_WARP = range(4)
"""What a thread is doing."""
FINISHED = -1
"""The place where a thread that has ended would go on."""


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Where a kernel's shared variables lie."""

    offsets: dict[str, int]
    """Bytes from the start of shared memory, by name."""
    ends: dict[str, int]
    """Where each ends."""
    size: int
    """All of it, the dynamic part included."""
    static_size: int
    """Where the dynamic part begins."""


def place_shared(variables: Iterable[Variable], dynamic: int) -> SharedMemory:
    """Lay out shared variables in the order given; every `.extern` array starts at the end."""
    offsets: dict[str, int] = {}
    ends: dict[str, int] = {}
    end = 0
    arrays: list[Variable] = []
    widest = 16
    for variable in variables:
        if variable.count == 0:
            arrays.append(variable)
            widest = max(widest, variable.align)
            continue
        end = _up(end, variable.align)
        offsets[variable.name] = end
        end += variable.size_bytes
        ends[variable.name] = end
    end = _up(end, widest) if arrays or dynamic else end
    offsets.update((variable.name, end) for variable in arrays)
    ends.update((variable.name, end + dynamic) for variable in arrays)
    return SharedMemory(offsets, ends, end + dynamic, end)


class BlockMemory:
    """The layout of a block's memory.

    - `suspends`: whether its threads ever stop before their end.
    - `lockstep`: whether they only do so at one barrier, all together: no warps to keep track of
      then.
    - `words`: how many 32-bit words a lane shows others at most.
    - `by_warps`: whether warps stop and go on as a whole, and not threads by themselves.
    """

    def __init__(
        self,
        kernel: CpuKernel,
        shared: SharedMemory,
        *,
        suspends: bool = False,
        lockstep: bool = False,
        words: int = 0,
        by_warps: bool = False,
    ) -> None:
        self.shared = shared
        self.suspends = suspends
        self.lockstep = lockstep
        self.words = words
        x, y, z = kernel.block
        self.threads = x * y * z
        self.by_warps = by_warps
        self.units = -(-self.threads // 32) if by_warps else self.threads
        """What stops and goes on: threads, or warps."""
        self._lanes = _up(self.units, 32)
        self._end = _up(shared.size, _ALIGN)
        self.state_bytes = 0
        if suspends:
            self._barriers = self._take(BARRIERS * BARRIER_BYTES)
            self._place = self._take(4 * self._lanes)
        if suspends and by_warps:
            self._alive = self._take(4 * self._lanes)
        if suspends and not lockstep:
            self._status = self._take(4 * self._lanes)
            self._subject = self._take(4 * self._lanes)
        if suspends and not lockstep and not by_warps:
            self._group = self._take(4 * self._lanes)
            self._ballot = self._take(4 * self._lanes)
            self._shown = self._take(4 * words * self._lanes)
            self._seen = self._take(4 * words * self._lanes)

    def _take(self, size: int) -> int:
        start = self._end
        self._end = _up(start + size, _ALIGN)
        return start

    @property
    def needed(self) -> bool:
        """Whether a block needs any memory at all."""
        return bool(self.shared.size or self.shared.offsets or self.suspends)

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        return max(self._end + self.state_bytes * self.units, 16)

    def check_size(self, entry: Entry) -> None:
        """Refuse a kernel whose block needs more than a worker has."""
        if self.size > MAX_BLOCK_BYTES:
            units = "warps" if self.by_warps else "threads"
            raise PtxError(
                f"Kernel `{entry.name}` needs {self.size} bytes for a block on the CPU: "
                f"{self.shared.size} of shared memory, and {self.state_bytes} for each of "
                f"{self.units} suspended {units}.",
                expected=f"at most {MAX_BLOCK_BYTES} bytes, the local memory of an IREE worker",
                next_step="use a smaller block, less shared memory or fewer values kept across "
                "barriers, or leave `cpu` out of the targets.",
            )

    # ---- pointers; `thread` is an i32

    def barrier(self, b: Builder, number: str, field: int) -> str:
        """A field of a barrier (`threads/block_memory.py`)."""
        return b.element(MEMORY, number, BARRIER_BYTES, self._barriers + 4 * field)

    def place(self, b: Builder, thread: str) -> str:
        """Where a thread goes on."""
        return b.element(MEMORY, thread, 4, self._place)

    def alive(self, b: Builder, warp: str) -> str:
        """How many threads of a warp have not ended."""
        return b.element(MEMORY, warp, 4, self._alive)

    def status(self, b: Builder, thread: str) -> str:
        """What a thread is doing."""
        return b.element(MEMORY, thread, 4, self._status)

    def subject(self, b: Builder, thread: str) -> str:
        """What a thread waits for: a barrier's number, or the lanes of a mask."""
        return b.element(MEMORY, thread, 4, self._subject)

    def group(self, b: Builder, thread: str) -> str:
        """The lanes that took part in a lane's last warp operation."""
        return b.element(MEMORY, thread, 4, self._group)

    def ballot(self, b: Builder, thread: str) -> str:
        """The lowest bit of what each of those lanes showed."""
        return b.element(MEMORY, thread, 4, self._ballot)

    def shown(self, b: Builder, thread: str, word: int) -> str:
        """A word that a lane is about to show."""
        return b.element(MEMORY, thread, 4 * self.words, self._shown + 4 * word)

    def seen(self, b: Builder, thread: str, word: int) -> str:
        """A word that a lane showed in its last warp operation."""
        return b.element(MEMORY, thread, 4 * self.words, self._seen + 4 * word)

    def state(self, b: Builder, thread: str) -> str:
        """A thread's state."""
        return b.element(MEMORY, thread, self.state_bytes, self._end)


def _up(value: int, align: int) -> int:
    return -(-value // align) * align


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
        number, within = index >> 3, index & 7
        place = memory.barrier(b, number, 0)
        b.store(0, b.offset(place, (within << 2).resize(64)))


def _read(b: Builder, memory: BlockMemory, number: str, field: int) -> SsaValue:
    return b.load(memory.barrier(b, number, field))


def count_up(b: Builder, memory: BlockMemory, number: str, field: int, amount: str) -> None:
    """Add to a field."""
    place = memory.barrier(b, number, field)
    b.store(b.load(place) + amount, place)


def turn_over(b: Builder, memory: BlockMemory, waiting: str) -> None:
    """Complete the one barrier of threads in lockstep."""
    zero = b.const(0, 32)
    total = _read(b, memory, zero, SUM)
    b.store(total, memory.barrier(b, zero, LAST_SUM))
    b.store(waiting, memory.barrier(b, zero, LAST_COUNT))
    b.store(zero, memory.barrier(b, zero, SUM))


def release_barriers(b: Builder, memory: BlockMemory, alive: str) -> SsaValue:
    """Complete the barriers that can be; returns which, as bits of an i32."""
    zero = b.const(0, 32)

    def check(number: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
        waiting = _read(b, memory, number, WAITING)
        come = waiting + _read(b, memory, number, ARRIVED)
        needed = _read(b, memory, number, NEEDED)
        needed = needed.cmp("eq", zero).select(alive, needed)
        full = come.cmp("uge", needed) & waiting.cmp("ne", zero)
        for field, value in (
            (LAST_SUM, _read(b, memory, number, SUM)),
            (LAST_COUNT, waiting),
            (WAITING, zero),
            (ARRIVED, zero),
            (SUM, zero),
        ):
            kept = full.select(value, _read(b, memory, number, field))
            b.store(kept, memory.barrier(b, number, field))
        return [carried[0] | full.resize(32) << number]

    return fold(b, BARRIERS, [(zero, "i32")], check)[0]


@contextmanager
def each_released(
    b: Builder, memory: BlockMemory, free: SsaValue
) -> Iterator[tuple[SsaValue, SsaValue]]:
    """Let those go on that wait at barriers whose bits are set, and write code for each: for its
    number, and that of the barrier.
    """
    with loop(b, memory.units) as number:
        status = b.load(memory.status(b, number))
        subject = b.load(memory.subject(b, number))
        open_ = (free >> (subject & 31)).resize(1)
        with when(b, status.cmp("eq", AT_BARRIER) & open_):
            b.store(RUNNING, memory.status(b, number))
            yield number, subject
