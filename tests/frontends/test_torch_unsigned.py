"""What IREE would compute of unsigned tensors as if they were signed is refused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.frontends.torch.refusals import check_unsigned
from tests.places import import_program

BYTES = torch.tensor([1, 200], dtype=torch.uint8)
Function = Callable[[torch.Tensor], torch.Tensor]


class Model(torch.nn.Module):
    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x)


def check(function: Function) -> None:
    check_unsigned(import_program(export_model(Model(function), (BYTES,), None), "main").module)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x / 255.0,
        lambda x: x * 0.5,
        lambda x: x == 200,
        lambda x: x > x.long(),
        lambda x: x.sum(),
        lambda x: x.abs(),
        lambda x: x.prod(),
        lambda x: x.scatter_reduce(0, x.long() * 0, x, "amax"),
        lambda x: torch.fmod(x, 7),
        lambda x: torch.div(x, 7, rounding_mode="trunc"),
        lambda x: (x.float() * 0.9).to(torch.uint8),
    ],
)
def test_what_would_be_wrong_is_refused(function: Function) -> None:
    with pytest.raises(
        ModelError, match=r"with torch\.uint8, which IREE treats as signed"
    ) as caught:
        check(function)
    assert caught.value.next_step.startswith("convert the tensor first: x.to(torch.int32)")


@pytest.mark.parametrize(
    "function",
    [lambda x: x.float() / 255, lambda x: x + x, lambda x: x[:1].long(), lambda x: x & 15],
)
def test_what_is_right_is_not(function: Function) -> None:
    check(function)
