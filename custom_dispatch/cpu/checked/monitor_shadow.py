"""Who accessed which byte last: finding races, and reads of what nobody has written.

Each byte has a cell with its last write and two of the reads since then, by lanes of different
warps where there were such. An access is held against them: if one is not ordered before it
(`checked/monitor_order.py`), one of the two writes and not both are strong, they race,
whichever came first here. A third thread that reads what two have read pushes one of them out of
the cell, and a later write's race with that one alone stays unfound.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from custom_dispatch.cpu.checked import monitor
from custom_dispatch.cpu.checked.finding import Finding, kept_at, stage
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.control_structures import fold, loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue

_CHUNK_BYTES, _CHUNK_HEAD = 256, 16
"""Bytes that a chunk has cells for, and what it begins with."""
_WRITE, _READ, _OTHER_READ = 0, 8, 16
"""Where the records of accesses lie in a cell; each is a word that says who, and a time."""


def shadow_functions() -> list[str]:
    """The functions of this module."""
    return monitor.functions(
        conflict=_conflict, note=_note, settle=_settle, cell=_cell, free_cells=_free_cells
    )


def _has(word: SsaValue, bit: int) -> SsaValue:
    return (word & bit).cmp("ne", 0)


def _conflict(b: Builder, thread: SsaValue, record: SsaValue, kind: SsaValue) -> None:
    """Whether a recorded access races with one that a thread makes now."""
    who, when_ = b.load(record), b.load(b.offset(record, 4))
    both = _has(who, monitor.Who.STRONG) & _has(kind, monitor.Site.STRONG)
    theirs = _kind_of(b, who)
    swap = _has(kind | theirs, monitor.Site.SWAP)
    read = ~_has(kind & theirs, monitor.Site.WRITES)
    harmless = both | swap & read | ~_has(who, monitor.Who.VALID)
    b.cond_branch(harmless, "none", "ask")
    b.block("ask")
    other = who & monitor.Who.THREAD_BITS
    ordered = monitor.call(b, "ordered", thread, other, when_)
    b.return_(~ordered, "i1")
    b.block("none")
    b.return_(0, "i1")


def _note(
    b: Builder,
    site: SsaValue,
    size: SsaValue,
    must_be_written: SsaValue,
    offset: SsaValue,
    **_: SsaValue,
) -> None:
    """Hold an access against its bytes' cells, then note it there; whether something is staged."""
    kind = monitor.site_at(b, site).kind
    reads, writes, strong = (
        _has(kind, bit) for bit in (monitor.Site.READS, monitor.Site.WRITES, monitor.Site.STRONG)
    )
    strong_bit = strong.select(monitor.Who.STRONG, 0)
    mine = site << monitor.Who.SITE_SHIFT | (strong_bit | monitor.Who.VALID) | "%thread"
    now = monitor.Context(b).now
    strange = must_be_written & reads
    with loop(b, size) as index:
        cell = b.element("%cell", index, monitor.CELL_BYTES)
        place = offset + index.resize(64)
        written = _has(b.load(cell), monitor.Who.VALID)
        with when(b, strange & ~written):
            _stage(b, Finding.UNINITIALISED, place)
        with when(b, monitor.call(b, "conflict", "%thread", cell, kind)):
            # Where both only write, it is a race if the value that is there changes.
            who = b.load(cell)
            both = kind | _kind_of(b, who)
            large = size.cmp("ugt", monitor.MOST_SAVED)
            saved = (_has(both, monitor.Site.READS) | large).select(0, size)
            with _unless_dropped(b, kind, "%thread", place, who):
                _stage(b, Finding.RACE, place, who, saved)
        yes, no, on = (b.fresh_label(name) for name in ("writes", "reads", "noted"))
        b.cond_branch(writes, yes, no)
        b.block(yes)
        for read in (_READ, _OTHER_READ):
            with when(b, monitor.call(b, "conflict", "%thread", b.offset(cell, read), kind)):
                reader = b.load(b.offset(cell, read))
                thread = reader & monitor.Who.THREAD_BITS
                with _unless_dropped(b, _kind_of(b, reader), thread, place, reader):
                    _stage(b, Finding.RACE, place, reader)
            b.store(0, b.offset(cell, read))
        b.store(mine, cell)
        b.store(now, b.offset(cell, 4))
        b.branch(on)
        b.block(no)
        last = b.load(b.offset(cell, _READ), "i64", 4)
        elsewhere = (last.resize(32) ^ mine) & (monitor.Who.THREAD_BITS - 31 | monitor.Who.VALID)
        with when(b, elsewhere.cmp("ne", 0)):
            b.store(last, b.offset(cell, _OTHER_READ), "i64", 4)
        b.store(mine, b.offset(cell, _READ))
        b.store(now, b.offset(cell, _READ + 4))
        b.branch(on)
        b.block(on)
    b.return_(monitor.Context(b).pending.cmp("ne", 0), "i1")


