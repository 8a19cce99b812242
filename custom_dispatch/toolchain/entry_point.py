"""An entry of an object: which symbol a declared name became, and what the compiler says of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CField:
    """A field of a struct, as the C++ compiler lays it out."""

    name: str
    offset_bytes: int
    dtype: str
    """As that of a parameter; of an array that of its elements."""
    size_bytes: int
    """Of all elements of an array."""
    is_class: bool
    """Whether it is a class, or an array of such."""


@dataclass(frozen=True, slots=True)
class CParameter:
    """A parameter of a `__global__` function, as the C++ compiler sees it."""

    form: str
    """"value", "pointer" or "reference"."""
    is_const: bool
    """Whether a pointer or reference is to something constant."""
    dtype: str
    """The element type's name ("f32") of the value, or of what it points to; of a vector type such
    as `float4` that of its parts. Empty for everything else: void, classes, pointers."""
    size_bytes: int
    """Of the value, or of what it points to; 0 for void."""
    is_class: bool
    """Whether that is a class or struct; vector types, __half and the like are, too."""
    fields: tuple[CField, ...] = ()
    """Of a struct by value the fields that were asked for and that it has by that name."""


@dataclass(frozen=True, slots=True)
class CSignature:
    """The type of a `__global__` function."""

    text: str
    """As C++ writes it: "void (const float *, float *, int)"; empty before C++14."""
    parameters: tuple[CParameter, ...]


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """A declared entry and what it is in an object."""

    name: str
    """As declared: "rms_norm<float, 256>"."""
    symbol: str
    """The object's name for it: "_Z8rms_normIfLi256EEvPKT_PS0_i"."""
    signature: CSignature | None = None
    """None where no compiler was asked, or it could not say."""
    parameters: tuple[str, ...] = ()
    """Those that IREE passes, by name, where the entry was rewritten to take them."""


_IS = re.compile(rb"^// custom-dispatch: (.+) is ([\w$%]+)$", re.MULTILINE | re.ASCII)
_TAKES = re.compile(
    rb"^// custom-dispatch: ([\w$%]+) takes ([\w$%]+(?: [\w$%]+)*)$", re.MULTILINE | re.ASCII
)
_BEHIND = re.compile(rb"\n(?:// custom-dispatch: [^\n]*\n)+\Z")


def write_notes(entries: Sequence[EntryPoint], *, is_ptx: bool) -> bytes:
    """Remarks to stand behind an object in its file; none where there is nothing to tell.

    They are the symbols of entries that have others than their names: demangled symbols do not have
    a declaration's aliases. And for machine code, which has no names of parameters, what entries
    take that were rewritten. What loads machine code reads as far as its headers say.
    """
    lines = [
        f"// custom-dispatch: {entry.name} is {entry.symbol}\n"
        for entry in entries
        if entry.name != entry.symbol
    ]
    if not is_ptx:
        lines += (
            f"// custom-dispatch: {entry.symbol} takes {' '.join(entry.parameters)}\n"
            for entry in entries
            if entry.parameters
        )
    return "".join(lines).encode()


def read_notes(data: bytes) -> tuple[EntryPoint, ...]:
    """The entries that remarks in PTX, or behind machine code, tell of."""
    takes = {m[1].decode(): tuple(m[2].decode().split()) for m in _TAKES.finditer(data)}
    found = [
        EntryPoint(m[1].decode("utf-8", "replace"), symbol, None, takes.get(symbol, ()))
        for m in _IS.finditer(data)
        for symbol in (m[2].decode(),)
    ]
    named = {entry.symbol for entry in found}
    found += (EntryPoint(s, s, None, takes[s]) for s in takes if s not in named)
    return tuple(found)


def split_notes(image: bytes) -> tuple[bytes, bytes]:
    """Machine code as a compiler wrote it, and the remarks behind it."""
    match = _BEHIND.search(image)
    return (image, b"") if match is None else (image[: match.start()], match[0])
