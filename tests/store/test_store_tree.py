"""A directory of headers as one input: read once, after the look or meanwhile, or not taken."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from custom_dispatch.store import Closure, Snapshot, Store, tree
from custom_dispatch.store.tree import TreeView


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "include"
    (path / "deep").mkdir(parents=True)
    (path / "one.h").write_text("#include <deep/two.h>\n")
    (path / "deep" / "two.h").write_text("#include <own.h>\n")
    return path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    seen: list[str] = []
    real = tree._content

    def content(root: str, name: str) -> bytes | None:
        seen.append(name)
        return real(root, name)

    monkeypatch.setattr(tree, "_content", content)
    return seen


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written a moment ago may be taken for settled: nothing writes them at the same time."""
    monkeypatch.setattr(tree, "_SETTLED_NS", -(10**9))


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
        looked_at.begin()
        assert len(reads) % 2 == 0  # at once, by this thread
        assert looked_at.tree() is not None
    assert len(reads) == 4


@pytest.mark.parametrize("way", ["written", "new", "gone", "same size and times"])
@pytest.mark.parametrize("when", ["before it is read", "after it was read"])
def test_of_a_file_that_changes_nothing_is_kept(
    root: Path, store: Store, reads: list[str], settled: None, way: str, when: str
) -> None:
    looked_at = view(root, store)
    path = root / "one.h"
    before = path.stat()
    if when.startswith("after"):
        assert looked_at.tree() is not None
    match way:
        case "written":
            path.write_text("other")
        case "new":
            (root / "three.h").write_text("")
        case "gone":
            path.unlink()
        case _:
            path.write_text(path.read_text().upper())
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not looked_at.is_as_before()
    reads.clear()
    assert view(root, store).tree() is not None
    assert reads  # nothing was kept


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
    monkeypatch.setattr(tree, "_content", lambda *_: None)
    assert not view(root, store).is_as_before()


def test_it_is_read_while_the_caller_goes_on(
    root: Path, store: Store, settled: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_read = threading.Event()
    real = tree._content

    def content(root: str, name: str) -> bytes | None:
        assert may_read.wait(30)
        return real(root, name)

    monkeypatch.setattr(tree, "_content", content)
    looked_at = view(root, store)
    looked_at.begin()  # would wait for ever
    may_read.set()
    assert looked_at.tree() == view(root, store).tree()


def test_a_directory_that_is_not_there_has_no_answer(tmp_path: Path, store: Store) -> None:
    nothing = view(tmp_path / "none", store)
    nothing.begin()
    assert (nothing.tree(), nothing.names()) == (None, None)
    (tmp_path / "loop").mkdir()
    (tmp_path / "loop" / "again").symlink_to(tmp_path / "loop")
    assert view(tmp_path / "loop", store).tree() is None
