"""docs/quantised-models.md is true: its code runs, in order, and prints what is said here."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import custom_dispatch as cd
from tests.places import replaced_in_torch

PAGE = Path(__file__).parents[2] / "docs/quantised-models.md"


def imported(model: Any, arguments: Any, targets: Any, *, replace: Any = (), **_: Any) -> Any:
    """A model that is exported and searched, but not compiled, which takes ten seconds."""
    assert targets == ["cpu"]
    places = replaced_in_torch(model, arguments, replace) if replace else None
    return SimpleNamespace(replaced=places, main=model.requires_grad_(False))


@pytest.mark.parametrize(
    "is_compiled", [False, pytest.param(True, marks=pytest.mark.thorough)], ids=["found", "run"]
)
def test_the_page_on_quantised_models_runs(
    is_compiled: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(cd.torch, "compile", imported)
        monkeypatch.setattr(cd, "load", lambda module, _: module)
    blocks = re.findall(r"<!-- run -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks:
        exec(block, names)  # noqa: S102
    assert capsys.readouterr().out.splitlines() == ["['0', '2']", "True", "['fp8_bf16']"]
