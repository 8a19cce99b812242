"""Keys: a digest in which every part can be told from its neighbours; and values as bytes.

Each part goes in with its type and its length before it, so that ("ab", "c") and ("a", "bc"), or
1 and "1", are different keys.

The form is plain: JSON that refers to a table of byte strings behind it. A dataclass is the mapping
of its fields, and the declared types say how each is read, so a new field needs nothing here.
Reading executes nothing, which pickle would.
"""

import dataclasses
import json
import os
import struct
from collections.abc import Mapping
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from stat import S_ISREG
from typing import Any, TypeVar

from custom_dispatch.host_cpu import cpu_fields
from custom_dispatch.plain_data import read

FORMAT_VERSION = 1
"""Part of every key and of every entry; changed when either is to be read differently."""

_HEAD = struct.Struct("<cQ")
# A digest of derived or irrelevant parts would only make keys differ that need not.
_NOT_IN_KEYS = "not_in_keys"


def key_of(kind: str, *parts: object) -> bytes:
    """The key of a result: SHA-256 over its kind and everything that can change it.

    - `kind`: what was made: "compile", "module". Results of different kinds never share a key.
    - `parts`: None, numbers, texts, bytes, paths, sequences, mappings and dataclasses of such. Of a
      dataclass every field counts, except those whose metadata says `not_in_keys`.

    Raises `TypeError`: a part has no fixed form: a function, an open file.
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


_PAGE_BYTES = 1 << 12
_PAGES = 64
_SIZES = struct.Struct("<QQ")


def file_identity(path: Path) -> bytes:
    """What tells a program or library from any other version of it, without reading all of it.

    A compiler has 100 to 300 MB. Its size and 64 of its pages, evenly spread and with the first and
    the last, differ from build to build; among them are an ELF file's build identifier and tables.
    Times do not count, so that the same wheel, installed again, is the same compiler.

    Raises `OSError`: it cannot be read.
    """
    status = path.stat()
    return _sampled(path, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)


@lru_cache(maxsize=64)
def _sampled(path: Path, size: int, *_state: int) -> bytes:
    """The identity of a file that is as the file system says: asked again when that changes."""
    pages = max(1, min(_PAGES, size // _PAGE_BYTES + 1))
    last = max(0, size - _PAGE_BYTES)
    digest = sha256()
    with path.open("rb") as file:
        for page in range(pages):
            digest.update(os.pread(file.fileno(), _PAGE_BYTES, last * page // max(1, pages - 1)))
    return key_of("file", path.name, size, digest.digest())


@cache
def package_identity() -> bytes:
    """A digest of this package's own files: what it makes of an input may change with any edit.

    The version alone would not do: in a checkout it stays the same from edit to edit.

    Raises `OSError`: they cannot be read.
    """
    root = str(Path(__file__).parents[1])
    digest = sha256()
    for directory, directories, names in os.walk(root):
        directories[:] = sorted(name for name in directories if name != "__pycache__")
        for name in sorted(names):
            path = f"{directory}/{name}"
            inside, content = os.fsencode(path[len(root) :]), read_whole(path)
            digest.update(_SIZES.pack(len(inside), len(content)))
            digest.update(inside)
            digest.update(content)
    return digest.digest()


def read_whole(path: str) -> bytes:
    """A file's bytes, without a file object: hundreds of them take half as long.

    Raises `OSError`: it cannot be read, is no file, or becomes longer or shorter meanwhile.
    """
    # Opening never waits, for whoever writes into a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        content = os.read(descriptor, status.st_size + 1)
    finally:
        os.close(descriptor)
    if len(content) != status.st_size or not S_ISREG(status.st_mode):
        raise OSError(f"{path} changes while it is read, or is no file")
    return content


# What decides which instructions a CPU has; not its clock, nor which core answers.
_CPU_FIELDS: tuple[str, ...] = (
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "Features",
)
_CPU_FIELDS += ("CPU implementer", "CPU architecture", "CPU variant", "CPU part", "CPU revision")


@cache
def host_identity() -> bytes | None:
    """What tells this machine's CPU from another model; None where the system does not say."""
    found = [(name, value) for name, value in cpu_fields().items() if name in _CPU_FIELDS]
    features = any(name in ("flags", "Features") for name, _ in found)
    return key_of("cpu", os.uname().machine, found) if features else None


T = TypeVar("T")

_SIZE = struct.Struct("<I")


def to_bytes(value: object) -> bytes:
    """A value of plain parts (see `key_of`) as bytes.

    Raises `TypeError`: a part has a type that cannot be read back.
    """
    blobs: list[bytes] = []
    tree = _to_tree(value, blobs)
    text = json.dumps([[len(blob) for blob in blobs], tree], separators=(",", ":")).encode()
    return b"".join((_SIZE.pack(len(text)), text, *blobs))


def from_bytes(kind: type[T], data: bytes) -> T:
    """The value that `to_bytes` wrote."""
    try:
        (size,) = _SIZE.unpack_from(data)
        sizes, tree = json.loads(data[_SIZE.size : _SIZE.size + size])
        blobs, offset = [], _SIZE.size + size
        for length in sizes:
            if type(length) is not int or length < 0:
                raise ValueError("a size is no number")
            blobs.append(data[offset : offset + length])
            offset += length
        if offset != len(data):
            raise ValueError("the byte strings are cut short")
        value: T = read(kind, tree, partial(_leaf, blobs), exact=True)
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


def _leaf(blobs: list[bytes], kind: Any, tree: Any) -> Any:
    """As `plain_data.read` has it."""
    if kind is bytes:
        if type(tree) is not int or tree < 0:
            raise ValueError("no byte string")
        return blobs[tree]
    if kind not in (str, int, bool, float, type(None), Path):
        raise ValueError(f"{kind} cannot be read")
    if type(tree) is not (str if kind is Path else kind):
        raise ValueError(f"{tree!r} is no {kind.__name__}")
    return Path(tree) if kind is Path else tree
