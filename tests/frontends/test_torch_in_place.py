"""What IREE updates in place by itself: no buffer of a caller, nor what another update reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul

multiply = cd.torch.register(simple_mul, namespace="in_place_tests")


class Model(torch.nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor, *given: torch.Tensor) -> Any:
        return multiply(x, x), *self.function(*given)


def check(function: Callable[..., Any], *given: torch.Tensor) -> None:
    """Compile a function, and compare its results, and its arguments afterwards."""
    x = torch.ones(2)
    program = cd.load(cd.torch.compile(Model(function), (x, *given), ["cpu"]), "cpu")
    copies = [item.clone() for item in given]
    results = program.main(x, *copies)[1:]
    for found, expected in zip(results, function(*given), strict=True):
        torch.testing.assert_close(torch.from_dlpack(found), expected)
    for copy, item in zip(copies, given, strict=True):
        torch.testing.assert_close(copy, item)


def test_a_tensor_that_is_scattered_into_stays_as_it_is() -> None:
    """It is the caller's: PyTorch's tensors are read where they are."""

    def scattered(x: torch.Tensor, at: torch.Tensor, new: torch.Tensor, y: torch.Tensor) -> Any:
        viewed = y.reshape(6, 7).index_add(0, at, new)
        return x.index_put((at,), new), viewed, torch.sort(y)[0], x.slice_scatter(new, 0, 1, 4)

    check(scattered, torch.randn(6, 7), torch.tensor([3, 0, 5]), torch.randn(3, 7), torch.randn(42))


def test_sorts_of_one_shape_have_their_own_indices() -> None:
    """IREE starts them with one and the same range, which each changes in place."""

    def ordered(x: torch.Tensor, y: torch.Tensor) -> Any:
        return *torch.sort(x), *torch.sort(y, descending=True), *x.topk(3), *y.topk(3, dim=0)

    check(ordered, *(torch.randperm(36).reshape(4, 9).float() for _ in range(2)))


def test_what_follows_from_nothing_is_scattered_into_twice() -> None:
    def scattered(at: torch.Tensor, new: torch.Tensor) -> Any:
        zeros, numbers = torch.zeros(4, 5), torch.arange(20.0).reshape(4, 5)
        first = [item.index_put((at,), new) for item in (zeros, numbers)]
        return *first, *(item.index_put((at + 1,), new) for item in (zeros, numbers))

    check(scattered, torch.tensor([2, 0]), torch.randn(2, 5))
