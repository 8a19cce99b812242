"""The figures of docs/kernels are those of benchmarks/results; one that is not is found."""

from __future__ import annotations

import pytest

from benchmarks import kernel_pages


def test_pages_have_the_figures_of_the_results() -> None:
    assert kernel_pages.missing() == []


def test_a_figure_of_another_run_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = kernel_pages._rows
    found = measured("gemm_h200")
    found[0]["us"] *= 1.1
    monkeypatch.setattr(
        kernel_pages, "_rows", lambda name: found if name == "gemm_h200" else measured(name)
    )
    (line,) = kernel_pages.missing()
    assert line.startswith("docs/kernels/gemm.md: ")
    assert f" {found[0]['us']:.1f} |" in line
