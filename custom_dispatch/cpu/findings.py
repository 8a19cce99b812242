"""What checked mode finds, in words.

Findings are put into words by the compiled code itself, so that stock tools show them too: they go
to standard error, unless somebody has asked for them (`findings_entry`), and the dispatch fails if
one is more than a note. A text has the form of this package's errors: what was found, what was
expected, the next step.

A block ends with a finding after which its memory cannot be relied on. After the others it goes on:
they are staged, and kept when the access that they are of has been made. Then it is known, too,
whether a write has changed anything. Each is told once, whatever the threads and blocks that it is
found in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from custom_dispatch.cpu.builder import POINTER, Builder
from custom_dispatch.cpu.c_library import call_c
from custom_dispatch.cpu.monitor import (
    ADDRESS,
    BLOCK_ID,
    CONTEXT,
    COUNT,
    FAILED,
    FOUND,
    FOUND_BYTES,
    HEIGHT,
    KEPT,
    KERNEL,
    KIND,
    MOST_KEPT,
    PENDING,
    PLACE,
    READS,
    SAVED,
    SAVED_BYTES,
    SITE_SHIFT,
    STAGED,
    STOPPED,
    THREAD_BITS,
    WIDTH,
    WRITES,
    WRONG,
    element,
    function,
    get,
    put,
    site_at,
    text_at,
    text_global,
)
from custom_dispatch.cpu.structure import fold, loop, when

REPORT_BYTES: Final = 8192
"""Room for the findings' texts."""
MARK: Final = "\x1e"
"""What begins each."""
NOTE: Final = "note: "
"""What begins the text of one that is no error."""
_MOST_TOLD, _MOST_NOTES = 24, 8
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
    ABSENT = 13
    SAME_VALUE = 14


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
    Finding.ABSENT: (
        "kernel `{kernel}`: the mask of thread {thread} at {place} names lane {lane} of its warp, "
        "which has ended or was never there, block {block}",
        "a mask of lanes that execute the instruction: another lane's value is undefined on a GPU",
        "launch blocks of whole warps, and let all lanes of the mask come there",
    ),
    Finding.SAME_VALUE: (
        f"{NOTE}kernel `{{kernel}}`: two threads write one value to byte {{offset}} of {{object}}: "
        "thread {thread} at {place}, and thread {other thread} at {other place}, in no order, "
        "block {block}",
        "one thread that writes it",
        "let one thread write it, such as lane 0; results do not depend on it",
    ),
}

