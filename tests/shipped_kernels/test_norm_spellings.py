"""Norms that models write out are found as norms, with the numbers that PyTorch has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as shipped
from tests.places import replaced_in_torch

SIZE = 24
PATTERNS = [
    *(shipped.add_rms_norm, shipped.rms_norm, shipped.add_rms_norm_from, shipped.rms_norm_from),
    shipped.layer_norm,
]


def mean(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def root(x: Tensor, epsilon: float = 1e-5) -> Tensor:
    return torch.sqrt(mean(x * x) + epsilon)


def centred(x: Tensor) -> Tensor:
    return x - mean(x)


def gemma(x: Tensor, weight: Tensor, _: Tensor) -> Tensor:
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (wide * (1.0 + weight.float())).type_as(x)


def gemma3n(x: Tensor, weight: Tensor, _: Tensor) -> Tensor:
    wide = x.float()
    return (wide * torch.pow(mean(wide.pow(2)) + 1e-6, -0.5) * weight.float()).type_as(x)


def cohere(x: Tensor, weight: Tensor, _: Tensor) -> Tensor:
    wide = x.to(torch.float32)
    variance = (wide - mean(wide)).pow(2).mean(-1, keepdim=True)
    wide = (wide - mean(wide)) * torch.rsqrt(variance + 1e-5)
    return (weight.to(torch.float32) * wide).to(x.dtype)


def by_variance(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    variance = x.var(-1, keepdim=True, unbiased=False)
    return weight * ((x - mean(x)) / torch.sqrt(variance + 1e-5)) + bias


SPELLINGS: dict[str, tuple[str, Callable[..., Tensor]]] = {
    "by a quotient": ("rms_norm", lambda x, weight, _: x / root(x) * weight),
    "by a reciprocal": ("rms_norm", lambda x, weight, _: weight * (x * root(x).reciprocal())),
    "one over": ("rms_norm", lambda x, weight, _: x * (1.0 / root(x)) * weight),
    "no epsilon": ("rms_norm", lambda x, weight, _: x * mean(x.square()).rsqrt() * weight),
    "by a sum": (
        "rms_norm",
        lambda x, weight, _: x * torch.rsqrt((x * x).sum(-1, True) / SIZE + 1e-5) * weight,
    ),
    "a power": ("rms_norm", gemma3n),
    "of a product": ("rms_norm", lambda x, weight, _: gemma3n(x * 2.0, weight, x)),
    "one and the weight": ("rms_norm_from", gemma),
    "of a sum, one and the weight": (
        "add_rms_norm_from",
        lambda x, weight, bias: gemma(x + bias.expand(x.shape).flip(-1), weight, bias),
    ),
    "no weight": ("rms_norm_from", lambda x, *_: x * torch.rsqrt(mean(x.square()) + 1e-5)),
    "PyTorch's, without weight": ("rms_norm_from", lambda x, *_: functional.rms_norm(x, (SIZE,))),
    "PyTorch's, without epsilon": (
        "rms_norm",
        lambda x, weight, _: functional.rms_norm(x, (SIZE,), weight),
    ),
    "of length one": ("rms_norm_from", lambda x, *_: x * torch.rsqrt((x * x).sum(-1, True) + 1e-6)),
    "normalised": ("rms_norm_from", lambda x, *_: functional.normalize(x, dim=-1)),
    "normalised, times a number": (
        "rms_norm",
        lambda x, weight, _: functional.normalize(x, dim=-1) * SIZE**0.5 * weight,
    ),
    "for each head": ("rms_norm_from", lambda x, *_: x / root(x) * torch.arange(3.0)[:, None]),
    "centred": ("layer_norm", cohere),
    "centred, of a variance": ("layer_norm", by_variance),
    "centred, no weight": ("layer_norm", lambda x, *_: centred(x) / root(centred(x))),
}
OTHERS: dict[str, Callable[..., Tensor]] = {
    "another axis": lambda x, *_: x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-5),
    "of another tensor": lambda x, weight, _: x * torch.rsqrt(mean((x * weight).square()) + 1e-5),
    "normalised by a number": lambda x, *_: functional.normalize(x, dim=-1, eps=0.1),
    "normalised by another norm": lambda x, *_: functional.normalize(x, 1.0, dim=-1),
    "unbiased": lambda x, *_: centred(x) / torch.sqrt(x.var(-1, keepdim=True) + 1e-5),
    "an epsilon outside": lambda x, *_: x / (root(x, 0.0) + 1e-3),
    "a variance alone": lambda x, *_: x / torch.sqrt(x.var(-1, False, keepdim=True) + 1e-5),
}
"""What is no norm of the kernels'."""


class Calls(torch.nn.Module):  # type: ignore[misc]
    """Functions as a model."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *given: Tensor) -> Any:
        return tuple(function(*given) for function in self.functions)


def given(dtype: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(torch.randn(*sizes, SIZE).to(dtype) for sizes in ((2, 3), (), ()))


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, pytest.param(torch.float32, marks=pytest.mark.thorough)]
)
def test_every_spelling_is_a_norm_with_pytorchs_numbers(dtype: torch.dtype) -> None:
    model = Calls(*(function for _, function in SPELLINGS.values()))
    arguments = given(dtype)
    module = cd.torch.compile(model, arguments, ["cpu:host"], replace=PATTERNS)
    found = Counter(item.kernel.rpartition("_")[0] for item in module.replaced)
    assert found == Counter(kernel for kernel, _ in SPELLINGS.values())
    arguments = tuple(each * 3 for each in given(dtype))
    results = cd.load(module.bytes).main(*arguments)
    for name, result, expected, exact in zip(
        SPELLINGS, results, model(*arguments), model(*(x.float() for x in arguments)), strict=True
    ):
        error, allowed = (
            (torch.from_dlpack(each).float() - exact).abs().max() if each is not exact else 0.0
            for each in (result, expected)
        )
        assert error <= 1.2 * allowed + 2e-6 * exact.abs().max(), (name, error, allowed)


def test_nothing_else_is_a_norm() -> None:
    report = replaced_in_torch(Calls(*OTHERS.values()), given(torch.float32), PATTERNS)
    assert not list(report)


def test_a_sum_that_ends_a_rotary_embedding_stays_with_it() -> None:
    def model(x: Tensor, cos: Tensor, sin: Tensor, weight: Tensor) -> Tensor:
        low, high = x.chunk(2, dim=-1)
        turned = x * cos.unsqueeze(1) + torch.cat((-high, low), dim=-1) * sin.unsqueeze(1)
        return functional.rms_norm(turned, (SIZE,), weight, 1e-5)

    tables = torch.randn(2, 2, 5, SIZE).unbind(0)
    arguments = (torch.randn(2, 3, 5, SIZE), *tables, torch.randn(SIZE))
    report = replaced_in_torch(Calls(model), arguments, shipped.everything)
    assert {item.kernel.partition("_")[0] for item in report} == {"rms", "rotary"}
