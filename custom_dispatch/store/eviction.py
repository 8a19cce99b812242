"""Keeping the store within its limit: what was not used for longest goes first."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.files import SCRATCH_SUFFIX

# Room is made for more than the next entry, so that it is not made for each.
_TARGET_PART = 0.9
# A temporary file that is older was left behind: its writer was killed.
_ABANDONED_NS = 3600 * 10**9


class Clock:
    """A clock that never goes back: the order of use, whatever the system's clock does.

    It is a file whose time of modification is the latest tick given. A tick is the system's time,
    or just after the last tick where that is later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def touch(self, path: Path) -> None:
        """Say that a file was used now. Where times cannot be written, order is lost: no harm."""
        with suppress(OSError):
            try:
                latest = self._path.stat().st_mtime_ns
            except FileNotFoundError:
                self._path.touch(mode=0o600)
                latest = 0
            tick = max(time.time_ns(), latest + 1)
            os.utime(path, ns=(tick, tick))
            os.utime(self._path, ns=(tick, tick))


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


def remove_oldest(directory: Path, limit: int, keep: Path | None = None) -> int:
    """Remove the files used longest ago until all are below a limit; return how many went.

    Parameters
    ----------
    keep
        A file that stays: the newest.
    """
    found = sorted(items(directory), key=lambda item: item.used_ns)
    latest = max((item.used_ns for item in found), default=0)
    total = sum(item.bytes for item in found)
    removed = 0
    aim = limit if total <= limit else limit * _TARGET_PART
    for item in found:
        abandoned = item.path.suffix == SCRATCH_SUFFIX and item.used_ns < latest - _ABANDONED_NS
        if (total > aim and item.path != keep) or abandoned:
            with suppress(OSError):
                item.path.unlink()
                total -= item.bytes
                removed += 1
    return removed
