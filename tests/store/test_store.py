"""The store on disk: right or not there, whatever happens to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from custom_dispatch.store import Store, StoreWarning, open_store, remember
from custom_dispatch.store.directory import make_private
from custom_dispatch.store.key import key_of
from custom_dispatch.store.store import HITS, MISSES, items, remove_oldest

KEY = key_of("test", "key")
AS_ROOT = os.geteuid() == 0


@dataclass(frozen=True)
class Made:
    data: bytes


def test_a_value_is_found_by_another_store_of_the_same_directory(store: Store) -> None:
    assert store.get(KEY) is None
    store.put(KEY, b"value")
    assert Store(store.path, store.limit).get(KEY) == b"value"
    assert (store.path / "CACHEDIR.TAG").read_bytes().startswith(b"Signature: 8a477f597d28d172")


def test_everything_in_it_is_the_users_alone(store: Store) -> None:
    store.put(KEY, b"value")
    store.count(hit=True)
    for path in [store.path, *store.path.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path


def test_remembering_makes_once_and_counts(store: Store) -> None:
    made = []

    def make() -> Made:
        made.append(1)
        return Made(b"value")

    assert remember(store, Made, lambda: KEY, make) == Made(b"value")
    assert remember(store, Made, lambda: KEY, make) == Made(b"value")
    assert len(made) == 1
    assert (store.path / HITS).stat().st_size == 1
    assert (store.path / MISSES).stat().st_size == 1


def entry_files(store: Store) -> list[Path]:
    return [path for path in store.entries.rglob("*") if path.is_file()]


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


def _another_keys(path: Path) -> None:
    other = Store(path.parents[2], 1 << 20)
    other.put(key_of("test", "other"), b"other")
    (found,) = (item for item in entry_files(other) if item != path)
    path.write_bytes(found.read_bytes())


def _other_version(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:24] + b"\xff\0\0\0" + data[28:])


def _directory(path: Path) -> None:
    path.unlink()
    (path / "sub").mkdir(parents=True)


def _link(path: Path) -> None:
    real = path.parents[2] / "elsewhere"
    path.rename(real)
    path.symlink_to(real)


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _writable_by_others(path: Path) -> None:
    path.chmod(0o666)


def _foreign(path: Path) -> None:
    os.chown(path, 12345, 12345)


DAMAGES = [
    _truncate,
    _empty,
    _flip,
    _another_keys,
    _other_version,
    _directory,
    _link,
    _dangling,
    _pipe,
    _writable_by_others,
]
if AS_ROOT:  # who else could give a file away?
    DAMAGES.append(_foreign)


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_odd_entry_is_a_miss_and_the_next_is_right(
    store: Store, damage: Callable[[Path], None]
) -> None:
    store.put(KEY, b"value")
    (path,) = entry_files(store)
    damage(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert store.get(KEY) is None
        assert remember(store, Made, lambda: KEY, lambda: Made(b"new")) == Made(b"new")
        assert store.load(Made, KEY) == Made(b"new")


def test_a_value_of_another_type_is_a_miss(store: Store) -> None:
    store.put(KEY, b"no dataclass")
    assert store.load(Made, KEY) is None


def test_a_file_in_the_place_of_a_shard_is_a_warning(store: Store) -> None:
    store.entries.mkdir()
    (store.entries / KEY.hex()[:2]).touch()
    with pytest.warns(StoreWarning, match="cannot be written: File exists. Nothing new is kept"):
        store.put(KEY, b"value")
    assert store.get(KEY) is None


def test_a_failure_is_told_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.warns(StoreWarning, match="cannot be written: No space left on device"):
        store.put(KEY, b"value")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.put(KEY, b"value")
    assert entry_files(store) == []


def test_a_store_that_is_deleted_is_made_again(store: Store) -> None:
    store.put(KEY, b"value")
    for path in sorted(store.path.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    store.path.rmdir()
    assert store.get(KEY) is None
    store.put(KEY, b"value")
    assert store.get(KEY) == b"value"
    assert store.path.stat().st_mode & 0o777 == 0o700


def fill(store: Store, count: int, size: int = 20_000) -> list[bytes]:
    keys = [key_of("fill", number) for number in range(count)]
    for key in keys:
        store.put(key, os.urandom(size))
    return keys


def used(store: Store) -> int:
    return sum(item.bytes for item in items(store.entries))


def test_what_was_not_used_for_longest_makes_room(store: Store) -> None:
    keys = fill(store, 30)
    assert store.get(keys[0]) is not None
    more = [key_of("more", number) for number in range(40)]
    for key in more:
        store.put(key, os.urandom(20_000))
    assert used(store) <= store.limit
    assert store.get(keys[1]) is None
    assert store.get(more[-1]) is not None


@pytest.mark.parametrize("jump_seconds", [-400_000_000, 400_000_000])
def test_after_a_clock_has_jumped_the_newest_stay(
    store: Store, monkeypatch: pytest.MonkeyPatch, jump_seconds: int
) -> None:
    real = time.time_ns
    with monkeypatch.context() as patch:
        patch.setattr(time, "time_ns", lambda: real() + jump_seconds * 10**9)
        old = fill(store, 40)
    newest = [key_of("newest", number) for number in range(20)]
    for key in newest:
        store.put(key, os.urandom(20_000))
    assert all(store.get(key) is not None for key in newest)
    assert not all(store.get(key) is not None for key in old)


def test_a_value_that_would_drive_out_the_rest_is_not_kept(store: Store) -> None:
    keys = fill(store, 10)
    store.put(KEY, bytes(store.limit // 2))
    assert store.get(KEY) is None
    assert all(store.get(key) is not None for key in keys)


def test_what_a_killed_writer_left_goes_in_time(store: Store) -> None:
    store.put(KEY, b"value")
    left = store.entries / KEY.hex()[:2] / ".abc.tmp"
    left.write_bytes(b"half")
    remove_oldest(store.entries, store.limit)
    assert left.exists()  # it may be being written
    os.utime(left, (1, 1))
    remove_oldest(store.entries, store.limit)
    assert not left.exists()
    assert store.get(KEY) == b"value"


def test_threads_that_ask_for_one_key_make_it_once(store: Store) -> None:
    made: list[int] = []
    found: list[Made] = []

    def make() -> Made:
        made.append(1)
        time.sleep(0.05)
        return Made(b"value")

    threads = [
        threading.Thread(target=lambda: found.append(remember(store, Made, lambda: KEY, make)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [Made(b"value")] * 8
    assert len(made) == 1


def test_a_failure_to_make_lets_the_next_try(store: Store) -> None:
    def fail() -> Made:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        remember(store, Made, lambda: KEY, fail)
    assert remember(store, Made, lambda: KEY, lambda: Made(b"value")) == Made(b"value")


def test_off_means_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", "off")
    assert open_store() is None


def test_the_directory_is_that_of_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CUSTOM_DISPATCH_STORE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = open_store()
    assert store is not None
    assert store.path == tmp_path / "cache" / "custom-dispatch"
    assert store.path.stat().st_mode & 0o777 == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    store = open_store()
    assert store is not None
    assert store.path == tmp_path / "home" / ".cache" / "custom-dispatch"


@pytest.mark.parametrize(
    ("text", "limit"), [("", 1 << 30), ("1000", 1000), ("2k", 2048), ("3G", 3 << 30)]
)
def test_the_limit_is_what_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, limit: int
) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE_LIMIT", text)
    store = open_store()
    assert store is not None
    assert store.limit == limit


@pytest.mark.parametrize("text", ["much", "9" * 5000, "-1", "1.5G"])
def test_a_limit_that_is_no_number_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE_LIMIT", text)
    found = re.escape(f"is {text!r}, which is no number of bytes such as 500M")
    with pytest.warns(StoreWarning, match=found):
        assert open_store() is not None


def test_a_directory_below_one_that_is_gone_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", "store")
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.warns(StoreWarning, match="not as wanted: the working directory is gone"):
        assert open_store() is None


def test_a_forked_process_does_not_wait_for_a_thread_of_its_parent(store: Store) -> None:
    from custom_dispatch.store import store as module

    with module._guard:  # as another thread may hold it
        child = os.fork()
        if not child:
            signal.alarm(10)
            made = remember(store, Made, lambda: KEY, lambda: Made(b"value"))
            os._exit(made != Made(b"value"))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_directory_that_cannot_be_trusted_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o770)
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(open_to_all))
    with pytest.warns(StoreWarning, match="is not used: other users may write it; `chmod go-w "):
        assert open_store() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert open_store() is None  # told once


def test_a_parent_that_all_may_write_is_refused(tmp_path: Path) -> None:
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(0o777)
    assert make_private(parent / "store").startswith("everybody may write `")
    parent.chmod(0o1777)  # as /tmp: nobody can take away what is another's
    assert make_private(parent / "store") == ""


def test_a_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path if AS_ROOT else Path("/usr")
    if AS_ROOT:
        os.chown(theirs, 12345, 12345)
    assert make_private(theirs) == "it belongs to another user"


def test_a_directory_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert make_private(tmp_path / "file") == "it is a file"
    assert make_private(tmp_path / "file" / "below").startswith("it cannot be made: ")
    assert make_private(tmp_path / ("a" * 300)).startswith("it cannot be made: File name too long")
    assert make_private(Path("/proc/store")).startswith("it cannot be made: ")


LIMITED = """
import resource, sys
from pathlib import Path
from custom_dispatch.store import Store
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
Store(Path(sys.argv[1]), 1 << 20).put(bytes(32), bytes(10_000))
"""


def test_a_disk_without_room_costs_a_warning_and_leaves_nothing(store: Store) -> None:
    command = [sys.executable, "-c", LIMITED, store.path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "cannot be written: File too large. Nothing new is kept in it." in done.stderr
    assert entry_files(store) == []


def test_a_directory_with_other_things_in_it_gets_no_tag(tmp_path: Path) -> None:
    """Backups leave tagged directories out."""
    (tmp_path / "thesis.tex").touch()
    tmp_path.chmod(0o700)
    store = Store(tmp_path, 1 << 20)
    store.put(KEY, b"value")
    assert store.get(KEY) == b"value"
    assert not (tmp_path / "CACHEDIR.TAG").exists()
