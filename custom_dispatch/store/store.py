"""The store on disk: values by key, for many threads and processes at once.

No lock is held across processes, on purpose: a process that hangs or is killed while holding one
would stop all others, which is worse than compiling twice. Files are published whole, and every
reader checks what it reads: an entry's file says what it is, for which key, and whether it is
whole. The store is kept within its limit: what was not used for longest goes first.
"""

import os
import shutil
import stat
import struct
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from custom_dispatch.dataclass import dataclass
from custom_dispatch.files import SCRATCH_SUFFIX, replace_file
from custom_dispatch.store.directory import Location, is_private, locate, make_private
from custom_dispatch.store.key import FORMAT_VERSION, from_bytes, to_bytes

_MAGIC = b"custom-dispatch entry"
_CHECK_BYTES = sha256().digest_size


def write_entry(key: bytes, value: bytes) -> bytes:
    """The bytes of an entry's file."""
    return _checksum(key, value) + value


def read_entry(data: bytes, key: bytes) -> bytes | None:
    """The value in an entry's bytes; None where they are damaged, or are another key's entry."""
    value = data[_CHECK_BYTES:]
    return value if data[:_CHECK_BYTES] == _checksum(key, value) else None


def read_private_file(path: Path, limit: int) -> bytes | None:
    """A regular file's bytes, where this user alone may have written it; else None.

    Links are not followed, and nothing is waited for: a pipe in a file's place is no file.

    `limit`: the most bytes that a file may have.
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


def _checksum(key: bytes, value: bytes) -> bytes:
    """What shows that an entry is whole, of this format, and this key's."""
    digest = sha256(_MAGIC)
    digest.update(struct.pack("<I32s", FORMAT_VERSION, key))
    digest.update(value)
    return digest.digest()


# Room is made for more than the next entry, so that it is not made for each.
_TARGET_PART = 0.9
# A temporary file that is older was left behind: its writer was killed.
_ABANDONED_NS = 3600 * 10**9


def touch(path: Path) -> None:
    """Say that a file was used now. Where times cannot be written, order is lost: no harm."""
    now_ns = time.time_ns()
    with suppress(OSError):
        os.utime(path, ns=(now_ns, now_ns))


@dataclass(frozen=True, slots=True)
class Item:
    """A file of the store."""

    path: Path
    bytes: int
    used_ns: int


def items(directory: Path) -> Iterator[Item]:
    """The entries' files, and whatever else lies among them, in no order."""
    with suppress(OSError), os.scandir(directory) as found:
        for entry in found:
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from items(Path(entry.path))
                    continue
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue  # another process removed it
            # What is on the disk: an entry of 100 bytes takes a block.
            yield Item(Path(entry.path), status.st_blocks * 512, status.st_mtime_ns)


def remove_oldest(directory: Path, limit: int, keep: Path | None = None) -> None:
    """Remove the files used longest ago until all are below a limit.

    `keep`: a file that stays: the newest.
    """
    now_ns = time.time_ns()
    # What was used while the clock was wrong may have a time to come, and goes first.
    found = sorted(items(directory), key=lambda item: (item.used_ns <= now_ns, item.used_ns))
    total = sum(item.bytes for item in found)
    aim = limit if total <= limit else limit * _TARGET_PART
    for item in found:
        abandoned = item.path.suffix == SCRATCH_SUFFIX and item.used_ns < now_ns - _ABANDONED_NS
        if (total > aim and item.path != keep) or abandoned:
            with suppress(OSError):
                item.path.unlink()
                total -= item.bytes


T = TypeVar("T")

# A directory that says by this file what it is (bford.info/cachedir) is left out of backups.
_TAG = "CACHEDIR.TAG"
_TAG_TEXT = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# The compilations that custom-dispatch keeps. It may be deleted at any time.\n"
)
HITS, MISSES = "hits", "misses"
"""Files with a byte for each."""
# How often a store's size is taken: for one new entry in 64, chosen by its key, and for every one
# above 1/256 of the limit. So it may pass the limit by about a quarter.
_SIZED_BELOW = 4
_LARGE_PART = 256


class StoreWarning(UserWarning):
    """The store does not work as it should; compiling goes on without it."""


