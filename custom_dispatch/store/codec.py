"""Dataclasses as bytes and back, by the types of their fields.

The form is plain: JSON that refers to a table of byte strings behind it. A dataclass is the mapping
of its fields, and the declared types say how each is read, so a new field needs nothing here.
Reading executes nothing, which pickle would.
"""

from __future__ import annotations

import dataclasses
import json
import struct
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union

T = TypeVar("T")

_HEAD = struct.Struct("<I")


def to_bytes(value: object) -> bytes:
    """A value of plain parts (see `key_of`) as bytes.

    Raises
    ------
    TypeError
        A part is none of those that can be read back.
    """
    blobs: list[bytes] = []
    tree = _to_tree(value, blobs)
    text = json.dumps([[len(blob) for blob in blobs], tree], separators=(",", ":")).encode()
    return b"".join((_HEAD.pack(len(text)), text, *blobs))


def from_bytes(kind: type[T], data: bytes) -> T:
    """The value that `to_bytes` wrote.

    Raises
    ------
    ValueError
        The bytes are not those of a value of that type.
    """
    try:
        (size,) = _HEAD.unpack_from(data)
        sizes, tree = json.loads(data[_HEAD.size : _HEAD.size + size])
        blobs, offset = [], _HEAD.size + size
        for length in sizes:
            if type(length) is not int or length < 0:
                raise ValueError("a size is no number")
            blobs.append(data[offset : offset + length])
            offset += length
        if offset != len(data):
            raise ValueError("the byte strings are cut short")
        value: T = _from_tree(kind, tree, blobs)
        return value
    except Exception as problem:
        # Whatever a constructor says to parts that were never written: it is no such value.
        raise ValueError(f"not a {kind.__name__}: {problem}") from problem


def _to_tree(value: object, blobs: list[bytes]) -> object:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            blobs.append(value)
            return len(blobs) - 1
        case Path():
            return str(value)
        case tuple():
            return [_to_tree(item, blobs) for item in value]
        case Mapping():
            return [[_to_tree(k, blobs), _to_tree(v, blobs)] for k, v in value.items()]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {
                field.name: _to_tree(getattr(value, field.name), blobs)
                for field in dataclasses.fields(value)
                if field.init
            }
    raise TypeError(f"{type(value).__name__} cannot be kept")


def _from_tree(kind: Any, tree: Any, blobs: list[bytes]) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional(arguments, tree, blobs)
    if origin is tuple:
        return _tuple(arguments, tree, blobs)
    if origin is not None and issubclass(origin, Mapping):
        pairs = [_tuple(arguments, pair, blobs) for pair in tree]
        return dict(pairs)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        hints = _hints(kind)
        if not isinstance(tree, dict) or tree.keys() != hints.keys():
            raise ValueError("other fields")
        return kind(**{name: _from_tree(hints[name], tree[name], blobs) for name in hints})
    if kind is bytes:
        if type(tree) is not int or tree < 0:
            raise ValueError("no byte string")
        return blobs[tree]
    if kind is Path:
        return Path(_exactly(str, tree))
    if kind in (str, int, bool, float, type(None)):
        return _exactly(kind, tree)
    raise ValueError(f"{kind} cannot be read")


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value


def _optional(arguments: tuple[Any, ...], tree: Any, blobs: list[bytes]) -> Any:
    if tree is None:
        return _from_tree(type(None), tree, blobs) if type(None) in arguments else _exactly(str, 0)
    (kind,) = (argument for argument in arguments if argument is not type(None))
    return _from_tree(kind, tree, blobs)


def _tuple(arguments: tuple[Any, ...], tree: Any, blobs: list[bytes]) -> tuple[Any, ...]:
    if not isinstance(tree, list):
        raise ValueError("no sequence")
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_from_tree(arguments[0], item, blobs) for item in tree)
    if len(tree) != len(arguments):
        raise ValueError("another number of parts")
    return tuple(_from_tree(kind, item, blobs) for kind, item in zip(arguments, tree, strict=True))


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind) if field.init}
