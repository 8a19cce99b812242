"""The checks of one kernel: what lowerings and the scheduler call in checked mode.

Each method writes a call of the monitor (`checked/monitor.py`) into the code. Where what
is found leaves memory in doubt, the thread stops, and with it the block.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from custom_dispatch.cpu.analysis.dropped_loads import dropped_loads
from custom_dispatch.cpu.analysis.suspension import is_barrier
from custom_dispatch.cpu.checked.finding import Finding
from custom_dispatch.cpu.checked.monitor import CONTEXT, call
from custom_dispatch.cpu.checked.sites import Site, Sites, text_global
from custom_dispatch.cpu.checked.waiting_checks import WaitingChecks
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.control_structures import loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.text.unsupported import unsupported
from custom_dispatch.cpu.threads.block_memory import BARRIERS, LAST_COUNT, BlockMemory
from custom_dispatch.ptx import TYPE_BITS, Address, Instruction, Integer, Origins, elements_of

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
    - `pointers`: the parameters that are bindings, by name.
    - `sites`: those of the module, to which the kernel's are added.
    """

    def __init__(
        self,
        kernel: CpuKernel,
        instructions: list[Instruction],
        origins: Origins,
        pointers: Sequence[str],
        memory: BlockMemory,
        sites: Sites,
    ) -> None:
        self.kernel = kernel
        self.memory = memory
        self.sites = sites
        self.variables: list[str] = []
        """The module's variables that are regions, after the operands."""
        self.local_bytes = 0
        self._origins = origins
        self._pointers = pointers
        self._dropped = dropped_loads(instructions)
        self.may_drop = bool(self._dropped.numbers)
        """Whether there are loads whose values a thread may drop."""
        self._locals: dict[str, tuple[int, int]] = {}
        self.waiting = WaitingChecks(memory, sites)
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
            self.note(b, "fence", "%thread")
        stored = self._dropped.stored.get(id(instruction))
        if stored is not None:
            call(b, "use", CONTEXT, "%thread", stored)
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
            call(b, "use", CONTEXT, "%thread", condition.select(*bits, "i64"))

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
        address, state = (b.named(place, POINTER) for place in (pointer, "%state"))
        on = b.fresh_label("checked")
        ends = call(b, "access", CONTEXT, "%thread", site, address, size, state)
        b.cond_branch(ends.cmp("ne", 0), "stopped", on)
        b.block(on)

    def _site(
        self, instruction: Instruction, access: MemoryAccess, operand: Address, space: str
    ) -> int:
        kind = Site.READS * access.reads | Site.WRITES * access.writes
        kind |= Site.STRONG * access.strong | Site.SWAP * access.swap
        kind |= self._dropped.numbers.get(id(instruction), 0) << Site.DROPPED_SHIFT
        where, low, high, object_ = self._range(operand, space)
        return self.sites.add(
            instruction, kind=kind, space=where, low=low, high=high, object_=object_
        )

    def _range(self, operand: Address, space: str) -> tuple[int, int, int, str]:
        """Where an access may go: a kind of place, its bounds, and what it is called."""
        name = self._origins.of(operand) or ""
        shared = self.memory.shared
        if name in shared.offsets:
            end = shared.ends[name]
            return (Site.IN_SHARED, shared.offsets[name], end, f"`{_plain(name)}` in shared memory")
        if name in self._locals:
            return Site.IN_LOCAL, *self._locals[name], "the thread's local memory"
        if space == "shared":
            return Site.IN_SHARED, 0, shared.size, "shared memory"
        if space in ("local", "param"):
            return Site.IN_LOCAL, 0, self.local_bytes, "the thread's local memory"
        return (Site.IN_REGION, self._region(name), 0, "") if name else (Site.ANYWHERE, 0, 0, "")

    def _region(self, name: str) -> int:
        if name in self._pointers:
            return self._pointers.index(name)
        if name not in self.variables:
            self.variables.append(name)
        return self.kernel.bindings + self.variables.index(name)

    # ---- what else an instruction can do wrong

    def found(self, b: Builder, instruction: Instruction, finding: Finding, *said: Given) -> None:
        """Report a finding, and stop the thread.

        - `said`: what there is to say: an offset, a size, what is accessed and its length.
        """
        site = self.sites.add(instruction)
        call(b, "found", CONTEXT, finding, "%thread", site, *(said or (0, 0, 0, 0)))
        b.branch("stopped")
        b.block(b.fresh_label("found"))

    def assertion(self, b: Builder, instruction: Instruction, given: Sequence[str]) -> None:
        """Report an assertion that does not hold, from pointers to what `__assertfail` is given."""
        message, file, line, function, *_ = given
        where = b.load(file, "i64"), b.load(line).resize(64)
        said = b.load(message, "i64"), b.load(function, "i64")
        self.found(b, instruction, Finding.ASSERTION, *where, *said)

    def division(self, b: Builder, instruction: Instruction, by_zero: str) -> None:
        """Report a division, where an i1 says that it is by zero."""
        with when(b, by_zero):
            self.found(b, instruction, Finding.DIVISION)

    # ---- order

    def note(self, b: Builder, what: str, *given: Given) -> None:
        """Tell the monitor what happens: the name of one of its functions, and what that takes."""
        call(b, what, CONTEXT, *given)

    def meeting(self, b: Builder, what: str, *given: Given) -> None:
        """The same of barriers, where more than the whole block may meet at some: that a thread
        comes to one or leaves it, or that all have left (`clear`).
        """
        if self._has_meetings:
            call(b, what, CONTEXT, *given)

    def barriers_met(self, b: Builder, free: SsaValue, alive: SsaValue) -> None:
        """The barriers whose bits are set are complete; perhaps all threads have met at one."""
        with loop(b, BARRIERS) as number:
            met = b.load(self.memory.barrier(b, number, LAST_COUNT))
            is_free = (free >> number).resize(1)
            with when(b, is_free & met.cmp("eq", alive)):
                self.note(b, "all_met")

    # ---- the end

    def stop_block(self, b: Builder) -> None:
        """End the block, if what a thread has just found demands it."""
        on = b.fresh_label("on")
        b.cond_branch(call(b, "stops", CONTEXT).cmp("ne", 0), "ended", on)
        b.block(on)

    def operand(self, index: int) -> tuple[int, bool]:
        """An operand's name among the texts, and whether the kernel may write it."""
        known = self.kernel.operands
        if index >= len(known):
            return self.sites.text(f"binding {index}"), True
        name, writable = known[index]
        return self.sites.text(f"operand `{name}`"), writable

    def table(self, regions: int) -> str:
        """The kernel as the monitor knows it, as a global variable (`monitor/monitor.cuh`).

        - `regions`: the number of operands and variables.
        """
        memory, (width, height, _) = self.memory, self.kernel.block
        fields = (
            self.sites.text(self.kernel.name or self.kernel.entry),
            *(width, height, memory.threads),
            *(memory.shared.size, memory.size, self.local_bytes),
            *(regions, self.has_records, self.may_drop),
            *self.waiting.places,
        )
        data = struct.pack(f"<{len(fields)}I", *fields)
        return text_global(f"check.kernel.{self.kernel.symbol}", data)


def _plain(name: str) -> str:
    """A variable's name as the source has it: that of a static one in a function is mangled."""
    name = name.partition("@")[0]
    mangled = _MANGLED.match(name)
    if mangled is None or len(mangled[2]) < int(mangled[1]):
        return name
    return mangled[2][: int(mangled[1])]
