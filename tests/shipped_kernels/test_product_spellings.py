"""Batches of products that broadcast, or are added to a tensor, are found as products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

import custom_dispatch as cd
from cuda_kernels.patterns import torch as shipped

SPELLINGS: dict[Callable[..., Any], str] = {
    lambda a, _, shared, c: torch.matmul(a, shared): "batch_matmul_f32",
    lambda a, _, shared, c: torch.matmul(a, shared.mT.contiguous().mT): "batch_matmul_nt_f32",
    lambda a, _, shared, c: torch.matmul(a, shared[:, :1]): "matmul_f32",
    lambda a, _, shared, c: torch.matmul(shared.mT[0], a.mT): "batch_matmul_nt_f32",
    lambda a, b, _, c: torch.baddbmm(c, a[0], b[0], beta=0.5, alpha=2.0): "batch_matmul_f32",
}
"""What computes products, and the kernel."""


class Calls(torch.nn.Module):  # type: ignore[misc]
    """The functions as a model."""

    def forward(self, *given: torch.Tensor) -> Any:
        return tuple(function(*given) for function in SPELLINGS)


def test_products_are_found_in_every_spelling_and_compute_the_same() -> None:
    sizes = ((2, 3, 5, 8), (2, 3, 8, 7), (1, 3, 8, 7), (3, 5, 7))
    module = cd.torch.compile(
        Calls(),
        tuple(torch.randn(each) for each in sizes),
        ["cpu:host"],
        replace=shipped.matmul,
        verify=1e-5,
    )
    assert module.replaced is not None
    assert Counter(item.kernel for item in module.replaced) == Counter(SPELLINGS.values())
