"""The words of what checked mode has found: written by the compiled code itself."""

from __future__ import annotations

import re
from typing import Final

from custom_dispatch.cpu.checked.findings import (
    REPORT_BYTES,
    TEXTS,
    Finding,
    is_note,
    kept_at,
    key_of,
    new_among,
)
from custom_dispatch.cpu.checked.monitor import (
    BLOCK_ID,
    CONTEXT,
    COUNT,
    FAILED,
    FOUND,
    HEIGHT,
    KERNEL,
    KIND,
    PLACE,
    READS,
    SITE_SHIFT,
    STOPPED,
    THREAD_BITS,
    WIDTH,
    WRITES,
    element,
    function,
    get,
    site_at,
    text_at,
    text_global,
)
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.structure import loop, when
from custom_dispatch.format.failure import EXPECTED, MARK, NEXT_STEP

_MOST_TOLD, _MOST_NOTES = 24, 8
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
        is_kept = b.icmp("ult", index, count, "i32")
        found = b.select(is_kept, kept_at(b, index), b.offset(CONTEXT, STOPPED), POINTER)
        _tell(b, found)
    b.value(f"llvm.atomicrmw xchg {lock}, {zero} seq_cst : {POINTER}, i32")
    b.line("llvm.return")
    return function(b, "report", [])


def _global(b: Builder, name: str) -> str:
    return b.value(f"llvm.mlir.addressof @check.{name} : {POINTER}")


def _tell(b: Builder, found: str) -> None:
    """Put a finding into words, unless that was done, or there was too much of it."""
    key, told, place = key_of(b, found), _global(b, "told"), _global(b, "told_count")
    count = b.load(place, "i32", 4)
    most = b.select(
        is_note(b, get(b, found, FOUND["kind"])),
        b.const(_MOST_NOTES, 32),
        b.const(_MOST_TOLD, 32),
        "i32",
    )
    with new_among(b, key, (count, most), lambda i: b.load(element(b, told, i, 8), "i64", 8)):
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
    found, expected, next_step = TEXTS[finding]
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
        return [(get(b, found, FOUND["object_"]), POINTER)]
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
