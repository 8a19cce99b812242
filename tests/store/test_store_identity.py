"""What tells a program from another version of it: its content, and nothing of where it lies."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from custom_dispatch.store import file_identity

PROGRAM = bytes(range(256)) * 16 * 100
"""A hundred pages."""


def put(path: Path, content: bytes) -> bytes:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return file_identity(path)


def test_the_same_program_installed_again_is_the_same(tmp_path: Path) -> None:
    first = put(tmp_path / "one" / "ptxas", PROGRAM)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    again = tmp_path / "two" / "ptxas"
    os.utime(again, ns=(0, 0))
    assert again.stat().st_ino != (tmp_path / "one" / "ptxas").stat().st_ino
    assert file_identity(again) == first


@pytest.mark.parametrize("page", [0, 50, 99])
def test_a_build_with_other_code_is_another(tmp_path: Path, page: int) -> None:
    """Of the same size, and written over the first, so that it has the same inode."""
    path = tmp_path / "ptxas"
    first = put(path, PROGRAM)
    inode = path.stat().st_ino
    changed = bytearray(PROGRAM)
    changed[page * 4096 : (page + 2) * 4096] = bytes(2 * 4096)  # of 64 pages one is among any two
    path.write_bytes(changed[: len(PROGRAM)])
    assert path.stat().st_ino == inode
    assert file_identity(path) != first


def test_one_that_is_longer_is_another(tmp_path: Path) -> None:
    path = tmp_path / "ptxas"
    assert put(path, PROGRAM) != put(path, PROGRAM + b"\0")


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 3 * 4096])
def test_small_programs_are_told_apart(tmp_path: Path, size: int) -> None:
    path = tmp_path / "ptxas"
    first = put(path, bytes(size))
    for place in {0, size // 2, size - 1} if size else ():
        assert put(path, bytes(place) + b"\1" + bytes(size - place - 1)) != first
