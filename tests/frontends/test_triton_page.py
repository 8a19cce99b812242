"""docs/triton.md is true: its files run, in order, and print what is said here."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")
PAGE = Path(__file__).parents[2] / "docs/triton.md"


def test_the_page_on_triton_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text()
    files = re.findall(r"<!-- file (\w+)\.py -->\n```python\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```python") == len(files)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, code in files:
        (tmp_path / f"{name}.py").write_text(code)
    for name, _ in files:
        monkeypatch.delitem(sys.modules, name, raising=False)
        found = importlib.import_module(name)
        getattr(found, "test_add", lambda: None)()
    assert capsys.readouterr().out.splitlines() == [
        "Choice(add_kernel: add_kernel_16_n, add_kernel_any)",
        "[1. 2. 3. 4.]",
        "True",
    ]
