"""docs/torch.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from iree import runtime as rt

from tests.page_code import in_small_blocks

PAGE = Path(__file__).parents[2] / "docs/torch.md"
TOOLS = Path(rt.__file__).parents[1] / "_runtime_libs"


def test_the_page_on_pytorch_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, which has loaded PyTorch and the patterns; ONNX's page runs as a script."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{TOOLS}{os.pathsep}{os.environ['PATH']}")
    text = PAGE.read_text()
    blocks = re.findall(r"<!-- run -->\n```(\w+)\n(.*?)```", text, re.DOTALL)
    assert text.count("\n```") == 2 * len(blocks)
    # Operators are there until the process ends: other tests have some of the same names.
    first = blocks[0][1].replace("register(rms_norm_f32)", "register(rms_norm_f32, 'page')")
    assert first != blocks[0][1]
    blocks[0] = ("python", in_small_blocks(first))
    names: dict[str, object] = {"__name__": "page"}
    for language, code in blocks:
        if language == "python":
            exec(compile(code, str(PAGE), "exec"), names)  # noqa: S102
        else:
            shell = ["bash", "-euo", "pipefail", "-c", code]
            print(subprocess.check_output(shell, text=True).splitlines()[-1].partition("=")[0])
    assert capsys.readouterr().out.splitlines() == [
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
