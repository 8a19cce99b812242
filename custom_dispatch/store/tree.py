"""A directory of headers that belong together, as one input: a CUDA toolkit's."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from custom_dispatch.store.key import key_of

if TYPE_CHECKING:
    from custom_dispatch.store.store import Store

MAX_FILES = 20_000
"""CUDA 13.0 has 1800. A tree with more is a system's whole /usr/include."""

# Files that were just changed may change again without their times showing it.
_SETTLED_NS = 2 * 10**9
SPELLED = re.compile(rb'(?:include|INCLUDE)(?:_next)?[ \t]*\(?[ \t]*[<"]([^>"\n]+)[>"]')
"""A name that a header includes, or asks for."""


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
    digest = sha256()
    for name in listed.files:
        content = _content(root, name)
        if content is None:
            return None
        digest.update(key_of("file", name, content))
    tree = Tree(digest.digest())
    if settled and _listed(root) == listed:
        store.save(key, tree)
    return tree


def names_in(root: str, tree: Tree, store: Store) -> tuple[str, ...] | None:
    """Every name that a tree's files may ask for; None where the tree is no longer that."""

    def find() -> TreeNames:
        listed = _listed(root)
        names = set(listed.files if listed else ())
        for name in listed.files if listed else ():
            for match in SPELLED.finditer(_content(root, name) or b""):
                names.add(os.fsdecode(match[1].strip()))
        return TreeNames(tuple(sorted(names)))

    key = key_of("names", root, tree.digest)
    found = store.load(TreeNames, key)
    if found is None:
        found = find()
        if read_tree(root, store) != tree:
            return None
        store.save(key, found)
    return found.names


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
                    elif entry.is_file():
                        at = entry.stat()
                        found.append(
                            (entry.path, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
                        )
            if len(found) > MAX_FILES or len(pending) > MAX_FILES:
                return None
    except OSError:
        return None
    found.sort()
    # repr, for speed: numbers and quoted texts cannot run into each other.
    signature = sha256(repr(found).encode("utf-8", "backslashreplace")).digest()
    start = len(root.rstrip("/")) + 1
    newest_ns = max((item[4] for item in found), default=0)
    return _Listed([path[start:] for path, *_ in found], signature, newest_ns)


def _content(root: str, name: str) -> bytes | None:
    try:
        with open(os.path.join(root, name), "rb") as file:  # noqa: PTH118, PTH123
            return file.read()
    except OSError:
        return None
