"""Looking after the store: what is in it, whether it is whole, and emptying it."""

import shutil
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from custom_dispatch.dataclass import dataclass
from custom_dispatch.files import SCRATCH_SUFFIX
from custom_dispatch.store.store import HITS, MISSES, Store, items, read_entry, read_private_file


@dataclass(frozen=True, slots=True)
class Summary:
    """What a store holds."""

    entries: int
    bytes: int
    """On the disk."""
    hits: int
    """How often something was found, since it was last cleared."""
    misses: int
    """How often it had to be made."""


def summarise(store: Store) -> Summary:
    """Count what is in a store."""
    found = list(items(store.entries))
    entries = sum(item.path.suffix != SCRATCH_SUFFIX for item in found)
    size = sum(item.bytes for item in found)
    hits, misses = (_size(store.path / name) for name in (HITS, MISSES))
    return Summary(entries, size, hits, misses)


def remove_damaged(store: Store) -> tuple[Path, ...]:
    """Read every entry, and remove and return those that would be misses."""
    removed = []
    for path in _damaged(store):
        with suppress(OSError):
            path.unlink()  # fails where another process was faster
            removed.append(path)
    return tuple(removed)


def clear(store: Store) -> None:
    """Remove everything that a store keeps.

    Raises `OSError`: a file or directory cannot be removed.
    """
    if store.entries.exists():
        shutil.rmtree(store.entries)
    for name in (HITS, MISSES):
        (store.path / name).unlink(missing_ok=True)


def _damaged(store: Store) -> Iterator[Path]:
    for item in list(items(store.entries)):
        if item.path.suffix == SCRATCH_SUFFIX:
            continue  # being written
        try:
            key = bytes.fromhex(item.path.parent.name + item.path.stem)
        except ValueError:
            yield item.path
            continue
        data = read_private_file(item.path, store.limit)
        is_file = bool(item.path.suffix)  # as `Store.file` writes them
        if data is None or not (
            sha256(data).digest() == key if is_file else read_entry(data, key) is not None
        ):
            yield item.path


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
