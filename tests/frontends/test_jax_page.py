"""docs/jax.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.page_code import in_small_blocks

PAGE = Path(__file__).parents[2] / "docs/jax.md"


def test_the_page_on_jax_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("triton")  # which compiles what Pallas lowers
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```") == 2 * len(blocks)
    names: dict[str, object] = {"__name__": "page"}
    blocks[0] = in_small_blocks(blocks[0])
    for code in blocks:
        exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102
    assert capsys.readouterr().out.splitlines() == [
        "(3, 1000)",
        "(3, 1000)",
        "[0. 2. 4. 6.]",
        "rms_norm_f32 unchanged/normalised {'epsilon': 1e-05}",
        "rms_norm_f32 unchanged/normalised {'epsilon': 1e-06}",
        "['gelu_erf_f32', 'softmax_f32']",
    ]
