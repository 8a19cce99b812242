"""CMake builds PTX by itself: cmake/CustomDispatch.cmake, and the root CMakeLists.txt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import custom_dispatch as cd

ROOT = Path(__file__).parents[2]
SCALE = """\
#include "factor.h"
extern "C" __global__ void scale(float *out) { out[threadIdx.x] *= FACTOR; }
"""


def tool(name: str) -> Path | None:
    """A program of this Python environment, else of the machine."""
    own = Path(sys.executable).parent / name
    found = str(own) if own.is_file() else shutil.which(name)
    return Path(found) if found else None


CMAKE = tool("cmake")


class Project:
    """A user's project in a directory of its own, built without any nvcc of the machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.build_directory = root / "build dir"
        # Only what a build needs by name; /usr/local/bin and its nvcc are out of sight.
        self.path = root.parent / "programs"
        self.path.mkdir()
        for name in ("make", "ninja", "gcc", "as"):
            found = tool(name)
            if found:
                (self.path / name).symlink_to(found)
        self.settings = {
            "Python3_EXECUTABLE": sys.executable,
            "CUSTOM_DISPATCH_TOOLKIT": "/nonexistent",
        }
        self.environment: dict[str, str] = {}

    def write(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def kernels(self, arguments: str) -> None:
        self.write(
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(users LANGUAGES NONE)\n"
            f'include("{ROOT}/cmake/CustomDispatch.cmake")\n'
            f"custom_dispatch_add_ptx(kernels {arguments})\n",
        )

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        assert CMAKE is not None, "cmake is among the test requirements"
        return subprocess.run(
            [CMAKE, *arguments],
            env={
                "PATH": str(self.path),
                "HOME": "/nonexistent",
                # CMake's default is make, which a machine without compilers does not have.
                "CMAKE_GENERATOR": "Unix Makefiles" if tool("make") else "Ninja",
                **self.environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )

    def configure(
        self, *arguments: str, source: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        settings = [f"-D{name}={value}" for name, value in self.settings.items()]
        return self.run(
            "-S", source or self.root, "-B", self.build_directory, *settings, *arguments
        )

    def build(self, target: str = "kernels") -> subprocess.CompletedProcess[str]:
        return self.run("--build", self.build_directory, "--target", target)

    def refusal(self, *arguments: str) -> str:
        """What configuring says when it fails, as one line: CMake wraps messages."""
        result = self.configure(*arguments)
        assert result.returncode != 0
        return " ".join(result.stdout.split())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path / "my project")
    project.write("scale.cu", SCALE)
    project.write("factor.h", "#define FACTOR 2.0f\n")
    return project


@pytest.fixture
def gcc() -> None:
    if shutil.which("gcc") is None:
        pytest.skip("nvcc needs gcc to preprocess, and there is none")


# The other tests of CMake build with make.
@pytest.fixture(params=[pytest.param("Unix Makefiles", marks=pytest.mark.thorough), "Ninja"])
def generator(request: pytest.FixtureRequest) -> str:
    program = {"Unix Makefiles": "make", "Ninja": "ninja"}[request.param]
    if tool(program) is None:
        pytest.skip(f"{program} is not installed")
    return str(request.param)


needs_gcc = pytest.mark.usefixtures("gcc")


@needs_gcc
def test_the_wheels_nvcc_builds_each_source_for_each_arch(project: Project, generator: str) -> None:
    project.write("more/plain.cu", 'extern "C" __global__ void plain() {}\n')
    project.kernels("SOURCES scale.cu more/plain.cu ARCHS 80 90a 80")
    configured = project.configure("-G", generator)
    assert configured.returncode == 0, configured.stdout
    assert "custom-dispatch: nvcc is " in configured.stdout
    assert "/nvidia/cu13/bin/nvcc" in configured.stdout
    built = project.build()
    assert built.returncode == 0, built.stdout
    ptx = {path.name: path.read_text() for path in project.build_directory.glob("*.ptx")}
    assert sorted(ptx) == [
        "plain_sm_80.ptx",
        "plain_sm_90a.ptx",
        "scale_sm_80.ptx",
        "scale_sm_90a.ptx",
    ]
    assert ".target sm_90a\n" in ptx["scale_sm_90a.ptx"]
    assert ".entry scale(" in ptx["scale_sm_90a.ptx"]
    assert ".target sm_80\n" in ptx["plain_sm_80.ptx"]


@needs_gcc
def test_a_changed_header_rebuilds_and_nothing_else_does(project: Project, generator: str) -> None:
    project.kernels("SOURCES scale.cu ARCHS 90")
    assert project.configure("-G", generator).returncode == 0
    assert project.build().returncode == 0
    ptx = project.build_directory / "scale_sm_90.ptx"
    first = ptx.stat().st_mtime_ns
    assert project.build().returncode == 0
    assert ptx.stat().st_mtime_ns == first
    header = project.write("factor.h", "#define FACTOR 3.0f\n")
    os.utime(header, ns=(first + 10**9, first + 10**9))
    assert project.build().returncode == 0
    assert ptx.stat().st_mtime_ns != first
    assert "0f40400000" in ptx.read_text()


@needs_gcc
def test_a_failed_compilation_leaves_no_ptx(project: Project, generator: str) -> None:
    project.kernels("SOURCES scale.cu ARCHS 90")
    assert project.configure("-G", generator).returncode == 0
    assert project.build().returncode == 0
    ptx = project.build_directory / "scale_sm_90.ptx"
    changed = ptx.stat().st_mtime_ns + 10**9
    source = project.write("scale.cu", SCALE.replace("FACTOR", "FACTORY"))
    os.utime(source, ns=(changed, changed))
    failed = project.build()
    assert failed.returncode != 0
    assert 'scale.cu(2): error: identifier "FACTORY" is undefined' in failed.stdout
    assert not list(project.build_directory.glob("*.ptx"))
    source = project.write("scale.cu", SCALE)
    os.utime(source, ns=(changed + 10**9, changed + 10**9))
    assert project.build().returncode == 0
    assert ptx.is_file()


@needs_gcc
def test_options_include_directories_and_output_directory_are_used(project: Project) -> None:
    project.write("include dir/other.h", "#define OTHER 5.0f\n")
    project.write(
        "k.cu",
        "#include <other.h>\nstatic_assert(__cplusplus == 202002L);\n"
        'extern "C" __global__ void k(float *out) { *out = OTHER / ZERO; }\n',
    )
    project.kernels(
        'ALL SOURCES k.cu ARCHS 90 OUTPUT_DIRECTORY out INCLUDE_DIRECTORIES "include dir"\n'
        "OPTIONS -std=c++20 -DZERO=4.0f)\n"
        "get_target_property(files kernels CUSTOM_DISPATCH_PTX)\n"
        'message(STATUS "files: ${files}"'
    )
    configured = project.configure()
    expected = project.build_directory / "out" / "k_sm_90.ptx"
    assert f"files: {expected}" in configured.stdout
    assert project.build("all").returncode == 0
    assert "1067450368" in expected.read_text() or "0f3FA00000" in expected.read_text()


@needs_gcc
def test_flags_in_the_environment_do_not_reach_nvcc(project: Project) -> None:
    project.write("scale.cu", "#ifdef OUTSIDE\n#error seen\n#endif\n" + SCALE)
    project.kernels("SOURCES scale.cu ARCHS 90")
    project.environment = {"NVCC_PREPEND_FLAGS": "-DOUTSIDE", "NVCC_APPEND_FLAGS": "-DOUTSIDE"}
    assert project.configure().returncode == 0
    built = project.build()
    assert built.returncode == 0, built.stdout


@needs_gcc
@pytest.mark.parametrize("place", ["VIRTUAL_ENV", ".venv"])
def test_the_wheels_of_a_virtual_environment_are_found(project: Project, place: str) -> None:
    del project.settings["Python3_EXECUTABLE"]
    project.kernels("SOURCES scale.cu ARCHS 90")
    if place == "VIRTUAL_ENV":
        project.environment["VIRTUAL_ENV"] = sys.prefix
    else:
        (project.root / ".venv").symlink_to(sys.prefix)
    configured = project.configure()
    assert "/nvidia/cu13/bin/nvcc" in configured.stdout, configured.stdout


@needs_gcc
def test_an_nvcc_named_in_the_cache_is_taken_before_all(project: Project, tmp_path: Path) -> None:
    wheels = Path(_wheels_nvcc())
    own = tmp_path / "own-nvcc"
    own.write_text(f'#!/bin/sh\nexec "{wheels}" "$@"\n')
    own.chmod(0o755)
    project.settings["CUDA_NVCC_EXECUTABLE"] = str(own)
    project.kernels("SOURCES scale.cu ARCHS 90")
    assert f"custom-dispatch: nvcc is {own}" in project.configure().stdout


def test_a_named_nvcc_that_does_not_exist_is_refused(project: Project) -> None:
    project.settings["CUDA_NVCC_EXECUTABLE"] = "/nonexistent/nvcc"
    project.kernels("SOURCES scale.cu")
    message = project.refusal()
    assert "CUDA_NVCC_EXECUTABLE is /nonexistent/nvcc, which does not exist." in message


def test_no_nvcc_lists_the_places_and_the_next_step(project: Project) -> None:
    del project.settings["Python3_EXECUTABLE"]
    project.environment = {"CUDA_HOME": "/nonexistent/cuda"}
    project.kernels("SOURCES scale.cu")
    message = project.refusal()
    assert "nvcc was not found. These places were searched:" in message
    assert "CUDA_HOME (/nonexistent/cuda) CUDA_PATH () PATH /nonexistent" in message
    extras = tomllib.loads(Path("pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert f"pip install {' '.join(extras['nvcc'])})" in message


def test_no_host_compiler_is_a_sentence(project: Project) -> None:
    (project.path / "gcc").unlink(missing_ok=True)
    project.kernels("SOURCES scale.cu")
    message = project.refusal()
    assert "needs a host C++ compiler to preprocess sources, and finds none that works:" in message
    assert "Install g++ (apt install g++)" in message


@pytest.mark.parametrize("arch", ["sm_90", "90b", "compute_80", "9.0", "-1"])
def test_a_wrong_arch_is_refused_with_the_right_form(project: Project, arch: str) -> None:
    project.kernels(f"SOURCES scale.cu ARCHS {arch}")
    message = project.refusal()
    assert f"custom_dispatch_add_ptx(kernels): '{arch}' is not a CUDA architecture." in message
    assert "80, 90, 90a, 100f" in message


@needs_gcc
def test_an_arch_that_nvcc_does_not_know_lists_those_it_does(project: Project) -> None:
    project.kernels("SOURCES scale.cu ARCHS 77")
    message = project.refusal()
    assert "does not compile for architecture 77. Expected one of: 75, 80, 86, " in message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("SOURCES scale.cu other/scale.cu", "two sources would become the same file"),
        ("SOURCES absent.cu", "there is no source file"),
        ("SOURCES other", "there is no source file"),
        ("ARCHS 80", "names no sources. Add: SOURCES a.cu"),
        ("scale.cu", "'scale.cu' belongs to no keyword."),
        ("SOURCES [[a$(x).cu]]", "nvcc misreads the name"),
    ],
)
def test_a_wrong_call_is_refused(
    project: Project, arguments: str, message: str, gcc: Callable[[], None]
) -> None:
    project.write("other/scale.cu", SCALE)
    project.write("a$(x).cu", SCALE)
    project.kernels(arguments)
    assert message in project.refusal()


NORM = """\
namespace maths {
template <class T, int Tile> __global__ void norm(const T* x, T* y) { y[0] = x[Tile]; }
}
__global__ void scale(const float* x, float* y) { y[0] = x[0]; }
__global__ void scale(const int* x, int* y) { y[0] = x[0]; }
"""


@needs_gcc
def test_entries_are_instantiated_and_found_by_their_names(project: Project) -> None:
    project.write("norm.cu", NORM)
    project.kernels(
        'SOURCES norm.cu ARCHS 80 ENTRIES "maths::norm<float, 64>" "maths::norm<int, (2+1)>" '
        '"scale(const int*, int*)"'
    )
    assert project.configure().returncode == 0
    built = project.build()
    assert built.returncode == 0, built.stdout
    assert "warning" not in built.stdout
    n = cd.dim("n")
    for entry, dtype, symbol in (
        ("maths::norm<float, 64>", "f32", "_ZN5maths4normIfLi64EEEvPKT_PS1_"),
        ("maths::norm<int, 3>", "i32", "_ZN5maths4normIiLi3EEEvPKT_PS1_"),
        ("scale(const int*, int*)", "i32", "_Z5scalePKiPi"),
    ):
        kernel = cd.Kernel(
            "kernel",
            source=project.root / "norm.cu",
            entry=entry,
            operands=[cd.In("x", dtype, [n]), cd.Out("y", dtype, [n])],
            block=32,
            grid=1,
        )
        library = cd.build(kernel, ["cuda:sm_80"], objects=project.build_directory)
        (item,) = library.objects
        assert item.symbol(kernel.entry) == symbol
        assert b"custom_dispatch" not in item.data


@needs_gcc
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('SOURCES norm.cu ENTRIES "scale; x"', "is not the name of a function"),
        ('SOURCES norm.cu ENTRIES "a:b"', "'a:b' is not the name of a function"),
        ('SOURCES norm.cu ENTRIES "k<1>; int y"', "is not the name of a function"),
        ("SOURCES norm.cu scale.cu ENTRIES scale", "names ENTRIES and 2 sources"),
    ],
)
def test_wrong_entries_are_refused(project: Project, arguments: str, said: str) -> None:
    project.write("norm.cu", NORM)
    project.kernels(arguments)
    assert said in project.refusal()


