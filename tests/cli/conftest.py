"""Running the command line in this process, in a directory of its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_harness import CommandLine, Outcome

import cuda_kernels
from custom_dispatch.cli import main
from custom_dispatch.installation import resource


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the sample kernels and model in it."""
    source = Path(cuda_kernels.__file__).parent
    for name in ("simple_mul.cu", "simple_mul.py"):
        shutil.copy(source / name, tmp_path)
    shutil.copy(resource("mlir/mixed_invocation.mlir"), tmp_path / "model.mlir")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(work: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """Run `custom-dispatch WORDS...` in the working directory."""

    def files() -> set[str]:
        paths = (path.relative_to(work) for path in work.rglob("*"))
        return {str(path) for path in paths if "__pycache__" not in path.parts}

    def run(*words: str | Path) -> Outcome:
        before = files()
        capsys.readouterr()
        status = main([str(word) for word in words])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err, frozenset(files() - before))

    return run


@pytest.fixture(scope="session")
def compiled_vmfb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample model compiled for the CPU and two GPUs, once."""
    path = tmp_path_factory.mktemp("compiled") / "mixed.vmfb"
    model = resource("mlir/mixed_invocation.mlir")
    words = ["compile", model, "-k", "cuda_kernels.simple_mul", "-t", "cuda:sm_80,cuda:sm_90,cpu"]
    assert main([*map(str, words), "-o", str(path)]) == 0
    return path


@pytest.fixture
def vmfb(work: Path, compiled_vmfb: Path) -> Path:
    """The compiled sample model, in the working directory."""
    return Path(shutil.copy(compiled_vmfb, work / "mixed.vmfb"))
