"""The files that a result was made from, and directories of headers as one input."""

from __future__ import annotations

import os
import re
import struct
import threading
import time
from array import array
from functools import cache
from hashlib import sha256
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from custom_dispatch.dataclass import dataclass
from custom_dispatch.store.key import key_of, read_whole

if TYPE_CHECKING:
    from custom_dispatch.store.store import Store


MAX_FILES = 20_000
"""CUDA 13.0 has 1800. A tree with more is a system's whole /usr/include."""

# Files that were just changed may change again without their times showing it.
_SETTLED_NS = 2 * 10**9
# Each begins with a plain word, which is found four times as fast as one of two.
_SPELLED = tuple(
    word + rb'[ \t]*\(?[ \t]*[<"]([^>"\n]+)[>"]' for word in (rb"include(?:_next)?", b"INCLUDE")
)
_SIZES = struct.Struct("<QQ")


@dataclass(frozen=True, slots=True)
class Tree:
    """What a directory's files hold."""

    digest: bytes
    """SHA-256 of every path below the directory, with its content."""


@dataclass(frozen=True, slots=True)
class TreeNames:
    """What a directory's files include, as they spell it, and all of its files."""

    names: tuple[str, ...]


class TreeView:
    """A directory as it is when this is made; what its files hold is read when it is asked for.

    Reading 19 MB takes some 30 ms. So the answer is kept under what the file system says of each
    file: its inode, size and time of change, which any write changes and no program can set (git's
    index rests on the same).
    """

    def __init__(self, root: str, store: Store) -> None:
        self._root = root
        self._store = store
        self._lock = threading.Lock()
        now_ns = time.time_ns()
        self._listed = listed = _listed(root)
        """None also where what was read is in doubt."""
        self._is_settled = listed is not None and listed.newest_ns < now_ns - _SETTLED_NS
        self._key = b""
        self._tree: Tree | None = None
        self._names: tuple[str, ...] | None = None
        if listed is not None and self._is_settled:
            self._key = key_of("tree", root, listed.signature)
            self._tree = store.load(Tree, self._key)
        self._is_kept = self._tree is not None

    def tree(self) -> Tree | None:
        """What the files hold when they are read; None where there are too many, or one cannot be.

        Whether they are still those of the listing, `is_as_before` says.
        """
        with self._lock:
            if self._tree is None:
                self._read(with_names=False)
            return self._tree

    def names(self) -> tuple[str, ...] | None:
        """Every name that the files may ask for; None where their content is not known."""
        with self._lock:
            if self._tree is not None and self._names is None:
                kept = self._store.load(TreeNames, key_of("names", self._tree))
                self._names = None if kept is None else kept.names
            if self._names is None:
                self._read(with_names=True)
            return self._names

    def is_as_before(self) -> bool:
        """Whether the files are still those of the listing; if so, what they hold is kept."""
        known, listed = self.tree(), self._listed
        if known is None or listed is None:
            return False
        now = _listed(self._root)
        if not self._is_settled:  # what the file system says does not tell
            found = _read(self._root, listed.files, with_names=False)
            return now is not None and now.files == listed.files and found == (known, None)
        if now != listed:
            return False
        with self._lock:
            self._keep()
        return True

    def _read(self, *, with_names: bool) -> None:
        """Read all files. That they are still those of the listing, `is_as_before` says later."""
        listed, known = self._listed, self._tree
        found = None if listed is None else _read(self._root, listed.files, with_names=with_names)
        self._tree, names = found or (None, None)
        if known not in (None, self._tree):
            self._listed = self._tree = names = None
        self._names = None if names is None else names.names
        self._is_kept = False

    def _keep(self) -> None:
        if self._is_kept or self._tree is None:
            return
        self._is_kept = True
        self._store.save(self._key, self._tree)
        if self._names is not None:
            self._store.save(key_of("names", self._tree), TreeNames(self._names))


