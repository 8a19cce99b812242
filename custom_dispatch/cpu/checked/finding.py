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

import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final

from custom_dispatch.cpu.checked.monitor import CONTEXT, MOST_KEPT, Context, Found, Who
from custom_dispatch.cpu.text.builder import POINTER, Builder, Given
from custom_dispatch.cpu.text.control_structures import fold, when
from custom_dispatch.cpu.text.ssa_value import SsaValue

REPORT_BYTES: Final = 8192
"""Room for the findings' texts."""


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
    DROPPED = 15


NOTES = (Finding.SAME_VALUE, Finding.DROPPED)
"""What fails nothing."""


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """What was found, what was expected and the next step (`next_step`), by a finding's name."""
    return tomllib.loads(Path(__file__).with_name("findings.toml").read_text())


def find(b: Builder, finding: Finding, **values: Given) -> None:
    """Note a finding in the block's context: the block ends.

    - `values`: what there is to say, by the names in `Found`: i32 values for who found it where
      (`thread`, `site`), and for the record of another thread's access (`other`); i64 values of the
      access and of what is accessed (`offset`, `size`, `length`); a pointer to its name
      (`object_`).
    """
    Context(b).failed = finding + 1
    _write(b, Context.stopped, values | {"kind": finding})


def stage(b: Builder, finding: Finding, *, saved: Given = 0, **values: Given) -> None:
    """Note a finding after which the block goes on, as `find`.

    There is one of an access, the first; but what may turn out to be a note gives way.

    - `saved`: how many bytes, an i32, are to be compared with what the access will have left there.
    """
    zero = b.const(0, 32)
    pending = Context(b).pending
    free = pending.cmp("eq", zero)
    if finding not in NOTES:
        free = free | pending.cmp("eq", Finding.DROPPED + 1)
        if not saved:
            free = free | Context(b).saved.cmp("ne", zero)
    with when(b, free):
        Context(b).pending = finding + 1
        Context(b).saved = saved or zero
        _write(b, Context.staged, values | {"other": values.get("other", zero)})


def _write(b: Builder, start: int, values: Mapping[str, Given]) -> None:
    for name, value in values.items():
        setattr(Found(b, b.offset(CONTEXT, start)), name, value)


def keep_staged(b: Builder) -> None:
    """Keep what is staged, if anything is: as a note, if it is a write that changed nothing."""
    pending = Context(b).pending
    with when(b, pending.cmp("ne", 0)):
        Context(b).pending = 0
        staged, saved = Found(b, b.offset(CONTEXT, Context.staged)), Context(b).saved
        address = Context(b).address.cast("inttoptr", POINTER)

        def compare(index: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
            before = b.load(b.element(b.offset(CONTEXT, Context.saved_bytes), index, 1), "i8")
            equal = before.cmp("eq", b.load(b.element(address, index, 1), "i8"))
            return [carried[0] & equal]

        (same,) = fold(b, saved, [(saved.cmp("ne", 0), "i1")], compare)
        Context(b).saved = 0
        kind = pending - 1
        kind = same.select(Finding.SAME_VALUE, kind)
        staged.kind = kind
        same = is_note(kind)
        wrong = (~same).resize(32)
        Context(b).wrong = Context(b).wrong | wrong
        count = Context(b).count
        # The last place is for what is more than a note.
        most = same.select(MOST_KEPT - 1, MOST_KEPT)
        key = key_of(staged)
        with new_among(b, key, (count, most), lambda i: key_of(kept_at(b, i))):
            kept = kept_at(b, count)
            for word in range(0, Found.SIZE, 8):
                value = b.load(b.offset(staged.at, word), "i64")
                b.store(value, b.offset(kept.at, word), "i64")
            Context(b).count = count + 1


def is_note(kind: SsaValue) -> SsaValue:
    """Whether a finding of some kind, an i32, fails nothing."""
    same, dropped = (kind.cmp("eq", note) for note in NOTES)
    return same | dropped


def kept_at(b: Builder, index: str) -> Found:
    """One of the findings that the block keeps."""
    return Found(b, b.element(b.offset(CONTEXT, Context.kept), index, Found.SIZE))


@contextmanager
def new_among(
    b: Builder,
    key: SsaValue,
    counts: tuple[SsaValue, SsaValue],
    key_at: Callable[[SsaValue], SsaValue],
) -> Iterator[None]:
    """Code that runs if a key is not among some, and there is room for it.

    - `counts`: how many there are, and how many there may be, i32 values.
    - `key_at`: the key at an index.
    """
    count, most = counts

    def look(index: SsaValue, carried: list[SsaValue]) -> list[SsaValue]:
        return [carried[0] | key_at(index).cmp("eq", key)]

    (known,) = fold(b, count, [(0, "i1")], look)
    with when(b, ~known & count.cmp("ult", most)):
        yield


def key_of(found: Found) -> SsaValue:
    """What a finding has in common with the same one of other threads, as an i64."""
    site = found.site.resize(64)
    other = (found.other >> Who.SITE_SHIFT).resize(64)
    low, high = site.call("umin", other), site.call("umax", other)
    return found.kind.resize(64) | low << 8 | high << 36
