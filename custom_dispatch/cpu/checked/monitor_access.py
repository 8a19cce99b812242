"""Holding an access to the bounds of what it may touch."""

from __future__ import annotations

from dataclasses import dataclass

from custom_dispatch.cpu.checked.findings import Finding, find, keep_staged
from custom_dispatch.cpu.checked.monitor import (
    CELL_BYTES,
    CONTEXT,
    IN_LOCAL,
    IN_REGION,
    IN_SHARED,
    IS_STRONG,
    WRITES,
    Context,
    Region,
    Site,
    call,
    element,
    function,
    get,
    number_of,
    put,
    site_at,
    text_at,
)
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.structure import loop, when

_LOWEST_ADDRESS = 65536
"""Below it Linux maps nothing (vm.mmap_min_addr): an address there was computed from a null
pointer."""
_MOST_SPINS = 1 << 25
"""A thread that makes so many atomic or volatile accesses without a wait is taken for one that
waits in a loop; they take about a second."""
_ARGUMENTS = (
    ("%thread", "i32"),
    ("%site", "i32"),
    ("%address", "i64"),
    ("%size", "i32"),
    ("%state", POINTER),
)


@dataclass(frozen=True, slots=True)
class _Access:
    """What the function computes of its arguments first.

    Attributes
    ----------
    site
        A pointer to the site's row.
    size
        Bytes, an i64.
    low, start, end
        What the site's address was computed from: the number of a region, or the bytes from
        `start` to `end` of a thread's or a block's memory.
    named
        What that is called.
    in_shared, in_local
        The address as an offset into shared memory, and into the thread's own.
    shared_bytes
        How much shared memory there is.
    zero, null
        An i64, and a pointer.
    """

    site: str
    size: str
    low: str
    start: str
    end: str
    named: str
    in_shared: str
    in_local: str
    shared_bytes: str
    zero: str
    null: str


def access_function() -> list[str]:
    """``@check.access``: hold an access of some bytes to the bounds of what its address was
    computed from, and note it in the shadow; whether it ends the block.
    """
    b = Builder()
    keep_staged(b)  # that of the access before, which has been made
    access = _access(b)
    b.cond_branch(b.icmp("eq", access.size, access.zero, "i64"), "fine", "some")
    b.block("some")
    _refuse_null(b, access)
    _count_spins(b, access)
    b.line(
        f"llvm.switch {get(b, access.site, Site.space)} : i32, ^anywhere [{IN_REGION}: "
        f"^region_of_site, {IN_SHARED}: ^shared({access.start}, {access.end}, {access.named} : "
        f"i64, i64, {POINTER}), {IN_LOCAL}: ^local({access.start}, {access.end}, {access.named} : "
        f"i64, i64, {POINTER})]"
    )
    b.block("region_of_site")
    region = element(b, get(b, CONTEXT, Context.regions), access.low, Region.SIZE)
    b.branch("region", (region, POINTER))
    _find_memory(b, access)
    _check_local(b, access)
    _check_shared(b, access)
    _check_region(b, access)
    b.block("staged")
    put(b, CONTEXT, Context.address, "%address")
    memory = b.cast("inttoptr", "%address", "i64", POINTER)
    with loop(b, get(b, CONTEXT, Context.saved)) as index:
        byte = b.load(element(b, memory, index, 1), "i8")
        b.store(byte, element(b, b.offset(CONTEXT, Context.saved_bytes), index, 1), "i8")
    b.branch("fine")
    b.block("fine")
    b.return_(0, "i1")
    return function(b, "access", _ARGUMENTS, "i1")


def _access(b: Builder) -> _Access:
    site = site_at(b, "%site")
    size, zero = b.resize("%size", 32, 64), b.const(0, 64)
    null = b.value(f"llvm.mlir.zero : {POINTER}")
    named = text_at(b, get(b, site, Site.object))
    low, high = get(b, site, Site.low), get(b, site, Site.high)
    start, end = b.resize(low, 32, 64), b.resize(high, 32, 64)
    shared, shared_bytes = (
        number_of(b, get(b, CONTEXT, Context.shared)),
        get(b, CONTEXT, Context.shared_bytes),
    )
    in_shared = b.binary("sub", "%address", shared, "i64")
    in_local = b.binary("sub", "%address", number_of(b, "%state"), "i64")
    return _Access(
        site, size, low, start, end, named, in_shared, in_local, shared_bytes, zero, null
    )


def _refuse_null(b: Builder, access: _Access) -> None:
    """Report an address that was computed from a null pointer."""
    b.cond_branch(b.icmp("ult", "%address", _LOWEST_ADDRESS, "i64"), "null", "not_null")
    b.block("null")
    _found(b, Finding.FOREIGN, "%address", access.size, access.null, access.zero)
    b.block("not_null")


def _count_spins(b: Builder, access: _Access) -> None:
    """Report a thread that waits in a loop, by its many atomic and volatile accesses."""
    strong = b.binary("and", get(b, access.site, Site.kind), IS_STRONG)
    with when(b, b.icmp("ne", strong, 0)):
        spins = b.binary("add", get(b, CONTEXT, Context.spins), 1)
        put(b, CONTEXT, Context.spins, spins)
        with when(b, b.icmp("ugt", spins, _MOST_SPINS)):
            _found(b, Finding.SPIN, "%address", access.size, access.null, access.zero)
            b.block("spinning")


