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

from custom_dispatch.cpu.checked.findings import Finding, kept_at, stage
from custom_dispatch.cpu.checked.monitor import (
    CELL_BYTES,
    CELLS,
    CHUNK_BYTES,
    CHUNK_HEAD,
    CHUNKS,
    CONTEXT,
    COUNT,
    DROPPED_SHIFT,
    FOUND,
    IS_STRONG,
    IS_SWAP,
    KIND,
    LENGTH,
    MOST_SAVED,
    NOW,
    PENDING,
    READS,
    SITE_SHIFT,
    STRONG_BIT,
    THREAD_BITS,
    USES,
    USES_BYTES,
    VALID_BIT,
    WRITES,
    WRONG,
    call,
    element,
    function,
    get,
    number_of,
    put,
    site_at,
)
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.structure import fold, loop, when

_WRITE, _READ, _OTHER_READ = 0, 8, 16
"""Where the records of accesses lie in a cell; each is a word that says who, and a time."""


def shadow_functions() -> list[str]:
    """The functions of this module."""
    return [*_conflict(), *_note(), *_settle(), *_cell(), *_free_cells()]


def _has(b: Builder, word: str, bit: int) -> str:
    masked = b.binary("and", word, b.const(bit, 32), "i32")
    return b.icmp("ne", masked, b.const(0, 32), "i32")


def _conflict() -> list[str]:
    """Whether a recorded access races with one that a thread makes now."""
    b = Builder()
    who, when_ = b.load("%record", "i32", 4), b.load(b.offset("%record", 4), "i32", 4)
    both = b.binary("and", _has(b, who, STRONG_BIT), _has(b, "%kind", IS_STRONG), "i1")
    theirs = _kind_of(b, who)
    swap = _has(b, b.binary("or", "%kind", theirs, "i32"), IS_SWAP)
    read = _not(b, _has(b, b.binary("and", "%kind", theirs, "i32"), WRITES))
    harmless = b.binary("or", both, b.binary("and", swap, read, "i1"), "i1")
    harmless = b.binary("or", harmless, _not(b, _has(b, who, VALID_BIT)), "i1")
    b.cond_branch(harmless, "none", "ask")
    b.block("ask")
    other = b.binary("and", who, b.const(THREAD_BITS, 32), "i32")
    ordered = call(b, "ordered", [("%thread", "i32"), (other, "i32"), (when_, "i32")], "i1")
    b.line(f"llvm.return {_not(b, ordered)} : i1")
    b.block("none")
    b.line(f"llvm.return {b.const(0, 1)} : i1")
    arguments = [("%thread", "i32"), ("%record", POINTER), ("%kind", "i32")]
    return function(b, "conflict", arguments, "i1")


def _not(b: Builder, value: str) -> str:
    return b.binary("xor", value, b.const(1, 1), "i1")


