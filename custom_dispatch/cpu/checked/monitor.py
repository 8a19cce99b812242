"""What is known of a block while it runs in checked mode, and how it lies in memory.

A block has a context: its place in the grid, a clock, and pointers to the rest. The regions are the
kernel's operands and the module's variables, with their bounds. The records say what each thread
knows of the others (`checked/monitor_order.py`). The shadow has a cell for each byte of
shared memory and, made when first touched, of the operands and variables that a kernel may write
(`checked/monitor_shadow.py`). A block's context is its own, so blocks on several cores do
not disturb each other, nor can one find what another does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import PurePath
from typing import Final

from custom_dispatch.cpu.text.builder import (
    POINTER,
    Arguments,
    Builder,
    Given,
    bytes_of,
    function_text,
)
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import Instruction, Integer, Location

CONTEXT: Final = "%context"
"""The function argument that points to a block's context."""

Field = tuple[int, str]
"""Where something lies in a structure, and its type."""


class _Layout:
    """Where the fields of a structure lie, one behind the other, each at a multiple of its size."""

    def __init__(self) -> None:
        self.size = 0

    def field(self, kind: str, count: int = 1) -> Field:
        """The next field, or the first of several of one type."""
        size = bytes_of(kind)
        return self.bytes(size * count, size), kind

    def bytes(self, size: int, align: int = 8) -> int:
        """Where the next bytes lie."""
        start = -(-self.size // align) * align
        self.size = start + size
        return start


WARPS: Final = 32
MOST_SAVED: Final = 32
MOST_KEPT: Final = 8
MEETING_BYTES: Final = 4 * WARPS
USES_BYTES: Final = 16

_found = _Layout()
FOUND: Final = {
    "kind": _found.field("i32"),
    "thread": _found.field("i32"),
    "site": _found.field("i32"),
    "other": _found.field("i32"),
    "offset": _found.field("i64"),
    "size": _found.field("i64"),
    "object_": _found.field(POINTER),
    "length": _found.field("i64"),
}
"""A finding: what there is to say about it."""
FOUND_BYTES: Final = _found.size


class Context:
    """A block's context."""

    _of = _Layout()
    failed: Final = _of.field("i32")
    """What has ended this block (`checked/finding.py`), plus 1; else 0."""
    now: Final = _of.field("i32")
    """The clock: it goes on where threads are put in order."""
    barrier: Final = _of.field("i32")
    """When all threads of the block last met."""
    block: Final = _of.field("i32", 3)
    """Its place in the grid: x, y and z."""
    shared: Final = _of.field(POINTER)
    shared_bytes: Final = _of.field("i64")
    shared_cells: Final = _of.field(POINTER)
    records: Final = _of.field(POINTER)
    """The threads' records; null where only barriers of the whole block put threads in order."""
    regions: Final = _of.field(POINTER)
    region_count: Final = _of.field("i32")
    width: Final = _of.field("i32")
    height: Final = _of.field("i32")
    """Threads of the block in x and y."""
    local_bytes: Final = _of.field("i64")
    """Local memory at the start of a thread's state."""
    kernel: Final = _of.field(POINTER)
    """The kernel's name."""
    chunks: Final = _of.field(POINTER)
    """The last chunk of shadow that was made; each begins with a pointer to the one before."""
    spins: Final = _of.field("i32")
    """Strong accesses of the running thread since it last waited."""
    count: Final = _of.field("i32")
    """How many findings were kept after which the block went on."""
    pending: Final = _of.field("i32")
    """The finding that is staged, plus 1; else 0."""
    wrong: Final = _of.field("i32")
    """Whether one of them was more than a note."""
    saved: Final = _of.field("i32")
    """How many bytes a staged write found in memory, of those that it will have written; 0 where
    they do not matter."""
    address: Final = _of.field("i64")
    """Where."""
    saved_bytes: Final = _of.bytes(MOST_SAVED)
    staged: Final = _of.bytes(FOUND_BYTES)
    stopped: Final = _of.bytes(FOUND_BYTES)
    """What is staged, and what has ended the block, as `FOUND` says."""
    meetings: Final = _of.bytes(16 * MEETING_BYTES)
    """What the threads knew that have come to each of the 16 barriers, one stamp a warp."""
    kept: Final = _of.bytes(MOST_KEPT * FOUND_BYTES)
    """The findings after which the block went on."""
    uses: Final = _of.field(POINTER)
    """By thread, two words of bits: the loads whose values it used, and those that raced."""
    SIZE: Final = _of.size


class Region:
    """An operand, or a variable of the module."""

    _of = _Layout()
    base: Final = _of.field(POINTER)
    length: Final = _of.field("i64")
    cells: Final = _of.field(POINTER)
    """Pointers to chunks of shadow; null until touched."""
    name: Final = _of.field("i32")
    """Texts are given by their place among the module's texts."""
    writable: Final = _of.field("i32")
    SIZE: Final = _of.size


class Record:
    """What a thread knows of others."""

    _of = _Layout()
    warp_stamps: Final = _of.bytes(4 * WARPS)
    """By warp: up to when the accesses of its threads come before what this thread does now."""
    lane_stamps: Final = _of.bytes(4 * WARPS)
    """By lane of the thread's own warp: the same."""
    fenced: Final = _of.field("i32")
    """When the thread last executed a fence."""
    sees_fences: Final = _of.field("i32")
    """Up to when it sees what other threads did before their fences."""
    SIZE: Final = _of.size + 8


# ---- a byte's cell: three records of an access, its last write and two reads
CELL_BYTES: Final = 24
THREAD_BITS: Final = 0x3FF
STRONG_BIT: Final = 0x400
VALID_BIT: Final = 0x800
SITE_SHIFT: Final = 12


class Site:
    """An instruction, as checks know it."""

    _of = _Layout()
    kind: Final = _of.field("i32")
    space: Final = _of.field("i32")
    low: Final = _of.field("i32")
    """The region's number; or where the variable begins in shared memory, or in the thread's
    state."""
    high: Final = _of.field("i32")
    """And where it ends."""
    place: Final = _of.field("i32")
    object: Final = _of.field("i32")
    SIZE: Final = _of.size


READS, WRITES, IS_STRONG, IS_SWAP, IS_ALIGNED, IS_EXCHANGE = 1, 2, 4, 8, 16, 32
DROPPED_SHIFT: Final = 8
"""`IS_ALIGNED` of a barrier that all threads of a warp must execute together (`.aligned`),
`IS_EXCHANGE` of what takes other lanes' values: a shuffle or a vote. Behind the shift is the number
of a load whose value may be dropped (`analysis/dropped_loads.py`), or 0."""
IN_REGION, IN_SHARED, IN_LOCAL, ANYWHERE = range(4)


def get(b: Builder, base: str, field: Field) -> SsaValue:
    """Load a field of a structure."""
    offset, kind = field
    return b.load(b.offset(base, offset), kind)


def put(b: Builder, base: str, field: Field, value: Given) -> None:
    """Store a field of a structure."""
    offset, kind = field
    b.store(value, b.offset(base, offset), kind)


def text_at(b: Builder, place: SsaValue) -> SsaValue:
    """A text of the module, from its place among them, an i32."""
    return b.offset(b.address_of("check.texts"), place.resize(64))


def text_global(symbol: str, text: str | bytes) -> str:
    """A constant text, with a zero at its end."""
    data = text.encode() if isinstance(text, str) else text
    escaped = "".join(f"\\{byte:02X}" for byte in (*data, 0))
    return (
        f'  llvm.mlir.global internal constant @{symbol}("{escaped}") '
        "{addr_space = 0 : i32, alignment = 16 : i64}"
    )


def site_at(b: Builder, number: str) -> SsaValue:
    """A site, from its number, an i32."""
    return b.element(b.address_of("check.sites"), number, Site.SIZE)


def number_of(b: Builder, pointer: str) -> SsaValue:
    """A pointer as an i64."""
    return b.cast("ptrtoint", pointer, POINTER, "i64")


def is_null(b: Builder, pointer: str) -> SsaValue:
    """Whether a pointer is null."""
    return number_of(b, pointer).cmp("eq", 0)


def tick(b: Builder) -> SsaValue:
    """The time, after which the clock goes on."""
    now = get(b, CONTEXT, Context.now)
    put(b, CONTEXT, Context.now, now + 1)
    return now


def function(
    name: str, write: Callable[..., None], result: str = "", **arguments: str
) -> list[str]:
    """The lines of a function ``@check.name`` that takes the context, and arguments of some types.

    `write` gets a builder and the arguments, by their names.

    It is not inlined: MLIR would put its body at every call, whatever its size. And only one other
    function may call it, because IREE takes a function that it comes to on two ways for a recursion
    (ReconcileTranslationInfo.cpp).
    """
    b = Builder()
    given = {name: b.named(f"%{name}", kind) for name, kind in arguments.items()}
    write(b, **given)
    if not result:
        b.return_()
    every = [(CONTEXT, POINTER), *((value, value.type) for value in given.values())]
    return function_text(f"check.{name}", every, b.lines, result, "no_inline")


def call(
    b: Builder, name: str, arguments: Arguments = (), result: str = "", context: str = CONTEXT
) -> SsaValue:
    """Call such a function; returns its result, or an empty text where it has none."""
    return b.call(f"check.{name}", ((context, POINTER), *arguments), result)


class Sites:
    """The sites of a module's kernels; their texts are kept once each."""

    def __init__(self) -> None:
        self._sites: list[bytes] = []
        self._texts = bytearray(b"\0")
        self._places: dict[str, int] = {"": 0}

    def text(self, text: str) -> int:
        """The place of a text among the module's texts."""
        if text not in self._places:
            self._places[text] = len(self._texts)
            self._texts += text.replace("\0", "").encode() + b"\0"
        return self._places[text]

    def add(
        self,
        instruction: Instruction,
        *,
        kind: int = 0,
        space: int = ANYWHERE,
        low: int = 0,
        high: int = 0,
        object_: str = "",
    ) -> int:
        """The number of a new site (`checked/monitor.py` says what a site is made of)."""
        place = self.text(place_of(instruction))
        fields = (kind, space, low, high, place, self.text(object_))
        self._sites.append(struct.pack("<6i", *fields))
        return len(self._sites) - 1

    def globals(self) -> list[str]:
        """The tables that checks read."""
        return [
            text_global("check.sites", b"".join(self._sites)),
            text_global("check.texts", bytes(self._texts)),
            text_global("check.shared_memory", "shared memory"),
            text_global("check.local_memory", "the thread's local memory"),
        ]


def _shown(location: Location) -> str:
    return f"{PurePath(location.file).name}:{location.line}"


def place_of(instruction: Instruction) -> str:
    """Where an instruction stands: in the `.cu` file where that is known, else in the PTX."""
    where = f"PTX line {instruction.line}"
    if instruction.location is not None:
        where = _shown(instruction.location)
        callers = instruction.location.callers
        if callers:
            where += f", called at {_shown(callers[-1])}"
    first = instruction.operands[0] if instruction.operands else None
    barrier = f" {first.value}" if isinstance(first, Integer) else ""  # the number of a barrier
    return f"{where} (`{instruction.opcode}{barrier}`)"
