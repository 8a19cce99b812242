"""Small changes of a PTX module's text."""

from collections.abc import Iterable

from custom_dispatch.errors import PtxError
from custom_dispatch.ptx.module import Entry, Span

Edit = tuple[Span, str]
"""A place in the text, and what comes there."""


def limit_registers(entry: Entry, registers: int) -> list[Edit]:
    """What is to be inserted for an entry to use no more registers than that."""
    if entry.max_registers == registers:
        return []
    if entry.max_registers is not None:
        raise PtxError(
            f"Its entry states .maxnreg {entry.max_registers}, and max_registers={registers} is "
            "declared.",
            expected="one limit",
            next_step="leave max_registers out, or __maxnreg__ in the source.",
        )
    brace = entry.body_span.start - 1
    return [(Span(brace, brace), f".maxnreg {registers}\n")]


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """The text with every edit made; none overlaps another."""
    pieces: list[str] = []
    end = 0
    for span, new in sorted(edits, key=lambda edit: edit[0].start):
        pieces += (text[end : span.start], new)
        end = span.end
    return "".join([*pieces, text[end:]])