def _note() -> list[str]:
    """Hold an access against its bytes' cells, then note it there; whether something is staged."""
    b = Builder()
    kind = get(b, site_at(b, "%site"), KIND)
    reads, writes, strong = (_has(b, kind, bit) for bit in (READS, WRITES, IS_STRONG))
    strong_bit = b.select(strong, b.const(STRONG_BIT, 32), b.const(0, 32), "i32")
    mine = b.binary("shl", "%site", b.const(SITE_SHIFT, 32), "i32")
    mine = b.binary("or", mine, b.binary("or", strong_bit, b.const(VALID_BIT, 32), "i32"), "i32")
    mine = b.binary("or", mine, "%thread", "i32")
    now, never = get(b, CONTEXT, NOW), b.const(0, 32)
    strange = b.binary("and", "%must_be_written", reads, "i1")
    with loop(b, "%size") as index:
        cell = element(b, "%cell", index, CELL_BYTES)
        offset = b.binary("add", "%offset", b.resize(index, 32, 64), "i64")
        written = _has(b, b.load(cell, "i32", 4), VALID_BIT)
        with when(b, b.binary("and", strange, _not(b, written), "i1")):
            _stage(b, Finding.UNINITIALISED, offset)
        with when(b, call(b, "conflict", _record(b, cell, _WRITE, kind), "i1")):
            # Where both only write, it is a race if the value that is there changes.
            who = b.load(cell, "i32", 4)
            both = b.binary("or", kind, _kind_of(b, who), "i32")
            large = b.icmp("ugt", "%size", b.const(MOST_SAVED, 32), "i32")
            matters = b.binary("or", _has(b, both, READS), large, "i1")
            saved = b.select(matters, never, "%size", "i32")
            with _unless_dropped(b, kind, "%thread", offset, who):
                _stage(b, Finding.RACE, offset, who, saved)
        yes, no, on = (b.fresh_label(name) for name in ("writes", "reads", "noted"))
        b.cond_branch(writes, yes, no)
        b.block(yes)
        for place in (_READ, _OTHER_READ):
            with when(b, call(b, "conflict", _record(b, cell, place, kind), "i1")):
                reader = b.load(b.offset(cell, place), "i32", 4)
                thread = b.binary("and", reader, b.const(THREAD_BITS, 32), "i32")
                with _unless_dropped(b, _kind_of(b, reader), thread, offset, reader):
                    _stage(b, Finding.RACE, offset, reader)
            b.store(never, b.offset(cell, place), "i32", 4)
        b.store(mine, cell, "i32", 4)
        b.store(now, b.offset(cell, 4), "i32", 4)
        b.branch(on)
        b.block(no)
        last = b.load(b.offset(cell, _READ), "i64", 4)
        warp = b.const(THREAD_BITS - 31 | VALID_BIT, 32)
        differs = b.binary("xor", b.resize(last, 64, 32), mine, "i32")
        elsewhere = b.binary("and", differs, warp, "i32")
        with when(b, b.icmp("ne", elsewhere, never, "i32")):
            b.store(last, b.offset(cell, _OTHER_READ), "i64", 4)
        b.store(mine, b.offset(cell, _READ), "i32", 4)
        b.store(now, b.offset(cell, _READ + 4), "i32", 4)
        b.branch(on)
        b.block(on)
    staged = b.icmp("ne", get(b, CONTEXT, PENDING), never, "i32")
    b.line(f"llvm.return {staged} : i1")
    arguments = [
        ("%thread", "i32"),
        ("%site", "i32"),
        ("%cell", POINTER),
        ("%size", "i32"),
        ("%must_be_written", "i1"),
        ("%offset", "i64"),
        ("%object", POINTER),
        ("%length", "i64"),
    ]
    return function(b, "note", arguments, "i1")


def _record(b: Builder, cell: str, place: int, kind: str) -> list[tuple[str, str]]:
    return [("%thread", "i32"), (b.offset(cell, place), POINTER), (kind, "i32")]


@contextmanager
def _unless_dropped(b: Builder, read: str, reader: str, offset: str, other: str) -> Iterator[None]:
    """Do something about a race, unless its read is of a value that its thread may drop."""
    may, must, on = (b.fresh_label(name) for name in ("dropped", "raced", "staged"))
    number = b.binary("lshr", read, b.const(DROPPED_SHIFT, 32), "i32")
    b.cond_branch(b.icmp("ne", number, b.const(0, 32), "i32"), may, must)
    b.block(may)
    bit = b.binary("shl", b.const(1, 64), b.resize(number, 32, 64), "i64")
    note_use(b, reader, bit, raced=True)
    _stage(b, Finding.DROPPED, offset, other)
    b.branch(on)
    b.block(must)
    yield
    b.branch(on)
    b.block(on)


def _settle() -> list[str]:
    """What may have been dropped and was used after all is a race."""
    b = Builder()
    uses = get(b, CONTEXT, USES)

    def used(index: str, carried: list[str]) -> list[str]:
        mine = element(b, uses, index, USES_BYTES)
        both = b.binary("and", b.load(mine, "i64", 8), b.load(b.offset(mine, 8), "i64", 8), "i64")
        return [b.binary("or", carried[0], both, "i64")]

    (bits,) = fold(b, "%threads", [(b.const(0, 64), "i64")], used)
    with when(b, b.icmp("ne", bits, b.const(0, 64), "i64")):
        put(b, CONTEXT, WRONG, b.const(1, 32))
        with loop(b, get(b, CONTEXT, COUNT)) as index:
            found = kept_at(b, index)
            kind = get(b, found, FOUND["kind"])
            site = get(b, site_at(b, get(b, found, FOUND["site"])), KIND)
            of_either = b.binary("or", site, _kind_of(b, get(b, found, FOUND["other"])), "i32")
            number = b.binary("lshr", of_either, b.const(DROPPED_SHIFT, 32), "i32")
            bit = b.binary("lshr", bits, b.resize(number, 32, 64), "i64")
            is_used = b.resize(bit, 64, 1)
            dropped = b.icmp("eq", kind, b.const(Finding.DROPPED, 32), "i32")
            with when(b, b.binary("and", dropped, is_used, "i1")):
                put(b, found, FOUND["kind"], b.const(Finding.RACE, 32))
    b.line("llvm.return")
    return function(b, "settle", [("%threads", "i32")])


