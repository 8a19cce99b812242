"""The words of what checked mode has found: written by the compiled code itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from custom_dispatch.cpu.checked.finding import (
    REPORT_BYTES,
    Finding,
    is_note,
    kept_at,
    key_of,
    new_among,
    texts,
)
from custom_dispatch.cpu.checked.monitor import (
    CONTEXT,
    Context,
    Found,
    Site,
    Who,
    site_at,
    text_at,
    text_global,
)
from custom_dispatch.cpu.text.builder import POINTER, Builder
from custom_dispatch.cpu.text.c_library import call_c
from custom_dispatch.cpu.text.control_structures import loop, when
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.dispatch_function import BINDING_POINTERS, declare_entry
from custom_dispatch.format.keys import EXPECTED, MARK, NEXT_STEP

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


def report(b: Builder) -> None:
    """``@check.report``: put what a block has found into words, where no block did so before."""
    zero, lock = b.const(0, 32), _global(b, "lock")
    b.branch("wait")
    b.block("wait")
    before = b.value(f"llvm.atomicrmw xchg {lock}, {b.const(1, 32)} seq_cst : {POINTER}, i32")
    b.cond_branch(b.compare("eq", before, 0), "alone", "wait")
    b.block("alone")
    failed = Context(b).failed.cmp("ne", zero).resize(32)
    count = Context(b).count
    with loop(b, count + failed) as index:
        is_kept = index.cmp("ult", count)
        kept = kept_at(b, index).at
        _tell(b, Found(b, is_kept.select(kept, b.offset(CONTEXT, Context.stopped), POINTER)))
    b.value(f"llvm.atomicrmw xchg {lock}, {zero} seq_cst : {POINTER}, i32")


def _global(b: Builder, name: str) -> SsaValue:
    return b.address_of(f"check.{name}")


def _tell(b: Builder, found: Found) -> None:
    """Put a finding into words, unless that was done, or there was too much of it."""
    key, told, place = key_of(found), _global(b, "told"), _global(b, "told_count")
    count = b.load(place)
    most = is_note(found.kind).select(_MOST_NOTES, _MOST_TOLD)
    with new_among(b, key, (count, most), lambda i: b.load(b.element(told, i, 8), "i64")):
        b.store(key, b.element(told, count, 8), "i64")
        b.store(count + 1, place)
        _write_report(b, found)


def _write_report(b: Builder, found: Found) -> None:
    place, length = b.alloca(POINTER, "i64")
    stream = call_c(b, "open_memstream", place, length)
    labels = {finding: b.fresh_label("finding") for finding in Finding}
    written = b.fresh_label("written")
    cases = ", ".join(f"{finding.value}: ^{label}" for finding, label in labels.items())
    b.line(f"llvm.switch {found.kind} : i32, ^{written} [{cases}]")
    for finding, label in labels.items():
        b.block(label)
        _print(b, stream, finding, found)
        b.branch(written)
    b.block(written)
    call_c(b, "fclose", stream)
    text, size = b.load(place, POINTER), b.load(length, "i64")
    quiet = _global(b, "quiet")
    with when(b, b.load(quiet).cmp("eq", 0)):
        b.store(10, b.offset(text, size), "i8")  # in place of the zero
        call_c(b, "write", 2, text, size + 1)
    used = b.load(_global(b, "report_size")).resize(64)
    size = size.call("umin", REPORT_BYTES - 2 - used)
    target = b.offset(_global(b, "report_text"), used)
    b.store(ord(MARK), target, "i8")
    call_c(b, "memcpy", b.offset(target, 1), text, size)
    used = used + (size + 1)
    b.store(0, b.offset(_global(b, "report_text"), used), "i8")
    used = used.call("umin", REPORT_BYTES - 2)
    b.store(used.resize(32), _global(b, "report_size"))
    call_c(b, "free", text)


def _print(b: Builder, stream: str, finding: Finding, found: Found) -> None:
    format_ = b.address_of(_format_name(finding))
    names = _PART.findall(_template(finding))
    arguments = [value for name in names for value in _values(b, name, found)]
    call_c(b, "fprintf", stream, format_, *arguments)


def _template(finding: Finding) -> str:
    of = texts()[finding.name]
    return f"{of['found']}.{EXPECTED}{of['expected']}.{NEXT_STEP}{of['next_step']}."


def _format_name(finding: Finding) -> str:
    return f"check.format.{finding.name.lower()}"


def _format(finding: Finding) -> str:
    """A finding's text as a format of C."""
    pieces = _PART.split(_template(finding))
    texts = [piece.replace("%", "%%") for piece in pieces]
    texts[1::2] = [_FORMATS[name.rpartition(" ")[2]] for name in pieces[1::2]]
    return "".join(texts)


def _values(b: Builder, name: str, found: Found) -> Sequence[SsaValue]:
    """The values for a name in braces."""
    theirs, _, what = name.rpartition(" ")
    thread, site, other = found.thread, found.site, found.other
    if theirs:
        thread, site = other & Who.THREAD_BITS, other >> Who.SITE_SHIFT
    if what == "kernel":
        return [Context(b).kernel]
    if what == "thread":
        return _coordinates(b, thread)
    if what == "block":
        places = (b.offset(CONTEXT, Context.block + 4 * axis) for axis in range(3))
        return [b.load(place) for place in places]
    if what == "place":
        return [text_at(b, site_at(b, site).place)]
    if what == "verb":
        return [_verb(b, site)]
    if what in ("object", "assertion"):
        return [found.object_]
    if what in ("file", "function"):
        number = found.offset if what == "file" else found.length
        return [number.cast("inttoptr", POINTER)]
    field = {"line": "size", "address": "offset", "lane": "offset"}.get(what, what)
    return [getattr(found, field)]


def _coordinates(b: Builder, thread: SsaValue) -> tuple[SsaValue, SsaValue, SsaValue]:
    width, height = Context(b).width, Context(b).height
    row = thread // width
    return thread % width, row % height, row // height


def _verb(b: Builder, site: str) -> SsaValue:
    kind = site_at(b, site).kind & (Site.READS | Site.WRITES)
    words = [b.address_of(f"check.{name}") for name in _VERBS]
    writes, updates = kind.cmp("eq", Site.WRITES), kind.cmp("eq", Site.READS | Site.WRITES)
    return updates.select(words[2], writes.select(words[1], words[0]))


FINDINGS_ENTRY: Final = "custom_dispatch_findings"
"""Its symbol; it has one binding of `REPORT_BYTES` bytes, and is run as one workgroup."""


def findings_entry() -> list[str]:
    """The lines of a dispatch function that writes what was found since it last ran, as texts
    with a mark before each and a zero behind the last. From then on findings are not written to
    standard error any more: whoever runs it once takes care of them.
    """
    b = Builder()
    bindings = b.load(b.offset("%dispatch", BINDING_POINTERS), POINTER)
    target = b.load(bindings, POINTER)
    text, told, used, quiet = (
        b.address_of(f"check.{name}")
        for name in ("report_text", "told_count", "report_size", "quiet")
    )
    size = b.const(REPORT_BYTES, 64)
    call_c(b, "memcpy", target, text, size)
    b.store(0, text, "i8")
    b.store(0, told)
    b.store(0, used)
    b.store(1, quiet)
    b.return_(0, "i32")
    return declare_entry(FINDINGS_ENTRY, b)
