"""What patterns' functions were traced to is taken from the store, unless they changed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.patterns.torch import everything
from custom_dispatch.frontends.torch.pattern import TORCH
from custom_dispatch.store.function_identity import function_identity
from tests.places import replaced_in_torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.patterns import squared_relu

Computes = Callable[[torch.Tensor, float], torch.Tensor]


def times(number: float) -> Computes:
    return lambda x, scale: torch.relu(x).square() * number * scale


class Model(torch.nn.Module):
    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x).square() * self.number * 0.25


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[bool, int]]:
    """Whether a function is found in a model with a number, and how many functions PyTorch traced.

    Give it a new function each time: the process knows those that it has seen.
    """
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", str(tmp_path))
    exported: list[Any] = []
    original = torch.export.export

    def export(*arguments: Any, **options: Any) -> Any:
        exported.append(arguments)
        return original(*arguments, **options)

    monkeypatch.setattr(torch.export, "export", export)

    def found(computes: Computes, number: float) -> tuple[bool, int]:
        pattern = cd.torch.Pattern(squared_relu(2), computes, required=False)
        before = len(exported)
        replaced = replaced_in_torch(Model(number).eval(), (torch.ones(3, 4),), [pattern])
        return bool(replaced), len(exported) - before - 1  # the model's own

    return found


def test_a_function_that_was_traced_is_traced_no_more(
    found: Callable[..., tuple[bool, int]],
) -> None:
    assert found(times(0.5), 0.5) == (True, 2)
    assert found(times(0.5), 0.5) == (True, 0)
    assert found(times(0.5), 2.0) == (False, 0)


def test_a_function_that_changed_is_traced_again(found: Callable[..., tuple[bool, int]]) -> None:
    assert found(times(0.5), 0.5) == (True, 2)
    assert found(times(2.0), 2.0) == (True, 2)


def test_what_nobody_can_tell_from_another_is_traced_each_time(
    found: Callable[..., tuple[bool, int]],
) -> None:
    class Settings:
        number = 0.5

    def by_settings() -> Computes:
        return lambda x, scale: torch.relu(x).square() * Settings.number * scale

    assert found(by_settings(), 0.5) == (True, 2)
    Settings.number = 2.0
    assert found(by_settings(), 2.0) == (True, 2)


def test_without_a_store_everything_is_traced(
    found: Callable[..., tuple[bool, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUSTOM_DISPATCH_STORE", "off")
    assert found(times(0.5), 0.5) == found(times(0.5), 0.5) == (True, 2)


def identity(function: Any) -> bytes | None:
    packages = ("custom_dispatch", *TORCH.packages)
    return function_identity(function, packages, TORCH.constants, TORCH.open_to_all, TORCH.parts_of)


def test_an_operator_in_python_is_known_by_what_it_says_of_its_result() -> None:
    found = []
    for name, more in (("one", 0), ("two", 0), ("three", 1)):

        def kept(x: torch.Tensor) -> torch.Tensor:
            return x.clone()

        made = torch.library.custom_op(f"kept_patterns::{name}", kept, mutates_args=())
        assert identity(lambda x, made=made._opoverload: made(x)) is None  # export needs a fake one
        made.register_fake(
            (lambda x: torch.empty_like(x)) if more else (lambda x: x.new_empty(x.shape))
        )
        found.append(identity(lambda x, made=made._opoverload: made(x)))
    assert None not in found
    assert len({*found}) == 3  # by name, and by what is said


def test_every_shipped_function_is_known() -> None:
    functions = {
        function
        for pattern in everything
        for function in (pattern.computes if isinstance(pattern, cd.torch.Pattern) else ())
    }
    assert functions
    assert [each for each in functions if identity(each) is None] == []
