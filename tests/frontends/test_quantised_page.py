"""docs/quantised-models.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/quantised-models.md"


def test_the_page_on_quantised_models_runs_as_a_script(tmp_path: Path) -> None:
    blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run(
        [sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["['0', '2']", "True", "['fp8_bf16']"]
