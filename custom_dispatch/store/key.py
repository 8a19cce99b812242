"""Keys: a digest in which every part can be told from its neighbours.

Each part goes in with its type and its length before it, so that ("ab", "c") and ("a", "bc"), or
1 and "1", are different keys.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path

FORMAT_VERSION = 1
"""Part of every key and of every entry; changed when either is to be read differently."""

_HEAD = struct.Struct("<cQ")
# A digest of derived or irrelevant parts would only make keys differ that need not.
_NOT_IN_KEYS = "not_in_keys"


def key_of(kind: str, *parts: object) -> bytes:
    """The key of a result: SHA-256 over its kind and everything that can change it.

    Parameters
    ----------
    kind
        What was made: "compile", "module". Results of different kinds never share a key.
    parts
        None, numbers, texts, bytes, paths, sequences, mappings and dataclasses of such. Of a
        dataclass every field counts, except those whose metadata says `not_in_keys`.

    Raises
    ------
    TypeError
        A part has no fixed form: a function, an open file.
    """
    digest = sha256()
    for piece in _encode(("custom-dispatch", FORMAT_VERSION, kind, *parts)):
        digest.update(piece)
    return digest.digest()


def _encode(value: object) -> Iterator[bytes]:
    match value:
        case None | bool() | int() | float():
            yield from _sized(b"n", repr(value).encode())
        case str():
            # A path may hold bytes that are no text; Python keeps them as surrogates.
            yield from _sized(b"s", value.encode("utf-8", "surrogateescape"))
        case bytes() | bytearray():
            yield from _sized(b"b", bytes(value))
        case Path():
            yield from _sized(b"p", str(value).encode("utf-8", "surrogateescape"))
        case tuple() | list():
            yield _HEAD.pack(b"t", len(value))
            for item in value:
                yield from _encode(item)
        case Mapping():
            pairs = sorted((b"".join(_encode(k)), b"".join(_encode(v))) for k, v in value.items())
            yield _HEAD.pack(b"m", len(pairs))
            for pair in pairs:
                yield from pair
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [f for f in dataclasses.fields(value) if not f.metadata.get(_NOT_IN_KEYS)]
            yield _HEAD.pack(b"d", len(fields))
            yield from _encode(f"{type(value).__module__}.{type(value).__qualname__}")
            for field in fields:
                yield from _encode(field.name)
                yield from _encode(getattr(value, field.name))
        case _:
            raise TypeError(f"{type(value).__name__} cannot be part of a key")


def _sized(kind: bytes, content: bytes) -> Iterator[bytes]:
    yield _HEAD.pack(kind, len(content))
    yield content
