"""The GPU suite on a machine that has a GPU: both halves in one go."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import custom_dispatch as cd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from gpu.build import main as build_all
from gpu.run import run


@pytest.mark.gpu
@pytest.mark.skipif(cd.why_not("cuda") is not None, reason=f"no GPU: {cd.why_not('cuda')}")
def test_every_case_passes_on_the_gpu(tmp_path: Path) -> None:
    build_all(tmp_path)
    report = run(tmp_path, "cuda", seed=0)
    assert len(report.rows) > 100
    assert [row for row in report.rows if not row[1]] == []
