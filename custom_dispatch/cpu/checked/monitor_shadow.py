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

from custom_dispatch.cpu.checked.finding import Finding, kept_at, stage
from custom_dispatch.cpu.checked.monitor import (
    CELL_BYTES,
    CONTEXT,
    DROPPED_SHIFT,
    FOUND,
    IS_STRONG,
    IS_SWAP,
    MOST_SAVED,
    READS,
    SITE_SHIFT,
    STRONG_BIT,
    THREAD_BITS,
    USES_BYTES,
    VALID_BIT,
    WRITES,
    Context,
    Region,
    Site,
    call,
    function,
    get,
    number_of,
    put,
    site_at,
)
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.control_structures import fold, loop, when

_CHUNK_BYTES, _CHUNK_HEAD = 256, 16
"""Bytes that a chunk has cells for, and what it begins with."""
_WRITE, _READ, _OTHER_READ = 0, 8, 16
"""Where the records of accesses lie in a cell; each is a word that says who, and a time."""


def shadow_functions() -> list[str]:
    """The functions of this module."""
    return [
        *function("conflict", _conflict, "i1", thread="i32", record=POINTER, kind="i32"),
        *function(
            "note",
            _note,
            "i1",
            thread="i32",
            site="i32",
            cell=POINTER,
            size="i32",
            must_be_written="i1",
            offset="i64",
            object=POINTER,
            length="i64",
        ),
        *function("settle", _settle, threads="i32"),
        *function("cell", _cell, POINTER, region=POINTER, offset="i64"),
        *function("free_cells", _free_cells),
    ]


def _has(b: Builder, word: str, bit: int) -> str:
    masked = b.binary("and", word, bit)
    return b.icmp("ne", masked, 0)


def _conflict(b: Builder) -> None:
    """Whether a recorded access races with one that a thread makes now."""
    who, when_ = b.load("%record"), b.load(b.offset("%record", 4))
    both = b.binary("and", _has(b, who, STRONG_BIT), _has(b, "%kind", IS_STRONG), "i1")
    theirs = _kind_of(b, who)
    swap = _has(b, b.binary("or", "%kind", theirs), IS_SWAP)
    read = _not(b, _has(b, b.binary("and", "%kind", theirs), WRITES))
    harmless = b.binary("or", both, b.binary("and", swap, read, "i1"), "i1")
    harmless = b.binary("or", harmless, _not(b, _has(b, who, VALID_BIT)), "i1")
    b.cond_branch(harmless, "none", "ask")
    b.block("ask")
    other = b.binary("and", who, THREAD_BITS)
    ordered = call(b, "ordered", [("%thread", "i32"), (other, "i32"), (when_, "i32")], "i1")
    b.return_(_not(b, ordered), "i1")
    b.block("none")
    b.return_(0, "i1")


def _not(b: Builder, value: str) -> str:
    return b.binary("xor", value, 1, "i1")


