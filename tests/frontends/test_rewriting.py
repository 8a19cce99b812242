"""What a model writes out becomes the first function of its pattern before kernels are put."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as shipped
from tests.places import replaced_in_torch
from tests.sample_kernels.rows import add_row_norm, row_norm


class Calls(torch.nn.Module):
    """A function as a model, with weights of its own."""

    def __init__(self, function: Callable[..., Any], *weights: torch.Tensor) -> None:
        super().__init__()
        self.weights = torch.nn.ParameterList(weights)
        self.function = function

    def forward(self, *given: torch.Tensor) -> Any:
        return self.function(*given, *self.weights)


def as_one(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, epsilon)


def written_out(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon))


def of_a_sum(x: Any, residual: Any, weight: Any, epsilon: float) -> tuple[Any, Any]:
    total = x + residual
    return total, as_one(total, weight, epsilon)


NORM = cd.torch.Pattern(row_norm, [as_one, written_out], required=False)
SUM = cd.torch.Pattern(add_row_norm, of_a_sum, required=False)


def two_norms(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor) -> Any:
    total = x + y
    return total, written_out(written_out(total, weight, 1e-5), weight, 1e-6)


def test_a_larger_pattern_finds_what_a_model_writes_out() -> None:
    model = Calls(two_norms, torch.rand(48))
    given = torch.randn(2, 3, 48), torch.randn(2, 3, 48)
    found = replaced_in_torch(model, given, [NORM, SUM])
    assert [(item.kernel, item.scalars) for item in found] == [
        ("add_row_norm", {"epsilon": 1e-5}),
        ("row_norm", {"epsilon": 1e-6}),
    ]
    count = torch.export.Dim("count", min=2, max=64)
    open_sizes = ({1: count}, {1: count})
    opened = replaced_in_torch(model, given, [NORM, SUM], (open_sizes,))
    assert [item.kernel for item in opened] == ["add_row_norm", "row_norm"]


def test_what_was_rewritten_computes_the_same() -> None:
    model = Calls(two_norms, torch.rand(48)).eval()
    given = torch.randn(2, 3, 48), torch.randn(2, 3, 48)
    module = cd.torch.compile(model, given, ["cpu"], replace=[NORM, SUM], verify=True)
    assert Counter(item.kernel for item in module.replaced or ()) == {
        "add_row_norm": 1,
        "row_norm": 1,
    }


def test_patterns_that_rewrite_each_other_come_to_an_end() -> None:
    other = cd.torch.Pattern(row_norm, [written_out, as_one], required=False)
    model = Calls(lambda x, weight: written_out(x, weight, 1e-5), torch.rand(48))
    for patterns in ([NORM, other], [other, NORM]):
        found = replaced_in_torch(model, (torch.randn(3, 48),), patterns)
        assert [item.scalars for item in found] == [{"epsilon": 1e-5}]


def gelu_new(x: torch.Tensor) -> torch.Tensor:
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
    return 0.5 * x * (1.0 + torch.tanh(inner))


def of_bloom(x: torch.Tensor) -> torch.Tensor:
    return x * 0.5 * (1.0 + torch.tanh(0.79788456 * x * (1 + 0.044715 * x * x)))


def by_erf(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1.0 + torch.erf(x / math.sqrt(2.0)))


def conv1d(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    flat = torch.addmm(bias, x.view(-1, x.shape[-1]), weight)
    return flat.view((*x.shape[:-1], weight.shape[-1]))


SHIPPED: list[tuple[str, Callable[..., Any], tuple[tuple[int, ...], ...]]] = [
    ("linear_gelu_tanh", lambda x, w, b: gelu_new(functional.linear(x, w, b)), ((24, 16), (24,))),
    ("linear_gelu_tanh", lambda x, w: of_bloom(functional.linear(x, w)), ((24, 16),)),
    ("linear_gelu_erf", lambda x, w, b: by_erf(functional.linear(x, w, b)), ((24, 16), (24,))),
    ("linear_gelu_tanh", lambda x, w, b: gelu_new(conv1d(x, w, b)), ((16, 24), (24,))),
    ("linear_relu", lambda x, w, b: torch.relu(conv1d(x, w, b)), ((16, 24), (24,))),
    ("linear", conv1d, ((16, 24), (24,))),
    ("swiglu", lambda x: x * torch.sigmoid(x) * (x + 1), ()),
    ("softmax", lambda x: torch.softmax(x, -1, dtype=torch.float32).to(x.dtype), ()),
]


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, pytest.param(torch.float32, marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize(("kernel", "function", "sizes"), SHIPPED)
def test_what_models_write_out_is_found_with_the_product_before_it(
    kernel: str,
    function: Callable[..., Any],
    sizes: tuple[tuple[int, ...], ...],
    dtype: torch.dtype,
) -> None:
    model = Calls(function, *(torch.rand(size) for size in sizes)).to(dtype)
    name = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
    patterns = [*shipped.gelu, *shipped.softmax, *shipped.swiglu, *shipped.linear, *shipped.matmul]
    patterns = [item for item in patterns if item.item.name.endswith(f"_{name}")]
    found = replaced_in_torch(model, (torch.randn(2, 3, 16, dtype=dtype),), patterns)
    assert [item.kernel for item in found] == [f"{kernel}_{name}"]


def test_a_norm_that_mixes_types_is_found() -> None:
    def of_t5(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return weight * (x * torch.rsqrt(variance + 1e-6)).to(weight.dtype)

    model = Calls(of_t5, torch.rand(32)).to(torch.bfloat16)
    given = (torch.randn(2, 3, 32, dtype=torch.bfloat16),)
    found = replaced_in_torch(model, given, shipped.rms_norm)
    assert [item.kernel for item in found] == ["rms_norm_bf16"]


@pytest.mark.parametrize(
    "repeated",
    [lambda x: x.flatten(1, 2), lambda x: x.flatten(0, 2).unflatten(0, (2, 6))],
)
def test_keys_are_taken_as_they_were_before_they_were_repeated(
    repeated: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    def attended(q: torch.Tensor, k: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        heads = repeated(k.unsqueeze(2).expand(2, 2, 3, 5, 64))
        return functional.scaled_dot_product_attention(q, heads, heads, mask)

    given = torch.randn(2, 6, 5, 64), torch.randn(2, 2, 5, 64), torch.randn(2, 1, 5, 5)
    (found,) = replaced_in_torch(Calls(attended), given, shipped.attention)
    assert found.kernel == "masked_attention_f32_64"
    assert found.operations == ("torch.aten.scaled_dot_product_attention",)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * 0.5 * (1.0 + torch.tanh(0.79788 * x * (1 + 0.044715 * x * x))),
        lambda x: 0.5 * x * (1.0 + torch.erf(x / 1.4142)),
        lambda x: 0.5 * x * (1.0 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.04471 * x**3))),
    ],
)
def test_other_numbers_are_something_else(function: Callable[..., Any]) -> None:
    found = replaced_in_torch(Calls(function), (torch.randn(3, 16),), shipped.gelu)
    assert not found
