"""The files that a result was made from."""

from __future__ import annotations

import os
import time
from functools import cache
from hashlib import sha256
from stat import S_IFMT

from custom_dispatch.dataclass import dataclass
from custom_dispatch.store.key import key_of, read_whole

_CLOCK_REALTIME_COARSE = 5
"""By which file systems tell times (Linux's `time.h` and `ktime_get_coarse_real_ts64`)."""
_WAIT_S, _MOST_WAITS = 0.0005, 100


@dataclass(frozen=True, slots=True)
class Closure:
    """Every file that a compilation read or looked for, besides its source.

    Paths are as the compiler formed them: a relative one is taken from the working directory, here
    as there.
    """

    read: tuple[str, ...]
    """Files whose content counts."""
    looked_for: tuple[str, ...]
    """Paths of which it counts whether something is there. A file that comes there would be read in
    place of another."""


class Snapshot:
    """The files as one build sees them: each is read once, however many kernels share it."""

    def __init__(self) -> None:
        self._digest_of = cache(digest_file)
        self._kind_of = cache(_kind_of)
        self._states: dict[Closure, bytes] = {}

    def state_of(self, closure: Closure) -> bytes:
        """A digest of all paths, of what is in those that are read, and of what others are."""
        if closure not in self._states:
            self._states[closure] = key_of(
                "state",
                [(path, self._digest_of(path)) for path in closure.read],
                [(path, self._kind_of(path)) for path in closure.looked_for],
            )
        return self._states[closure]


def next_tick_ns() -> int:
    """Wait until the clock of the times of files is past now, and return its time: some 4 ms.

    What changed before this was called has an earlier time of change, and what changes after it
    has this one or a later one.
    """
    called = now = time.time_ns()
    for _ in range(_MOST_WAITS):  # a clock may stand still, where a test sets the time
        now = time.clock_gettime_ns(_CLOCK_REALTIME_COARSE)
        if now > called:
            break
        time.sleep(_WAIT_S)
    return now


def is_older(closure: Closure, time_ns: int) -> bool:
    """Whether every file of these is there and was changed before a time, whoever wrote it.

    No program can set the time of change, and a link has its own.
    """
    try:
        for path in closure.read:
            if max(os.stat(path).st_ctime_ns, os.lstat(path).st_ctime_ns) >= time_ns:  # noqa: PTH116
                return False
    except OSError:
        return False
    return not any(_is_newer(path, time_ns) for path in closure.looked_for)


def _is_newer(path: str, time_ns: int) -> bool:
    try:
        return os.stat(path).st_ctime_ns >= time_ns  # noqa: PTH116 - as above, of hundreds
    except OSError:
        return False


def _kind_of(path: str) -> int:
    """A file, a directory or something else; 0 for nothing."""
    try:
        return S_IFMT(os.stat(path).st_mode)  # noqa: PTH116 - of hundreds
    except (OSError, ValueError):
        return 0


def digest_file(path: str) -> bytes | None:
    """SHA-256 of a file's content; None where there is no file that can be read."""
    try:
        return sha256(read_whole(path)).digest()
    except (OSError, ValueError):
        return None
