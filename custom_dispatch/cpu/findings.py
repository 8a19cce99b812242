"""What checked mode finds, in words.

The first finding of a dispatch is put into words by the compiled code itself, so that stock tools
show it too: it goes to standard error, unless somebody has asked for it (`findings_function`), and
the dispatch fails. The text has the form of this package's errors: what was found, what was
expected, the next step.
"""

from __future__ import annotations

import re
from enum import IntEnum
from typing import Final

from custom_dispatch.cpu.builder import POINTER, Builder
from custom_dispatch.cpu.c_library import call_c
from custom_dispatch.cpu.monitor import (
    BLOCK_ID,
    CONTEXT,
    FAILED,
    FOUND,
    HEIGHT,
    KERNEL,
    KIND,
    PLACE,
    READS,
    SITE_SHIFT,
    THREAD_BITS,
    WIDTH,
    WRITES,
    function,
    get,
    put,
    site_at,
    text_at,
    text_global,
)
from custom_dispatch.cpu.structure import when

REPORT_BYTES: Final = 4096
"""Room for a finding's text."""
EXPECTED, NEXT_STEP = "\n  expected: ", "\n  next step: "
"""What begins the parts of a finding, as in `custom_dispatch.errors`."""


class Finding(IntEnum):
    """What can be found."""

    OUT_OF_BOUNDS = 0
    MISALIGNED = 1
    READ_ONLY = 2
    FOREIGN = 3
    UNINITIALISED = 4
    RACE = 5
    TRAP = 6
    ASSERTION = 7
    DEADLOCK = 8
    WAITS_IN_VAIN = 9
    DIVISION = 10
    SPIN = 11
    DIVERGED = 12


_WHERE = "at {place}, thread {thread}, block {block}"
_ACCESS = "{verb} {size} bytes at byte {offset} of {object}"

_TEXTS: Final[dict[Finding, tuple[str, str, str]]] = {
    Finding.OUT_OF_BOUNDS: (
        f"kernel `{{kernel}}` {_ACCESS}, which has {{length}} bytes, {_WHERE}",
        "an access inside of it",
        "compare the index with the size before the access",
    ),
    Finding.MISALIGNED: (
        f"kernel `{{kernel}}` {_ACCESS}, {_WHERE}",
        "a byte that is a multiple of {size}: a GPU refuses other addresses",
        "access smaller elements, or begin at a multiple of the vector's size",
    ),
    Finding.READ_ONLY: (
        f"kernel `{{kernel}}` {_ACCESS}, which it must not write, {_WHERE}",
        "a write to an operand that is declared cd.Out or cd.InOut, or to a variable that is no "
        "constant",
        "declare the operand as cd.InOut if the kernel is to update it",
    ),
    Finding.FOREIGN: (
        "kernel `{kernel}` {verb} {size} bytes at address {address}, which is in none of its "
        f"operands and variables, {_WHERE}",
        "an address that was computed from an operand or a variable",
        "look for a null pointer, or one that was read from memory nobody wrote",
    ),
    Finding.UNINITIALISED: (
        f"kernel `{{kernel}}` reads byte {{offset}} of {{object}} before anyone wrote it, {_WHERE}",
        "a write by the same thread, or by another one before a barrier that both come to",
        "write the element first, or put __syncthreads() between the write and the read",
    ),
    Finding.RACE: (
        "kernel `{kernel}` has a race for byte {offset} of {object}: thread {thread} {verb} it at "
        "{place}, and thread {other thread} {other verb} it at {other place}, in no order, block "
        "{block}",
        "a barrier between accesses of different threads of which one writes",
        "put __syncthreads() between them (__syncwarp() for lanes of a warp), or use atomics",
    ),
    Finding.TRAP: (
        f"kernel `{{kernel}}` executes a trap {_WHERE}",
        "no trap",
        "correct what the kernel checks there",
    ),
    Finding.ASSERTION: (
        "kernel `{kernel}`: the assertion `{assertion}` does not hold in {function}, "
        "{file}:{line}, thread {thread}, block {block}",
        "a condition that holds",
        "correct the kernel, or what it is called with",
    ),
    Finding.DEADLOCK: (
        "kernel `{kernel}`: the threads of block {block} wait for each other at different places: "
        "thread {thread} at {place}, thread {other thread} at {other place}",
        "every thread to come to the same barrier, and every lane of a mask to the same operation",
        "take the barrier out of the branch that not all of them take",
    ),
    Finding.WAITS_IN_VAIN: (
        "kernel `{kernel}`: thread {thread} of block {block} waits at {place} for threads that "
        "never come",
        "as many threads as the barrier counts, or all lanes of the mask",
        "correct the count or the mask, or let the other threads come there",
    ),
    Finding.DIVISION: (
        f"kernel `{{kernel}}` divides an integer by zero {_WHERE}",
        "a divisor that is not zero: the result is undefined on a GPU",
        "check the divisor first",
    ),
    Finding.SPIN: (
        "kernel `{kernel}`: thread {thread} of block {block} waits in a loop at {place} for "
        "another thread to write memory",
        "barriers: on the CPU a thread runs until it waits at one, and so the loop never ends",
        "wait at a barrier if the threads are of one block; else test the kernel on a GPU",
    ),
    Finding.DIVERGED: (
        "kernel `{kernel}`: threads of one warp come to different barriers: thread {thread} to "
        "{place}, thread {other thread} to {other place}, block {block}",
        "the same __syncthreads() for all threads of a warp: anything else is undefined on a GPU",
        "take the barrier out of the branch that not all of them take",
    ),
}

