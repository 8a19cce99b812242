"""Completion in shells: what is offered, in which form, and that no code runs for it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from cli_harness import CommandLine

from custom_dispatch.cli import main
from custom_dispatch.cli.completion import VARIABLE

KERNELS = """
import pathlib
pathlib.Path("ran").touch()
print("noise")
first = cd.Kernel("alpha", source="x.cu")
second = Kernel(
    name = 'beta_2', operands=[
both = cd.Choice("gamma", [first, second])
"""


Asked = Callable[..., list[str]]


@pytest.fixture
def asked(work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Asked:
    """What a shell gets for a line up to the cursor: kinds and values."""

    def ask(line: str, shell: str = "zsh", word: str = "") -> list[str]:
        words = line.split(" ")
        monkeypatch.setenv(VARIABLE, f"{shell}_complete")
        zsh = shell == "zsh"
        monkeypatch.setenv("COMP_WORDS", f"custom-dispatch {line}")
        monkeypatch.setenv("COMP_CWORD", str(len(words)) if zsh else word)
        assert main([]) == 0
        captured = capsys.readouterr()
        assert captured.err == ""
        lines = captured.out.splitlines()
        if not zsh:
            return [item for item in lines if item]
        return [
            value if kind == "plain" else f"<{kind}>"
            for kind, value in zip(lines[::3], lines[1::3], strict=False)
        ]

    return ask


def test_targets(asked: Asked) -> None:
    assert asked("build k.py -t cuda:sm_9") == ["cuda:sm_90", "cuda:sm_90a"]
    assert asked("build k.py --target=cpu:ho") == ["--target=cpu:host"]
    assert asked("which k.py -t cpu:znver5") == ["cpu:znver5"]
    assert asked("emit k.py -t cuda:sm_80,cpu:neoverse-v2") == ["cuda:sm_80,cpu:neoverse-v2"]
    assert {"cpu", "cpu:host", "cpu:checked", "cpu:x86-64-v3"} <= set(asked("check k.py -t cpu"))
    assert asked("check k.py -t cpu:") == [
        *("cpu:host", "cpu:checked", "cpu:aarch64", "cpu:x86-64"),
        *(f"cpu:x86-64-v{level}" for level in (2, 3, 4)),
    ]
    assert asked("tune k.py --build-only o -t nothing") == []


def test_names_of_kernels_are_read_from_files_that_are_broken_and_not_run(
    asked: Asked, work: Path
) -> None:
    (work / "k.py").write_text(KERNELS)
    assert asked("bench k.py --kernel ") == ["alpha", "beta_2"]
    assert asked("bench k.py --seed 1 --kernel b") == ["beta_2"]
    assert asked("tune k.py --choice ") == ["gamma"]
    assert asked("which k.py ") == ["gamma"]
    assert asked("bench cuda_kernels.simple_mul --kernel simple_mul_") == ["simple_mul_inplace"]
    (work / "k.py").write_bytes(b"\xff\0Kernel('a')")
    assert asked("bench k.py --kernel ") == ["a"]
    os.mkfifo("f.py")
    for subject in ("f.py", ".", "none.py", "no.module", "cuda_kernels..x", "/dev/zero"):
        assert asked(f"bench {subject} --kernel ") == []
    assert not (work / "ran").exists()


def test_modules_are_found_and_not_imported(asked: Asked, work: Path) -> None:
    (work / "mine").mkdir()
    (work / "mine/__init__.py").write_text(KERNELS)
    (work / "mine/parts.py").write_text(KERNELS)
    assert asked("build ") == ["cuda_kernels", "cuda_kernels.", "<file>"]
    assert asked("build min") == ["mine", "mine.", "<file>"]
    assert asked("compile m.mlir -k mine.p") == ["mine.parts", "<file>"]
    assert asked("compile m.mlir -r mine.none.") == ["<file>"]
    assert asked("bench ./min") == ["<file>"]
    assert not (work / "ran").exists()


def test_functions_of_a_module(asked: Asked, vmfb: Path, work: Path) -> None:
    assert asked(f"run {vmfb.name} -f ") == ["mixed_invocation"]
    assert asked(f"bench {vmfb.name} --function=mi") == ["--function=mixed_invocation"]
    (work / "damaged.vmfb").write_bytes(vmfb.read_bytes()[:1000])
    os.mkfifo("pipe.vmfb")
    for name in ("damaged.vmfb", "none.vmfb", "pipe.vmfb", "."):
        assert asked(f"run {name} -f ") == []


def test_arrays_devices_options_and_files(asked: Asked, work: Path) -> None:
    (work / "data").mkdir()
    for name in ("one.npy", "data/two.npy", "one.txt", "$(touch ran).npy", "o o.npy"):
        numpy.save(work / name, numpy.ones(1)) if name.endswith("npy") else (work / name).touch()
    assert asked("run m.vmfb -i @") == ["@data/", "@one.npy"]
    assert asked("bench m.vmfb -i @data/t") == ["@data/two.npy"]
    assert asked("run m.vmfb -i 8") == []
    assert "cuda" in asked("run m.vmfb --device ")
    assert asked("run --dev") == ["--device"]
    assert asked("inspect --json m") == ["<file>"]
    assert asked("store ver") == ["verify"]
    assert asked('run "m.vmfb -f', "bash", '"m.vmfb -f') == ["file,m.vmfb -f"]


def test_each_shell_gets_whole_words(asked: Asked) -> None:
    for shell in ("bash", "fish"):
        word = "cuda:sm_80,cpu:hos"
        assert asked(f"build k.py -t {word}", shell, word) == ["plain,cuda:sm_80,cpu:host"]
        word = "--target=cpu:hos"
        assert asked(f"build k.py {word}", shell, word) == ["plain,--target=cpu:host"]
        assert asked("build --targ", shell, "--targ")[0].startswith("plain,--target")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts(shell: str, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    script = cli("completion", shell).out
    assert f"{VARIABLE}={shell}_complete" in script
    monkeypatch.setenv(VARIABLE, f"{shell}_source")
    assert cli().out == script
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("text", ["foo_source", "bash", "bash_", "_", "bash_complete2"])
def test_a_shell_that_is_not_known(
    text: str, cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, text)
    cli().refused(f"error: {VARIABLE} is {text!r}.", "next step: unset it, and write: ")
    monkeypatch.delenv(VARIABLE)
    cli("completion", "foo").refused("'foo' is not one of 'bash', 'zsh', 'fish'")


def typed(text: str, directory: Path) -> str:
    """What a bash with this program's completion shows after keys were pressed, up to `#`."""
    outside, inside = pty.openpty()
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shell = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        cwd=directory,
        env={"PATH": path, "PS1": "$ ", "TERM": "dumb", "HOME": str(directory)},
        stdin=inside,
        stdout=inside,
        stderr=inside,
        start_new_session=True,
    )
    os.close(inside)
    shown = ""

    def read_until(mark: str) -> None:
        nonlocal shown
        latest = time.monotonic() + 60
        while mark not in shown and time.monotonic() < latest:
            if select.select([outside], [], [], 1)[0]:
                shown += os.read(outside, 1 << 16).decode()

    try:
        os.write(outside, b'eval "$(custom-dispatch completion bash)"; echo rea""dy\n')
        read_until("ready\r\n$ ")
        shown = ""
        os.write(outside, text.encode() + b"#")  # is echoed when what was typed before is done
        read_until("#")
    finally:
        shell.kill()
        shell.wait()
        os.close(outside)
    return re.sub(r"[\a\r\n]", "", shown.partition("$ ")[2] or shown)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ("check k.py --target=cpu:ho\t", "check k.py --target=cpu:host #"),
        ("check k.p\t-t cpu:x86-64-v\t3,cuda:sm_8\t7", "check k.py -t cpu:x86-64-v3,cuda:sm_87#"),
        ("bench k.py --kernel a\t", "bench k.py --kernel alpha #"),
        ("run m.vmfb -i @on\t", "run m.vmfb -i @one.npy #"),
    ],
)
def test_in_bash(keys: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(KERNELS)
    (tmp_path / "one.npy").touch()
    assert typed(f"custom-dispatch {keys}", tmp_path) == f"custom-dispatch {line}"
    assert not (tmp_path / "ran").exists()
