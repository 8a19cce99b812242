"""Places in models that compute what kernels do, and places that only look like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from sample_kernels.patterns import add_relu, attention, rotary, squared_relu
from torch.nn import functional

import custom_dispatch as cd
from tests.sample_kernels.rows import row_norm, row_norm_f16

WIDTH = 48
Function = Callable[..., Any]


def normalised(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + epsilon))


def as_in_models(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """With casts, as models of 16 bits have it."""
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return weight * wide.to(x.dtype)


def own(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, epsilon)


def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cosine.unsqueeze(1) + turned * sine.unsqueeze(1)


def written_out(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float) -> torch.Tensor:
    return torch.softmax(q @ k.transpose(-1, -2) * scale, dim=-1) @ v


def attended(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float, causal: bool
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)


NORM = cd.torch.Pattern(row_norm, [normalised, own])
NORM_16 = cd.torch.Pattern(row_norm_f16, as_in_models)
ADD = cd.torch.Pattern(
    add_relu, lambda x, residual: (x + residual, torch.relu(x + residual)), required=False
)
ATTENTION = cd.torch.Pattern(attention, attended)
WRITTEN_OUT = cd.torch.Pattern(attention, written_out, fixed={"causal": False})
ROTARY = cd.torch.Pattern(rotary, rotated)
RELU = [
    cd.torch.Pattern(squared_relu(rank), lambda x, scale: torch.relu(x).square() * scale)
    for rank in (1, 2, 3, 4)
]
ALL = [NORM, NORM_16, ADD, ATTENTION, WRITTEN_OUT, ROTARY, *RELU]


class Case(torch.nn.Module):
    """A place: a function of the inputs, some of their shapes, and a weight."""

    def __init__(self, function: Function, *names: str, weight: torch.Tensor | None = None) -> None:
        super().__init__()
        self.function, self.names = function, names
        if weight is not None:
            self.weight = torch.nn.Parameter(weight)
        self.weighted = weight is not None

    def forward(self, inputs: dict[str, torch.Tensor]) -> Any:
        weight = (self.weight,) if self.weighted else ()
        return self.function(*(inputs[name] for name in self.names), *weight)


class Own(torch.nn.Module):
    """A module of PyTorch as a place."""

    def __init__(self, module: torch.nn.Module, name: str = "rows") -> None:
        super().__init__()
        self.inner, self.name = module, name

    def forward(self, inputs: dict[str, torch.Tensor]) -> Any:
        return self.inner(inputs[self.name])


class Cases(torch.nn.Module):
    def __init__(self, cases: dict[str, torch.nn.Module]) -> None:
        super().__init__()
        self.cases = torch.nn.ModuleDict(cases)

    def forward(self, inputs: dict[str, torch.Tensor]) -> Any:
        return tuple(case(inputs) for case in self.cases.values())


def inputs() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)

    def random(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    return {
        "line": random(WIDTH),
        "rows": random(6, WIDTH),
        "more": random(6, WIDTH),
        "cube": random(2, 6, WIDTH),
        "half": random(6, WIDTH).half(),
        "wide": random(6, WIDTH).double(),
        "square": random(WIDTH, WIDTH),
        "q": random(2, 3, 6, 16),
        "k": random(2, 3, 7, 16),
        "v": random(2, 3, 7, 16),
        "mask": random(2, 3, 6, 7),
        "cosine": random(2, 6, 16),
        "sine": random(2, 6, 16),
    }


def weight(*shape: int, dtype: Any = torch.float32) -> torch.Tensor:
    return torch.linspace(0.5, 1.5, WIDTH, dtype=dtype).reshape(shape or (WIDTH,))


ONES = torch.nn.Parameter(weight())


def tied() -> Case:
    case = Case(lambda x, w: normalised(x, w, 1e-6), "rows", weight=weight())
    case.weight = ONES
    return case


def mean_square(x: torch.Tensor) -> torch.Tensor:
    return x.pow(2).mean(-1, keepdim=True)


POSITIVE: dict[str, tuple[str, torch.nn.Module]] = {
    "as_written": (
        "row_norm",
        Case(lambda x, w: normalised(x, w, 1e-5), "rows", weight=weight()),
    ),
    "another_epsilon": (
        "row_norm",
        Case(lambda x, w: normalised(x, w, 0.5), "rows", weight=weight()),
    ),
    "one_row": (
        "row_norm",
        Case(lambda x, w: normalised(x, w, 1e-5), "line", weight=weight()),
    ),
    "rows_of_rows": (
        "row_norm",
        Case(lambda x, w: normalised(x, w, 1e-5), "cube", weight=weight()),
    ),
    "four_dims": (
        "row_norm",
        Case(lambda x, w: normalised(x, w[:16], 1e-5), "q", weight=weight()),
    ),
    "swapped": (
        "row_norm",
        Case(lambda x, w: (torch.rsqrt(1e-6 + mean_square(x)) * x) * w, "rows", weight=weight()),
    ),
    "dim_from_the_front": (
        "row_norm",
        Case(
            lambda x, w: w * (x * torch.rsqrt(x.pow(2.0).mean([1], True) + 1e-6)),
            "rows",
            weight=weight(),
        ),
    ),
    "casts_to_its_own_type": (
        "row_norm",
        Case(lambda x, w: as_in_models(x, w, 1e-6), "rows", weight=weight()),
    ),
    "dropout_in_evaluation": (
        "row_norm",
        Case(
            lambda x, w: w * functional.dropout(x * torch.rsqrt(mean_square(x) + 1e-6), 0.5, False),
            "rows",
            weight=weight(),
        ),
    ),
    "module": ("row_norm", Own(torch.nn.RMSNorm(WIDTH, eps=1e-5))),
    "tied": ("row_norm", tied()),
    "tied_again": ("row_norm", tied()),
    "result_used_twice": (
        "row_norm",
        Case(
            lambda x, w: (y := normalised(x, w, 1e-6)).sum(-1, keepdim=True) + y,
            "rows",
            weight=weight(),
        ),
    ),
    "computed_twice": (
        "row_norm_f16",
        Case(
            lambda x, w: w * (x.float() * torch.rsqrt(mean_square(x.float()) + 1e-6)).half(),
            "half",
            weight=weight(dtype=torch.float16),
        ),
    ),
    "square_of_same_sizes": (
        "row_norm",
        Case(lambda x, w: normalised(x, w, 1e-6), "square", weight=weight()),
    ),
    "half_with_casts": (
        "row_norm_f16",
        Case(lambda x, w: as_in_models(x, w, 1e-6), "half", weight=weight(dtype=torch.float16)),
    ),
    "rank_1": ("squared_relu_1", Case(lambda x: torch.relu(x).square() * 0.5, "line")),
    "rank_2": ("squared_relu_2", Case(lambda x: 2 * torch.relu(x).square(), "rows")),
    "rank_3": ("squared_relu_3", Case(lambda x: torch.relu(x).square() * -0.5, "cube")),
    "rank_4": ("squared_relu_4", Case(lambda x: torch.relu(x).square() * 3.5, "q")),
    "two_results": ("add_relu", Case(lambda x, y: (s := x + y, torch.relu(s)), "rows", "more")),
    "two_results_of_which_one_is_used_before": (
        "add_relu",
        Case(lambda x, y: (s := x + y, s.sum(0), torch.relu(s)), "more", "rows"),
    ),
    "attention": ("attention", Case(lambda q, k, v: attended(q, k, v, 0.3, False), "q", "k", "v")),
    "causal": ("attention", Case(lambda q, k, v: attended(q, k, v, 0.25, True), "q", "k", "v")),
    "written_out": ("attention", Case(lambda q, k, v: written_out(q, k, v, 0.3), "q", "k", "v")),
    "rotary": ("rotary", Case(rotated, "q", "cosine", "sine")),
}


def softmax_in_wide(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    scores = (q @ k.transpose(-1, -2) * 0.3).double()
    return torch.softmax(scores, dim=-1).float() @ v


def quarter_turned(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    """Another part of the head is turned: at 4 of 16, not at 8."""
    turned = torch.cat((-x[..., 4:], x[..., :4]), dim=-1)
    return x * cosine.unsqueeze(1) + turned * sine.unsqueeze(1)


def with_residual(x: torch.Tensor, y: torch.Tensor) -> Any:
    s = x + y
    t = torch.relu(s)
    return s * t.sum(), torch.relu(t)


NEAR: dict[str, tuple[str, torch.nn.Module]] = {
    "another_dim": (
        "torch.aten.rsqrt gives tensor<1x48xf32>, and in the pattern tensor<?x1xf32>",
        Case(
            lambda x, w: w * (x * torch.rsqrt(x.pow(2).mean(0, keepdim=True) + 1e-6)),
            "square",
            weight=weight(),
        ),
    ),
    "without_keepdim": (
        "torch.aten.rsqrt gives tensor<48xf32>, and in the pattern tensor<?x1xf32>",
        Case(
            lambda x, w: w * (x * torch.rsqrt(x.pow(2).mean(-1) + 1e-6)), "square", weight=weight()
        ),
    ),
    "epsilon_of_the_data": (
        "it has torch.aten.add.Tensor where the pattern has torch.aten.add.Scalar",
        Case(
            lambda x, w: w * (x * torch.rsqrt(mean_square(x) + x.abs().sum())),
            "rows",
            weight=weight(),
        ),
    ),
    "without_epsilon": (
        "it has torch.aten.mean.dim where the pattern has torch.aten.add.Scalar",
        Case(lambda x, w: w * (x * torch.rsqrt(mean_square(x))), "rows", weight=weight()),
    ),
    "sum_for_mean": (
        "it has torch.aten.sum.dim_IntList where the pattern has torch.aten.mean.dim",
        Case(
            lambda x, w: w * (x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)),
            "rows",
            weight=weight(),
        ),
    ),
    "another_power": (
        "it has torch.aten.pow.Tensor_Scalar where the pattern has torch.aten.square",
        Case(
            lambda x, w: w * (x * torch.rsqrt(x.pow(4).mean(-1, keepdim=True) + 1e-6)),
            "rows",
            weight=weight(),
        ),
    ),
    "epsilon_doubled": (
        "`alpha` of torch.aten.add.Scalar is 2, and in the pattern 1",
        Case(
            lambda x, w: w * (x * torch.rsqrt(torch.add(mean_square(x), 1e-6, alpha=2))),
            "rows",
            weight=weight(),
        ),
    ),
    "another_value_normalised": (
        "`x` would be",
        Case(
            lambda x, y, w: w * (x * torch.rsqrt(mean_square(y) + 1e-6)),
            "rows",
            "more",
            weight=weight(),
        ),
    ),
    "intermediate_used_elsewhere": (
        "(torch.aten.mean.dim) is used by torch.aten.add.Tensor, too",
        Case(
            lambda x, w: (w * (x * torch.rsqrt((m := mean_square(x)) + 1e-6))) + m,
            "rows",
            weight=weight(),
        ),
    ),
    "intermediate_is_a_result": (
        "(torch.aten.rsqrt) is a result of the model, too",
        Case(
            lambda x, w: (w * (x * (r := torch.rsqrt(mean_square(x) + 1e-6))), r),
            "rows",
            weight=weight(),
        ),
    ),
    "weight_of_another_rank": (
        "`weight` is tensor<f32>, and in the pattern tensor<?xf32>",
        Case(
            lambda x, w: w.sum() * (x * torch.rsqrt(mean_square(x) + 1e-6)), "rows", weight=weight()
        ),
    ),
    "weight_that_broadcasts": (
        "`self` of torch.aten.mul.Tensor is 1, and in the pattern 48",
        Case(
            lambda x, w: w[:1] * (x * torch.rsqrt(mean_square(x) + 1e-6)), "rows", weight=weight()
        ),
    ),
    "another_type": (
        "gives tensor<6x48xf64>, and in the pattern tensor<?x?xf32>",
        Case(lambda x, w: normalised(x, w, 1e-6), "wide", weight=weight(dtype=torch.float64)),
    ),
    "half_without_casts": (
        "it has torch.aten.mul.Tensor where the pattern has torch.aten.to.dtype",
        Case(lambda x, w: normalised(x, w, 1e-3), "half", weight=weight(dtype=torch.float16)),
    ),
    "default_epsilon": (
        "`eps` of torch.aten.rms_norm is none, where the pattern has a number for `epsilon`",
        Own(torch.nn.RMSNorm(WIDTH)),
    ),
    "without_weight": (
        "`weight` of torch.aten.rms_norm is none, where the pattern has its operand `weight`",
        Case(lambda x: functional.rms_norm(x, (WIDTH,), None, 1e-6), "rows"),
    ),
    "two_dims_normalised": (
        "`normalized_shape` of torch.aten.rms_norm is [6, 48], and in the pattern",
        Case(
            lambda x, w: functional.rms_norm(x, (6, WIDTH), w.expand(6, WIDTH), 1e-6),
            "rows",
            weight=weight(),
        ),
    ),
    "mask": (
        "`attn_mask` of torch.aten.scaled_dot_product_attention is",
        Case(
            lambda q, k, v, m: functional.scaled_dot_product_attention(q, k, v, m, scale=0.3),
            "q",
            "k",
            "v",
            "mask",
        ),
    ),
    "default_scale": (
        "`scale` of torch.aten.scaled_dot_product_attention is none, where",
        Case(lambda q, k, v: functional.scaled_dot_product_attention(q, k, v), "q", "k", "v"),
    ),
    "softmax_of_queries": (
        "`dim` of torch.aten.softmax.int is 2, and in the pattern 3",
        Case(
            lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) * 0.3, dim=-2) @ v, "q", "k", "v"
        ),
    ),
    "softmax_in_another_type": (
        "",  # it has two operations more
        Case(softmax_in_wide, "q", "k", "v"),
    ),
    "scale_of_the_data": (
        "it has torch.aten.mul.Tensor where the pattern has torch.aten.mul.Scalar",
        Case(
            lambda q, k, v: torch.softmax(q @ k.transpose(-1, -2) * k.mean(), dim=-1) @ v,
            "q",
            "k",
            "v",
        ),
    ),
    "another_half_rotated": (
        "is 4, and in the pattern 8",
        Case(quarter_turned, "q", "cosine", "sine"),
    ),
    "subtracted": (
        "",  # nothing of the pattern but its ReLU is there
        Case(lambda x, y: torch.relu(x - y), "rows", "more"),
    ),
}
