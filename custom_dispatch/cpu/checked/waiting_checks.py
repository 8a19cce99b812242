"""The checks of threads that wait: that those of a warp wait together, and none in vain.

Where threads can wait is a table of sites, in the order of the places that they go on from; a
thread's place is numbered from 1.
"""

from __future__ import annotations

import struct

from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.checked.finding import Finding, find, stage
from custom_dispatch.cpu.checked.monitor import (
    IS_ALIGNED,
    IS_EXCHANGE,
    SITE_SHIFT,
    Site,
    Sites,
    get,
    site_at,
    text_global,
)
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import Cell, fold, loop, when
from custom_dispatch.cpu.threads.block_memory import AT_BARRIER, DONE, BlockMemory
from custom_dispatch.ptx import Instruction


class WaitingChecks:
    """Where a kernel's threads wait, and what is wrong with it.

    Parameters
    ----------
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
        memory, zero = self._memory, b.const(0, 32)
        none = b.const(-1, 32)

        def look(number: str, carried: list[str]) -> list[str]:
            leader, place_of_leader, first, second = carried
            lane = b.binary("and", number, 31)
            place_of_leader = b.select(b.icmp("eq", lane, zero), zero, place_of_leader)
            place = b.load(memory.place(b, number))
            waits = b.icmp("sgt", place, zero)
            if free is not None:
                waits = self._is_released(b, number, free)
            waits = self._is_aligned(b, b.select(waits, place, 1), waits)
            leads = b.icmp("eq", place_of_leader, zero)
            apart = b.icmp("ne", place, place_of_leader)
            apart = b.binary("and", apart, b.binary("xor", leads, 1, "i1"), "i1")
            apart = b.binary("and", apart, b.icmp("eq", second, none), "i1")
            apart = b.binary("and", apart, waits, "i1")
            leads = b.binary("and", leads, waits, "i1")
            return [
                b.select(leads, number, leader),
                b.select(leads, place, place_of_leader),
                b.select(apart, leader, first),
                b.select(apart, number, second),
            ]

        start = [(zero, "i32"), (zero, "i32"), (none, "i32"), (none, "i32")]
        *_, first, second = fold(b, memory.threads, start, look)
        with when(b, b.icmp("ne", second, none)):
            here, there = (self._site_of_wait(b, thread) for thread in (first, second))
            other = b.binary("shl", there, SITE_SHIFT)
            other = b.binary("or", other, second)
            find(b, Finding.DIVERGED, thread=first, site=here, other=other)
            b.branch("ended")
            b.block(b.fresh_label("found"))

    def absent(self, b: Builder, leader: str, place: str, absent: str) -> None:
        """Report a shuffle or vote of lanes that are not there; the bits of these are an i32."""
        if not self._has_exchanges:
            return
        site = self._site_of_place(b, place)
        exchange = b.binary("and", get(b, site_at(b, site), Site.kind), IS_EXCHANGE)
        both = b.binary("and", b.icmp("ne", exchange, 0), b.icmp("ne", absent, 0), "i1")
        with when(b, both):
            lane = b.call_intrinsic("llvm.cttz", [absent, 1], "i32", ["i32", "i1"])
            offset = b.resize(lane, 32, 64)
            stage(b, Finding.ABSENT, thread=leader, site=site, offset=offset)

    def _is_released(self, b: Builder, number: str, free: str) -> str:
        """Whether a thread waits at one of the barriers that are complete."""
        status = b.load(self._memory.status(b, number))
        barrier = b.load(self._memory.subject(b, number))
        barrier = b.binary("and", barrier, 31)
        at = b.icmp("eq", status, AT_BARRIER)
        complete = b.resize(b.binary("lshr", free, barrier), 32, 1)
        return b.binary("and", at, complete, "i1")

    def _is_aligned(self, b: Builder, place: str, waits: str) -> str:
        """Whether a thread waits, and at a barrier to which all threads of a warp have to come."""
        site = self._site_of_place(b, place)
        aligned = b.binary("lshr", get(b, site_at(b, site), Site.kind), 4)
        return b.binary("and", waits, b.resize(aligned, 32, 1), "i1")

    def deadlock(self, b: Builder) -> None:
        """Report threads that wait in vain: the first, and one that waits elsewhere."""
        memory = self._memory
        here, there = Cell(b, -1), Cell(b, -1)
        with loop(b, memory.threads) as number:
            status = b.load(memory.status(b, number))
            with when(b, b.icmp("ne", status, DONE)):
                with when(b, b.icmp("slt", here.get(), 0)):
                    here.set(number)
                same = b.const(1, 1)
                for what in (memory.place, memory.subject, memory.status):
                    mine = b.load(what(b, here.get()))
                    theirs = b.load(what(b, number))
                    same = b.binary("and", same, b.icmp("eq", mine, theirs), "i1")
                new = b.binary("xor", same, 1, "i1")
                new = b.binary("and", new, b.icmp("slt", there.get(), 0), "i1")
                with when(b, new):
                    there.set(number)
        alone, together, after = (b.fresh_label(n) for n in ("alone", "together", "reported"))
        b.cond_branch(b.icmp("slt", there.get(), 0), alone, together)
        b.block(alone)
        site = self._site_of_wait(b, here.get())
        find(b, Finding.WAITS_IN_VAIN, thread=here.get(), site=site)
        b.branch(after)
        b.block(together)
        site, other = (self._site_of_wait(b, cell.get()) for cell in (here, there))
        other = b.binary("shl", other, SITE_SHIFT)
        other = b.binary("or", other, there.get())
        find(b, Finding.DEADLOCK, thread=here.get(), site=site, other=other)
        b.branch(after)
        b.block(after)

    def _site_of_wait(self, b: Builder, thread: str) -> str:
        """The site at which a thread waits; its place is numbered from 1."""
        return self._site_of_place(b, b.load(self._memory.place(b, thread)))

    def _site_of_place(self, b: Builder, place: str) -> str:
        table = b.address_of(self._table)
        index = b.binary("sub", place, 1)
        return b.load(b.element(table, index, 4))
