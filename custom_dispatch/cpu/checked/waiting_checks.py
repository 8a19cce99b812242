"""The checks of threads that wait: that those of a warp wait together, and none in vain.

Where threads can wait is a table of sites, in the order of the places that they go on from; a
thread's place is numbered from 1.
"""

from __future__ import annotations

import struct

from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.checked.findings import Finding, find, stage
from custom_dispatch.cpu.checked.monitor import (
    IS_ALIGNED,
    IS_EXCHANGE,
    KIND,
    SITE_SHIFT,
    element,
    get,
    site_at,
    text_global,
)
from custom_dispatch.cpu.checked.sites import Sites
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.structure import Cell, fold, loop, when
from custom_dispatch.cpu.threads.block_memory import AT_BARRIER, DONE, BlockMemory
from custom_dispatch.ptx import Instruction


class WaitingChecks:
    """Where a kernel's threads wait, and what is wrong with it.

    Parameters
    ----------
    kernel
        The kernel.
    memory
        The block's memory.
    sites
        Those of the module, to which the places are added.
    """

    def __init__(self, kernel: CpuKernel, memory: BlockMemory, sites: Sites) -> None:
        self._memory = memory
        self._sites = sites
        self._table = f"check.waits.{kernel.symbol}"
        self._places: list[int] = []
        self._has_aligned = False
        self._has_exchanges = False

    def add(self, instruction: Instruction) -> None:
        """The thread can wait at an instruction; in the order of the places to go on from."""
        aligned = is_barrier(instruction) and (
            instruction.parts[0] == "bar" or "aligned" in instruction.parts
        )
        self._has_aligned |= aligned
        exchange = instruction.parts[0] in ("shfl", "vote")
        self._has_exchanges |= exchange
        kind = IS_ALIGNED * aligned | IS_EXCHANGE * exchange
        self._places.append(self._sites.add(instruction, kind=kind))

    def table(self) -> str:
        """The sites of all places, as a global variable."""
        return text_global(self._table, struct.pack(f"<{len(self._places)}i", *self._places))

    def converged(self, b: Builder, free: str | None = None) -> None:
        """Report threads of a warp that have come to different barriers, and end the block.

        Parameters
        ----------
        free
            The bits of the barriers that are complete; None in lockstep, where all wait at one.
        """
        if not self._has_aligned:
            return
        memory, zero, one = self._memory, b.const(0, 32), b.const(1, 32)
        none = b.const(-1, 32)

        def look(number: str, carried: list[str]) -> list[str]:
            leader, place_of_leader, first, second = carried
            lane = b.binary("and", number, b.const(31, 32), "i32")
            place_of_leader = b.select(
                b.icmp("eq", lane, zero, "i32"), zero, place_of_leader, "i32"
            )
            place = b.load(memory.place(b, number), "i32", 4)
            waits = b.icmp("sgt", place, zero, "i32")
            if free is not None:
                waits = self._is_released(b, number, free)
            waits = self._is_aligned(b, b.select(waits, place, one, "i32"), waits)
            leads = b.icmp("eq", place_of_leader, zero, "i32")
            apart = b.icmp("ne", place, place_of_leader, "i32")
            apart = b.binary("and", apart, b.binary("xor", leads, b.const(1, 1), "i1"), "i1")
            apart = b.binary("and", apart, b.icmp("eq", second, none, "i32"), "i1")
            apart = b.binary("and", apart, waits, "i1")
            leads = b.binary("and", leads, waits, "i1")
            return [
                b.select(leads, number, leader, "i32"),
                b.select(leads, place, place_of_leader, "i32"),
                b.select(apart, leader, first, "i32"),
                b.select(apart, number, second, "i32"),
            ]

        start = [(zero, "i32"), (zero, "i32"), (none, "i32"), (none, "i32")]
        *_, first, second = fold(b, b.const(memory.threads, 32), start, look)
        with when(b, b.icmp("ne", second, none, "i32")):
            here, there = (self._site_of_wait(b, thread) for thread in (first, second))
            other = b.binary("shl", there, b.const(SITE_SHIFT, 32), "i32")
            other = b.binary("or", other, second, "i32")
            find(b, Finding.DIVERGED, thread=first, site=here, other=other)
            b.branch("ended")
            b.block(b.fresh_label("found"))

    def absent(self, b: Builder, leader: str, place: str, absent: str) -> None:
        """Report a shuffle or vote of lanes that are not there; the bits of these are an i32."""
        if not self._has_exchanges:
            return
        site = self._site_of_place(b, place)
        exchange = b.binary("and", get(b, site_at(b, site), KIND), b.const(IS_EXCHANGE, 32), "i32")
        zero = b.const(0, 32)
        both = b.binary(
            "and", b.icmp("ne", exchange, zero, "i32"), b.icmp("ne", absent, zero, "i32"), "i1"
        )
        with when(b, both):
            lane = b.call_intrinsic("llvm.cttz", [absent, b.const(1, 1)], ["i32", "i1"], "i32")
            offset = b.resize(lane, 32, 64)
            stage(b, Finding.ABSENT, thread=leader, site=site, offset=offset)

    def _is_released(self, b: Builder, number: str, free: str) -> str:
        """Whether a thread waits at one of the barriers that are complete."""
        status = b.load(self._memory.status(b, number), "i32", 4)
        barrier = b.load(self._memory.subject(b, number), "i32", 4)
        barrier = b.binary("and", barrier, b.const(31, 32), "i32")
        at = b.icmp("eq", status, b.const(AT_BARRIER, 32), "i32")
        complete = b.resize(b.binary("lshr", free, barrier, "i32"), 32, 1)
        return b.binary("and", at, complete, "i1")

    def _is_aligned(self, b: Builder, place: str, waits: str) -> str:
        """Whether a thread waits, and at a barrier to which all threads of a warp have to come."""
        site = self._site_of_place(b, place)
        aligned = b.binary("lshr", get(b, site_at(b, site), KIND), b.const(4, 32), "i32")
        return b.binary("and", waits, b.resize(aligned, 32, 1), "i1")

    def deadlock(self, b: Builder) -> None:
        """Report threads that wait in vain: the first, and one that waits elsewhere."""
        memory = self._memory
        here, there = Cell(b, -1), Cell(b, -1)
        zero = b.const(0, 32)
        with loop(b, b.const(memory.threads, 32)) as number:
            status = b.load(memory.status(b, number), "i32", 4)
            with when(b, b.icmp("ne", status, b.const(DONE, 32), "i32")):
                with when(b, b.icmp("slt", here.get(), zero, "i32")):
                    here.set(number)
                same = b.const(1, 1)
                for what in (memory.place, memory.subject, memory.status):
                    mine = b.load(what(b, here.get()), "i32", 4)
                    theirs = b.load(what(b, number), "i32", 4)
                    same = b.binary("and", same, b.icmp("eq", mine, theirs, "i32"), "i1")
                new = b.binary("xor", same, b.const(1, 1), "i1")
                new = b.binary("and", new, b.icmp("slt", there.get(), zero, "i32"), "i1")
                with when(b, new):
                    there.set(number)
        alone, together, after = (b.fresh_label(n) for n in ("alone", "together", "reported"))
        b.cond_branch(b.icmp("slt", there.get(), zero, "i32"), alone, together)
        b.block(alone)
        site = self._site_of_wait(b, here.get())
        find(b, Finding.WAITS_IN_VAIN, thread=here.get(), site=site)
        b.branch(after)
        b.block(together)
        site, other = (self._site_of_wait(b, cell.get()) for cell in (here, there))
        other = b.binary("shl", other, b.const(SITE_SHIFT, 32), "i32")
        other = b.binary("or", other, there.get(), "i32")
        find(b, Finding.DEADLOCK, thread=here.get(), site=site, other=other)
        b.branch(after)
        b.block(after)

    def _site_of_wait(self, b: Builder, thread: str) -> str:
        """The site at which a thread waits; its place is numbered from 1."""
        return self._site_of_place(b, b.load(self._memory.place(b, thread), "i32", 4))

    def _site_of_place(self, b: Builder, place: str) -> str:
        table = b.value(f"llvm.mlir.addressof @{self._table} : {POINTER}")
        index = b.binary("sub", place, b.const(1, 32), "i32")
        return b.load(element(b, table, index, 4), "i32", 4)
