"""What the kernels compute in PyTorch's words, for `cd.torch.compile(..., replace=...)`.

This, `torch_attention.py` and `torch_moe.py` load PyTorch. Each name is a tuple with a pattern for
each element type, none of which has to be found. Models of 16 bits normalise in f32 and round
before they multiply by the weight, and activations are rounded once an operation; the kernels round
the result alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.patterns.convolutions import every_convolution, every_group_norm
from cuda_kernels.patterns.profitable import where_profitable
from cuda_kernels.patterns.rewriting.convolutions import write_convolutions, write_group_norms
from cuda_kernels.patterns.rewriting.norms import (
    RMS_NORM_FROM,
    write_every_rms_norm,
    write_layer_norms,
    write_rms_norms,
)
from cuda_kernels.patterns.rewriting.rotary import rule_for
from cuda_kernels.patterns.rewriting.rotary_operator import ROTARY, ROTARY_BY_POSITION
from cuda_kernels.patterns.rewriting.softmax import write_softmax
from cuda_kernels.patterns.torch_attention import (
    attentions_bshd,
    attentions_by_position,
    attentions_of_every_form,
    cached_attentions,
    capped_attentions,
)
from cuda_kernels.patterns.torch_channels_last import every_channels_last
from cuda_kernels.patterns.torch_glu import geglus, glus_of_halves
from cuda_kernels.patterns.torch_moe import grouped_products, sorts
from cuda_kernels.patterns.torch_products import products, products_of_weights
from cuda_kernels.patterns.torch_quantised import quantised_products, scaled_products
from cuda_kernels.patterns.torch_scans import scans
from cuda_kernels.patterns.torch_types import TYPES, Patterns, each_type
from cuda_kernels.shared.lazily import lazily


def _rms_norm(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    return functional.rms_norm(x, (x.shape[-1],), weight, epsilon)


def _rms_norm_as_in_llama(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    wide = x.to(torch.float32)
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + epsilon)
    return weight * wide.to(x.dtype)


def _rms_norm_from(
    x: Tensor, epsilon: float, offset: float, weight: Tensor | None = None
) -> Tensor:
    return RMS_NORM_FROM(x, weight, epsilon, offset)


def _add_rms_norm(
    x: Tensor, residual: Tensor, weight: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    total = x + residual
    return total, _rms_norm(total, weight, epsilon)


def _add_rms_norm_as_in_llama(
    x: Tensor, residual: Tensor, weight: Tensor, epsilon: float
) -> tuple[Tensor, Tensor]:
    total = x + residual
    return total, _rms_norm_as_in_llama(total, weight, epsilon)


def _add_rms_norm_from(
    x: Tensor, residual: Tensor, epsilon: float, offset: float, weight: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    total = x + residual
    return total, RMS_NORM_FROM(total, weight, epsilon, offset)


def _layer_norm(
    x: Tensor, epsilon: float, weight: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, epsilon)


def _softmax(x: Tensor) -> Tensor:
    return torch.softmax(x, dim=-1)


def _gelu(x: Tensor) -> Tensor:
    return functional.gelu(x)


def _gelu_tanh(x: Tensor) -> Tensor:
    return functional.gelu(x, approximate="tanh")


def _gelu_tanh_as_in_gpt2(x: Tensor) -> Tensor:
    """As transformers' `NewGELUActivation` has it (`gelu_new`)."""
    inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
    return 0.5 * x * (1.0 + torch.tanh(inner))


def _gelu_tanh_fast(x: Tensor) -> Tensor:
    """As Bloom and transformers' `FastGELUActivation` have it."""
    inner = x * math.sqrt(2.0 / math.pi) * (1.0 + 0.044715 * x * x)
    return 0.5 * x * (1.0 + torch.tanh(inner))


def _silu_written_out(gate: Tensor, up: Tensor) -> Tensor:
    return gate * torch.sigmoid(gate) * up


def _softmax_in_f32(x: Tensor) -> Tensor:
    """As models of 16 bits have it, which then round."""
    return torch.softmax(x, dim=-1, dtype=torch.float32).to(x.dtype)


def _softmax_of_f32(x: Tensor) -> Tensor:
    return torch.softmax(x.to(torch.float32), dim=-1).to(x.dtype)


def _gelu_as_the_error_function(x: Tensor) -> Tensor:
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


def _swiglu(gate: Tensor, up: Tensor) -> Tensor:
    return functional.silu(gate) * up


def _linear_swiglu(x: Tensor, gate: Tensor, up: Tensor) -> Tensor:
    return functional.silu(functional.linear(x, gate)) * functional.linear(x, up)


def _rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos.unsqueeze(1) + turned * sin.unsqueeze(1)


def _index_copy(cache: Tensor, fresh: Tensor, positions: Tensor) -> Tensor:
    return torch.index_copy(cache, 2, positions, fresh)


def _index_put(cache: Tensor, fresh: Tensor, positions: Tensor) -> Tensor:
    return torch.ops.aten.index_put.default(cache, [None, None, positions], fresh)


def _index_put_of_one(cache: Tensor, fresh: Tensor, positions: Tensor) -> Tensor:
    """As `cache[:, :, positions] = fresh` is exported where there is one sequence."""
    fresh = fresh.view(fresh.shape[1:])
    return torch.ops.aten.index_put.default(cache, [None, None, positions], fresh)


