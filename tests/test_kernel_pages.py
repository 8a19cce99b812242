"""The figures of docs/kernels are those of benchmarks/results; one that is not is found."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.pages import kernels as kernel_pages


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


def test_a_picture_of_another_table_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """And what is drawn anew is that of the tables, with a mark for each of the sizes."""
    for name in kernel_pages.PICTURES:
        table = kernel_pages._table(name).relative_to(kernel_pages.ROOT)
        (tmp_path / table).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / table).write_text((kernel_pages.ROOT / table).read_text() + "\n")
    shutil.copytree(kernel_pages.ROOT / kernel_pages.PAGES, tmp_path / kernel_pages.PAGES)
    monkeypatch.setattr(kernel_pages, "ROOT", tmp_path)
    assert [line.partition(":")[0] for line in kernel_pages.stale()] == [
        f"docs/kernels/{name}.svg" for name in kernel_pages.PICTURES
    ]
    kernel_pages.draw()
    assert kernel_pages.stale() == []
    drawn = (tmp_path / kernel_pages.PAGES / "gemm_linear.svg").read_text()
    for said in (
        "Columns: k x n x batch",
        "linear_bf16_t128x192_s4_c2_sm80_t128x256_s4",
        "the best",
        "not measured",
        ">114 x 54 x 2<",
    ):
        assert said in drawn
