"""Holding an access to the bounds of what it may touch."""

from __future__ import annotations

from custom_dispatch.cpu.checked.finding import Finding, find, keep_staged
from custom_dispatch.cpu.checked.monitor import (
    CELL_BYTES,
    CONTEXT,
    Context,
    Region,
    Site,
    call,
    functions,
    is_null,
    number_of,
    site_at,
    text_at,
)
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.control_structures import loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue

_LOWEST_ADDRESS = 65536
"""Below it Linux maps nothing (vm.mmap_min_addr): an address there was computed from a null
pointer."""
_MOST_SPINS = 1 << 25
"""A thread that makes so many atomic or volatile accesses without a wait is taken for one that
waits in a loop; they take about a second."""
_RANGE = (("%start", "i64"), ("%end", "i64"), ("%what", POINTER))
"""What the blocks that check an access to local and to shared memory are given."""


def access_function() -> list[str]:
    """``@check.access``: hold an access of some bytes to the bounds of what its address was
    computed from, and note it in the shadow; whether it ends the block.
    """
    return functions(access=_write)


def _write(b: Builder, size: SsaValue, address: SsaValue, **_: SsaValue) -> None:
    keep_staged(b)  # that of the access before, which has been made
    _Access(b, size, address).write()


class _Access:
    """Writes the function's body, from what it computes of its arguments first."""

    def __init__(self, b: Builder, size: SsaValue, address: SsaValue) -> None:
        self._b = b
        self._address = address
        self._site = site = site_at(b, "%site")
        self._size = size.resize(64)
        named = text_at(b, site.object)
        self._low, high = site.low, site.high
        start, end = self._low.resize(64), high.resize(64)
        # What the address was computed from: so many bytes of a thread's or a block's memory.
        self._range = ((start, "i64"), (end, "i64"), (named, POINTER))
        shared = number_of(b, Context(b).shared)
        self._shared_bytes = Context(b).shared_bytes
        self._in_shared = address - shared
        self._in_local = address - number_of(b, "%state")

    def write(self) -> None:
        """Write all of it."""
        b = self._b
        b.cond_branch(self._size.cmp("eq", 0), "fine", "some")
        b.block("some")
        self._refuse_null()
        self._count_spins()
        passed = b.passed(self._range)
        b.line(
            f"llvm.switch {self._site.space} : i32, ^anywhere [{Site.IN_REGION}: "
            f"^region_of_site, {Site.IN_SHARED}: ^shared{passed}, {Site.IN_LOCAL}: ^local{passed}]"
        )
        b.block("region_of_site")
        b.branch("region", (self._region(self._low), POINTER))
        self._find_memory()
        b.block("local", *((f"{name}_local", kind) for name, kind in _RANGE))
        end = b.named("%end_local", "i64")
        self._hold(self._in_local, "%start_local", end, "%what_local")
        b.branch("fine")
        b.block("shared", *_RANGE)
        end = b.named("%end", "i64")
        offset, length = self._hold(self._in_shared, "%start", end, "%what")
        cells = Context(b).shared_cells
        cell = b.offset(cells, self._in_shared * CELL_BYTES)
        self._note(cell, True, offset, "%what", length)
        self._check_region()
        b.block("staged")
        Context(b).address = self._address
        memory = self._address.cast("inttoptr", POINTER)
        with loop(b, Context(b).saved) as index:
            byte = b.load(b.element(memory, index, 1), "i8")
            b.store(byte, b.element(b.offset(CONTEXT, Context.saved_bytes), index, 1), "i8")
        b.branch("fine")
        b.block("fine")
        b.return_(0, "i1")

    def _refuse_null(self) -> None:
        """Report an address that was computed from a null pointer."""
        b = self._b
        b.cond_branch(self._address.cmp("ult", _LOWEST_ADDRESS), "null", "not_null")
        b.block("null")
        self._lost(Finding.FOREIGN)
        b.block("not_null")

    def _count_spins(self) -> None:
        """Report a thread that waits in a loop, by its many atomic and volatile accesses."""
        b = self._b
        strong = self._site.kind & Site.STRONG
        with when(b, strong.cmp("ne", 0)):
            spins = Context(b).spins + 1
            Context(b).spins = spins
            with when(b, spins.cmp("ugt", _MOST_SPINS)):
                self._lost(Finding.SPIN)
                b.block("spinning")

    def _find_memory(self) -> None:
        """Where the site does not tell, go to the memory that the address is in, if any."""
        b = self._b
        b.block("anywhere")
        for kind, place, size in (
            ("shared", self._in_shared, self._shared_bytes),
            ("local", self._in_local, None),
        ):
            size = size or Context(b).local_bytes
            within = place.cmp("ult", size)
            name = (b.address_of(f"check.{kind}_memory"), POINTER)
            passed = b.passed(((0, "i64"), (size, "i64"), name))
            b.line(f"llvm.cond_br {within}, ^{kind}{passed}, ^not_{kind}")
            b.block(f"not_{kind}")
        with loop(b, Context(b).region_count) as index:
            region = Region(b, self._region(index))
            offset = self._address - number_of(b, region.base)
            with when(b, offset.cmp("ult", region.length)):
                b.branch("region", (region.at, POINTER))
                b.block("unreached")
        self._lost(Finding.FOREIGN)

    def _region(self, number: str) -> SsaValue:
        return self._b.element(Context(self._b).regions, number, Region.SIZE)

    def _check_region(self) -> None:
        """Check an access to an operand's memory, or to that of a variable of the module."""
        b = self._b
        b.block("region", ("%region", POINTER))
        region = Region(b, "%region")
        named = text_at(b, region.name)
        length = region.length
        offset = self._address - number_of(b, region.base)
        self._hold(offset, 0, length, named)
        writable = region.writable.cmp("ne", 0)
        b.cond_branch(writable, "track", "constant")
        b.block("constant")
        writes = self._site.kind & Site.WRITES
        with when(b, writes.cmp("ne", 0)):
            self._found(Finding.READ_ONLY, offset, named, length)
            b.block("unreached_2")
        b.branch("fine")
        b.block("track")
        cell = call(b, "cell", "%region", offset)
        b.cond_branch(is_null(b, cell), "fine", "tracked")
        b.block("tracked")
        self._note(cell, False, offset, named, length)

    def _hold(
        self, place: SsaValue, start: Given, end: SsaValue, object_: str
    ) -> tuple[SsaValue, SsaValue]:
        """Hold a place to two others; returns its offset from the first, and their distance."""
        b, size = self._b, self._size
        offset, length = place - start, end - start
        begins = offset.cmp("ult", length)
        fits = size.cmp("ule", length - offset)
        inside, outside = b.fresh_label("inside"), b.fresh_label("outside")
        b.cond_branch(begins & fits, inside, outside)
        b.block(outside)
        self._found(Finding.OUT_OF_BOUNDS, offset, object_, length)
        b.block(inside)
        rest = place & (size - 1)
        aligned, askew = b.fresh_label("aligned"), b.fresh_label("askew")
        b.cond_branch(rest.cmp("eq", 0), aligned, askew)
        b.block(askew)
        self._found(Finding.MISALIGNED, offset, object_, length)
        b.block(aligned)
        return offset, length

    def _note(self, cell: str, shared: bool, offset: str, object_: str, length: str) -> None:
        """Note the access in the shadow, and save what it will write over if that matters.

        What is read of shared memory must have been written before.
        """
        found = "%thread", "%site", cell, "%size", shared, offset, object_, length
        self._b.cond_branch(call(self._b, "note", *found), "staged", "fine")

    def _lost(self, finding: Finding) -> None:
        """Report an access whose address is in no object."""
        self._found(finding, self._address, self._b.null(), 0)

    def _found(self, finding: Finding, offset: str, object_: str, length: Given) -> None:
        b = self._b
        who = {"thread": "%thread", "site": "%site"}
        find(b, finding, **who, offset=offset, size=self._size, object_=object_, length=length)
        b.return_(1, "i1")
