"""Keys: a digest in which every part can be told from its neighbours.

Each part goes in with its type and its length before it, so that ("ab", "c") and ("a", "bc"), or
1 and "1", are different keys.
"""

from __future__ import annotations

import dataclasses
import struct
from collections.abc import Mapping
from functools import cache
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
    pieces: list[bytes] = []
    _encode(("custom-dispatch", FORMAT_VERSION, kind, *parts), pieces)
    return sha256(b"".join(pieces)).digest()


def _encode(value: object, into: list[bytes]) -> None:
    match value:
        case str():
            # A path may hold bytes that are no text; Python keeps them as surrogates.
            _put(b"s", value.encode("utf-8", "surrogateescape"), into)
        case bytes() | bytearray():
            _put(b"b", bytes(value), into)
        case None | bool() | int() | float():
            _put(b"n", repr(value).encode(), into)
        case Path():
            _put(b"p", str(value).encode("utf-8", "surrogateescape"), into)
        case tuple() | list():
            into.append(_HEAD.pack(b"t", len(value)))
            for item in value:
                _encode(item, into)
        case Mapping():
            into.append(_HEAD.pack(b"m", len(value)))
            into += sorted(map(_encode_pair, value.items()))
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            name, fields = _fields(type(value))
            into.append(name)
            for field in fields:
                _encode(getattr(value, field), into)
        case _:
            raise TypeError(f"{type(value).__name__} cannot be part of a key")


def _put(kind: bytes, content: bytes, into: list[bytes]) -> None:
    into.append(_HEAD.pack(kind, len(content)))
    into.append(content)


def _encode_pair(pair: tuple[object, object]) -> bytes:
    pieces: list[bytes] = []
    for part in pair:
        _encode(part, pieces)
    return b"".join(pieces)


@cache
def _fields(kind: type) -> tuple[bytes, tuple[str, ...]]:
    """A dataclass' name with those of its fields, encoded, and the latter."""
    fields = tuple(
        field.name for field in dataclasses.fields(kind) if not field.metadata.get(_NOT_IN_KEYS)
    )
    head = [_HEAD.pack(b"d", len(fields))]
    for name in (f"{kind.__module__}.{kind.__qualname__}", *fields):
        _put(b"s", name.encode(), head)
    return b"".join(head), fields
