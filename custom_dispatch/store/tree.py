"""A directory of headers that belong together, as one input: a CUDA toolkit's."""

from __future__ import annotations

import os
import re
import struct
import time
from array import array
from dataclasses import dataclass
from hashlib import sha256
from stat import S_ISREG
from typing import TYPE_CHECKING

from custom_dispatch.store.key import key_of

if TYPE_CHECKING:
    from custom_dispatch.store.store import Store

MAX_FILES = 20_000
"""CUDA 13.0 has 1800. A tree with more is a system's whole /usr/include."""

# Files that were just changed may change again without their times showing it.
_SETTLED_NS = 2 * 10**9
# Each begins with a plain word, which is found four times as fast as one of two.
_SPELLED = tuple(
    re.compile(word + rb'[ \t]*\(?[ \t]*[<"]([^>"\n]+)[>"]')
    for word in (rb"include(?:_next)?", b"INCLUDE")
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


def read_tree(root: str, store: Store) -> Tree | None:
    """The content of a directory's files; None where there are too many, or one cannot be read.

    Reading 23 MB takes some 100 ms. So the answer is kept under what the file system says of each
    file: its inode, size and times. Any write changes the time of change, which a program cannot
    set (git's index rests on the same).
    """
    listed = _listed(root)
    if listed is None:
        return None
    key = key_of("tree", listed.signature)
    settled = listed.newest_ns < time.time_ns() - _SETTLED_NS
    known = store.load(Tree, key) if settled else None
    if known is not None:
        return known
    found = _read(root, listed.files)
    if found is None:
        return None
    tree, names = found
    if settled and _listed(root) == listed:
        store.save(key, tree)
        store.save(key_of("names", tree), names)
    return tree


def names_in(root: str, tree: Tree, store: Store) -> tuple[str, ...] | None:
    """Every name that a tree's files may ask for; None where the tree is no longer that."""
    key = key_of("names", tree)
    known = store.load(TreeNames, key)
    if known is None:
        listed = _listed(root)
        found = _read(root, listed.files) if listed is not None else None
        if found is None or found[0] != tree:
            return None
        known = found[1]
        store.save(key, known)
    return known.names


def _read(root: str, files: list[str]) -> tuple[Tree, TreeNames] | None:
    digest = sha256()
    names = set(files)
    for name in files:
        content = _content(root, name)
        if content is None:
            return None
        encoded = os.fsencode(name)
        digest.update(_SIZES.pack(len(encoded), len(content)))
        digest.update(encoded)
        digest.update(content)
        names |= spelled_names(content)
    return Tree(digest.digest()), TreeNames(tuple(sorted(names)))


@dataclass(frozen=True, slots=True)
class _Listed:
    files: list[str]
    """Paths below the root."""
    signature: bytes
    """A digest of what the file system says of them."""
    newest_ns: int


def _listed(root: str) -> _Listed | None:
    found: list[tuple[str, int, int, int, int]] = []
    pending = [root]
    try:
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir():
                        pending.append(entry.path)
                    else:
                        try:
                            at = entry.stat()
                        except FileNotFoundError:
                            continue  # a link that leads nowhere
                        if S_ISREG(at.st_mode):
                            found.append(
                                (entry.path, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
                            )
            if len(found) > MAX_FILES or len(pending) > MAX_FILES:
                return None
    except OSError:
        return None
    found.sort()
    # A path holds no NUL, and each has four numbers: nothing can run into its neighbour.
    paths = "\0".join([item[0] for item in found])
    numbers = array("Q", [number for item in found for number in item[1:]])
    signature = sha256(paths.encode("utf-8", "surrogateescape"))
    signature.update(b"\0\0")
    signature.update(numbers.tobytes())
    start = len(root.rstrip("/")) + 1
    newest_ns = max((item[4] for item in found), default=0)
    return _Listed([item[0][start:] for item in found], signature.digest(), newest_ns)


def spelled_names(content: bytes) -> set[str]:
    """The names that a header includes, or asks for, through whatever macro."""
    found = {name for pattern in _SPELLED for name in pattern.findall(content)}
    return {os.fsdecode(name.strip()) for name in found}


def _content(root: str, name: str) -> bytes | None:
    try:
        with open(os.path.join(root, name), "rb") as file:  # noqa: PTH118, PTH123
            return file.read()
    except OSError:
        return None
