"""Products of groups of rows, and sorts, in PyTorch's words, for the patterns of `torch.py`.

`torch.nn.functional.grouped_mm`, which transformers' mixtures of experts call, becomes one operator
for all element types, in models and here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

import custom_dispatch as cd
from cuda_kernels import moe
from cuda_kernels.moe.sort import SORTED
from cuda_kernels.shared.lazily import TYPES
from custom_dispatch.frontends.torch.decompositions import grouped_mm

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]


def _linear(a: Tensor, b: Tensor, offsets: Tensor) -> Tensor:
    return grouped_mm()(a, b.transpose(1, 2), offsets)


def _linear_and_sum(a: Tensor, b: Tensor, offsets: Tensor, residual: Tensor) -> Tensor:
    """As the bias of each row's expert is added."""
    return grouped_mm()(a, b.transpose(1, 2), offsets) + residual


def _matmul(a: Tensor, b: Tensor, offsets: Tensor) -> Tensor:
    return grouped_mm()(a, b, offsets)


def _matmul_and_sum(a: Tensor, b: Tensor, offsets: Tensor, residual: Tensor) -> Tensor:
    """As in GPT-OSS."""
    return grouped_mm()(a, b, offsets) + residual


def _sort(x: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    values, indices = torch.sort(x, -1, descending)
    return values, indices


def _stable_sort(x: Tensor, descending: bool) -> tuple[Tensor, Tensor]:
    values, indices = torch.sort(x, dim=-1, descending=descending, stable=True)
    return values, indices


def sorts() -> Patterns:
    """Of rows; `topk` is the beginning of one (`frontends/torch/forms.py`)."""
    return tuple(
        cd.torch.Pattern(getattr(moe, f"sort_{dtype}"), [_sort, _stable_sort], required=False)
        for dtype in SORTED
    )


def grouped_products() -> Patterns:
    """Those first that stand for more."""
    return tuple(
        cd.torch.Pattern(getattr(moe, f"{name}_{dtype}"), computes, required=False)
        for name, computes in (
            ("grouped_linear", _linear_and_sum),
            ("grouped_linear", _linear),
            ("grouped_matmul", _matmul_and_sum),
            ("grouped_matmul", _matmul),
        )
        for dtype in TYPES
    )