def _read(root: str, files: list[str], *, with_names: bool) -> tuple[Tree, TreeNames | None] | None:
    digest = sha256()
    names = set(files)
    for name in files:
        try:
            content = read_whole(os.path.join(root, name))  # noqa: PTH118 - for each file
        except OSError:
            return None
        encoded = os.fsencode(name)
        digest.update(_SIZES.pack(len(encoded), len(content)))
        digest.update(encoded)
        digest.update(content)
        if with_names:
            names |= spelled_names(content)
    return Tree(digest.digest()), TreeNames(tuple(sorted(names))) if with_names else None


@dataclass(frozen=True, slots=True)
class _Listed:
    files: list[str]
    """Paths below the root."""
    signature: bytes
    """A digest of what the file system says of them."""
    newest_ns: int
    """When a file, a link or a directory was last changed."""


def _listed(root: str) -> _Listed | None:
    found: list[tuple[str, int, int, int]] = []
    pending = [""]
    newest_ns = 0
    try:
        while pending:
            entries, changed_ns = _entries(root, pending.pop())
            newest_ns = max(newest_ns, changed_ns)
            for path, at in entries:
                if S_ISREG(at.st_mode):
                    found.append((path, at.st_ino, at.st_size, at.st_ctime_ns))
                elif S_ISDIR(at.st_mode):
                    pending.append(path)
            if len(found) > MAX_FILES or len(pending) > MAX_FILES:
                return None
    except OSError:
        return None
    found.sort()
    # A path holds no NUL, and each has three numbers: nothing can run into its neighbour.
    paths = "\0".join([item[0] for item in found])
    numbers = array("Q", [number for item in found for number in item[1:]])
    signature = sha256(paths.encode("utf-8", "surrogateescape"))
    signature.update(b"\0\0")
    signature.update(numbers.tobytes())
    newest_ns = max(newest_ns, max((item[3] for item in found), default=0))
    return _Listed([item[0] for item in found], signature.digest(), newest_ns)


def _entries(root: str, inside: str) -> tuple[list[tuple[str, os.stat_result]], int]:
    """What a directory below the root holds, by its path from there; when it or a link changed.

    The directory is opened, so that the system does not walk the whole path for each of its files:
    that would take half as long again.
    """
    prefix = f"{inside}/" if inside else ""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    descriptor = os.open(os.path.join(root, inside), flags)  # noqa: PTH118 - for each directory
    found = []
    try:
        changed_ns = os.fstat(descriptor).st_ctime_ns
        with os.scandir(descriptor) as entries:
            for entry in entries:
                if entry.is_symlink():
                    changed_ns = max(changed_ns, entry.stat(follow_symlinks=False).st_ctime_ns)
                try:
                    found.append((prefix + entry.name, entry.stat()))
                except FileNotFoundError:  # a link that leads nowhere
                    continue
    finally:
        os.close(descriptor)
    return found, changed_ns


def spelled_names(content: bytes) -> set[str]:
    """The names that a header includes, or asks for, through whatever macro."""
    found = {name for pattern in _SPELLED for name in re.findall(pattern, content)}
    return {os.fsdecode(name.strip()) for name in found}


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
        self._digest_of = cache(digest_file)
        self._exists = cache(os.path.lexists)
        self._states: dict[Closure, bytes | None] = {}
        self._trees: dict[str, TreeView] = {}
        self._lock = threading.Lock()

    def state_of(self, closure: Closure) -> bytes | None:
        """A digest of all paths and contents, and of what is absent; None where a tree has none."""
        if closure not in self._states:
            self._states[closure] = self._take(closure)
        return self._states[closure]

    def look_at(self, closure: Closure) -> None:
        """Take the files as they are now."""
        for path in closure.read:
            self._digest_of(path)
        for path in closure.absent:
            self._exists(path)
        for root in closure.trees:
            self._view(root).tree()

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
