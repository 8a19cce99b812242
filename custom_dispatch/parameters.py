"""A model's weights outside of its module: IREE's parameters, and the archive that holds them.

A module refers to a parameter by a scope and a name; the runtime gets the bytes from an archive
(`.irpa`), which it maps into memory. The archive's layout is that of IREE,
runtime/src/iree/schemas/parameter_archive.h, version 0.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, BinaryIO

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import OutputError

if TYPE_CHECKING:
    from hashlib import _Hash

SCOPE = "model"
"""The scope of all parameters made here: `iree-run-module --parameters=model=FILE`."""
SUFFIX = ".irpa"

_METADATA = "TENSORv0:"
"""What IREE's Python puts before a tensor's type (iree/runtime/io.py)."""
_MAGIC = b"IRPA"
# The prefix of a header; how many entries; offset and length of entries, metadata and storage.
_HEADER = struct.Struct("<4sHHQQQ Q QQ QQ QQ")
# Size, type, flags; offset and length of name and metadata; alignment; those of the data.
_ENTRY = struct.Struct("<QIQ QQ QQ Q QQ")
_DATA = 2
_ENTRY_ALIGNMENT = 16
_DATA_ALIGNMENT = 64
"""Bytes: what IREE's CPU device takes without copying."""
_PAGE = 4096
_CHUNK = 2**24


@dataclass(frozen=True, slots=True)
class Parameter:
    """One weight."""

    name: str
    """Empty for one that has none in the model, until it is one of the module's."""
    dtype: str
    """numpy's name of it, or that of ml_dtypes."""
    shape: tuple[int, ...]
    size_bytes: int
    read: Callable[[], memoryview] = field(repr=False, compare=False)
    """Its bytes, which are copied only where they lie on a GPU or with gaps between them."""
    sha256: str = ""
    """Of its bytes when it was imported; empty until it is one of the module's."""

    @property
    def metadata(self) -> str:
        """What the archive says of it, as IREE's Python does, and the digest."""
        said = {
            "type": "Tensor",
            "dtype": self.dtype,
            "shape": list(self.shape),
            "sha256": self.sha256,
        }
        return _METADATA + json.dumps(said, separators=(",", ":"))

    def write_to(self, file: BinaryIO) -> None:
        """Write its bytes, and see that they are what they were when the model was compiled."""
        digest = _sha256()
        content = self.read()
        for start in range(0, len(content), _CHUNK):
            part = content[start : start + _CHUNK]
            digest.update(part)
            file.write(part)
        if digest.hexdigest() != self.sha256:
            raise OutputError(
                f"The weight `{self.name}` was changed after the model was compiled.",
                expected="the weights that it was compiled with",
                next_step="save the module before the model is trained further, or compile it "
                "again.",
            )


@dataclass(frozen=True)
class Parameters:
    """The weights that a module needs."""

    entries: tuple[Parameter, ...]

    @property
    def size_bytes(self) -> int:
        """Bytes of all of them."""
        return sum(entry.size_bytes for entry in self.entries)

    @cached_property
    def identity(self) -> str:
        """What tells these weights from all others: SHA-256 over names, types and contents."""
        return identity_of((entry.name, entry.metadata) for entry in self.entries)

    def described(self) -> str:
        """What a module says of the weights that it needs, as JSON."""
        content = {
            "scope": SCOPE,
            "identity": self.identity,
            "count": len(self.entries),
            "bytes": self.size_bytes,
        }
        return json.dumps(content, separators=(",", ":"))

    def write_to(self, file: BinaryIO) -> None:
        """Write the archive.

        Raises `OutputError`: a weight was changed since the model was compiled.
        Raises `OSError`: it cannot be written.
        """
        table, texts = bytearray(), bytearray()
        offset = 0
        for entry in self.entries:
            places = []
            for text in (entry.name.encode(), entry.metadata.encode()):
                places += [len(texts), len(text)]
                texts += text
            table += _ENTRY.pack(
                _ENTRY.size, _DATA, 0, *places, _DATA_ALIGNMENT, offset, entry.size_bytes
            )
            # The entries' segment ends with the last one, without padding.
            if entry is not self.entries[-1]:
                table += bytes(_padding(len(table), _ENTRY_ALIGNMENT))
            end = offset + entry.size_bytes
            offset = end + _padding(end, _DATA_ALIGNMENT)
        first = _HEADER.size + _padding(_HEADER.size, _ENTRY_ALIGNMENT)
        storage = first + len(table) + len(texts)
        storage += _padding(storage, _PAGE)
        header = _HEADER.pack(
            _MAGIC, 0, 0, _HEADER.size, 0, 0, len(self.entries),
            first, len(table), first + len(table), len(texts), storage, offset,
        )  # fmt: skip
        head = header.ljust(first, b"\0") + table + texts
        file.write(head.ljust(storage, b"\0"))
        for entry in self.entries:
            entry.write_to(file)
            file.write(bytes(_padding(entry.size_bytes, _DATA_ALIGNMENT)))
        end = storage + offset
        # IREE maps whole pages.
        file.write(bytes(_padding(end, _PAGE)))


def _sha256(content: bytes = b"") -> _Hash:
    from hashlib import sha256  # loads OpenSSL, which a module without such weights has no use for

    return sha256(content)


def identity_of(entries: Iterable[tuple[str, str]]) -> str:
    """The identity of weights, from the name and the metadata of each, in any order."""
    return _sha256(json.dumps(sorted(entries)).encode()).hexdigest()


def _padding(size: int, alignment: int) -> int:
    return -size % alignment