@contextmanager
def _unless_dropped(
    b: Builder, read: SsaValue, reader: str, offset: str, other: str
) -> Iterator[None]:
    """Do something about a race, unless its read is of a value that its thread may drop."""
    may, must, on = (b.fresh_label(name) for name in ("dropped", "raced", "staged"))
    number = read >> monitor.Site.DROPPED_SHIFT
    b.cond_branch(number.cmp("ne", 0), may, must)
    b.block(may)
    note_use(b, reader, 1 << number.resize(64), raced=True)
    _stage(b, Finding.DROPPED, offset, other)
    b.branch(on)
    b.block(must)
    yield
    b.branch(on)
    b.block(on)


def _settle(b: Builder, threads: SsaValue) -> None:
    """What may have been dropped and was used after all is a race."""
    uses = monitor.Context(b).uses

    def used(index: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
        mine = b.element(uses, index, monitor.USES_BYTES)
        return [carried[0] | b.load(mine, "i64") & b.load(b.offset(mine, 8), "i64")]

    (bits,) = fold(b, threads, [(0, "i64")], used)
    with when(b, bits.cmp("ne", 0)):
        monitor.Context(b).wrong = 1
        with loop(b, monitor.Context(b).count) as index:
            found = kept_at(b, index)
            kind = found.kind
            site = monitor.site_at(b, found.site).kind
            of_either = site | _kind_of(b, found.other)
            number = of_either >> monitor.Site.DROPPED_SHIFT
            is_used = (bits >> number.resize(64)).resize(1)
            with when(b, kind.cmp("eq", Finding.DROPPED) & is_used):
                found.kind = Finding.RACE


def note_use(b: Builder, thread: str, bits: Given, *, raced: bool = False) -> None:
    """Note which loads' values a thread uses, or which of them raced, by the bits of an i64."""
    place = b.element(monitor.Context(b).uses, thread, monitor.USES_BYTES)
    place = b.offset(place, 8) if raced else place
    b.store(b.load(place, "i64") | bits, place, "i64")


def _kind_of(b: Builder, who: SsaValue) -> SsaValue:
    """What a recorded access does."""
    return monitor.site_at(b, who >> monitor.Who.SITE_SHIFT).kind


def _stage(b: Builder, finding: Finding, offset: str, other: str = "", saved: str = "") -> None:
    access = {"thread": "%thread", "site": "%site", "object_": "%object", "length": "%length"}
    access |= {
        "offset": offset,
        "size": b.named("%size", "i32").resize(64),
        "other": other or b.const(0, 32),
    }
    stage(b, finding, saved=saved, **access)


def _cell(b: Builder, offset: SsaValue, **_: SsaValue) -> None:
    """The cell of a byte of a region; null where there is no memory for one."""
    null, one, region = b.null(), b.const(1, 64), monitor.Region(b, "%region")
    with when(b, monitor.is_null(b, region.cells)):
        count = region.length // _CHUNK_BYTES + one
        region.cells = call_c(b, "calloc", count, 8)
    cells = region.cells
    b.cond_branch(monitor.is_null(b, cells), "no_memory", "listed")
    b.block("listed")
    place = b.offset(cells, offset // _CHUNK_BYTES * 8)
    with when(b, b.load(place, "i64").cmp("eq", 0)):
        size = b.const(_CHUNK_HEAD + _CHUNK_BYTES * monitor.CELL_BYTES, 64)
        chunk = call_c(b, "calloc", one, size)
        b.cond_branch(monitor.is_null(b, chunk), "no_memory", "made")
        b.block("made")
        b.store(monitor.Context(b).chunks, chunk, POINTER)
        monitor.Context(b).chunks = chunk
        b.store(chunk, place, POINTER)
    chunk = b.offset(b.load(place, POINTER), _CHUNK_HEAD)
    b.return_(b.offset(chunk, offset % _CHUNK_BYTES * monitor.CELL_BYTES), POINTER)
    b.block("no_memory")
    b.return_(null, POINTER)


def _free_cells(b: Builder) -> None:
    """Give the chunks of shadow back."""
    b.branch("next")
    b.block("next")
    chunk = monitor.Context(b).chunks
    b.cond_branch(monitor.is_null(b, chunk), "done", "free")
    b.block("free")
    monitor.Context(b).chunks = b.load(chunk, POINTER)
    call_c(b, "free", chunk)
    b.branch("next")
    b.block("done")
