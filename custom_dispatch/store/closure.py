"""The files that a result was made from, among them those that were looked for and not there."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from custom_dispatch.store.key import key_of
from custom_dispatch.store.tree import TreeView

if TYPE_CHECKING:
    from custom_dispatch.store.store import Store


@dataclass(frozen=True, slots=True)
class Closure:
    """Every file that a compilation may have read or looked for, besides its source.

    Paths are as the compiler formed them: a relative one is taken from the working directory, here
    as there.
    """

    read: tuple[str, ...]
    """Files whose content counts."""
    absent: tuple[str, ...]
    """Where nothing was. A file there would be read in place of another."""
    trees: tuple[str, ...] = ()
    """Directories of which any file may have been read: a toolkit's headers."""


class Snapshot:
    """The files as one build sees them: each is read once, however many kernels share it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._digests: dict[str, bytes | None] = {}
        self._is_there: dict[str, bool] = {}
        self._states: dict[Closure, bytes | None] = {}
        self._trees: dict[str, TreeView] = {}
        self._lock = threading.Lock()

    def state_of(self, closure: Closure) -> bytes | None:
        """A digest of all paths and contents, and of what is absent; None where a tree has none."""
        if closure not in self._states:
            self._states[closure] = self._take(closure)
        return self._states[closure]

    def look_at(self, closure: Closure) -> None:
        """Take the files as they are now; a tree's content is read while the caller goes on."""
        for path in closure.read:
            self._digest_of(path)
        for path in closure.absent:
            self._exists(path)
        for root in closure.trees:
            self._view(root).begin()

    def _take(self, closure: Closure) -> bytes | None:
        trees = [self._view(root).tree() for root in closure.trees]
        if None in trees:
            return None
        return key_of(
            "state",
            [(path, self._digest_of(path)) for path in closure.read],
            [(path, self._exists(path)) for path in closure.absent],
            [(root, tree and tree.digest) for root, tree in zip(closure.trees, trees, strict=True)],
        )

    def is_as_before(self, closure: Closure) -> bool:
        """Whether all files are still as they were when this snapshot took them."""
        files = Closure(closure.read, closure.absent)
        if Snapshot(self.store).state_of(files) != self.state_of(files):
            return False
        return all(self._view(root).is_as_before() for root in closure.trees)

    def names(self, root: str) -> tuple[str, ...] | None:
        """Every name that a directory's files may ask for."""
        return self._view(root).names()

    def _view(self, root: str) -> TreeView:
        with self._lock:  # whoever comes second does not list thousands of files again
            if root not in self._trees:
                self._trees[root] = TreeView(root, self.store)
            return self._trees[root]

    def _digest_of(self, path: str) -> bytes | None:
        if path not in self._digests:
            self._digests[path] = digest_file(path)
        return self._digests[path]

    def _exists(self, path: str) -> bool:
        if path not in self._is_there:
            self._is_there[path] = os.path.lexists(path)
        return self._is_there[path]


def digest_file(path: str) -> bytes | None:
    """SHA-256 of a file's content; None where there is no file that can be read."""
    try:
        # Opening never waits: a pipe in a header's place has no content.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    try:
        digest = sha256()
        while block := os.read(descriptor, 1 << 20):
            digest.update(block)
        return digest.digest()
    except OSError:
        return None  # a directory
    finally:
        os.close(descriptor)
