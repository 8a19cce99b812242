"""docs/torch.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from iree import runtime as rt

PAGE = Path(__file__).parents[2] / "docs/torch.md"
TOOLS = Path(rt.__file__).parents[1] / "_runtime_libs"


def test_the_page_on_pytorch_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text()
    blocks = re.findall(r"<!-- run -->\n```(\w+)\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```") == 2 * len(blocks)
    names: dict[str, object] = {"__name__": "page"}
    path = f"{TOOLS}{os.pathsep}{os.environ['PATH']}"
    for language, code in blocks:
        if language == "python":
            exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102
            continue
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        print(done.stdout.splitlines()[-1].partition("=")[0])
    assert capsys.readouterr().out.splitlines() == [
        "rms_norm_f32  {'epsilon': 1e-05}",
        "rms_norm_f32 first {'epsilon': 1e-06}",
        "rms_norm_f32 last `eps` of aten.rms_norm.default is None, where the pattern has its "
        "scalar `epsilon`",
        "['gelu_erf_f32', 'layer_norm_f32', 'softmax_f32']",
        "(5, 6) True",
        "[3 3]",
        "[1 1]",
        "True",
        "(3, 1000)",
        "3x1000xf32",
    ]