class Store:
    """A directory of entries.

    - `path`: the directory. It must be this user's alone: who may write it may have this user run
      any code.
    - `limit`: the bytes that it may have. The entries that were not used for longest make room.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        self.entries = path / "entries"
        self._warn_once = cache(_warn)

    def get(self, key: bytes) -> bytes | None:
        """The value stored under a key; None if it is missing or irregular in any way."""
        path = self._path(key)
        data = read_private_file(path, self.limit)
        value = None if data is None else read_entry(data, key)
        if value is not None:
            touch(path)
        return value

    def put(self, key: bytes, value: bytes) -> None:
        """Store a value. Failures warn once and are otherwise ignored."""
        data = write_entry(key, value)
        if len(data) > self.limit // 4:
            return  # it would drive out most others
        path = self._path(key)
        try:
            self._write(path, data)
        except OSError as problem:
            why = f"cannot be written: {problem.strerror or problem}"
            self._warn_once(f"The store at `{self.path}` {why}. Nothing new is kept in it.")

    def file(self, data: bytes, suffix: str) -> Path:
        """A file of these bytes, named after them. It goes as entries do, the longest unused first.

        Raises `OSError`: it cannot be written.
        """
        path = self._path(sha256(data).digest()).with_suffix(suffix)
        if read_private_file(path, self.limit) == data:
            touch(path)
        else:
            self._write(path, data)
        return path

    def _write(self, path: Path, data: bytes) -> None:
        if not self.entries.exists():
            make_private(self.path)
            if not any(self.path.iterdir()):  # one with other things in it is no cache
                replace_file(self.path / _TAG, _TAG_TEXT)
            self.entries.mkdir(mode=0o700, exist_ok=True)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        replace_file(path, data)
        touch(path)
        first = bytes.fromhex(path.parent.name)[0]
        if first < _SIZED_BELOW or len(data) > self.limit // _LARGE_PART:
            remove_oldest(self.entries, self.limit, keep=path)

    def load(self, kind: type[T], key: bytes) -> T | None:
        """The dataclass kept under a key; None where there is none, or it does not read."""
        data = self.get(key)
        if data is None:
            return None
        with suppress(ValueError):
            return from_bytes(kind, data)
        return None

    def save(self, key: bytes, value: object) -> None:
        """Keep a dataclass."""
        self.put(key, to_bytes(value))

    @contextmanager
    def once(self, key: bytes) -> Iterator[None]:
        """Hold a key: other threads of this process that want it wait."""
        name = (os.getpid(), str(self.path), key)  # a forked child has none of its parent's threads
        with _guard:
            lock = _locks.setdefault(name, threading.Lock())
        with lock:
            yield

    def _path(self, key: bytes) -> Path:
        name = key.hex()
        return self.entries / name[:2] / name[2:]

    def count(self, *, hit: bool) -> None:
        """Count a hit or a miss by appending a byte: that needs no lock; a lost one is no harm."""
        name = HITS if hit else MISSES
        flags = (
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        )
        with suppress(OSError):
            descriptor = os.open(self.path / name, flags, 0o600)
            try:
                os.write(descriptor, b".")
            finally:
                os.close(descriptor)


_guard = threading.Lock()
_locks = WeakValueDictionary[tuple[int, str, bytes], threading.Lock]()


def _forked() -> None:
    """A thread that the child does not have may hold it for ever."""
    global _guard
    _guard = threading.Lock()


os.register_at_fork(after_in_child=_forked)


def remember(
    store: Store | None,
    kind: type[T],
    key: Callable[[], bytes | None],
    make: Callable[[], T],
    *,
    counted: bool = True,
) -> T:
    """The value kept under a key, or else made now and kept.

    Threads that ask for the same key at the same time wait for the first.

    - `store`: None where nothing is kept.
    - `key`: gives the key. Without one, or where a file that it follows from cannot be read,
      nothing is kept either.
    - `counted`: whether it is a result that somebody asked for, and so a hit or a miss.
    """
    if store is None:
        return make()
    known = None
    with suppress(OSError):
        known = key()
    if known is None:
        return make()
    with store.once(known):
        kept = store.load(kind, known)
        value = make() if kept is None else kept
        if counted:
            store.count(hit=kept is not None)
        if kept is None:
            store.save(known, value)
        return value


_wanted = ContextVar("wanted", default=True)


@contextmanager
def store_if(wanted: bool) -> Iterator[None]:
    """Whether there is a store within the block, in this thread."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def open_store() -> Store | None:
    """The user's store; None where it is turned off, or where it may not be used.

    In the latter case there is a warning, once.
    """
    return _open(locate()) if _wanted.get() else None


@cache
def _open(location: Location) -> Store | None:
    if location.problem:
        _warn(f"The store is not as wanted: {location.problem}.")
    if location.path is None:
        return None
    problem = make_private(location.path)
    if problem:
        _warn(f"The store at `{location.path}` is not used: {problem}.")
        return None
    return Store(location.path, location.limit)


def _warn(message: str) -> None:
    warnings.warn(message, StoreWarning, stacklevel=2)
