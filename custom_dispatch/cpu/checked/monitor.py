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

from custom_dispatch.cpu.text import builder
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import Instruction, Integer, Location

CONTEXT: Final = "%context"
"""The function argument that points to a block's context."""


class Structure:
    """Something in memory, whose fields are attributes."""

    def __init__(self, b: builder.Builder, at: str) -> None:
        self.b = b
        self.at = at


class Field:
    """A field of a structure: to get it is to write a load, and to set it a store."""

    def __init__(self, offset: int, type_name: str) -> None:
        self._offset = offset
        self._type = type_name

    def __get__(self, of: Structure, owner: type[Structure]) -> SsaValue:
        return of.b.load(of.b.offset(of.at, self._offset), self._type)

    def __set__(self, of: Structure, value: builder.Given) -> None:
        of.b.store(value, of.b.offset(of.at, self._offset), self._type)


class _Layout:
    """Where the fields of a structure lie, one behind the other, each at a multiple of its size."""

    def __init__(self) -> None:
        self.size = 0

    def field(self, kind: str) -> Field:
        """The next field."""
        size = builder.bytes_of(kind)
        return Field(self.bytes(size, size), kind)

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


class Found(Structure):
    """A finding: what there is to say about it."""

    _of = _Layout()
    kind = _of.field("i32")
    thread = _of.field("i32")
    site = _of.field("i32")
    other = _of.field("i32")
    offset = _of.field("i64")
    size = _of.field("i64")
    object_ = _of.field(builder.POINTER)
    length = _of.field("i64")
    SIZE: Final = _of.size


class Context(Structure):
    """A block's context."""

    def __init__(self, b: builder.Builder, at: str = CONTEXT) -> None:
        super().__init__(b, at)

    _of = _Layout()
    failed = _of.field("i32")
    """What has ended this block (`checked/finding.py`), plus 1; else 0."""
    now = _of.field("i32")
    """The clock: it goes on where threads are put in order."""
    barrier = _of.field("i32")
    """When all threads of the block last met."""
    block: Final = _of.bytes(12, 4)
    """Its place in the grid: x, y and z, each an i32."""
    shared = _of.field(builder.POINTER)
    shared_bytes = _of.field("i64")
    shared_cells = _of.field(builder.POINTER)
    records = _of.field(builder.POINTER)
    """The threads' records; null where only barriers of the whole block put threads in order."""
    regions = _of.field(builder.POINTER)
    region_count = _of.field("i32")
    width = _of.field("i32")
    height = _of.field("i32")
    """Threads of the block in x and y."""
    local_bytes = _of.field("i64")
    """Local memory at the start of a thread's state."""
    kernel = _of.field(builder.POINTER)
    """The kernel's name."""
    chunks = _of.field(builder.POINTER)
    """The last chunk of shadow that was made; each begins with a pointer to the one before."""
    spins = _of.field("i32")
    """Strong accesses of the running thread since it last waited."""
    count = _of.field("i32")
    """How many findings were kept after which the block went on."""
    pending = _of.field("i32")
    """The finding that is staged, plus 1; else 0."""
    wrong = _of.field("i32")
    """Whether one of them was more than a note."""
    saved = _of.field("i32")
    """How many bytes a staged write found in memory, of those that it will have written; 0 where
    they do not matter."""
    address = _of.field("i64")
    """Where."""
    saved_bytes: Final = _of.bytes(MOST_SAVED)
    staged: Final = _of.bytes(Found.SIZE)
    stopped: Final = _of.bytes(Found.SIZE)
    """What is staged, and what has ended the block, as `Found` says."""
    meetings: Final = _of.bytes(16 * MEETING_BYTES)
    """What the threads knew that have come to each of the 16 barriers, one stamp a warp."""
    kept: Final = _of.bytes(MOST_KEPT * Found.SIZE)
    """The findings after which the block went on."""
    uses = _of.field(builder.POINTER)
    """By thread, two words of bits: the loads whose values it used, and those that raced."""
    SIZE: Final = _of.size


class Region(Structure):
    """An operand, or a variable of the module."""

    _of = _Layout()
    base = _of.field(builder.POINTER)
    length = _of.field("i64")
    cells = _of.field(builder.POINTER)
    """Pointers to chunks of shadow; null until touched."""
    name = _of.field("i32")
    """Texts are given by their place among the module's texts."""
    writable = _of.field("i32")
    SIZE: Final = _of.size


class Record(Structure):
    """What a thread knows of others."""

    _of = _Layout()
    warp_stamps: Final = _of.bytes(4 * WARPS)
    """By warp: up to when the accesses of its threads come before what this thread does now."""
    lane_stamps: Final = _of.bytes(4 * WARPS)
    """By lane of the thread's own warp: the same."""
    fenced = _of.field("i32")
    """When the thread last executed a fence."""
    sees_fences = _of.field("i32")
    """Up to when it sees what other threads did before their fences."""
    SIZE: Final = _of.size + 8


