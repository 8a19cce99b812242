"""What instruction lowerings use to make a thread, or a warp, wait for others."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Final

from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import fold
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import BlockMemory
from custom_dispatch.ptx import Operand


class Waits(ABC):
    """A thread that can wait."""

    def __init__(self, builder: Builder) -> None:
        self.b = builder

    @abstractmethod
    def place_local(self, size: int, align: int) -> tuple[str, int]:
        """Local memory that outlives a wait: a pointer to it, and where it lies in the state."""

    @abstractmethod
    def wait_at_barrier(self, number: str, keep: Iterable[Operand] = ()) -> None:
        """Wait until a barrier of the block is complete.

        - `number`: the barrier's number, an i32.
        - `keep`: operands of the instruction that are read after the wait.
        """

    @abstractmethod
    def meet_lanes(self, mask: str, words: Sequence[str], keep: Iterable[Operand] = ()) -> None:
        """Show some words to other lanes, and wait until they all have shown theirs.

        - `mask`: the lanes to wait for, an i32; 0 for those that wait at this very instruction.
        - `words`: i32 values.
        - `keep`: operands of the instruction that are read after the wait.
        """

    @abstractmethod
    def group(self) -> SsaValue:
        """The lanes that took part in the last meeting, as bits."""

    @abstractmethod
    def ballot(self) -> SsaValue:
        """The lowest bit of the first word of each of them."""

    @abstractmethod
    def lane(self) -> SsaValue:
        """The thread's lane."""

    @abstractmethod
    def seen(self, lane: str, word: int) -> SsaValue:
        """A word that a lane of the same warp showed in the last meeting."""

    def fetch(self, lane: SsaValue, word: int) -> SsaValue:
        """The same, or the thread's own where that lane did not take part."""
        lane = lane & 31
        came = (self.group() >> lane).resize(1)
        return self.seen(came.select(lane, self.lane()), word)

    def reduce(self, operation: str, neutral: int) -> SsaValue:
        """What the lanes showed first, combined.

        - `operation`: ``add``, ``and``, ``or``, ``xor``, or an intrinsic such as ``llvm.umin``.
        - `neutral`: what changes no result.
        """
        b = self.b
        group = self.group()

        def combine(lane: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
            value = self.seen(lane, 0)
            if operation.startswith("llvm."):
                value = b.call_intrinsic(operation, [carried[0], value])
            else:
                value = b.binary(operation, carried[0], value)
            takes_part = (group >> lane).resize(1)
            return [takes_part.select(value, carried[0])]

        return fold(b, 32, [(b.const(neutral, 32), "i32")], combine)[0]


STATE: Final = "%state"
"""The function argument that points to what is kept of a thread or warp that has stopped."""
STOPPED: Final = "stopped"
"""The block at which it leaves the function."""
_PACKED: Final = {"i1": ("zext", "trunc", "i8"), "vector<32xi1>": ("bitcast", "bitcast", "i32")}
"""What is kept in another type: what casts it to that one and back, and the type."""


class StoppingWaits(Waits):
    """A thread or warp that stops and goes on where it was.

    - `one`: what writes for it as a whole.
    - `unit`: the function argument that holds its number in the block's memory.
    - `align`: what its state's bytes are a multiple of.
    """

    def __init__(
        self, builder: Builder, one: Builder, memory: BlockMemory, unit: str, align: int
    ) -> None:
        super().__init__(builder)
        self._one, self.memory, self._unit, self._align = one, memory, unit, align
        self._local_bytes = 0
        self.resume_labels: list[str] = []
        self.state_bytes = 0
        """Bytes of its state: local memory, and the most that it ever keeps besides."""

    def _grow(self, size: int) -> None:
        self.state_bytes = max(self.state_bytes, -(-size // self._align) * self._align)

    def _stop(self, parts: Iterable[tuple[str, str, int]]) -> None:
        """Stop, and go on here with what some variables hold now.

        `parts`: their places, types and bytes.
        """
        b, at = self._one, self._local_bytes
        saved = []
        for place, type_name, size in sorted(parts, key=lambda part: -part[2]):
            pack, unpack, kept = _PACKED.get(type_name, ("", "", type_name))
            b.store(b.read(place, type_name).cast(pack, kept), b.offset(STATE, at), kept, 1)
            saved.append((place, type_name, at, unpack, kept))
            at += size
        self._grow(at)
        label = f"resume{len(self.resume_labels) + 1}"
        self.resume_labels.append(label)
        b.store(len(self.resume_labels), self.memory.place(b, self._unit))
        b.branch(STOPPED)
        b.block(label)
        for place, type_name, at, unpack, kept in saved:
            value = b.load(b.offset(STATE, at), kept, 1)
            b.write(value.cast(unpack, type_name), place, type_name)
