"""Modules through the store: compiled once, whoever asks, until something about them changes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.ir import compiler_tool, library_ir
from custom_dispatch.ir import compiler_tool as cpu_target
from custom_dispatch.ir import stored as installed_compiler
from custom_dispatch.ir import stored as stored_modules
from custom_dispatch.link.model import parse_model, refers_to_files

MODEL = """
func.func private @simple_mul(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @main(%lhs: tensor<?xf32>, %rhs: tensor<?xf32>) -> tensor<?xf32> {
  %0 = call @simple_mul(%lhs, %rhs) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store for each test."""
    path = tmp_path / "store"
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(path))
    cpu_target.cpu_executable_target.cache_clear()
    return path


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The arguments of every run of `iree-compile`."""
    seen: list[list[str]] = []
    real = compiler_tool.run

    def run(arguments: Any, **keywords: Any) -> Any:
        seen.append([str(argument) for argument in arguments])
        return real(arguments, **keywords)

    monkeypatch.setattr(compiler_tool, "run", run)
    return seen


Compile = Callable[[], cd.CompiledModule]


def test_kernels_and_models_are_compiled_once(runs: list[list[str]]) -> None:
    for model in (None, MODEL, parse_model(MODEL)):
        first = cd.compile(model, simple_mul, ["cuda:sm_80", "cpu"])
        count = len(runs)
        assert cd.compile(model, simple_mul, ["cuda:sm_80", "cpu"]) == first
        assert len(runs) == count
    # The CPU's description, a module of the kernel, and the model, which is the same in both forms
    # but for its locations.
    assert count in (3, 4)


def test_a_model_as_text_and_as_a_file_is_the_same(runs: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(MODEL)
    cd.compile(tmp_path / "model.mlir", simple_mul, "cuda:sm_80")
    cd.compile(MODEL, simple_mul, "cuda:sm_80")
    assert len(runs) == 1


OTHERS: list[Compile] = [
    lambda: cd.compile(MODEL, simple_mul, ["cuda:sm_80"]),
    lambda: cd.compile(MODEL, simple_mul, ["cuda:sm_90", "cpu"]),
    lambda: cd.compile(MODEL, simple_mul, ["cuda:sm_80", "cpu:x86-64-v3"]),
    lambda: cd.compile(MODEL, simple_mul, ["cuda:sm_80", "cpu"], store=False),
    lambda: cd.compile(None, simple_mul, ["cuda:sm_80", "cpu"]),
    lambda: cd.compile(MODEL.replace("main", "entry"), simple_mul, ["cuda:sm_80", "cpu"]),
    lambda: cd.compile(
        MODEL, [simple_mul, simple_mul_inplace], ["cuda:sm_80", "cpu"], flags=["--mlir-timing"]
    ),
]


def test_whatever_changes_is_compiled_again(runs: list[list[str]]) -> None:
    cd.compile(MODEL, simple_mul, ["cuda:sm_80", "cpu"])
    for number, other in enumerate(OTHERS):
        count = len(runs)
        other()
        assert len(runs) > count, number


@pytest.mark.parametrize("what", ["compiler_identity", "package_identity"])
def test_another_compiler_or_package_compiles_again(
    runs: list[list[str]], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    cd.compile(MODEL, simple_mul, "cuda:sm_80")
    monkeypatch.setattr(stored_modules, what, lambda *_: b"another")
    cd.compile(MODEL, simple_mul, "cuda:sm_80")
    assert len(runs) == 2


def test_the_host_is_part_of_what_is_compiled_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    here = installed_compiler.compiler_identity("host")
    assert here not in (None, installed_compiler.compiler_identity("generic"))
    assert installed_compiler.compiler_identity("generic") is not None
    monkeypatch.setattr(installed_compiler, "host_identity", lambda: b"another CPU")
    assert installed_compiler.compiler_identity("host") not in (None, here)
    monkeypatch.setattr(installed_compiler, "host_identity", lambda: None)
    assert installed_compiler.compiler_identity("host") is None


def test_flags_may_name_files_and_are_not_kept(runs: list[list[str]]) -> None:
    for _ in range(2):
        cd.compile(MODEL, simple_mul, "cuda:sm_80", flags=["--iree-opt-level=O0"])
    assert len(runs) == 2


OBJECT = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = hal.dispatch.extern "f"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    count(%device: !hal.device) -> (index, index, index) {
      %c1 = arith.constant 1 : index
      hal.return %c1, %c1, %c1 : index, index, index
    }
    layout(#hal.pipeline.layout<bindings = [
      #hal.pipeline.binding<storage_buffer>, #hal.pipeline.binding<storage_buffer>]>)
    objects({#hal.executable.target<"cuda", "cuda-nvptx-fb"> ordinal(0) = [
      #hal.executable.object<{path = "f.ptx"}>]})
  return %0 : tensor<4xf32>
}
"""


def test_a_model_that_names_objects_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "model.mlir").write_text(OBJECT)
    for model in (OBJECT, tmp_path / "model.mlir", parse_model(OBJECT)):
        assert refers_to_files(model)
    for model in (MODEL, parse_model(MODEL)):
        assert not refers_to_files(model)


CALL = """
import sys, numpy
from cuda_kernels.simple_mul import simple_mul
started = []
sys.addaudithook(lambda event, about: event == "subprocess.Popen" and started.append(about[1]))
x = numpy.arange(8, dtype=numpy.float32)
assert (simple_mul.on("cpu")(x, x) == x * x).all()
print(*["NVRTC"] * ("nvrtc" in str(started)), *["another"] * bool(started))
print(*{"iree.compiler"} & set(sys.modules))
"""


def test_a_second_process_loads_no_compiler() -> None:
    printed = [
        subprocess.run(
            [sys.executable, "-c", CALL], capture_output=True, text=True, check=True
        ).stdout
        for _ in range(2)
    ]
    assert printed[0].startswith("NVRTC another\n")
    assert printed[1] == "\n\n"


def test_a_call_may_do_without_the_store(own_store: Path, runs: list[list[str]]) -> None:
    x = numpy.arange(8, dtype=numpy.float32)
    kernel = simple_mul.with_launch(name="without_store")
    fresh = kernel.on("cpu", store=False)
    numpy.testing.assert_array_equal(fresh(x, x), x * x)
    first = len(runs)
    fresh(x, x)
    assert len(runs) == first > 0  # this process remembers it all the same
    assert not (own_store / "misses").exists()
    kernel.on("cpu")(x, x)
    assert len(runs) > first
    assert (own_store / "misses").exists()
    assert kernel.on().device == "auto"


def test_models_share_the_cpu_code_of_a_kernel(
    own_store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    read: list[Any] = []
    lower = library_ir.lower

    def noted(module: Any, *rest: Any, **words: Any) -> Any:
        read.append(module)
        return lower(module, *rest, **words)

    monkeypatch.setattr(library_ir, "lower", noted)
    first = cd.emit(simple_mul, ["cpu"], output=tmp_path / "a.mlir", store=False).text
    assert not [path for path in own_store.rglob("*") if path.is_file()]
    assert cd.emit(simple_mul, ["cpu"], output=tmp_path / "a.mlir").text == first
    assert len(read) == 2
    assert cd.emit(simple_mul, ["cpu"], output=tmp_path / "a.mlir").text == first
    cd.emit(simple_mul, ["cpu"], output=tmp_path / "b.mlir", into=MODEL)
    assert len(read) == 2
    cd.emit(simple_mul, ["cpu:x86-64-v3"], output=tmp_path / "c.mlir")
    cd.emit(simple_mul, ["cpu:checked"], output=tmp_path / "d.mlir")
    assert len(read) == 4


def test_without_the_store_nothing_is_kept(own_store: Path) -> None:
    for model in (None, MODEL):
        cd.compile(model, simple_mul, ["cuda:sm_80", "cpu"], store=False)
    assert not [path for path in own_store.rglob("*") if path.is_file()]


def test_a_damaged_module_is_compiled_again(own_store: Path, runs: list[list[str]]) -> None:
    first = cd.compile(None, simple_mul, "cpu")
    for path in (own_store / "entries").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1])
    assert cd.compile(None, simple_mul, "cpu") == first
    x = numpy.ones(4, numpy.float32)
    assert (cd.load(first, device="cpu").simple_mul(x, x) == x).all()