def _note(b: Builder) -> None:
    """Hold an access against its bytes' cells, then note it there; whether something is staged."""
    kind = get(b, site_at(b, "%site"), Site.kind)
    reads, writes, strong = (_has(b, kind, bit) for bit in (READS, WRITES, IS_STRONG))
    strong_bit = b.select(strong, STRONG_BIT, 0)
    mine = b.binary("shl", "%site", SITE_SHIFT)
    mine = b.binary("or", mine, b.binary("or", strong_bit, VALID_BIT))
    mine = b.binary("or", mine, "%thread")
    now = get(b, CONTEXT, Context.now)
    strange = b.binary("and", "%must_be_written", reads, "i1")
    with loop(b, "%size") as index:
        cell = b.element("%cell", index, CELL_BYTES)
        offset = b.binary("add", "%offset", b.resize(index, 32, 64), "i64")
        written = _has(b, b.load(cell), VALID_BIT)
        with when(b, b.binary("and", strange, _not(b, written), "i1")):
            _stage(b, Finding.UNINITIALISED, offset)
        with when(b, call(b, "conflict", _record(b, cell, _WRITE, kind), "i1")):
            # Where both only write, it is a race if the value that is there changes.
            who = b.load(cell)
            both = b.binary("or", kind, _kind_of(b, who))
            large = b.icmp("ugt", "%size", MOST_SAVED)
            matters = b.binary("or", _has(b, both, READS), large, "i1")
            saved = b.select(matters, 0, "%size")
            with _unless_dropped(b, kind, "%thread", offset, who):
                _stage(b, Finding.RACE, offset, who, saved)
        yes, no, on = (b.fresh_label(name) for name in ("writes", "reads", "noted"))
        b.cond_branch(writes, yes, no)
        b.block(yes)
        for place in (_READ, _OTHER_READ):
            with when(b, call(b, "conflict", _record(b, cell, place, kind), "i1")):
                reader = b.load(b.offset(cell, place))
                thread = b.binary("and", reader, THREAD_BITS)
                with _unless_dropped(b, _kind_of(b, reader), thread, offset, reader):
                    _stage(b, Finding.RACE, offset, reader)
            b.store(0, b.offset(cell, place))
        b.store(mine, cell)
        b.store(now, b.offset(cell, 4))
        b.branch(on)
        b.block(no)
        last = b.load(b.offset(cell, _READ), "i64", 4)
        differs = b.binary("xor", b.resize(last, 64, 32), mine)
        elsewhere = b.binary("and", differs, THREAD_BITS - 31 | VALID_BIT)
        with when(b, b.icmp("ne", elsewhere, 0)):
            b.store(last, b.offset(cell, _OTHER_READ), "i64", 4)
        b.store(mine, b.offset(cell, _READ))
        b.store(now, b.offset(cell, _READ + 4))
        b.branch(on)
        b.block(on)
    staged = b.icmp("ne", get(b, CONTEXT, Context.pending), 0)
    b.return_(staged, "i1")


def _record(b: Builder, cell: str, place: int, kind: str) -> list[tuple[str, str]]:
    return [("%thread", "i32"), (b.offset(cell, place), POINTER), (kind, "i32")]


@contextmanager
def _unless_dropped(b: Builder, read: str, reader: str, offset: str, other: str) -> Iterator[None]:
    """Do something about a race, unless its read is of a value that its thread may drop."""
    may, must, on = (b.fresh_label(name) for name in ("dropped", "raced", "staged"))
    number = b.binary("lshr", read, DROPPED_SHIFT)
    b.cond_branch(b.icmp("ne", number, 0), may, must)
    b.block(may)
    bit = b.binary("shl", 1, b.resize(number, 32, 64), "i64")
    note_use(b, reader, bit, raced=True)
    _stage(b, Finding.DROPPED, offset, other)
    b.branch(on)
    b.block(must)
    yield
    b.branch(on)
    b.block(on)


def _settle(b: Builder) -> None:
    """What may have been dropped and was used after all is a race."""
    uses = get(b, CONTEXT, Context.uses)

    def used(index: str, carried: list[str]) -> list[str]:
        mine = b.element(uses, index, USES_BYTES)
        both = b.binary("and", b.load(mine, "i64"), b.load(b.offset(mine, 8), "i64"), "i64")
        return [b.binary("or", carried[0], both, "i64")]

    (bits,) = fold(b, "%threads", [(0, "i64")], used)
    with when(b, b.icmp("ne", bits, 0, "i64")):
        put(b, CONTEXT, Context.wrong, 1)
        with loop(b, get(b, CONTEXT, Context.count)) as index:
            found = kept_at(b, index)
            kind = get(b, found, FOUND["kind"])
            site = get(b, site_at(b, get(b, found, FOUND["site"])), Site.kind)
            of_either = b.binary("or", site, _kind_of(b, get(b, found, FOUND["other"])))
            number = b.binary("lshr", of_either, DROPPED_SHIFT)
            bit = b.binary("lshr", bits, b.resize(number, 32, 64), "i64")
            is_used = b.resize(bit, 64, 1)
            dropped = b.icmp("eq", kind, Finding.DROPPED)
            with when(b, b.binary("and", dropped, is_used, "i1")):
                put(b, found, FOUND["kind"], Finding.RACE)