def note_use(b: Builder, thread: str, bits: str, *, raced: bool = False) -> None:
    """Note which loads' values a thread uses, or which of them raced, by the bits of an i64."""
    place = element(b, get(b, CONTEXT, USES), thread, USES_BYTES)
    place = b.offset(place, 8) if raced else place
    b.store(b.binary("or", b.load(place, "i64", 8), bits, "i64"), place, "i64", 8)


def _kind_of(b: Builder, who: str) -> str:
    """What a recorded access does."""
    site = site_at(b, b.binary("lshr", who, b.const(SITE_SHIFT, 32), "i32"))
    return get(b, site, KIND)


def _stage(b: Builder, finding: Finding, offset: str, other: str = "", saved: str = "") -> None:
    access = {"thread": "%thread", "site": "%site", "object_": "%object", "length": "%length"}
    access |= {
        "offset": offset,
        "size": b.resize("%size", 32, 64),
        "other": other or b.const(0, 32),
    }
    stage(b, finding, saved=saved, **access)


def _cell() -> list[str]:
    """The cell of a byte of a region; null where there is no memory for one."""
    b = Builder()
    null = b.value(f"llvm.mlir.zero : {POINTER}")
    zero, one = b.const(0, 64), b.const(1, 64)
    cells = get(b, "%region", CELLS)
    with when(b, b.icmp("eq", number_of(b, cells), zero, "i64")):
        count = b.binary("udiv", get(b, "%region", LENGTH), b.const(CHUNK_BYTES, 64), "i64")
        count = b.binary("add", count, one, "i64")
        put(b, "%region", CELLS, call_c(b, "calloc", [(count, "i64"), (b.const(8, 64), "i64")]))
    cells = get(b, "%region", CELLS)
    b.cond_branch(b.icmp("eq", number_of(b, cells), zero, "i64"), "no_memory", "listed")
    b.block("listed")
    number = b.binary("udiv", "%offset", b.const(CHUNK_BYTES, 64), "i64")
    place = b.offset(cells, b.binary("mul", number, b.const(8, 64), "i64"))
    with when(b, b.icmp("eq", b.load(place, "i64", 8), zero, "i64")):
        size = b.const(CHUNK_HEAD + CHUNK_BYTES * CELL_BYTES, 64)
        chunk = call_c(b, "calloc", [(one, "i64"), (size, "i64")])
        b.cond_branch(b.icmp("eq", number_of(b, chunk), zero, "i64"), "no_memory", "made")
        b.block("made")
        b.store(get(b, CONTEXT, CHUNKS), chunk, POINTER, 8)
        put(b, CONTEXT, CHUNKS, chunk)
        b.store(chunk, place, POINTER, 8)
    chunk = b.offset(b.load(place, POINTER, 8), CHUNK_HEAD)
    within = b.binary("urem", "%offset", b.const(CHUNK_BYTES, 64), "i64")
    cell = b.offset(chunk, b.binary("mul", within, b.const(CELL_BYTES, 64), "i64"))
    b.line(f"llvm.return {cell} : {POINTER}")
    b.block("no_memory")
    b.line(f"llvm.return {null} : {POINTER}")
    return function(b, "cell", [("%region", POINTER), ("%offset", "i64")], POINTER)


def _free_cells() -> list[str]:
    """Give the chunks of shadow back."""
    b = Builder()
    b.branch("next")
    b.block("next")
    chunk = get(b, CONTEXT, CHUNKS)
    b.cond_branch(b.icmp("eq", number_of(b, chunk), b.const(0, 64), "i64"), "done", "free")
    b.block("free")
    put(b, CONTEXT, CHUNKS, b.load(chunk, POINTER, 8))
    call_c(b, "free", [(chunk, POINTER)])
    b.branch("next")
    b.block("done")
    b.line("llvm.return")
    return function(b, "free_cells", [])
