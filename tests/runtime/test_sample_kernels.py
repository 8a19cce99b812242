"""Every sample kernel on the CPU, through the bare IREE runtime: the GPU suite, without a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from gpu.build import KERNELS, build_module
from gpu.cases import MODULES, cases
from gpu.run import run
from sample_kernels.rows import row_norm, row_norm_f16

NORMS = [
    row_norm.with_launch(name="rms_norm_f32"),
    row_norm_f16.with_launch(name="rms_norm_f16"),
]
"""In the places of those that ship, which tests/shipped_kernels runs on CPUs in smaller blocks."""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("modules")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KERNELS, "rms_norm", NORMS)
        for name, (model, kernels, targets, how) in MODULES.items():
            if "cpu" in targets:  # what a GPU has in the same module is not run here
                patch.setitem(MODULES, name, (model, kernels, ("cpu",), how))
        for name in {case.module for case in cases(80)}:
            build_module(name, built, asynchronous=False)  # the bare runtime calls no other form
    return built


@pytest.mark.parametrize("device", ["local-task", "local-sync"])
def test_every_sample_kernel_computes_what_numpy_does(directory: Path, device: str) -> None:
    report = run(directory, device, seed=0)
    assert len(report.rows) > 30
    assert [row for row in report.rows if not row[1]] == []
