"""The GPU suite on a machine that has a GPU: both halves in one go."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import custom_dispatch as cd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gpu import devices, graphs
from gpu.bench import run as run_bench
from gpu.build import main as build_all
from gpu.run import run


@pytest.mark.gpu
@pytest.mark.skipif(cd.why_not("cuda") is not None, reason=f"no GPU: {cd.why_not('cuda')}")
def test_every_case_passes_on_the_gpu(tmp_path: Path) -> None:
    build_all(tmp_path)
    report = run(tmp_path, "cuda", seed=0)
    assert len(report.rows) > 100
    assert [row for row in report.rows if not row[1]] == []


@pytest.mark.gpu
@pytest.mark.skipif(cd.why_not("cuda") is not None, reason=f"no GPU: {cd.why_not('cuda')}")
def test_kernels_in_modules_equal_their_native_launches(tmp_path: Path) -> None:
    build_all(tmp_path)
    rows = run_bench(tmp_path)
    assert len(rows) > 50
    assert [row for row in rows if not row[1]] == []


@pytest.mark.gpu
@pytest.mark.skipif(cd.why_not("cuda") is not None, reason=f"no GPU: {cd.why_not('cuda')}")
def test_missing_wrong_and_lost_gpus_are_explained(tmp_path: Path) -> None:
    devices.build(tmp_path)
    assert devices.run(tmp_path, []) == 0


@pytest.mark.gpu
@pytest.mark.skipif(cd.why_not("cuda") is not None, reason=f"no GPU: {cd.why_not('cuda')}")
def test_graphs_fail_with_reasons_and_share_the_gpu(tmp_path: Path) -> None:
    graphs.build(tmp_path)
    assert graphs.run(tmp_path, []) == 0