def _rotary_by_position(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _rotary(x.transpose(1, 2), cos, sin)


def _rotary_bshd(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    return _rotary_by_position(x, cos, sin).transpose(1, 2)


def _rotary_any(x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int) -> Tensor:
    return ROTARY(x, cos, sin, pairs_in, pairs_out)


def _rotary_any_by_position(
    x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int
) -> Tensor:
    return ROTARY_BY_POSITION(x, cos, sin, pairs_in, pairs_out)


def _rotary_any_bshd(x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int) -> Tensor:
    return _rotary_any_by_position(x, cos, sin, pairs_in, pairs_out).transpose(1, 2)


def _rotaries() -> Patterns:
    return tuple(
        pattern
        for name, computes in (  # that of the most transpositions first
            ("rotary_bshd", _rotary_bshd),
            ("rotary_by_position", _rotary_by_position),
            ("rotary", _rotary),
        )
        for tables in (6, 1)
        for pattern in each_type(attentions, name, computes, sizes={"batch": 6, "tables": tables})
    )


def _rotaries_in_other_spellings() -> Patterns:
    """Each with the rule that writes these as the operator that it is of."""
    return tuple(
        cd.torch.Pattern(
            getattr(attentions, f"{name}_{dtype}"),
            computes,
            rewrites=rule_for(dtype),
            required=False,
        )
        for name, computes in (
            ("rotary_any_bshd", _rotary_any_bshd),
            ("rotary_any_by_position", _rotary_any_by_position),
            ("rotary_any", _rotary_any),
        )
        for dtype in TYPES
    )


def _named(*names: str) -> Patterns:
    return tuple(pattern for name in names for pattern in __getattr__(name))


_EVERYTHING = (
    "quantised",
    "scaled_linear",
    "scan",
    "rotary",
    "rotary_any",
    "add_rms_norm",
    "rms_norm",
    "add_rms_norm_from",
    "rms_norm_from",
    "layer_norm",
    "write_cache",
    "attention",
    "capped_attention",
    "softmax",
    "gelu",
    "linear_swiglu",
    "swiglu",
    "geglu",
    "glu_of_halves",
    "linear",
    "grouped",
    "sort",
    "matmul",
    "channels_last",
    "convolution",
    "group_norm",
)
"""In this order: quantised weights are as libraries have them; the sum that a norm is of goes with
the norm, unless it ends a rotary embedding; attention reads what rotary embeddings leave; products
take what is left."""
_TABLE: dict[str, Callable[[], Patterns]] = {
    "rms_norm": lambda: each_type(
        norms, "rms_norm", _rms_norm, _rms_norm_as_in_llama, rewrites=write_rms_norms
    ),
    "rms_norm_from": lambda: each_type(
        norms, "rms_norm_from", _rms_norm_from, rewrites=write_every_rms_norm
    ),
    "add_rms_norm": lambda: each_type(
        norms, "add_rms_norm", _add_rms_norm, _add_rms_norm_as_in_llama, rewrites=write_rms_norms
    ),
    "add_rms_norm_from": lambda: each_type(
        norms, "add_rms_norm_from", _add_rms_norm_from, rewrites=write_every_rms_norm
    ),
    "layer_norm": lambda: each_type(norms, "layer_norm", _layer_norm, rewrites=write_layer_norms),
    "softmax": lambda: each_type(
        norms, "softmax", _softmax, _softmax_in_f32, _softmax_of_f32, rewrites=write_softmax
    ),
    "gelu": lambda: (
        *each_type(elementwise, "gelu_erf", _gelu, _gelu_as_the_error_function),
        *each_type(elementwise, "gelu_tanh", _gelu_tanh, _gelu_tanh_as_in_gpt2, _gelu_tanh_fast),
    ),
    "swiglu": lambda: each_type(elementwise, "swiglu", _swiglu, _silu_written_out),
    "geglu": geglus,
    "glu_of_halves": glus_of_halves,
    "linear_swiglu": lambda: tuple(
        cd.torch.Pattern(kernel, _linear_swiglu, required=False)
        for kernel in (gemms.linear_swiglu_f16, gemms.linear_swiglu_bf16)
    ),
    "rotary": _rotaries,
    "rotary_any": _rotaries_in_other_spellings,
    "write_cache": lambda: (
        *each_type(attentions, "write_cache", _index_copy, _index_put),
        *each_type(attentions, "write_cache", _index_put_of_one, sizes={"batch": 1}),
    ),
    "cached_attention": cached_attentions,
    "capped_attention": capped_attentions,
    "attention": lambda: (
        *attentions_by_position(),
        *_named("cached_attention"),
        *attentions_of_every_form(),
        *attentions_bshd(),
    ),
    "linear": products_of_weights,
    "matmul": products,
    "quantised": quantised_products,
    "scaled_linear": scaled_products,
    "scan": scans,
    "grouped": grouped_products,
    "sort": sorts,
    "channels_last": every_channels_last,
    "convolution": lambda: every_convolution(write_convolutions),
    "group_norm": lambda: every_group_norm(write_group_norms),
    "everything": lambda: where_profitable(_named(*_EVERYTHING)),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
