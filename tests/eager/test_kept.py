"""A call's module straight from the store: what it loads, and what makes it compile again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.eager import kept
from custom_dispatch.eager.call import module_for
from custom_dispatch.store import Closure
from custom_dispatch.toolchain import locations, stored_build

SOURCE = """#include "factor.h"
extern "C" __global__ void scaled(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = FACTOR * x[i];
}
"""
DECLARED = """
import custom_dispatch as cd
n = cd.dim("n")
scaled = cd.Kernel(
    "scaled", source="scaled.cu", block=64, grid=cd.ceildiv(n, 64), options=[{options}],
    operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)],
)
"""
# Everything that declaring, finding and running a module needs, and nothing that makes one.
PROGRAM = """
import sys
import numpy, iree.runtime
from declared import scaled
print(scaled(numpy.ones(3, numpy.float32)).tolist())
ours = sorted(name for name in sys.modules if name.startswith("custom_dispatch."))
print(" ".join(ours))
"""
COMPILES = ("compilation", "cpu", "frontends", "link", "match", "measure", "ptx")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a kernel, and a store of its own."""
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path / "store"))
    return written(tmp_path)


def written(directory: Path) -> Path:
    (directory / "scaled.cu").write_text(SOURCE)
    (directory / "factor.h").write_text("#define FACTOR 2\n")
    (directory / "declared.py").write_text(DECLARED.format(options=""))
    return directory


def called(place: Path) -> tuple[list[float], set[str]]:
    """What a call in a fresh process gives, and this package's modules that it has loaded."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=place, capture_output=True, text=True, check=True
    )
    result, modules = done.stdout.splitlines()
    return [float(item) for item in result.strip("[]").split(",")], set(modules.split())


def compiles(modules: set[str]) -> bool:
    return "custom_dispatch.compilation" in modules


def test_a_kernel_called_again_loads_nothing_that_compiles(place: Path) -> None:
    assert compiles(called(place)[1])
    result, modules = called(place)
    assert result == [2.0, 2.0, 2.0]
    rooms = {name.split(".")[1] for name in modules}
    assert not rooms & {*COMPILES}
    of_toolchain = {name for name in modules if name.startswith("custom_dispatch.toolchain.")}
    assert of_toolchain == {"custom_dispatch.toolchain.locations"}
    of_eager = {name.rpartition(".")[2] for name in modules if ".eager." in name}
    assert of_eager == {"call", "kept", "placing", "prepared"}
    assert len(modules) <= 60


def test_a_header_a_source_or_an_option_that_changes_is_seen(place: Path) -> None:
    called(place)
    (place / "factor.h").write_text("#define FACTOR 3\n")
    result, modules = called(place)
    assert (result, compiles(modules)) == ([3.0] * 3, True)
    (place / "scaled.cu").write_text(SOURCE.replace("FACTOR *", "2 * FACTOR *"))
    result, modules = called(place)
    assert (result, compiles(modules)) == ([6.0] * 3, True)
    (place / "scaled.cu").write_text(SOURCE.replace('#include "factor.h"', ""))
    (place / "declared.py").write_text(DECLARED.format(options='"-DFACTOR=5"'))
    result, modules = called(place)
    assert (result, compiles(modules)) == ([5.0] * 3, True)
    result, modules = called(place)
    assert (result, compiles(modules)) == ([5.0] * 3, False)


def test_a_header_that_takes_anothers_place_is_seen(place: Path) -> None:
    (place / "factor.h").unlink()
    (place / "include").mkdir()
    (place / "include" / "factor.h").write_text("#define FACTOR 2\n")
    text = DECLARED.format(options="").replace("block=64", 'include_dirs=["include"], block=64')
    (place / "declared.py").write_text(text)
    called(place)
    assert not compiles(called(place)[1])
    (place / "factor.h").write_text("#define FACTOR 7\n")
    assert called(place)[0] == [7.0] * 3


@pytest.fixture
def kernel(place: Path) -> cd.Kernel:
    return declared_in(place)


def declared_in(place: Path) -> cd.Kernel:
    n = cd.dim("n")
    return cd.Kernel(
        "scaled",
        source=place / "scaled.cu",
        block=64,
        grid=cd.ceildiv(n, 64),
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("count", "i32", n)],
    )


def builds(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    from custom_dispatch import compilation

    seen: list[object] = []
    real: Callable[..., object] = compilation.compile

    def compile_module(*arguments: object, **more: object) -> object:
        seen.append(arguments)
        return real(*arguments, **more)

    monkeypatch.setattr(compilation, "compile", compile_module)
    return seen


@pytest.fixture(scope="module")
def called_before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a kernel, and a store that has its module."""
    place = written(tmp_path_factory.mktemp("called"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUSTOM_DISPATCH_STORE", str(place / "store"))
        module_for(declared_in(place), "cpu")
    return place


@pytest.mark.parametrize(
    "changed", ["package", "nvrtc", "ptxas", "iree", "headers", "launch", "store off", "option"]
)
def test_another_package_compiler_or_launch_is_not_what_was_kept(
    changed: str, called_before: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(called_before / "store"))
    kernel = declared_in(called_before)
    seen = builds(monkeypatch)
    module_for(kernel, "cpu")
    assert not seen
    more = {}
    if changed == "package":
        monkeypatch.setattr(kept, "package_identity", lambda: b"another")
    elif changed == "iree":
        monkeypatch.setattr(kept, "compiler_identity", lambda _: b"another")
    elif changed in ("nvrtc", "ptxas"):
        real = kept.file_identity

        def identity(path: Path) -> bytes:
            return b"another" if changed in path.name else real(path)

        monkeypatch.setattr(kept, "file_identity", identity)
    elif changed == "headers":
        found = locations.Search("headers", tmp_path, "elsewhere", ())
        monkeypatch.setattr(kept, "find_headers", lambda: found)
    elif changed == "launch":
        kernel = kernel.with_launch(block=32, grid=cd.ceildiv(cd.dim("n"), 32))
    elif changed == "store off":
        more = {"store": False}
    else:
        kernel = kernel.with_launch(options=["-DOTHER"])
    module_for(kernel, "cpu", **more)  # type: ignore[arg-type]
    assert len(seen) == 1


def test_a_source_that_changes_while_it_is_compiled_is_not_kept(
    kernel: cd.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = stored_build.is_older

    def edited(closure: Closure, time_ns: int) -> bool:
        assert kernel.source is not None
        kernel.source.write_text(SOURCE.replace("FACTOR *", "9 *"))
        return real(closure, time_ns)

    with monkeypatch.context() as patch:
        patch.setattr(stored_build, "is_older", edited)
        module_for(kernel, "cpu")
    seen = builds(monkeypatch)
    module = module_for(kernel, "cpu")
    assert len(seen) == 1
    assert cd.load(module, "cpu").scaled(np.ones(2, np.float32)).tolist() == [9.0, 9.0]
