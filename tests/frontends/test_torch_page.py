"""docs/torch.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from iree import runtime as rt

from tests.page_code import in_small_blocks

PAGE = Path(__file__).parents[2] / "docs/torch.md"
TOOLS = Path(rt.__file__).parents[1] / "_runtime_libs"


SHELL = """
import subprocess
shell = ["bash", "-euo", "pipefail", "-c", {!r}]
print(subprocess.check_output(shell, text=True).splitlines()[-1].partition("=")[0])
"""


def test_the_page_on_pytorch_runs_as_a_script(tmp_path: Path) -> None:
    """At its end no device of a program at module level is called a leak."""
    text = PAGE.read_text()
    blocks = re.findall(r"<!-- run -->\n```(\w+)\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```") == 2 * len(blocks)
    code = [code if language == "python" else SHELL.format(code) for language, code in blocks]
    (tmp_path / "page.py").write_text(in_small_blocks("\n".join(code)))
    done = subprocess.run(
        [sys.executable, "page.py"],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
    assert done.stdout.splitlines() == [
        "rms_norm_f32  {'epsilon': 1e-05}",
        "rms_norm_f32 first {'epsilon': 1e-06}",
        "rms_norm_f32 last `eps` of torch.aten.rms_norm is none, where the pattern has a number "
        "for `epsilon`",
        "['gelu_erf_f32', 'layer_norm_f32', 'softmax_f32']",
        "(5, 6) True",
        "[3 3]",
        "[1 1]",
        "[5 5]",
        "True",
        "(3, 1000)",
        "3x1000xf32",
    ]