@needs_gcc
def test_this_repository_has_a_rule_for_each_of_its_kernels(project: Project) -> None:
    """The page on stock tools builds with them; thorough tests build all."""
    configured = project.configure("-DCUSTOM_DISPATCH_CUDA_ARCHS=90", source=ROOT)
    assert configured.returncode == 0, configured.stdout
    told = project.run("--build", project.build_directory, "--target", "ptx", "--", "-n").stdout
    sources = list(ROOT.glob("cuda_kernels/**/*.cu"))
    assert len(sources) > 10
    for source in sources:
        assert str(source) in told
        assert f"{source.stem}_sm_90.ptx" in told


@pytest.mark.thorough
@needs_gcc
def test_this_repository_builds_its_kernels_as_ptx(project: Project) -> None:
    """For one architecture, by name; the page on stock tools has those of itself, of one source."""
    configured = project.configure("-DCUSTOM_DISPATCH_CUDA_ARCHS=90", source=ROOT)
    assert configured.returncode == 0, configured.stdout
    built = project.build("ptx")
    assert built.returncode == 0, built.stdout
    assert {path.name for path in project.build_directory.glob("*.ptx")} == {
        f"{source.stem}_sm_90.ptx" for source in ROOT.glob("cuda_kernels/**/*.cu")
    }


def _wheels_nvcc() -> Path:
    from custom_dispatch.toolchain.locations import find_tool

    return find_tool("nvcc").require("nvcc")