_PART = re.compile(r"\{([a-z ]+)\}")
_VERBS: Final = {"reads": "reads", "writes": "writes", "updates": "atomically updates"}
_TEXT, _NUMBER, _AXES = "%s", "%lld", "(%u, %u, %u)"
_FORMATS: Final = {
    **dict.fromkeys(("kernel", "place", "verb", "object"), _TEXT),
    **dict.fromkeys(("assertion", "file", "function"), _TEXT),
    **dict.fromkeys(("offset", "size", "length", "line", "lane"), _NUMBER),
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
    """Note a finding in the block's context: the block ends.

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
    values |= {"length": length, "other": other, "kind": b.const(finding, 32)}
    _write(b, STOPPED, values)


def stage(b: Builder, finding: Finding, *, saved: str = "", **values: str) -> None:
    """Note a finding after which the block goes on, as `find`.

    There is one of an access, the first; but what may turn out to be a note gives way.

    Parameters
    ----------
    saved
        How many bytes, an i32, are to be compared with what the access will have left there.
    """
    zero = b.const(0, 32)
    free = b.icmp("eq", get(b, CONTEXT, PENDING), zero, "i32")
    if not saved:
        free = b.binary("or", free, b.icmp("ne", get(b, CONTEXT, SAVED), zero, "i32"), "i1")
    with when(b, free):
        put(b, CONTEXT, PENDING, b.const(finding + 1, 32))
        put(b, CONTEXT, SAVED, saved or zero)
        _write(b, STAGED, {"other": zero} | {k: v for k, v in values.items() if v})


def _write(b: Builder, start: int, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if value:
            put(b, b.offset(CONTEXT, start), FOUND[name], value)


def keep_staged(b: Builder) -> None:
    """Keep what is staged, if anything is: as a note, if it is a write that changed nothing."""
    zero, one = b.const(0, 32), b.const(1, 32)
    pending = get(b, CONTEXT, PENDING)
    with when(b, b.icmp("ne", pending, zero, "i32")):
        put(b, CONTEXT, PENDING, zero)
        staged, saved = b.offset(CONTEXT, STAGED), get(b, CONTEXT, SAVED)
        address = b.cast("inttoptr", get(b, CONTEXT, ADDRESS), "i64", POINTER)

        def compare(index: str, carried: list[str]) -> list[str]:
            before = b.load(element(b, b.offset(CONTEXT, SAVED_BYTES), index, 1), "i8", 1)
            equal = b.icmp("eq", before, b.load(element(b, address, index, 1), "i8", 1), "i8")
            return [b.binary("and", carried[0], equal, "i1")]

        (same,) = fold(b, saved, [(b.icmp("ne", saved, zero, "i32"), "i1")], compare)
        put(b, CONTEXT, SAVED, zero)
        kind = b.binary("sub", pending, one, "i32")
        kind = b.select(same, b.const(Finding.SAME_VALUE, 32), kind, "i32")
        put(b, staged, FOUND["kind"], kind)
        wrong = b.resize(b.binary("xor", same, b.const(1, 1), "i1"), 1, 32)
        put(b, CONTEXT, WRONG, b.binary("or", get(b, CONTEXT, WRONG), wrong, "i32"))
        key, count = _key(b, staged), get(b, CONTEXT, COUNT)

        def look(index: str, carried: list[str]) -> list[str]:
            kept = element(b, b.offset(CONTEXT, KEPT), index, FOUND_BYTES)
            equal = b.icmp("eq", _key(b, kept), key, "i64")
            return [b.binary("or", carried[0], equal, "i1")]

        (known,) = fold(b, count, [(b.const(0, 1), "i1")], look)
        # The last place is for what is more than a note.
        most = b.select(same, b.const(MOST_KEPT - 1, 32), b.const(MOST_KEPT, 32), "i32")
        room = b.icmp("ult", count, most, "i32")
        new = b.binary("xor", known, b.const(1, 1), "i1")
        with when(b, b.binary("and", new, room, "i1")):
            kept = element(b, b.offset(CONTEXT, KEPT), count, FOUND_BYTES)
            for word in range(0, FOUND_BYTES, 8):
                put(b, kept, (word, "i64"), get(b, staged, (word, "i64")))
            put(b, CONTEXT, COUNT, b.binary("add", count, one, "i32"))


def _key(b: Builder, found: str) -> str:
    """What a finding has in common with the same one of other threads, as an i64."""
    site = b.resize(get(b, found, FOUND["site"]), 32, 64)
    other = b.binary("lshr", get(b, found, FOUND["other"]), b.const(SITE_SHIFT, 32), "i32")
    other = b.resize(other, 32, 64)
    low, high = (
        b.call_intrinsic(f"llvm.u{end}", [site, other], ["i64"] * 2, "i64")
        for end in ("min", "max")
    )
    key = b.resize(get(b, found, FOUND["kind"]), 32, 64)
    for part, start in ((low, 8), (high, 36)):
        key = b.binary("or", key, b.binary("shl", part, b.const(start, 64), "i64"), "i64")
    return key


def report_globals() -> list[str]:
    """The texts of what was found since the last time that somebody asked, and what they are made
    of.
    """
    return [
        *_memory("report_text", f"!llvm.array<{REPORT_BYTES} x i8>"),
        *_memory("told", f"!llvm.array<{_MOST_TOLD} x i64>"),
        *(
            f"  llvm.mlir.global internal @check.{name}(0 : i32) {{addr_space = 0 : i32}} : i32"
            for name in ("lock", "told_count", "report_size", "quiet")
        ),
        *(text_global(_format_name(finding), _format(finding)) for finding in Finding),
        *(text_global(f"check.{name}", word) for name, word in _VERBS.items()),
    ]


def _memory(name: str, kind: str) -> list[str]:
    return [
        f"  llvm.mlir.global internal @check.{name}() {{addr_space = 0 : i32}} : {kind} {{",
        f"    %0 = llvm.mlir.zero : {kind}",
        f"    llvm.return %0 : {kind}",
        "  }",
    ]


def report_function() -> list[str]:
    """``@check.report``: put what a block has found into words, where no block did so before."""
    b = Builder()
    zero, lock = b.const(0, 32), _global(b, "lock")
    b.branch("wait")
    b.block("wait")
    before = b.value(f"llvm.atomicrmw xchg {lock}, {b.const(1, 32)} seq_cst : {POINTER}, i32")
    b.cond_branch(b.icmp("eq", before, b.const(0, 32), "i32"), "alone", "wait")
    b.block("alone")
    failed = b.resize(b.icmp("ne", get(b, CONTEXT, FAILED), zero, "i32"), 1, 32)
    count = get(b, CONTEXT, COUNT)
    with loop(b, b.binary("add", count, failed, "i32")) as index:
        kept = element(b, b.offset(CONTEXT, KEPT), index, FOUND_BYTES)
        is_kept = b.icmp("ult", index, count, "i32")
        found = b.select(is_kept, kept, b.offset(CONTEXT, STOPPED), POINTER)
        _tell(b, found)
    b.value(f"llvm.atomicrmw xchg {lock}, {zero} seq_cst : {POINTER}, i32")
    b.line("llvm.return")
    return function(b, "report", [])


def _global(b: Builder, name: str) -> str:
    return b.value(f"llvm.mlir.addressof @check.{name} : {POINTER}")


def _tell(b: Builder, found: str) -> None:
    """Put a finding into words, unless that was done, or there was too much of it."""
    key, told, place = _key(b, found), _global(b, "told"), _global(b, "told_count")
    count = b.load(place, "i32", 4)

    def look(index: str, carried: list[str]) -> list[str]:
        equal = b.icmp("eq", b.load(element(b, told, index, 8), "i64", 8), key, "i64")
        return [b.binary("or", carried[0], equal, "i1")]

    (known,) = fold(b, count, [(b.const(0, 1), "i1")], look)
    is_note = b.icmp("eq", get(b, found, FOUND["kind"]), b.const(Finding.SAME_VALUE, 32), "i32")
    most = b.select(is_note, b.const(_MOST_NOTES, 32), b.const(_MOST_TOLD, 32), "i32")
    new = b.binary("xor", known, b.const(1, 1), "i1")
    with when(b, b.binary("and", new, b.icmp("ult", count, most, "i32"), "i1")):
        b.store(key, element(b, told, count, 8), "i64", 8)
        b.store(b.binary("add", count, b.const(1, 32), "i32"), place, "i32", 4)
        _write_report(b, found)


def _write_report(b: Builder, found: str) -> None:
    count = b.const(1, 32)
    place = b.value(f"llvm.alloca {count} x {POINTER} : (i32) -> {POINTER}")
    length = b.value(f"llvm.alloca {count} x i64 : (i32) -> {POINTER}")
    stream = call_c(b, "open_memstream", [(place, POINTER), (length, POINTER)])
    labels = {finding: b.fresh_label("finding") for finding in Finding}
    written = b.fresh_label("written")
    cases = ", ".join(f"{finding.value}: ^{label}" for finding, label in labels.items())
    b.line(f"llvm.switch {get(b, found, FOUND['kind'])} : i32, ^{written} [{cases}]")
    for finding, label in labels.items():
        b.block(label)
        _print(b, stream, finding, found)
        b.branch(written)
    b.block(written)
    call_c(b, "fclose", [(stream, POINTER)])
    text, size = b.load(place, POINTER, 8), b.load(length, "i64", 8)
    quiet = _global(b, "quiet")
    with when(b, b.icmp("eq", b.load(quiet, "i32", 4), b.const(0, 32), "i32")):
        end = b.value(f"llvm.getelementptr {text}[{size}] : ({POINTER}, i64) -> {POINTER}, i8")
        b.store(b.const(10, 8), end, "i8", 1)  # in place of the zero
        whole = b.binary("add", size, b.const(1, 64), "i64")
        call_c(b, "write", [(b.const(2, 32), "i32"), (text, POINTER), (whole, "i64")])
    used = b.resize(b.load(_global(b, "report_size"), "i32", 4), 32, 64)
    room = b.binary("sub", b.const(REPORT_BYTES - 2, 64), used, "i64")
    size = b.call_intrinsic("llvm.umin", [size, room], ["i64", "i64"], "i64")
    target = b.offset(_global(b, "report_text"), used)
    b.store(b.const(ord(MARK), 8), target, "i8", 1)
    call_c(b, "memcpy", [(b.offset(target, 1), POINTER), (text, POINTER), (size, "i64")])
    used = b.binary("add", used, b.binary("add", size, b.const(1, 64), "i64"), "i64")
    b.store(b.const(0, 8), b.offset(_global(b, "report_text"), used), "i8", 1)
    most = b.const(REPORT_BYTES - 2, 64)
    used = b.call_intrinsic("llvm.umin", [used, most], ["i64", "i64"], "i64")
    b.store(b.resize(used, 64, 32), _global(b, "report_size"), "i32", 4)
    call_c(b, "free", [(text, POINTER)])


def _print(b: Builder, stream: str, finding: Finding, found: str) -> None:
    format_ = b.value(f"llvm.mlir.addressof @{_format_name(finding)} : {POINTER}")
    names = _PART.findall(_template(finding))
    arguments = [value for name in names for value in _values(b, name, found)]
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


def _values(b: Builder, name: str, found: str) -> list[tuple[str, str]]:
    """The values for a name in braces, with their types."""
    theirs, _, what = name.rpartition(" ")
    thread, site, other = (get(b, found, FOUND[name]) for name in ("thread", "site", "other"))
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
        return [(get(b, found, FOUND["object"]), POINTER)]
    if what in ("file", "function"):
        number = get(b, found, FOUND["offset" if what == "file" else "length"])
        return [(b.cast("inttoptr", number, "i64", POINTER), POINTER)]
    field = {"line": "size", "address": "offset", "lane": "offset"}.get(what, what)
    return [(get(b, found, FOUND[field]), "i64")]


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