def note_use(b: Builder, thread: str, bits: Given, *, raced: bool = False) -> None:
    """Note which loads' values a thread uses, or which of them raced, by the bits of an i64."""
    place = b.element(get(b, CONTEXT, Context.uses), thread, USES_BYTES)
    place = b.offset(place, 8) if raced else place
    b.store(b.binary("or", b.load(place, "i64"), bits, "i64"), place, "i64")


def _kind_of(b: Builder, who: str) -> str:
    """What a recorded access does."""
    site = site_at(b, b.binary("lshr", who, SITE_SHIFT))
    return get(b, site, Site.kind)


def _stage(b: Builder, finding: Finding, offset: str, other: str = "", saved: str = "") -> None:
    access = {"thread": "%thread", "site": "%site", "object_": "%object", "length": "%length"}
    access |= {
        "offset": offset,
        "size": b.resize("%size", 32, 64),
        "other": other or b.const(0, 32),
    }
    stage(b, finding, saved=saved, **access)


def _cell(b: Builder) -> None:
    """The cell of a byte of a region; null where there is no memory for one."""
    null = b.value(f"llvm.mlir.zero : {POINTER}")
    one = b.const(1, 64)
    cells = get(b, "%region", Region.cells)
    with when(b, b.icmp("eq", number_of(b, cells), 0, "i64")):
        count = b.binary("udiv", get(b, "%region", Region.length), _CHUNK_BYTES, "i64")
        count = b.binary("add", count, one, "i64")
        put(
            b,
            "%region",
            Region.cells,
            call_c(b, "calloc", [(count, "i64"), (b.const(8, 64), "i64")]),
        )
    cells = get(b, "%region", Region.cells)
    b.cond_branch(b.icmp("eq", number_of(b, cells), 0, "i64"), "no_memory", "listed")
    b.block("listed")
    number = b.binary("udiv", "%offset", _CHUNK_BYTES, "i64")
    place = b.offset(cells, b.binary("mul", number, 8, "i64"))
    with when(b, b.icmp("eq", b.load(place, "i64"), 0, "i64")):
        size = b.const(_CHUNK_HEAD + _CHUNK_BYTES * CELL_BYTES, 64)
        chunk = call_c(b, "calloc", [(one, "i64"), (size, "i64")])
        b.cond_branch(b.icmp("eq", number_of(b, chunk), 0, "i64"), "no_memory", "made")
        b.block("made")
        b.store(get(b, CONTEXT, Context.chunks), chunk, POINTER)
        put(b, CONTEXT, Context.chunks, chunk)
        b.store(chunk, place, POINTER)
    chunk = b.offset(b.load(place, POINTER), _CHUNK_HEAD)
    within = b.binary("urem", "%offset", _CHUNK_BYTES, "i64")
    cell = b.offset(chunk, b.binary("mul", within, CELL_BYTES, "i64"))
    b.return_(cell, POINTER)
    b.block("no_memory")
    b.return_(null, POINTER)


def _free_cells(b: Builder) -> None:
    """Give the chunks of shadow back."""
    b.branch("next")
    b.block("next")
    chunk = get(b, CONTEXT, Context.chunks)
    b.cond_branch(b.icmp("eq", number_of(b, chunk), 0, "i64"), "done", "free")
    b.block("free")
    put(b, CONTEXT, Context.chunks, b.load(chunk, POINTER))
    call_c(b, "free", [(chunk, POINTER)])
    b.branch("next")
    b.block("done")