CELL_BYTES: Final = 24
"""A byte's cell: three records of an access, its last write and two reads."""


class Who:
    """The word that says who made an access: a thread, some bits, and a site's number."""

    THREAD_BITS: Final = 0x3FF
    STRONG: Final = 0x400
    VALID: Final = 0x800
    SITE_SHIFT: Final = 12


class Site(Structure):
    """An instruction, as checks know it."""

    _of = _Layout()
    kind = _of.field("i32")
    space = _of.field("i32")
    low = _of.field("i32")
    """The region's number; or where the variable begins in shared memory, or in the thread's
    state."""
    high = _of.field("i32")
    """And where it ends."""
    place = _of.field("i32")
    object = _of.field("i32")
    SIZE: Final = _of.size

    READS, WRITES, STRONG, SWAP, ALIGNED, EXCHANGE = 1, 2, 4, 8, 16, 32
    DROPPED_SHIFT: Final = 8
    """What a kind is made of. `ALIGNED` is a barrier that all threads of a warp must execute
    together (`.aligned`), `EXCHANGE` what takes other lanes' values: a shuffle or a vote. Behind
    the shift is the number of a load whose value may be dropped (`analysis/dropped_loads.py`), or
    0."""
    IN_REGION, IN_SHARED, IN_LOCAL, ANYWHERE = range(4)
    """Spaces."""


def text_at(b: builder.Builder, place: SsaValue) -> SsaValue:
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


def site_at(b: builder.Builder, number: str) -> Site:
    """A site, from its number, an i32."""
    return Site(b, b.element(b.address_of("check.sites"), number, Site.SIZE))


def number_of(b: builder.Builder, pointer: str) -> SsaValue:
    """A pointer as an i64."""
    return b.cast("ptrtoint", pointer, builder.POINTER, "i64")


def is_null(b: builder.Builder, pointer: str) -> SsaValue:
    """Whether a pointer is null."""
    return number_of(b, pointer).cmp("eq", 0)


def tick(b: builder.Builder) -> SsaValue:
    """The time, after which the clock goes on."""
    now = Context(b).now
    Context(b).now = now + 1
    return now


_FUNCTIONS: Final = {
    "report": ("", ""),
    "ordered": ("thread other stamp", "i1"),
    "lanes_met": ("first lanes group", ""),
    "come": ("thread barrier", ""),
    "leave": ("thread barrier", ""),
    "clear": ("free", ""),
    "all_met": ("", ""),
    "fence": ("thread", ""),
    "conflict": ("thread record kind", "i1"),
    "note": ("thread site cell size must_be_written offset object length", "i1"),
    "settle": ("threads", ""),
    "cell": ("region offset", builder.POINTER),
    "free_cells": ("", ""),
    "access": ("thread site address size state", "i1"),
}
"""The functions ``@check.name`` that checked code calls: the arguments behind the context, and the
result's type."""
_ARGUMENT_TYPES: Final = {
    **dict.fromkeys(("address", "offset", "length"), "i64"),
    **dict.fromkeys(("record", "cell", "object", "region", "state"), builder.POINTER),
    "must_be_written": "i1",
}
"""Types of arguments that are no i32."""


def functions(**writers: Callable[..., None]) -> list[str]:
    """The lines of some of the functions, by their names.

    Each is written by what gets a builder, and the arguments by their names.

    They are not inlined: MLIR would put their bodies at every call, whatever their size. And only
    one other function may call each, because IREE takes a function that it comes to on two ways for
    a recursion (ReconcileTranslationInfo.cpp).
    """
    lines = []
    for name, write in writers.items():
        b = builder.Builder()
        arguments, result = _FUNCTIONS[name]
        given = {a: b.named(f"%{a}", _ARGUMENT_TYPES.get(a, "i32")) for a in arguments.split()}
        write(b, **given)
        if not result:
            b.return_()
        every = [(CONTEXT, builder.POINTER), *((value, value.type) for value in given.values())]
        lines += builder.function_text(f"check.{name}", every, b.lines, result, "no_inline")
    return lines


def call(b: builder.Builder, name: str, *given: builder.Given, context: str = CONTEXT) -> SsaValue:
    """Call such a function; returns its result, or an empty text where it has none."""
    arguments, result = _FUNCTIONS[name]
    types = [_ARGUMENT_TYPES.get(argument, "i32") for argument in arguments.split()]
    passed = [(context, builder.POINTER), *zip(given, types, strict=True)]
    return b.call(f"check.{name}", passed, result)


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
        space: int = Site.ANYWHERE,
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
