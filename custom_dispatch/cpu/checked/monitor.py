"""What is known of a block while it runs in checked mode, and how it lies in memory.

A block has a context: its place in the grid, a clock, and pointers to the rest. The regions are the
kernel's operands and the module's variables, with their bounds. The records say what each thread
knows of the others (`checked/monitor_order.py`). The shadow has a cell for each byte of
shared memory and, made when first touched, of the operands and variables that a kernel may write
(`checked/monitor_shadow.py`). A block's context is its own, so blocks on several cores do
not disturb each other, nor can one find what another does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from custom_dispatch.cpu.text.builder import POINTER, Builder

CONTEXT: Final = "%context"
"""The function argument that points to a block's context."""

Field = tuple[int, str]
"""Where something lies in a structure, and its type."""

# ---- the context
FAILED: Final = (0, "i32")
"""What has ended this block (`checked/findings.py`), plus 1; else 0."""
NOW: Final = (4, "i32")
"""The clock: it goes on where threads are put in order."""
BARRIER: Final = (8, "i32")
"""When all threads of the block last met."""
BLOCK_ID: Final = (12, "i32")
"""Three of them."""
SHARED: Final = (24, POINTER)
SHARED_BYTES: Final = (32, "i64")
SHARED_CELLS: Final = (40, POINTER)
RECORDS: Final = (48, POINTER)
"""The threads' records; null where only barriers of the whole block put threads in order."""
REGIONS: Final = (56, POINTER)
REGION_COUNT: Final = (64, "i32")
WIDTH: Final = (68, "i32")
HEIGHT: Final = (72, "i32")
"""Threads of the block in x and y."""
LOCAL_BYTES: Final = (80, "i64")
"""Local memory at the start of a thread's state."""
KERNEL: Final = (88, POINTER)
"""The kernel's name."""
CHUNKS: Final = (96, POINTER)
"""The last chunk of shadow that was made; each begins with a pointer to the one before."""
SPINS: Final = (104, "i32")
"""Strong accesses of the running thread since it last waited."""
COUNT: Final = (108, "i32")
"""How many findings were kept after which the block went on."""
PENDING: Final = (112, "i32")
"""The finding that is staged, plus 1; else 0."""
WRONG: Final = (116, "i32")
"""Whether one of them was more than a note."""
SAVED: Final = (120, "i32")
"""How many bytes a staged write found in memory, of those that it will have written; 0 where they
do not matter."""
ADDRESS: Final = (128, "i64")
"""Where."""
SAVED_BYTES: Final = 136
MOST_SAVED: Final = 32
STAGED: Final = 168
STOPPED: Final = 216
"""What is staged, and what has ended the block, as `FOUND` says."""
FOUND: Final = {
    "kind": (0, "i32"),
    "thread": (4, "i32"),
    "site": (8, "i32"),
    "other": (12, "i32"),
    "offset": (16, "i64"),
    "size": (24, "i64"),
    "object_": (32, POINTER),
    "length": (40, "i64"),
}
"""A finding: what there is to say about it."""
FOUND_BYTES: Final = 48
MEETINGS: Final = 264
"""What the threads knew that have come to each of the 16 barriers, one stamp a warp."""
WARPS: Final = 32
MEETING_BYTES: Final = 4 * WARPS
KEPT: Final = MEETINGS + 16 * MEETING_BYTES
"""The findings after which the block went on."""
MOST_KEPT: Final = 8
USES: Final = (KEPT + MOST_KEPT * FOUND_BYTES, POINTER)
"""By thread, two words of bits: the loads whose values it used, and those that raced."""
USES_BYTES: Final = 16
CONTEXT_BYTES: Final = KEPT + MOST_KEPT * FOUND_BYTES + 8

# ---- a region
BASE: Final = (0, POINTER)
LENGTH: Final = (8, "i64")
CELLS: Final = (16, POINTER)
"""Pointers to chunks of shadow, one for each `CHUNK_BYTES` of the region; null until touched."""
NAME: Final = (24, "i32")
"""Texts are given by their place among the module's texts."""
WRITABLE: Final = (28, "i32")
REGION_BYTES: Final = 32

# ---- a thread's record
WARP_STAMPS: Final = 0
"""By warp: up to when the accesses of its threads come before what this thread does now."""
LANE_STAMPS: Final = 4 * WARPS
"""By lane of the thread's own warp: the same."""
FENCED: Final = (8 * WARPS, "i32")
"""When the thread last executed a fence."""
SEES_FENCES: Final = (8 * WARPS + 4, "i32")
"""Up to when it sees what other threads did before their fences."""
RECORD_BYTES: Final = 8 * WARPS + 16

