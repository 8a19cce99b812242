"""docs/onnx.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/onnx.md"


def test_the_page_on_onnx_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```", text, re.DOTALL)
    (table,) = re.findall(r"\n```text\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```") == 2 * len(blocks) + 2
    names: dict[str, object] = {"__name__": "page"}
    for code in blocks:
        exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102
    printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert printed == ["(2, 3, 64)", "True", *table.splitlines()]
