"""The files that a result was made from: whether they are the same, and since when."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from custom_dispatch.store import Closure, Snapshot
from custom_dispatch.store.closure import is_older, next_tick_ns


@pytest.fixture
def closure(tmp_path: Path) -> Closure:
    """Two headers, one of them by a link; one that is not there, and one that is not read."""
    (tmp_path / "one.h").write_text("1")
    (tmp_path / "two.h").write_text("2")
    (tmp_path / "unread.h").write_text("3")
    (tmp_path / "link.h").symlink_to("two.h")
    read, looked_for = ("one.h", "link.h"), ("absent.h", "unread.h")
    return Closure(*(tuple(str(tmp_path / name) for name in part) for part in (read, looked_for)))


def write(directory: Path) -> None:
    (directory / "one.h").write_text("other")


def write_alike(directory: Path) -> None:
    path = directory / "one.h"
    before = path.stat()
    path.write_text("7")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def write_where_the_link_leads(directory: Path) -> None:
    (directory / "two.h").write_text("other")


def exchange(directory: Path) -> None:
    (directory / "unread.h").replace(directory / "one.h")


def exchange_link(directory: Path) -> None:
    (directory / "link.h").unlink()
    (directory / "link.h").symlink_to("one.h")


def remove(directory: Path) -> None:
    (directory / "one.h").unlink()


def add(directory: Path) -> None:
    (directory / "absent.h").write_text("")


CHANGES = [
    write, write_alike, write_where_the_link_leads, exchange, exchange_link, remove, add
]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_another_state_and_is_seen_by_its_time(
    tmp_path: Path, closure: Closure, change: Callable[[Path], None]
) -> None:
    before, began = Snapshot().state_of(closure), next_tick_ns()
    assert is_older(closure, began)
    change(tmp_path)
    assert not is_older(closure, began)
    assert Snapshot().state_of(closure) != before


def test_a_snapshot_reads_each_file_once(tmp_path: Path, closure: Closure) -> None:
    snapshot = Snapshot()
    before = snapshot.state_of(closure)
    write(tmp_path)
    assert snapshot.state_of(closure) == before
    more = Closure(closure.read, (*closure.looked_for, "more.h"))
    assert snapshot.state_of(more) != before


def test_of_what_is_not_read_the_content_does_not_count(tmp_path: Path, closure: Closure) -> None:
    before = Snapshot().state_of(closure)
    (tmp_path / "unread.h").write_text("other")
    assert Snapshot().state_of(closure) == before
    (tmp_path / "unread.h").unlink()
    assert Snapshot().state_of(closure) != before
    (tmp_path / "unread.h").mkdir()
    assert Snapshot().state_of(closure) != before


def test_what_was_just_written_was_changed_before(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for _ in range(20):
        path.write_text("before")
        began = next_tick_ns()
        assert path.stat().st_ctime_ns < began
        path.write_text("after")
        assert path.stat().st_ctime_ns >= began


def test_a_pipe_has_no_content(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    closure = Closure((str(tmp_path / "pipe"),), ())
    assert Snapshot().state_of(closure) == Snapshot().state_of(closure)