_PART = re.compile(r"\{([a-z ]+)\}")
_VERBS: Final = {"reads": "reads", "writes": "writes", "updates": "atomically updates"}
_TEXT, _NUMBER, _AXES = "%s", "%lld", "(%u, %u, %u)"
_FORMATS: Final = {
    **dict.fromkeys(("kernel", "place", "verb", "object"), _TEXT),
    **dict.fromkeys(("assertion", "file", "function"), _TEXT),
    **dict.fromkeys(("offset", "size", "length", "line"), _NUMBER),
    **dict.fromkeys(("thread", "block"), _AXES),
    "address": "0x%llx",
}
"""How a value in a text is printed."""


def find(
    b: Builder,
    finding: Finding,
    *,
    thread: str,
    site: str,
    offset: str = "",
    size: str = "",
    object_: str = "",
    length: str = "",
    other: str = "",
) -> None:
    """Note a finding in the block's context: the block is failed.

    Parameters
    ----------
    thread, site
        Who found it where: i32 values.
    offset, size, length
        i64 values: of the access, and of what is accessed.
    object_
        A pointer to what that is called.
    other
        The record of another thread's access, an i32 (`custom_dispatch.cpu.monitor`).
    """
    put(b, CONTEXT, FAILED, b.const(finding + 1, 32))
    values = {"thread": thread, "site": site, "offset": offset, "size": size, "object": object_}
    values |= {"length": length, "other": other}
    for name, value in values.items():
        if value:
            put(b, CONTEXT, FOUND[name], value)


def report_globals() -> list[str]:
    """The text of the first finding since the last time that somebody asked, and what it is made
    of.
    """
    return [
        f"  llvm.mlir.global internal @check.report_text() {{addr_space = 0 : i32}} : "
        f"!llvm.array<{REPORT_BYTES} x i8> {{",
        f"    %0 = llvm.mlir.zero : !llvm.array<{REPORT_BYTES} x i8>",
        f"    llvm.return %0 : !llvm.array<{REPORT_BYTES} x i8>",
        "  }",
        "  llvm.mlir.global internal @check.reported(0 : i32) {addr_space = 0 : i32} : i32",
        "  llvm.mlir.global internal @check.quiet(0 : i32) {addr_space = 0 : i32} : i32",
        *(text_global(_format_name(finding), _format(finding)) for finding in Finding),
        *(text_global(f"check.{name}", word) for name, word in _VERBS.items()),
    ]


def report_function() -> list[str]:
    """``@check.report``: put a block's finding into words, unless there was one before it."""
    b = Builder()
    flag = b.value(f"llvm.mlir.addressof @check.reported : {POINTER}")
    one = b.const(1, 32)
    before = b.value(f"llvm.atomicrmw xchg {flag}, {one} seq_cst : {POINTER}, i32")
    with when(b, b.icmp("eq", before, b.const(0, 32), "i32")):
        _write_report(b)
    b.line("llvm.return")
    return function(b, "report", [])