# ---- a byte's cell: three records of an access, its last write and two reads
CELL_BYTES: Final = 24
CHUNK_BYTES: Final = 256
CHUNK_HEAD: Final = 16
THREAD_BITS: Final = 0x3FF
STRONG_BIT: Final = 0x400
VALID_BIT: Final = 0x800
SITE_SHIFT: Final = 12

# ---- a site: an instruction, as checks know it
READS, WRITES, IS_STRONG, IS_SWAP, IS_ALIGNED, IS_EXCHANGE = 1, 2, 4, 8, 16, 32
DROPPED_SHIFT: Final = 8
"""`IS_ALIGNED` of a barrier that all threads of a warp must execute together (`.aligned`),
`IS_EXCHANGE` of what takes other lanes' values: a shuffle or a vote. Behind the shift is the number
of a load whose value may be dropped (`analysis/dropped_loads.py`), or 0."""
KIND: Final = (0, "i32")
SPACE: Final = (4, "i32")
LOW: Final = (8, "i32")
"""The region's number; or where the variable begins in shared memory, or in the thread's state."""
HIGH: Final = (12, "i32")
"""And where it ends."""
PLACE: Final = (16, "i32")
OBJECT: Final = (20, "i32")
SITE_BYTES: Final = 24
IN_REGION, IN_SHARED, IN_LOCAL, ANYWHERE = range(4)


def get(b: Builder, base: str, field: Field) -> str:
    """Load a field of a structure."""
    offset, kind = field
    return b.load(b.offset(base, offset), kind, _align(kind))


def put(b: Builder, base: str, field: Field, value: str) -> None:
    """Store a field of a structure."""
    offset, kind = field
    b.store(value, b.offset(base, offset), kind, _align(kind))


def element(b: Builder, base: str, index: str, size: int) -> str:
    """The element of an array, by an i32."""
    return b.offset(base, b.binary("mul", b.resize(index, 32, 64), b.const(size, 64), "i64"))


def text_at(b: Builder, place: str) -> str:
    """A text of the module, from its place among them, an i32."""
    texts = b.value(f"llvm.mlir.addressof @check.texts : {POINTER}")
    return b.offset(texts, b.resize(place, 32, 64))


def text_global(symbol: str, text: str | bytes) -> str:
    """A constant text, with a zero at its end."""
    data = text.encode() if isinstance(text, str) else text
    escaped = "".join(f"\\{byte:02X}" for byte in (*data, 0))
    return (
        f'  llvm.mlir.global internal constant @{symbol}("{escaped}") '
        "{addr_space = 0 : i32, alignment = 16 : i64}"
    )


def site_at(b: Builder, number: str) -> str:
    """A site, from its number, an i32."""
    sites = b.value(f"llvm.mlir.addressof @check.sites : {POINTER}")
    return element(b, sites, number, SITE_BYTES)


def number_of(b: Builder, pointer: str) -> str:
    """A pointer as an i64."""
    return b.cast("ptrtoint", pointer, POINTER, "i64")


def tick(b: Builder) -> str:
    """The time, after which the clock goes on."""
    now = get(b, CONTEXT, NOW)
    put(b, CONTEXT, NOW, b.binary("add", now, b.const(1, 32), "i32"))
    return now


def function(
    b: Builder, name: str, arguments: Sequence[tuple[str, str]], result: str = ""
) -> list[str]:
    """The lines of a function ``@check.name`` that takes the context first.

    It is not inlined: MLIR would put its body at every call, whatever its size. And only one other
    function may call it, because IREE takes a function that it comes to on two ways for a recursion
    (ReconcileTranslationInfo.cpp).
    """
    listed = ", ".join(f"{value}: {kind}" for value, kind in ((CONTEXT, POINTER), *arguments))
    arrow = f" -> {result}" if result else ""
    head = f"  llvm.func internal @check.{name}({listed}){arrow} attributes {{no_inline}} {{"
    return [head, *b.lines, "  }"]


def call(
    b: Builder,
    name: str,
    arguments: Sequence[tuple[str, str]],
    result: str = "",
    context: str = CONTEXT,
) -> str:
    """Call such a function; returns its result, or an empty text where it has none."""
    passed = ((context, POINTER), *arguments)
    names = ", ".join(value for value, _ in passed)
    types = ", ".join(kind for _, kind in passed)
    text = f"llvm.call @check.{name}({names}) : ({types}) -> {result or '()'}"
    if result:
        return b.value(text)
    b.line(text)
    return ""


def _align(kind: str) -> int:
    return 4 if kind == "i32" else 8
