"""One entry of the store: a file that says what it is, for which key, and whether it is whole."""

from __future__ import annotations

import os
import stat
import struct
from hashlib import sha256
from pathlib import Path

from custom_dispatch.store.key import FORMAT_VERSION

_MAGIC = b"custom-dispatch entry\0\0\0"
# Magic, format version, key, SHA-256 of everything but itself, bytes of the value.
_HEAD = struct.Struct("<24sI32s32sQ")


def write_entry(key: bytes, value: bytes) -> bytes:
    """The bytes of an entry's file."""
    check = _checksum(FORMAT_VERSION, key, value)
    return _HEAD.pack(_MAGIC, FORMAT_VERSION, key, check, len(value)) + value


def read_entry(data: bytes, key: bytes) -> bytes | None:
    """The value in an entry's bytes; None where they are damaged, or are another key's entry."""
    if len(data) < _HEAD.size:
        return None
    magic, version, found, check, size = _HEAD.unpack_from(data)
    if magic != _MAGIC or version != FORMAT_VERSION or size != len(data) - _HEAD.size:
        return None
    value = data[_HEAD.size :]
    if check != _checksum(version, found, value) or key != found:
        return None
    return value


def read_private_file(path: Path, limit: int) -> bytes | None:
    """A regular file's bytes, where this user alone may have written it; else None.

    Links are not followed, and nothing is waited for: a pipe in a file's place is no file.

    Parameters
    ----------
    limit
        The most bytes that a file may have.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        status = os.fstat(descriptor)
        if not is_private(status) or not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(status.st_size + 1)  # one more would show that it is being written
    except OSError:
        return None
    finally:
        os.close(descriptor)


def is_private(status: os.stat_result) -> bool:
    """Whether a file is this user's, and nobody else may write it."""
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _checksum(version: int, key: bytes, value: bytes) -> bytes:
    digest = sha256(_MAGIC)
    digest.update(struct.pack("<I", version))
    digest.update(key)
    digest.update(struct.pack("<Q", len(value)))
    digest.update(value)
    return digest.digest()
