"""Operators that PyTorch does not take apart, and IREE does not know."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import custom_dispatch as cd
from custom_dispatch.frontends.torch.decompositions import own
from custom_dispatch.frontends.torch.forms import in_one_form
from custom_dispatch.frontends.torch.importer import export_model


class Functions(torch.nn.Module):
    """Several of them as one model."""

    def __init__(self, functions: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(function(*given) for function in self.functions)


def check(functions: Sequence[Callable[..., Any]], *given: torch.Tensor) -> None:
    model = Functions(functions).eval()
    found = cd.load(cd.torch.compile(model, given, ["cpu"]), "cpu").main(*given)
    for one, other in zip(found, model(*given), strict=True):
        torch.testing.assert_close(torch.from_dlpack(one), other, equal_nan=True)


def test_histograms() -> None:
    """Of bins and ranges; elements outside, at the ends, and NaN; and of the elements' range."""
    torch.manual_seed(1)
    x = torch.randn(20, 20) * 3
    x[0, 7] = float("nan")
    check(
        [
            lambda x: torch.histc(x, 7, -2, 3),
            lambda x: torch.histc(x, 1, -2, 3),
            lambda x: torch.histc(x.round(), 8, 0, 7),
            lambda x: torch.histc(x.double(), 20, -1.5, 4.25),
            lambda x: torch.histc(x.round().half(), 9, -4, 5),
            lambda x: torch.histc(x.nan_to_num()),
            lambda x: torch.histc(x.nan_to_num(), 5, 2, 2),
            lambda x: torch.histc(torch.full_like(x, 3.0), 5),
            lambda x: torch.histc(x[:0], 5),
        ],
        x,
    )


def test_histograms_of_integers_are_those_of_gpus() -> None:
    """PyTorch has them there alone, and divides integers."""
    histogram = own()[torch.ops.aten.histc.default]
    found = histogram(torch.tensor([-1, 0, 0, 1, 3, 4, 5, 6], dtype=torch.int32), 3, 0, 5)
    torch.testing.assert_close(found, torch.tensor([3, 1, 2], dtype=torch.int32))


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, pytest.param(torch.float32, marks=pytest.mark.thorough)]
)
def test_products_of_groups_of_every_form(dtype: torch.dtype) -> None:
    """Of rows, of columns, of k, and of matrices; PyTorch traces those of bf16 alone."""
    torch.manual_seed(2)
    offs = torch.tensor([0, 8, 8, 24], dtype=torch.int32)
    rows, columns, of_k = (torch.randn(size).to(dtype) for size in ((24, 16), (16, 24), (8, 24)))
    some, few = torch.randn(4, 16, 8).to(dtype), torch.tensor([0, 1, 1, 2], dtype=torch.int32)
    left = some.transpose(1, 2).contiguous()

    def products(product: Any) -> list[Callable[..., Any]]:
        return [
            lambda rows, some, *_: product(rows, some, offs),
            lambda rows, some, *_: product(rows[:2], some, few),
            lambda rows, some, left, columns, _: product(left, columns, offs),
            lambda rows, some, left, columns, of_k: product(of_k, rows, offs),
            lambda rows, some, left, *_: product(left, some),
        ]

    given = (rows, some, left, columns, of_k)
    apart = own()[torch.ops.aten._grouped_mm.default]
    for one, other in zip(products(apart), products(torch._grouped_mm), strict=True):
        torch.testing.assert_close(one(*given), other(*given))
    if dtype == torch.bfloat16:
        check(products(torch._grouped_mm), *given)


def test_no_group_sees_anothers_nan() -> None:
    a, b = torch.ones(4, 8), torch.ones(2, 8, 8)
    a[0, 0], b[0, 0, 0] = float("nan"), float("inf")
    found = own()[torch.ops.aten._grouped_mm.default](a, b, torch.tensor([2, 3]))
    torch.testing.assert_close(found[2:], torch.tensor([[8.0] * 8, [0.0] * 8]))


def test_scatters_along_the_last_axis_and_topk_in_any_order() -> None:
    """IREE 3.13 crashes at an axis that is counted from the back, and knows no unsorted `topk`, nor
    a stable sort.
    """
    torch.manual_seed(3)
    x, index = torch.randn(5, 8), torch.randint(0, 8, (5, 1))
    check(
        [
            lambda x, index: torch.scatter(x, -1, index, float("-inf")),
            lambda x, index: torch.scatter(x, -1, index, torch.ones_like(x)),
            lambda x, index: (x * 1).scatter_(-1, index, torch.ones_like(x)),
            lambda x, index: torch.scatter_add(x, -1, index, torch.ones_like(x)),
            lambda x, index: torch.scatter(x, 0, index.clamp(max=4), 7.0),
            lambda x, index: torch.topk(x, 3, sorted=False)[0].sum(-1),
            lambda x, index: torch.topk(x, 2, dim=0, largest=False)[1],
            lambda x, index: torch.argsort(x.round(), descending=True, stable=True),
        ],
        x,
        index,
    )


def test_a_router_that_scatters_into_one_group() -> None:
    """As in GLM-4.5, of whose experts IREE's own scatter gave those that come first."""

    def router(x: torch.Tensor) -> torch.Tensor:
        scores = x.view(-1, 1, 4).topk(2, dim=-1)[0].sum(-1)
        group = torch.topk(scores, 1, sorted=False)[1]
        mask = torch.zeros_like(scores).scatter_(1, group, 1).expand(-1, 4)
        return torch.topk(x.masked_fill(~mask.bool(), float("-inf")), 2)[1]

    torch.manual_seed(4)
    check([router, torch.sum], torch.rand(51, 4))


def test_what_is_converted_beside_them_keeps_its_sizes() -> None:
    functions = [lambda x, weight: x * weight, lambda x, weight: torch.histc(x, 4, -1, 1)]
    model, given = Functions(functions), (torch.randn(2, 8), torch.randn(8).bfloat16())
    program = in_one_form(export_model(model, given, None).run_decompositions({}))
    converted = [node for node in program.graph.nodes if node.target == torch.ops.aten.to.dtype]
    assert [node.meta["val"].shape for node in converted] == [(8,)]
    assert all(node.meta["tensor_meta"] is None for node in converted)
