"""Precompiled headers in the store: few, large files, which a compiler reads by itself."""

from __future__ import annotations

import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.files import SCRATCH_SUFFIX
from custom_dispatch.store.entry import is_private
from custom_dispatch.store.eviction import remove_oldest
from custom_dispatch.store.key import key_of
from custom_dispatch.store.store import Store

DIRECTORY = "precompiled"
# They may take this part of the store's limit, on top of the entries.
_PART = 0.5
_BUFFER_BYTES = 1 << 18


@dataclass(frozen=True, slots=True)
class _File:
    """What a file was when it was kept."""

    size: int
    checksum: int


class PrecompiledFiles:
    """The precompiled headers of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._directory = store.path / DIRECTORY

    def find(self, key: bytes) -> Path | None:
        """The file of a key, where there is one of the right size; see `is_whole`."""
        known = self._known(key)
        path = self._path(key)
        try:
            status = path.lstat()
        except OSError:
            return None
        if known is None or status.st_size != known.size or not is_private(status):
            return None
        self._store.touch(path)
        return path

    def is_whole(self, key: bytes) -> bool:
        """Whether a file has the content that it was kept with: reads all of it."""
        known = self._known(key)
        return known is not None and _checksum(self._path(key)) == known.checksum

    def remove(self, key: bytes) -> None:
        """Forget a file that does not serve."""
        with suppress(OSError):
            self._path(key).unlink()

    @contextmanager
    def new(self) -> Iterator[Path | None]:
        """A name that a compiler may write to; what is there afterwards goes, unless it was kept.

        None where nothing can be written: that is a warning, once.
        """
        try:
            self._directory.mkdir(mode=0o700, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self._directory, suffix=SCRATCH_SUFFIX)
        except OSError as problem:
            self._store.tell(f"cannot be written: {problem.strerror or problem}")
            yield None
            return
        os.close(descriptor)
        try:
            yield Path(name)
        finally:
            with suppress(OSError):
                Path(name).unlink()

    def keep(self, key: bytes, path: Path) -> None:
        """Keep what was written to a name of `new`."""
        limit = int(self._store.limit * _PART)
        try:
            path.chmod(0o600)
            size = path.stat().st_size
            checksum = _checksum(path)
            if checksum is None or not 0 < size <= limit:
                return
            path.replace(self._path(key))
        except OSError as problem:
            self._store.tell(f"cannot be written: {problem.strerror or problem}")
            return
        self._store.touch(self._path(key))
        self._store.save(key_of(DIRECTORY, key), _File(size, checksum))
        remove_oldest(self._directory, limit, keep=self._path(key))

    def _known(self, key: bytes) -> _File | None:
        return self._store.load(_File, key_of(DIRECTORY, key))

    def _path(self, key: bytes) -> Path:
        return self._directory / key.hex()


def _checksum(path: Path) -> int | None:
    """CRC-32 of a file's content; None where it cannot be read.

    It is to show damage, and competes with the compiler that reads the same file: for 180 MB it
    takes a third of SHA-256's time. The buffer is reused, and so small that the processor keeps it.
    """
    checksum, buffer = 0, memoryview(bytearray(_BUFFER_BYTES))
    try:
        with path.open("rb", buffering=0) as file:
            while count := file.readinto(buffer):
                checksum = zlib.crc32(buffer[:count], checksum)
    except OSError:
        return None
    return checksum
