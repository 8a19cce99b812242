"""Where tools are looked for, in which order, and what is told of the places passed over."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cuda_sources import Write

from custom_dispatch.errors import ToolNotFoundError
from custom_dispatch.toolchain import locations as module
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.locations import (
    Search,
    find_headers,
    find_tool,
    include_directories,
)


@pytest.fixture
def nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no place has anything."""
    monkeypatch.setattr(module, "wheel_roots", lambda: ())
    monkeypatch.setattr(module, "DEFAULT_TOOLKIT", tmp_path / "usr-local-cuda")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)


def toolkit(write: Write, name: str, tool: str = "nvcc") -> Path:
    path = write(f"{name}/bin/{tool}", "#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["nvcc", "ptxas", "fatbinary"])
def test_the_wheels_of_this_environment_come_first(
    name: str, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit(write, "home", name).parents[1]))
    search = find_tool(name)
    assert search.found is not None
    assert search.found.parts[-4:] == ("nvidia", "cu13", "bin", name)
    assert search.place.startswith("PyPI wheels in ")
    assert search.rejected == ()


@pytest.mark.usefixtures("nothing")
def test_then_cuda_home_then_cuda_path_then_path_then_usr_local_cuda(
    write: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    last = toolkit(write, "usr-local-cuda")
    assert find_tool("nvcc").found == last
    on_path = toolkit(write, "other")
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert find_tool("nvcc").found == on_path
    for variable, name in (("CUDA_PATH", "path"), ("CUDA_HOME", "home")):
        tool = toolkit(write, name)
        monkeypatch.setenv(variable, str(tool.parents[1]))
        search = find_tool("nvcc")
        assert search.found == tool
        assert search.place == f"{variable}={tmp_path / name}"


@pytest.mark.usefixtures("nothing")
def test_a_missing_nvcc_lists_every_place_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUDA_PATH", "/nonexistent")
    with pytest.raises(ToolNotFoundError) as caught:
        find_compiler("nvcc")
    assert str(caught.value) == (
        "nvcc was not found.\n"
        "  expected: it in one of these places:\n"
        f"    PyPI wheels in {sys.prefix}: NVIDIA's CUDA 13 packages are not installed\n"
        "    CUDA_HOME: not set\n"
        "    CUDA_PATH=/nonexistent: has no bin/nvcc\n"
        "    PATH: has no nvcc\n"
        f"    {tmp_path / 'usr-local-cuda'}: has no bin/nvcc\n"
        "  next step: pip install -e '.[cuda]' (in the clone)."
    )


@pytest.mark.usefixtures("nothing")
def test_a_missing_nvrtc_is_told_as_well() -> None:
    with pytest.raises(ToolNotFoundError, match=r"NVRTC was not found\.(.|\n)*no libnvrtc.so.13"):
        find_compiler("nvrtc")


@pytest.mark.usefixtures("nothing")
@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ((), "has no bin/nvcc"),
        (("bin/nvcc",), "has nvcc but not nvidia-nvvm, which holds its compiler proper"),
        (
            ("bin/nvcc", "nvvm/bin/cicc"),
            "has nvcc but not nvidia-cuda-crt, which holds its headers",
        ),
    ],
)
def test_wheels_without_a_part_of_nvcc_are_passed_over(
    parts: tuple[str, ...], reason: str, write: Write, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    root = tmp_path / "cu13"
    for part in parts:
        write(f"cu13/{part}", "").chmod(0o755)
    monkeypatch.setattr(module, "wheel_roots", lambda: (root,))
    assert find_tool("nvcc").rejected[0] == (f"PyPI wheels in {root}", reason)


@pytest.mark.usefixtures("nothing")
def test_a_tool_that_may_not_be_executed_is_passed_over(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = toolkit(write, "home", "ptxas")
    tool.chmod(0o644)
    monkeypatch.setenv("CUDA_HOME", str(tool.parents[1]))
    search = find_tool("ptxas")
    assert search.found is None
    assert search.rejected[1][1] == "bin/ptxas may not be executed"


@pytest.mark.usefixtures("nothing")
def test_something_else_by_the_name_of_nvcc_is_told(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = toolkit(write, "home")
    monkeypatch.setenv("CUDA_HOME", str(tool.parents[1]))
    with pytest.raises(ToolNotFoundError, match="--version` does not print a CUDA version"):
        find_compiler("nvcc")


@pytest.mark.usefixtures("nothing")
def test_headers_are_found_beside_the_nvcc_on_path(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert include_directories() == ()
    tool = toolkit(write, "other")
    monkeypatch.setenv("PATH", str(tool.parent))
    assert find_headers().found is None
    header = write("other/include/cuda_runtime.h", "")
    write("other/include/cccl/cub/cub.cuh", "")
    assert include_directories() == (header.parent, header.parent / "cccl")


def test_a_search_that_found_something_requires_nothing() -> None:
    assert Search("nvcc", Path("x"), "PATH", ()).require("") == Path("x")


def test_a_library_that_does_not_load_is_a_sentence(write: Write) -> None:
    root = write("cu13/lib/libnvrtc.so.13", "not a library").parents[1]
    # In a process of its own: the library stays in the one that has loaded it.
    code = (
        "import pathlib\n"
        "from custom_dispatch.errors import ToolNotFoundError\n"
        "from custom_dispatch.toolchain.choose_compiler import find_compiler\n"
        "from custom_dispatch.toolchain import locations\n"
        f"locations.wheel_roots = lambda: (pathlib.Path({str(root)!r}),)\n"
        "try:\n    find_compiler('nvrtc').version\n"
        "except ToolNotFoundError as error:\n    print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.startswith(f"NVRTC at `{root}/lib/libnvrtc.so.13` cannot be loaded: ")
    assert "next step: pip install -e '.[cuda]' (in the clone).\n" in result.stdout


def test_importing_the_toolchain_loads_neither_cuda_nor_iree() -> None:
    code = (
        "import sys, custom_dispatch.toolchain, custom_dispatch.toolchain.nvrtc\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('cuda', 'iree')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout == "[]\n"
