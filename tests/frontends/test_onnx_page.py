"""docs/onnx.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.page_code import in_small_blocks

PAGE = Path(__file__).parents[2] / "docs/onnx.md"


def test_the_page_on_onnx_runs_as_a_script(tmp_path: Path) -> None:
    """Nothing is said at its end: no device of a program at module level is called a leak."""
    text = PAGE.read_text()
    blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```", text, re.DOTALL)
    (table,) = re.findall(r"\n```text\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```") == 2 * len(blocks) + 2
    (tmp_path / "page.py").write_text(in_small_blocks("\n".join(blocks)))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert printed == ["(2, 3, 64)", "True", *table.splitlines()]
