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
from collections.abc import Callable, Mapping
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
        A part has a type that cannot be read back.
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
        value: T = _reader(kind)(tree, blobs)  # type: ignore[arg-type]
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


_Reader = Callable[[Any, list[bytes]], Any]


@cache
def _reader(kind: Any) -> _Reader:
    """How values of a type are read; made once a type, for there are thousands of values."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _read_optional(arguments)
    if origin is tuple:
        return _read_tuple(arguments)
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(arguments)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        return _read_dataclass(kind)
    if kind is bytes:
        return _read_bytes
    if kind is Path:
        return lambda tree, _: Path(_exactly(str, tree))
    if kind in (str, int, bool, float, type(None)):
        return lambda tree, _: tree if type(tree) is kind else _exactly(kind, tree)
    raise ValueError(f"{kind} cannot be read")


def _exactly(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value


def _read_bytes(tree: Any, blobs: list[bytes]) -> bytes:
    if type(tree) is not int or tree < 0:
        raise ValueError("no byte string")
    return blobs[tree]


def _read_optional(arguments: tuple[Any, ...]) -> _Reader:
    (kind,) = (argument for argument in arguments if argument is not type(None))
    read = _reader(kind)
    return lambda tree, blobs: None if tree is None else read(tree, blobs)


def _read_tuple(arguments: tuple[Any, ...]) -> _Reader:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _read_sequence(_reader(arguments[0]), arguments[0])
    readers = tuple(map(_reader, arguments))

    def read(tree: Any, blobs: list[bytes]) -> tuple[Any, ...]:
        if type(tree) is not list or len(tree) != len(readers):
            raise ValueError("another number of parts")
        return tuple(part(item, blobs) for part, item in zip(readers, tree, strict=True))

    return read


def _read_sequence(item: _Reader, kind: Any) -> _Reader:
    def read(tree: Any, blobs: list[bytes]) -> tuple[Any, ...]:
        if type(tree) is not list:
            raise ValueError("no sequence")
        if kind is str and all(type(text) is str for text in tree):
            return tuple(tree)  # a thousand paths
        return tuple(item(part, blobs) for part in tree)

    return read


def _read_mapping(arguments: tuple[Any, ...]) -> _Reader:
    pair = _read_tuple(arguments)
    return lambda tree, blobs: dict(pair(item, blobs) for item in tree)


def _read_dataclass(kind: type) -> _Reader:
    def read(tree: Any, blobs: list[bytes]) -> Any:
        readers = _field_readers(kind)  # only now: a dataclass may hold others of its own type
        if type(tree) is not dict or tree.keys() != readers.keys():
            raise ValueError("other fields")
        return kind(**{name: part(tree[name], blobs) for name, part in readers.items()})

    return read


@cache
def _field_readers(kind: type) -> dict[str, _Reader]:
    hints = typing.get_type_hints(kind)
    return {
        field.name: _reader(hints[field.name]) for field in dataclasses.fields(kind) if field.init
    }
