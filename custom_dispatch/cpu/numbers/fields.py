"""The parts of a word that have as many bits each, lowest first."""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.cpu.text.builder import Builder, int_type


def split(b: Builder, word: str, bits: int, of: int = 32) -> list[str]:
    """The parts, as integers of so many bits, of an integer of another width."""
    starts = range(bits, of, bits)
    parts = [word, *(b.binary("lshr", word, start, int_type(of)) for start in starts)]
    return [b.resize(part, of, bits) for part in parts]


def join(b: Builder, parts: Sequence[str], bits: int, of: int = 32) -> str:
    """The integer of another width that has these parts, integers of so many bits."""
    word = ""
    for index, part in enumerate(parts):
        wide = b.resize(part, bits, of)
        if index:
            wide = b.binary("shl", wide, index * bits, int_type(of))
        word = b.binary("or", word, wide, int_type(of)) if word else wide
    return word
