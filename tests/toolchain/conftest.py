"""Sources and tools that the tests of this room share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cuda_sources import SCALE, Write, skip_without_gcc

from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import Compiler, CompileRequest


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below tmp_path and return its path."""

    def write(name: str, text: str | bytes = SCALE) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def _found(name: str) -> Compiler:
    if name == "nvcc":
        skip_without_gcc()
    return find_compiler(name)


@pytest.fixture(params=["nvrtc", pytest.param("nvcc", marks=pytest.mark.thorough)])
def compiler(request: pytest.FixtureRequest) -> Compiler:
    """Each compiler in turn, for what is the same work of this package behind both."""
    return _found(request.param)


@pytest.fixture(params=["nvrtc", "nvcc"])
def each_compiler(request: pytest.FixtureRequest) -> Compiler:
    """Each compiler in turn: what one promises, both do."""
    return _found(request.param)


@pytest.fixture(scope="session")
def scale_ptx(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], bytes]:
    """The PTX of SCALE for an architecture."""
    source = tmp_path_factory.mktemp("scale") / "scale.cu"
    source.write_text(SCALE)
    nvrtc = find_compiler("nvrtc")
    return lambda arch: nvrtc.compile(CompileRequest(source, Arch.parse(arch))).ptx