def _find_memory(b: Builder, access: _Access) -> None:
    """Where the site does not tell, go to the memory that the address is in, if there is one."""
    b.block("anywhere")
    within = b.icmp("ult", access.in_shared, access.shared_bytes, "i64")
    memory = b.address_of("check.shared_memory")
    b.line(
        f"llvm.cond_br {within}, ^shared({access.zero}, {access.shared_bytes}, {memory} : i64, "
        f"i64, {POINTER}), ^not_shared"
    )
    b.block("not_shared")
    local_bytes = get(b, CONTEXT, Context.local_bytes)
    within = b.icmp("ult", access.in_local, local_bytes, "i64")
    memory = b.address_of("check.local_memory")
    b.line(
        f"llvm.cond_br {within}, ^local({access.zero}, {local_bytes}, {memory} : i64, i64, "
        f"{POINTER}), ^not_local"
    )
    b.block("not_local")
    with loop(b, get(b, CONTEXT, Context.region_count)) as index:
        region = element(b, get(b, CONTEXT, Context.regions), index, Region.SIZE)
        offset = b.binary("sub", "%address", number_of(b, get(b, region, Region.base)), "i64")
        with when(b, b.icmp("ult", offset, get(b, region, Region.length), "i64")):
            b.branch("region", (region, POINTER))
            b.block("unreached")
    _found(b, Finding.FOREIGN, "%address", access.size, access.null, access.zero)


_RANGE = (("%start", "i64"), ("%end", "i64"), ("%what", POINTER))
"""What the blocks that check an access to local and to shared memory are given."""


def _check_local(b: Builder, access: _Access) -> None:
    b.block("local", *((f"{name}_local", kind) for name, kind in _RANGE))
    _bounds(b, access.in_local, "%start_local", "%end_local", access.size, "%what_local")
    b.branch("fine")


def _check_shared(b: Builder, access: _Access) -> None:
    b.block("shared", *_RANGE)
    offset, length = _bounds(b, access.in_shared, "%start", "%end", access.size, "%what")
    cells = get(b, CONTEXT, Context.shared_cells)
    cell = b.offset(cells, b.binary("mul", access.in_shared, CELL_BYTES, "i64"))
    _note(b, cell, b.const(1, 1), offset, "%what", length)


def _check_region(b: Builder, access: _Access) -> None:
    """Check an access to an operand's memory, or to that of a variable of the module."""
    b.block("region", ("%region", POINTER))
    named = text_at(b, get(b, "%region", Region.name))
    length = get(b, "%region", Region.length)
    offset = b.binary("sub", "%address", number_of(b, get(b, "%region", Region.base)), "i64")
    _bounds(b, offset, access.zero, length, access.size, named)
    writable = b.icmp("ne", get(b, "%region", Region.writable), 0)
    b.cond_branch(writable, "track", "constant")
    b.block("constant")
    writes = b.binary("and", get(b, access.site, Site.kind), WRITES)
    with when(b, b.icmp("ne", writes, 0)):
        _found(b, Finding.READ_ONLY, offset, access.size, named, length)
        b.block("unreached_2")
    b.branch("fine")
    b.block("track")
    cell = call(b, "cell", [("%region", POINTER), (offset, "i64")], POINTER)
    b.cond_branch(b.icmp("eq", number_of(b, cell), access.zero, "i64"), "fine", "tracked")
    b.block("tracked")
    _note(b, cell, b.const(0, 1), offset, named, length)


def _bounds(
    b: Builder, place: str, start: str, end: str, size: str, object_: str
) -> tuple[str, str]:
    """Check a place between two others; returns its offset from the first, and their distance."""
    offset, length = b.binary("sub", place, start, "i64"), b.binary("sub", end, start, "i64")
    begins = b.icmp("ult", offset, length, "i64")
    fits = b.icmp("ule", size, b.binary("sub", length, offset, "i64"), "i64")
    inside, outside = b.fresh_label("inside"), b.fresh_label("outside")
    b.cond_branch(b.binary("and", begins, fits, "i1"), inside, outside)
    b.block(outside)
    _found(b, Finding.OUT_OF_BOUNDS, offset, size, object_, length)
    b.block(inside)
    rest = b.binary("and", place, b.binary("sub", size, 1, "i64"), "i64")
    aligned, askew = b.fresh_label("aligned"), b.fresh_label("askew")
    b.cond_branch(b.icmp("eq", rest, 0, "i64"), aligned, askew)
    b.block(askew)
    _found(b, Finding.MISALIGNED, offset, size, object_, length)
    b.block(aligned)
    return offset, length


def _note(
    b: Builder, cell: str, must_be_written: str, offset: str, object_: str, length: str
) -> None:
    """Note the access in the shadow, and save what it will write over if that matters."""
    arguments = [("%thread", "i32"), ("%site", "i32"), (cell, POINTER), ("%size", "i32")]
    arguments += [(must_be_written, "i1"), (offset, "i64"), (object_, POINTER), (length, "i64")]
    b.cond_branch(call(b, "note", arguments, "i1"), "staged", "fine")


def _found(b: Builder, finding: Finding, offset: str, size: str, object_: str, length: str) -> None:
    find(
        b,
        finding,
        thread="%thread",
        site="%site",
        offset=offset,
        size=size,
        object_=object_,
        length=length,
    )
    b.return_(1, "i1")
