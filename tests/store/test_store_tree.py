"""A directory of headers as one input: read once, or not taken."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from custom_dispatch.store import Closure, Snapshot, Store
from custom_dispatch.store import closure as tree
from custom_dispatch.store.closure import TreeView

TICK_SECONDS = 0.03
"""More than what the times of files may be behind."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "include"
    (path / "deep").mkdir(parents=True)
    (path / "one.h").write_text("#include <deep/two.h>\n")
    (path / "deep" / "two.h").write_text("#include <own.h>\n")
    return path


@pytest.fixture
def reads(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    seen: list[str] = []
    real = tree.read_whole

    def content(path: str) -> bytes:
        seen.append(str(Path(path).relative_to(root)))
        return real(path)

    monkeypatch.setattr(tree, "read_whole", content)
    return seen


@pytest.fixture
def settled(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written a moment ago may be taken for settled: a tick of the clock has passed."""
    monkeypatch.setattr(tree, "_SETTLED_NS", 0)
    time.sleep(TICK_SECONDS)


def view(root: Path, store: Store) -> TreeView:
    return TreeView(str(root), store)


def test_what_was_read_once_is_not_read_again(
    root: Path, store: Store, reads: list[str], settled: None
) -> None:
    first = view(root, store)
    assert first.names() == ("deep/two.h", "one.h", "own.h")
    found = first.tree()
    assert first.is_as_before()
    assert reads == ["deep/two.h", "one.h"]
    again = view(root, store)
    assert (again.tree(), again.names()) == (found, first.names())
    assert len(reads) == 2


def test_the_names_of_a_known_tree_are_read_when_asked_for(
    root: Path, store: Store, reads: list[str], settled: None
) -> None:
    first = view(root, store)
    found = first.tree()
    assert first.is_as_before()
    later = view(root, store)
    assert later.names() == ("deep/two.h", "one.h", "own.h")
    assert later.tree() == found
    assert len(reads) == 4


def test_files_that_changed_a_moment_ago_are_read_each_time(
    root: Path, store: Store, reads: list[str]
) -> None:
    for _ in range(2):
        looked_at = view(root, store)
        assert looked_at.tree() is not None
        assert looked_at.is_as_before()
    assert len(reads) == 8


def write(root: Path) -> None:
    (root / "one.h").write_text("other")


def add(root: Path) -> None:
    (root / "three.h").write_text("")


def remove(root: Path) -> None:
    (root / "one.h").unlink()


def write_alike(root: Path) -> None:
    path = root / "one.h"
    before = path.stat()
    path.write_text(path.read_text().upper())
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def exchange_directory(root: Path) -> None:
    (root / "deep").rename(root.parent / "deep")
    (root.parent / "other" / "deep").rename(root / "deep")


def exchange_root(root: Path) -> None:
    root.rename(root.parent / "elsewhere")
    (root.parent / "other").rename(root)


def exchange_link(root: Path) -> None:
    (root / "linked.h").unlink()
    (root / "linked.h").symlink_to(root.parent / "other" / "deep" / "two.h")


CHANGES = [write, add, remove, write_alike, exchange_directory, exchange_root, exchange_link]


@pytest.fixture
def other(root: Path) -> None:
    """Other headers, as old as the first: no time of theirs changes when they are moved here."""
    (root.parent / "other" / "deep").mkdir(parents=True)
    (root.parent / "other" / "one.h").write_text("#include <deep/two.h>\n")
    (root.parent / "other" / "deep" / "two.h").write_text("#include <new.h>\n")
    (root / "linked.h").symlink_to(root / "one.h")


@pytest.mark.parametrize("change", CHANGES)
def test_of_a_file_that_changes_nothing_is_kept(
    root: Path,
    store: Store,
    reads: list[str],
    other: None,
    settled: None,
    change: Callable[[Path], None],
) -> None:
    looked_at = view(root, store)
    assert looked_at.tree() is not None
    time.sleep(TICK_SECONDS)
    change(root)
    assert not looked_at.is_as_before()
    reads.clear()
    assert view(root, store).tree() is not None
    assert reads


@pytest.mark.parametrize("change", CHANGES)
def test_of_a_file_that_changes_before_it_is_read_nothing_is_kept(
    root: Path,
    store: Store,
    reads: list[str],
    other: None,
    settled: None,
    change: Callable[[Path], None],
) -> None:
    looked_at = view(root, store)
    change(root)
    assert not looked_at.is_as_before()
    reads.clear()
    assert view(root, store).tree() is not None
    assert reads


def test_a_file_that_changed_a_moment_ago_may_change_again(root: Path, store: Store) -> None:
    looked_at = view(root, store)
    found = looked_at.tree()
    assert looked_at.is_as_before()
    (root / "one.h").write_text("other")
    assert not looked_at.is_as_before()
    assert view(root, store).tree() != found


def test_files_and_trees_are_as_before_or_one_is_not(root: Path, store: Store) -> None:
    one = root.parent / "one.h"
    one.write_text("1")
    closure = Closure((str(one),), (str(root.parent / "two.h"),), (str(root),))
    for change in (one, root.parent / "two.h", root / "deep" / "two.h"):
        snapshot = Snapshot(store)
        before = snapshot.state_of(closure)
        assert snapshot.is_as_before(closure)
        change.write_text("changed")
        assert not snapshot.is_as_before(closure)
        assert snapshot.state_of(closure) == before != Snapshot(store).state_of(closure)
        (root.parent / "two.h").unlink(missing_ok=True)


def test_while_nothing_was_read_there_is_no_answer(
    root: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(path: str) -> bytes:
        raise OSError(path)

    monkeypatch.setattr(tree, "read_whole", cannot)
    assert not view(root, store).is_as_before()


def test_a_directory_that_is_not_there_has_no_answer(tmp_path: Path, store: Store) -> None:
    nothing = view(tmp_path / "none", store)
    assert (nothing.tree(), nothing.names()) == (None, None)
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "again").symlink_to(tmp_path / "loop")
    assert view(tmp_path / "loop", store).tree() is None
