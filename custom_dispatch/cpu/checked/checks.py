"""The checks of one kernel: what lowerings and the scheduler call in checked mode.

Each method writes a call of the monitor (`checked/monitor.py`) into the code. Where what
is found leaves memory in doubt, the thread stops, and with it the block.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.cpu.analysis.dropped_loads import dropped_loads
from custom_dispatch.cpu.analysis.origins import Origins
from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.checked import monitor
from custom_dispatch.cpu.checked.finding import Finding, find, keep_staged
from custom_dispatch.cpu.checked.monitor_shadow import note_use
from custom_dispatch.cpu.checked.waiting_checks import WaitingChecks
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.control_structures import loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.text.unsupported import unsupported
from custom_dispatch.cpu.threads.block_memory import BARRIERS, LAST_COUNT, BlockMemory
from custom_dispatch.ptx import TYPE_BITS, Address, Instruction, Integer, elements_of

_STRONG = frozenset({"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"})
"""Modifiers of accesses that do not race with each other (PTX ISA, "Memory Consistency Model":
strong operations; a volatile access is a relaxed one)."""
_MATRIX_ROW_BYTES = 16


@dataclass(frozen=True, slots=True)
class MemoryAccess:
    """An access to consecutive bytes."""

    size: int
    """Its bytes; the address is a multiple of them. 0 where the instruction's lowering says of
    each part by itself that it is accessed (`Frame.check_part`)."""
    reads: bool
    writes: bool
    """What it does; an atomic operation does both."""
    strong: bool = False
    """Whether it races only with accesses that are not."""
    swap: bool = False
    """Whether it is a compare and swap, before which the value may be read in any way: the loop
    around it starts over if another thread came between (CUDA C++ Programming Guide, "Atomic
    Functions")."""
    lanes: int = 32
    """How many of a warp's first lanes access memory; the others' addresses mean nothing."""


def access_of(instruction: Instruction, space: str) -> MemoryAccess | None:
    """The access that an instruction makes in a state space, or None for one not known here.

    - `space`: that of the operand in question: `cp.async` reads generic memory and writes shared
      memory.
    """
    base, *modifiers = instruction.parts
    bits = TYPE_BITS.get(instruction.parts[-1], 0)
    strong = not _STRONG.isdisjoint(modifiers)
    if base in ("ld", "ldu", "st"):
        count = next((int(m[1:]) for m in modifiers if m in ("v2", "v4", "v8")), 1)
        return MemoryAccess(count * bits // 8, base != "st", base == "st", strong)
    if base in ("atom", "red"):
        value = instruction.operands[-1 if base == "red" else 2]
        size = len(elements_of(value)) * bits // 8
        return MemoryAccess(size, True, True, strong=True, swap="cas" in modifiers)
    if instruction.parts[:2] == ("cp", "async") and len(instruction.operands) >= 3:
        copied = instruction.operands[2]
        if isinstance(copied, Integer):
            stores = space == "shared"
            return MemoryAccess(copied.value if stores else 0, not stores, stores)
    if base in ("ldmatrix", "stmatrix"):
        matrices = next((int(m[1:]) for m in modifiers if m in ("x1", "x2", "x4")), 1)
        reads = base == "ldmatrix"
        return MemoryAccess(_MATRIX_ROW_BYTES, reads, not reads, lanes=8 * matrices)
    if base == "wmma" and modifiers[0] in ("load", "store"):
        return MemoryAccess(0, modifiers[0] == "load", modifiers[0] == "store")
    return None


_MANGLED = re.compile(r"_ZZ.*E(\d+)([A-Za-z_]\w*)$")
_ORDERING = frozenset({"acquire", "release", "acq_rel"})


def _may_be_of_some(instruction: Instruction) -> bool:
    """Whether it is a barrier that names a count of threads, or whose number is not known."""
    if not is_barrier(instruction) and "arrive" not in instruction.parts:
        return False
    first, most = (1, 3) if "red" in instruction.parts else (0, 1)
    number = instruction.operands[first : first + 1]
    return len(instruction.operands) > most or not all(isinstance(n, Integer) for n in number)


class Checks:
    """What is checked in a kernel.

    - `origins`: which operand or variable its addresses come from.
    - `sites`: those of the module, to which the kernel's are added.
    """

    def __init__(
        self,
        kernel: CpuKernel,
        instructions: list[Instruction],
        origins: Origins,
        memory: BlockMemory,
        sites: monitor.Sites,
    ) -> None:
        self.kernel = kernel
        self.memory = memory
        self.sites = sites
        self.variables: list[str] = []
        """The module's variables that are regions, after the operands."""
        self.local_bytes = 0
        self._origins = origins
        self._dropped = dropped_loads(instructions)
        self.may_drop = bool(self._dropped.numbers)
        """Whether there are loads whose values a thread may drop."""
        self._locals: dict[str, tuple[int, int]] = {}
        self.waiting = WaitingChecks(kernel, memory, sites)
        has_fences = any(
            i.parts[0] in ("membar", "fence") or not _ORDERING.isdisjoint(i.parts)
            for i in instructions
        )
        self.has_records = has_fences or not memory.lockstep
        """Whether more than barriers of the whole block puts threads in order."""
        self._has_meetings = not memory.lockstep and any(map(_may_be_of_some, instructions))

    # ---- memory

    def place_local(self, name: str, start: int, size: int) -> None:
        """Note where a local variable lies in the thread's state."""
        self._locals[name] = (start, start + size)
        self.local_bytes = max(self.local_bytes, start + size)

    def access(
        self, b: Builder, instruction: Instruction, operand: Address, space: str, pointer: str
    ) -> None:
        """Check the access that an instruction makes."""
        access = access_of(instruction, space)
        if access is None:
            reason = "what memory it accesses is not known to cpu:checked"
            raise unsupported(self.kernel.entry, instruction, reason)
        if access.size == 0:
            return
        if not _ORDERING.isdisjoint(instruction.parts):
            self.fence(b)
        stored = self._dropped.stored.get(id(instruction))
        if stored is not None:
            note_use(b, "%thread", stored)
        site = self._site(instruction, access, operand, space)
        size: Given = access.size
        if access.lanes < 32:
            lane = b.named("%thread", "i32") & 31
            size = lane.cmp("ult", access.lanes).select(size, 0)
        self._access(b, site, pointer, size)

    def select(self, b: Builder, instruction: Instruction, condition: SsaValue) -> None:
        """The thread takes one of two values."""
        bits = self._dropped.selected.get(id(instruction))
        if bits is not None:
            note_use(b, "%thread", condition.select(*bits, "i64"))

    def part(
        self,
        b: Builder,
        instruction: Instruction,
        operand: Address,
        space: str,
        places: Sequence[str],
        size: Given,
    ) -> None:
        """Check the accesses of some parts of what an instruction accesses."""
        access = access_of(instruction, space)
        if access is None:
            return
        site = self._site(instruction, access, operand, space)
        for place in places:
            self._access(b, site, place, size)

    def _access(self, b: Builder, site: int, pointer: str, size: Given) -> None:
        address = monitor.number_of(b, pointer)
        on = b.fresh_label("checked")
        ends = monitor.call(b, "access", "%thread", site, address, size, "%state")
        b.cond_branch(ends, "stopped", on)
        b.block(on)

    def _site(
        self, instruction: Instruction, access: MemoryAccess, operand: Address, space: str
    ) -> int:
        kind = monitor.Site.READS * access.reads | monitor.Site.WRITES * access.writes
        kind |= monitor.Site.STRONG * access.strong | monitor.Site.SWAP * access.swap
        kind |= self._dropped.numbers.get(id(instruction), 0) << monitor.Site.DROPPED_SHIFT
        where, low, high, object_ = self._range(operand, space)
        return self.sites.add(
            instruction, kind=kind, space=where, low=low, high=high, object_=object_
        )

    def _range(self, operand: Address, space: str) -> tuple[int, int, int, str]:
        """Where an access may go: a kind of place, its bounds, and what it is called."""
        origin = None if operand.base is None else self._origins.of(operand.base)
        shared = self.memory.shared
        name = "" if origin is None else origin.variable
        if name in shared.offsets:
            end = shared.ends[name]
            return (
                monitor.Site.IN_SHARED,
                shared.offsets[name],
                end,
                f"`{_plain(name)}` in shared memory",
            )
        if name in self._locals:
            return monitor.Site.IN_LOCAL, *self._locals[name], "the thread's local memory"
        if space == "shared":
            return monitor.Site.IN_SHARED, 0, shared.size, "shared memory"
        if space in ("local", "param"):
            return monitor.Site.IN_LOCAL, 0, self.local_bytes, "the thread's local memory"
        if name:
            return monitor.Site.IN_REGION, self._region(name), 0, ""
        if origin is not None:
            return monitor.Site.IN_REGION, origin.binding, 0, ""
        return monitor.Site.ANYWHERE, 0, 0, ""

    def _region(self, name: str) -> int:
        if name not in self.variables:
            self.variables.append(name)
        return self.kernel.bindings + self.variables.index(name)

    # ---- what else an instruction can do wrong

    def found(
        self, b: Builder, instruction: Instruction, finding: Finding, **values: Given
    ) -> None:
        """Report a finding, with what `find` takes of it, and stop the thread."""
        find(b, finding, thread="%thread", site=self.sites.add(instruction), **values)
        b.branch("stopped")
        b.block(b.fresh_label("found"))

    def assertion(self, b: Builder, instruction: Instruction, given: Sequence[str]) -> None:
        """Report an assertion that does not hold, from pointers to what `__assertfail` is given."""
        message, file, line, function, *_ = given
        size = b.load(line).resize(64)
        said = {"offset": b.load(file, "i64"), "size": size, "object_": b.load(message, POINTER)}
        length = b.load(function, "i64")
        self.found(b, instruction, Finding.ASSERTION, **said, length=length)

    def division(self, b: Builder, instruction: Instruction, by_zero: str) -> None:
        """Report a division, where an i1 says that it is by zero."""
        with when(b, by_zero):
            self.found(b, instruction, Finding.DIVISION)

    # ---- order

    def fence(self, b: Builder) -> None:
        """The thread executes a fence."""
        monitor.call(b, "fence", "%thread")

    def come(self, b: Builder, barrier: str) -> None:
        """The thread comes to a barrier, to wait there or not."""
        if self._has_meetings:
            monitor.call(b, "come", "%thread", barrier)

    def barriers_met(self, b: Builder, free: SsaValue, alive: SsaValue) -> None:
        """The barriers whose bits are set are complete; perhaps all threads have met at one."""
        with loop(b, BARRIERS) as number:
            met = b.load(self.memory.barrier(b, number, LAST_COUNT))
            is_free = (free >> number).resize(1)
            with when(b, is_free & met.cmp("eq", alive)):
                monitor.call(b, "all_met")

    def leave(self, b: Builder, thread: str, barrier: str) -> None:
        """A thread goes on from a barrier."""
        if self._has_meetings:
            monitor.call(b, "leave", thread, barrier)

    def barriers_left(self, b: Builder, free: str) -> None:
        """All threads have left the barriers whose bits are set."""
        if self._has_meetings:
            monitor.call(b, "clear", free)

    # ---- the end

    def begin_turn(self, b: Builder) -> None:
        """A thread begins to run, or goes on."""
        monitor.Context(b).spins = 0

    def stop_block(self, b: Builder) -> None:
        """End the block, if what a thread has just found demands it."""
        keep_staged(b)
        on = b.fresh_label("on")
        failed = monitor.Context(b).failed.cmp("ne", 0)
        b.cond_branch(failed, "ended", on)
        b.block(on)

    def operand(self, index: int) -> tuple[int, bool]:
        """An operand's name among the texts, and whether the kernel may write it."""
        known = self.kernel.operands
        if index >= len(known):
            return self.sites.text(f"binding {index}"), True
        name, writable = known[index]
        return self.sites.text(f"operand `{name}`"), writable

    def globals(self) -> list[str]:
        """The kernel's name, and the sites where its threads wait."""
        return [
            self.waiting.table(),
            monitor.text_global(
                f"check.kernel.{self.kernel.symbol}", self.kernel.name or self.kernel.entry
            ),
        ]


def _plain(name: str) -> str:
    """A variable's name as the source has it: that of a static one in a function is mangled."""
    name = name.partition("@")[0]
    mangled = _MANGLED.match(name)
    if mangled is None or len(mangled[2]) < int(mangled[1]):
        return name
    return mangled[2][: int(mangled[1])]
