"""Completion in shells: click's own, with what our options and arguments tell it."""

from __future__ import annotations

import pytest

from custom_dispatch.cli import COMPLETE, main


@pytest.mark.parametrize(
    ("words", "at", "found"),
    [
        ("custom-dispatch em", 1, "plain,emit"),
        ("custom-dispatch build --comp", 2, "plain,--compiler"),
        ("custom-dispatch build --compiler nv", 3, "plain,nvrtc\nplain,nvcc"),
        ("custom-dispatch run m.vmfb --device cu", 4, "plain,cuda\nplain,cuda:1"),
        ("custom-dispatch build ker", 2, "file,ker"),
    ],
)
def test_commands_options_values_and_files_are_completed(
    words: str,
    at: int,
    found: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(COMPLETE, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(at))
    assert main([]) == 0
    assert capsys.readouterr().out.strip() == found


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(COMPLETE, f"{shell}_source")
    assert main([]) == 0
    assert f"{COMPLETE}={shell}_complete" in capsys.readouterr().out
