"""Objects and files: named by kernel and target, written whole or not at all."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest
from cuda_sources import Write

from custom_dispatch.errors import OutputError, SourceError
from custom_dispatch.files import read_bytes, write_atomically
from custom_dispatch.kernel.target import Target
from custom_dispatch.toolchain.library import Object

PTX = Object("scale", Target.parse("cuda:sm_90a"), "ptx", b"text", "NVRTC 13.0.88")


def test_an_object_is_named_by_kernel_target_and_kind(tmp_path: Path) -> None:
    assert PTX.file_name == "scale_sm_90a.ptx"
    path = PTX.write(tmp_path / "new" / "directory")
    assert path == tmp_path / "new" / "directory" / "scale_sm_90a.ptx"
    assert path.read_bytes() == b"text"


def test_a_file_in_place_of_the_directory_is_a_sentence(write: Write) -> None:
    file = write("out", "")
    with pytest.raises(OutputError) as caught:
        PTX.write(file)
    assert caught.value.found == f"`{file}` is a file."
    assert caught.value.expected == "a directory for the objects"
    with pytest.raises(OutputError, match="it, or a part of its path, is a file"):
        PTX.write(file / "below")


def test_writing_over_a_directory_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / PTX.file_name).mkdir()
    with pytest.raises(OutputError, match=r"cannot be written: it is a directory\."):
        PTX.write(tmp_path)


def test_a_full_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(OutputError) as caught:
        write_atomically(path, b"new")
    assert caught.value.found == f"`{path}` cannot be written: No space left on device."
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"


def test_a_directory_that_may_not_be_written_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    # The superuser, which tests in containers run as, may write anywhere.
    monkeypatch.setattr("tempfile.mkstemp", denied)
    with pytest.raises(OutputError) as caught:
        write_atomically(tmp_path / "file", b"")
    assert caught.value.found == f"`{tmp_path / 'file'}` cannot be written: Permission denied."
    monkeypatch.setattr(Path, "mkdir", denied)
    with pytest.raises(OutputError, match="cannot be made: Permission denied"):
        write_atomically(tmp_path / "new" / "file", b"")


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fchmod", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "file", b"new")
    assert list(tmp_path.iterdir()) == []


def test_a_written_file_has_the_mode_of_an_ordinary_one(tmp_path: Path, write: Write) -> None:
    ordinary = write("ordinary", "")
    write_atomically(tmp_path / "file", b"")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (ordinary, tmp_path / "file")]
    assert modes[0] == modes[1]


def test_readers_never_see_half_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([number]) * 200_000 for number in range(4)]
    write_atomically(path, contents[0])
    done = threading.Event()

    def write_on() -> None:
        for _ in range(25):
            for content in contents:
                write_atomically(path, content)
        done.set()

    writer = threading.Thread(target=write_on)
    writer.start()
    while not done.is_set():
        assert path.read_bytes() in contents
    writer.join()


def test_reading_what_is_not_a_file_is_a_sentence_of_the_class_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read_bytes(tmp_path / "no.cu", "The CUDA source", SourceError)
    assert caught.value.found == f"The CUDA source `{tmp_path / 'no.cu'}` does not exist."
    with pytest.raises(SourceError, match="is a directory"):
        read_bytes(tmp_path, "The CUDA source", SourceError)
    with pytest.raises(SourceError, match="cannot be read: Not a directory"):
        read_bytes(Path(__file__) / "below", "The CUDA source", SourceError)
    with pytest.raises(SourceError, match="cannot be read: embedded null byte"):
        read_bytes(Path("a\0b"), "The CUDA source", SourceError)


def test_a_file_that_may_not_be_read_is_a_sentence(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("secret.cu", "")

    def denied(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(SourceError) as caught:
        read_bytes(path, "The CUDA source", SourceError)
    assert caught.value.found == f"The CUDA source `{path}` may not be read by this user."
