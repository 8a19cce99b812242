"""The checks of threads that wait: that those of a warp wait together, and none in vain.

Where threads can wait is a table of sites, in the order of the places that they go on from; a
thread's place is numbered from 1.
"""

from __future__ import annotations

import struct

from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.checked import monitor
from custom_dispatch.cpu.checked.finding import Finding, find, stage
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.text.control_structures import Cell, fold, loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import AT_BARRIER, DONE, BlockMemory
from custom_dispatch.ptx import Instruction


class WaitingChecks:
    """Where a kernel's threads wait, and what is wrong with it.

    - `sites`: those of the module, to which the places are added.
    """

    def __init__(self, kernel: CpuKernel, memory: BlockMemory, sites: monitor.Sites) -> None:
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
        kind = monitor.Site.ALIGNED * aligned | monitor.Site.EXCHANGE * exchange
        self._places.append(self._sites.add(instruction, kind=kind))

    def table(self) -> str:
        """The sites of all places, as a global variable."""
        return monitor.text_global(
            self._table, struct.pack(f"<{len(self._places)}i", *self._places)
        )

    def converged(self, b: Builder, free: SsaValue | None = None) -> None:
        """Report threads of a warp that have come to different barriers, and end the block.

        - `free`: the bits of the barriers that are complete; None in lockstep, where all wait at
          one.
        """
        if not self._has_aligned:
            return
        memory, zero = self._memory, b.const(0, 32)
        none = b.const(-1, 32)

        def look(number: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
            leader, place_of_leader, first, second = carried
            place_of_leader = (number & 31).cmp("eq", zero).select(zero, place_of_leader)
            place = b.load(memory.place(b, number))
            waits = place.cmp("sgt", zero)
            if free is not None:
                waits = self._is_released(b, number, free)
            waits = self._is_aligned(b, waits.select(place, 1), waits)
            leads = place_of_leader.cmp("eq", zero)
            apart = place.cmp("ne", place_of_leader) & ~leads
            apart = apart & second.cmp("eq", none) & waits
            leads = leads & waits
            return [
                leads.select(number, leader),
                leads.select(place, place_of_leader),
                apart.select(leader, first),
                apart.select(number, second),
            ]

        start = [(zero, "i32"), (zero, "i32"), (none, "i32"), (none, "i32")]
        *_, first, second = fold(b, memory.threads, start, look)
        with when(b, second.cmp("ne", none)):
            here, there = (self._site_of_wait(b, thread) for thread in (first, second))
            other = there << monitor.Who.SITE_SHIFT | second
            find(b, Finding.DIVERGED, thread=first, site=here, other=other)
            b.branch("ended")
            b.block(b.fresh_label("found"))

    def absent(self, b: Builder, leader: str, place: SsaValue, absent: SsaValue) -> None:
        """Report a shuffle or vote of lanes that are not there; the bits of these are an i32."""
        if not self._has_exchanges:
            return
        site = self._site_of_place(b, place)
        exchange = monitor.site_at(b, site).kind & monitor.Site.EXCHANGE
        with when(b, exchange.cmp("ne", 0) & absent.cmp("ne", 0)):
            lane = b.call_intrinsic("llvm.cttz", [absent, 1], "i32", ["i32", "i1"])
            stage(b, Finding.ABSENT, thread=leader, site=site, offset=lane.resize(64))

    def _is_released(self, b: Builder, number: str, free: SsaValue) -> SsaValue:
        """Whether a thread waits at one of the barriers that are complete."""
        status = b.load(self._memory.status(b, number))
        barrier = b.load(self._memory.subject(b, number)) & 31
        return status.cmp("eq", AT_BARRIER) & (free >> barrier).resize(1)

    def _is_aligned(self, b: Builder, place: SsaValue, waits: SsaValue) -> SsaValue:
        """Whether a thread waits, and at a barrier to which all threads of a warp have to come."""
        site = self._site_of_place(b, place)
        aligned = monitor.site_at(b, site).kind >> 4
        return waits & aligned.resize(1)

    def deadlock(self, b: Builder) -> None:
        """Report threads that wait in vain: the first, and one that waits elsewhere."""
        memory = self._memory
        here, there = Cell(b, -1), Cell(b, -1)
        with loop(b, memory.threads) as number:
            status = b.load(memory.status(b, number))
            with when(b, status.cmp("ne", DONE)):
                with when(b, here.get().cmp("slt", 0)):
                    here.set(number)
                same = b.const(1, 1)
                for what in (memory.place, memory.subject, memory.status):
                    mine = b.load(what(b, here.get()))
                    same = same & mine.cmp("eq", b.load(what(b, number)))
                with when(b, ~same & there.get().cmp("slt", 0)):
                    there.set(number)
        alone, together, after = (b.fresh_label(n) for n in ("alone", "together", "reported"))
        b.cond_branch(there.get().cmp("slt", 0), alone, together)
        b.block(alone)
        site = self._site_of_wait(b, here.get())
        find(b, Finding.WAITS_IN_VAIN, thread=here.get(), site=site)
        b.branch(after)
        b.block(together)
        site, other = (self._site_of_wait(b, cell.get()) for cell in (here, there))
        other = other << monitor.Who.SITE_SHIFT | there.get()
        find(b, Finding.DEADLOCK, thread=here.get(), site=site, other=other)
        b.branch(after)
        b.block(after)

    def _site_of_wait(self, b: Builder, thread: str) -> SsaValue:
        """The site at which a thread waits; its place is numbered from 1."""
        return self._site_of_place(b, b.load(self._memory.place(b, thread)))

    def _site_of_place(self, b: Builder, place: SsaValue) -> SsaValue:
        table = b.address_of(self._table)
        return b.load(b.element(table, place - 1, 4))
