"""Every sample kernel on the CPU, through the bare IREE runtime: the GPU suite, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.build import build_module
from gpu.cases import cases
from gpu.run import run


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("modules")
    for name in {case.module for case in cases(80)}:
        build_module(name, built)
    return built


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
def test_every_sample_kernel_computes_what_numpy_does(directory: Path, device: str) -> None:
    report = run(directory, device, seed=0)
    assert len(report.rows) > 30
    assert [row for row in report.rows if not row[1]] == []
