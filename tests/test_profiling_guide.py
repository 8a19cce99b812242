"""docs/profiling.md: its files build here, its CPU half runs here; its GPU half in `gpu/`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import custom_dispatch as cd

sys.path.insert(0, str(Path(__file__).resolve().parent))

from gpu import profiling_guide as guide


def test_the_modules_of_the_guide_build(tmp_path: Path) -> None:
    guide.write_files(tmp_path)
    guide.play("build", tmp_path)
    built = {path.name for path in tmp_path.glob("*.vmfb")}
    assert built == {"look.vmfb", "lines.vmfb", "debug.vmfb"}
    for name in ("lines.vmfb", "debug.vmfb"):
        assert b".debug_line" in (tmp_path / name).read_bytes()
    commands = [block.text for block in guide.blocks() if block.what == "gpu"]
    for text in commands:
        expected = [form for form, _ in guide.EXPECTED if re.search(form, text, re.DOTALL)]
        assert len(expected) == 1, text


def test_irees_own_profile_names_the_kernels_on_the_cpu(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    guide.write_files(tmp_path)
    guide.play("cpu", tmp_path)
    printed = capfd.readouterr().out
    for name in ("simple_mul", "simple_mul_inplace", r"mixed_invocation\S*_dispatch_0_\S*"):
        assert re.search(rf"^  {name}$", printed, re.MULTILINE), printed


@pytest.mark.gpu
@pytest.mark.skipif(cd.why_not("cuda") is not None, reason=f"no GPU: {cd.why_not('cuda')}")
def test_the_tools_find_what_the_guide_says(tmp_path: Path) -> None:
    guide.write_files(tmp_path)
    guide.play("build", tmp_path)
    assert guide.run(tmp_path) == []