def _write_report(b: Builder) -> None:
    count = b.const(1, 32)
    place = b.value(f"llvm.alloca {count} x {POINTER} : (i32) -> {POINTER}")
    length = b.value(f"llvm.alloca {count} x i64 : (i32) -> {POINTER}")
    stream = call_c(b, "open_memstream", [(place, POINTER), (length, POINTER)])
    labels = {finding: b.fresh_label("finding") for finding in Finding}
    written = b.fresh_label("written")
    cases = ", ".join(f"{finding + 1}: ^{label}" for finding, label in labels.items())
    b.line(f"llvm.switch {get(b, CONTEXT, FAILED)} : i32, ^{written} [{cases}]")
    for finding, label in labels.items():
        b.block(label)
        _print(b, stream, finding)
        b.branch(written)
    b.block(written)
    call_c(b, "fclose", [(stream, POINTER)])
    text, size = b.load(place, POINTER, 8), b.load(length, "i64", 8)
    most = b.const(REPORT_BYTES - 1, 64)
    size = b.call_intrinsic("llvm.umin", [size, most], ["i64", "i64"], "i64")
    target = b.value(f"llvm.mlir.addressof @check.report_text : {POINTER}")
    call_c(b, "memcpy", [(target, POINTER), (text, POINTER), (size, "i64")])
    end = b.value(f"llvm.getelementptr {target}[{size}] : ({POINTER}, i64) -> {POINTER}, i8")
    b.store(b.const(0, 8), end, "i8", 1)
    quiet = b.value(f"llvm.mlir.addressof @check.quiet : {POINTER}")
    with when(b, b.icmp("eq", b.load(quiet, "i32", 4), b.const(0, 32), "i32")):
        b.store(b.const(10, 8), end, "i8", 1)
        size = b.binary("add", size, b.const(1, 64), "i64")
        call_c(b, "write", [(b.const(2, 32), "i32"), (target, POINTER), (size, "i64")])
        b.store(b.const(0, 8), end, "i8", 1)
    call_c(b, "free", [(text, POINTER)])


def _print(b: Builder, stream: str, finding: Finding) -> None:
    format_ = b.value(f"llvm.mlir.addressof @{_format_name(finding)} : {POINTER}")
    arguments = [value for name in _PART.findall(_template(finding)) for value in _values(b, name)]
    call_c(b, "fprintf", [(stream, POINTER), (format_, POINTER), *arguments])


def _template(finding: Finding) -> str:
    found, expected, next_step = _TEXTS[finding]
    return f"{found}.{EXPECTED}{expected}.{NEXT_STEP}{next_step}."


def _format_name(finding: Finding) -> str:
    return f"check.format.{finding.name.lower()}"


def _format(finding: Finding) -> str:
    """A finding's text as a format of C."""
    pieces = _PART.split(_template(finding))
    texts = [piece.replace("%", "%%") for piece in pieces]
    texts[1::2] = [_FORMATS[name.rpartition(" ")[2]] for name in pieces[1::2]]
    return "".join(texts)


def _values(b: Builder, name: str) -> list[tuple[str, str]]:
    """The values for a name in braces, with their types."""
    theirs, _, what = name.rpartition(" ")
    thread, site, other = (get(b, CONTEXT, FOUND[name]) for name in ("thread", "site", "other"))
    if theirs:
        thread = b.binary("and", other, b.const(THREAD_BITS, 32), "i32")
        site = b.binary("lshr", other, b.const(SITE_SHIFT, 32), "i32")
    if what == "kernel":
        return [(get(b, CONTEXT, KERNEL), POINTER)]
    if what == "thread":
        return [(axis, "i32") for axis in _coordinates(b, thread)]
    if what == "block":
        start = BLOCK_ID[0]
        return [(get(b, CONTEXT, (start + 4 * axis, "i32")), "i32") for axis in range(3)]
    if what == "place":
        return [(text_at(b, get(b, site_at(b, site), PLACE)), POINTER)]
    if what == "verb":
        return [(_verb(b, site), POINTER)]
    if what in ("object", "assertion"):
        return [(get(b, CONTEXT, FOUND["object"]), POINTER)]
    if what in ("file", "function"):
        number = get(b, CONTEXT, FOUND["offset" if what == "file" else "length"])
        return [(b.cast("inttoptr", number, "i64", POINTER), POINTER)]
    field = {"line": "size", "address": "offset"}.get(what, what)
    return [(get(b, CONTEXT, FOUND[field]), "i64")]


def _coordinates(b: Builder, thread: str) -> tuple[str, str, str]:
    width, height = get(b, CONTEXT, WIDTH), get(b, CONTEXT, HEIGHT)
    row = b.binary("udiv", thread, width, "i32")
    x, y = b.binary("urem", thread, width, "i32"), b.binary("urem", row, height, "i32")
    return x, y, b.binary("udiv", row, height, "i32")


def _verb(b: Builder, site: str) -> str:
    kind = b.binary("and", get(b, site_at(b, site), KIND), b.const(READS | WRITES, 32), "i32")
    words = [b.value(f"llvm.mlir.addressof @check.{name} : {POINTER}") for name in _VERBS]
    writes = b.icmp("eq", kind, b.const(WRITES, 32), "i32")
    updates = b.icmp("eq", kind, b.const(READS | WRITES, 32), "i32")
    return b.select(updates, words[2], b.select(writes, words[1], words[0], POINTER), POINTER)
