"""`custom-dispatch store`, and what commands say of a store that does not work."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_harness import CommandLine

BUILD = ("build", "simple_mul.py", "-t", "cuda:sm_90", "--out", "out")


@pytest.fixture(autouse=True)
def directory(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, outside of the working directory."""
    path = tmp_path_factory.mktemp("cache") / "store"
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(path))
    return path


def test_it_shows_what_is_in_it(cli: CommandLine, directory: Path) -> None:
    cli("store").succeeded(f"directory  {directory}", "entries    0", "of at most 1.0 GiB")
    for _ in range(2):
        cli(*BUILD).succeeded()
    outcome = cli("store")
    outcome.succeeded("hits       2", "50% of 4", "misses     2")
    assert "entries    0" not in outcome.out


def test_it_finds_and_removes_what_is_damaged(cli: CommandLine, directory: Path) -> None:
    cli(*BUILD).succeeded()
    cli("store", "verify").succeeded("entries are whole")
    path = next(path for path in (directory / "entries").rglob("*") if path.is_file())
    path.write_bytes(b"damaged")
    (path.parent / "no entry").touch()
    outcome = cli("store", "verify")
    assert outcome.status == 2
    assert f"damaged, and removed: {path}" in outcome.out
    assert "no entry" in outcome.out
    cli("store", "verify").succeeded("entries are whole")
    assert not path.exists()


def test_it_is_cleared(cli: CommandLine, directory: Path) -> None:
    cli(*BUILD).succeeded()
    cli("store", "clear").succeeded(f"{directory}: ", "entries removed")
    cli("store").succeeded("entries    0", "hits       0")
    cli(*BUILD).succeeded()


def test_without_a_store_it_says_so(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", "off")
    for words in (("store",), ("store", "verify"), ("store", "clear")):
        cli(*words).refused("There is no store", "unset CUSTOM_DISPATCH_STORE")
    cli("doctor").succeeded("CUSTOM_DISPATCH_STORE turns it off")
    cli(*BUILD).succeeded()


def test_a_store_that_cannot_be_used_is_a_sentence(
    cli: CommandLine, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory.mkdir()
    directory.chmod(0o777)
    outcome = cli(*BUILD)
    outcome.succeeded("simple_mul_sm_90.ptx")
    assert outcome.err == (
        f"warning: The store at `{directory}` is not used: other users may write it; "
        f"`chmod go-w {directory}` makes it yours alone.\n"
    )
