"""Writing files: whole or not at all, and never in the place of a device."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from custom_dispatch.errors import OutputError, PtxError, SourceError
from custom_dispatch.files import (
    make_directory,
    read_bytes,
    temporary_directory,
    write_atomically,
    write_together,
)


def test_writes_and_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(path.parent.iterdir()) == [path]


def test_a_file_has_the_permissions_of_an_ordinary_one(tmp_path: Path) -> None:
    (tmp_path / "ordinary").touch()
    write_atomically(tmp_path / "file", b"")
    modes = {path.stat().st_mode for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fchmod", full)
    with pytest.raises(OutputError, match="No space left on device"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_and_its_file_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    # As a device is: /dev/null must stay one, even for root.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[bytes] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, b"content")
    reader.join(timeout=10)
    assert received == [b"content"]
    assert pipe.is_fifo()


def test_a_device_that_is_full_is_a_sentence() -> None:
    full = Path("/dev/full")
    assert full.is_char_device()
    with pytest.raises(OutputError, match="`/dev/full` cannot be written: No space left"):
        write_atomically(full, b"content")
    assert full.is_char_device()


@pytest.mark.parametrize("name", ["file", "file/below", "file/below/it"])
def test_a_file_in_the_way_of_a_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be a directory"):
        make_directory(tmp_path / name)


def test_a_directory_in_the_way_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="it is a directory"):
        write_atomically(tmp_path, b"")


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("absent", "does not exist"),
        ("", "is a directory"),
        ("a\0b", "cannot be read"),
        ("a" * 300, "cannot be read: File name too long"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(SourceError, match=problem) as caught:
        read_bytes(tmp_path / name, "The source", SourceError)
    assert str(caught.value).startswith("The source `")
    assert "next step: " in str(caught.value)


def test_a_name_that_is_too_long_to_be_written_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 300)
    with pytest.raises(OutputError, match="cannot be written: File name too long"):
        write_atomically(path, b"")
    with pytest.raises(OutputError, match="cannot be written: File name too long"):
        write_together({tmp_path / "b": lambda _: None, path: lambda _: None})
    with pytest.raises(OutputError, match="cannot be made: File name too long"):
        make_directory(path)
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_in_a_directory_that_is_gone_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    with pytest.raises(SourceError, match="the working directory, which is gone"):
        read_bytes(Path("kernel.cu"), "The source", SourceError)


def test_a_name_that_is_taken_meanwhile_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with pytest.raises(OutputError, match=r"`.*/file` cannot be written: Is a directory"):
        write_together({path: lambda _: path.mkdir()})
    assert list(tmp_path.iterdir()) == [path]


def test_a_temporary_directory_is_gone_after_its_block() -> None:
    with temporary_directory() as directory:
        (directory / "file").touch()
    assert not directory.exists()
    with pytest.raises(PtxError, match="wrong"), temporary_directory() as directory:
        raise PtxError("wrong")
    assert not directory.exists()


def test_no_place_for_temporary_files_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    with (
        pytest.raises(OutputError, match="No temporary directory can be made: No such file") as why,
        temporary_directory(),
    ):
        pass
    assert "TMPDIR" in why.value.next_step


FULL = """
import resource, sys
from pathlib import Path
import custom_dispatch as cd
from custom_dispatch.errors import OutputError
n = cd.dim("n")
kernel = cd.Kernel("kernel", source=Path("kernel.cu").absolute(), block=1, grid=n,
                   operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])])
resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))
try:
    cd.build([kernel], ["cuda:sm_80"], compiler=sys.argv[1], store=False)
except OutputError as error:
    print(error.found, error.next_step)
"""


@pytest.mark.parametrize("compiler", ["nvrtc", "nvcc"])
def test_a_full_disk_is_not_blamed_on_the_source(tmp_path: Path, compiler: str) -> None:
    """A limit of file sizes, under which programs meet what they do on a full disk."""
    (tmp_path / "kernel.cu").write_text(
        'extern "C" __global__ void kernel(const float* x, float* y) {\n'
        "  y[blockIdx.x] = x[blockIdx.x];\n}\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL, compiler],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == (
        f"The temporary directory `{temporary}` cannot be written: File too large. "
        "make room there, or set TMPDIR to a directory that has some.\n"
    ), done.stderr
    assert list(temporary.iterdir()) == []


def test_what_a_killed_process_left_is_removed_by_a_later_one(tmp_path: Path) -> None:
    code = (
        "import os, sys\nfrom custom_dispatch.files import temporary_directory\n"
        "with temporary_directory() as made:\n"
        "    (made / 'large').write_text('x')\n"
        "    if len(sys.argv) > 1:\n"
        "        print(made, flush=True)\n"
        "        sys.argv[1] == 'kill' and os.kill(os.getpid(), 9)\n"
        "        sys.stdin.read()\n"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", code]
    subprocess.run([*command, "kill"], env=environment, check=False, stdout=subprocess.PIPE)
    (killed,) = tmp_path.iterdir()
    (foreign,) = [tmp_path / "custom-dispatch-of-somebody"]
    foreign.mkdir()
    with subprocess.Popen(
        [*command, "wait"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as living:
        assert living.stdout is not None
        used = Path(living.stdout.readline().decode().strip())
        assert killed.exists()  # it is young: its process might only begin
        for directory in (killed, used, foreign):
            os.utime(directory, (1, 1))
        subprocess.run(command, env=environment, check=True)
        assert set(tmp_path.iterdir()) == {used, foreign}
        living.communicate()
    assert set(tmp_path.iterdir()) == {foreign}
