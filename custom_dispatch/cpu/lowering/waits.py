"""What instruction lowerings use to make a thread, or a warp, wait for others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import fold
from custom_dispatch.cpu.text.ssa_value import SsaValue
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
