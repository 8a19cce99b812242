"""What models write out that PyTorch has a function for, in PyTorch's words.

Models that come as MLIR have it: those from ONNX, and what PyTorch's operators are decomposed to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.attention.names import HEADS
from cuda_kernels.shared.lazily import TYPES, lazily

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]

ANY = (11, 13, 17)
"""Numbers of sentences, of heads of keys, and of queries for each of these, which stand for any:
where they are open, IREE converts products into other operations than where they are known, and
does not take dims apart."""

# -- norms and activations


def _layer_norm_in_f32(x: Tensor, weight: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """As ONNX has it."""
    normed = functional.layer_norm(x.to(torch.float32), (x.shape[-1],), None, None, epsilon)
    return normed.to(x.dtype) * weight + bias


def _normed(x: Tensor, epsilon: float) -> Tensor:
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + epsilon)


def _normed_by_power(x: Tensor, epsilon: float) -> Tensor:
    return x * torch.rsqrt(torch.pow(x, 2.0).mean(-1, keepdim=True) + epsilon)


def _rms_norms(normed: Callable[[Tensor, float], Tensor]) -> list[Callable[..., Tensor]]:
    """In f32, rounded before the weight and after it in two ways; and all of it in 16 bits."""

    def before(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        return weight * normed(x.to(torch.float32), epsilon).to(x.dtype)

    def after(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        return (weight.to(torch.float32) * normed(x.to(torch.float32), epsilon)).to(x.dtype)

    def promoted(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        return (normed(x.to(torch.float32), epsilon) * weight).to(x.dtype)

    def always(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
        return weight * normed(x, epsilon)

    return [before, after, promoted, always]


def _with_sum(normed: Callable[..., Tensor]) -> Callable[..., tuple[Tensor, Tensor]]:
    """The norm of a sum, which is another result."""

    def computes(
        x: Tensor, residual: Tensor, weight: Tensor, epsilon: float
    ) -> tuple[Tensor, Tensor]:
        total = x + residual
        return total, normed(total, weight, epsilon)

    return computes


def _new_gelu(x: Tensor) -> Tensor:
    """`NewGELUActivation` of transformers, which GPT-2 has."""
    inner = 0.7978845608028654 * (x + 0.044715 * torch.pow(x, 3.0))
    return 0.5 * x * (1.0 + torch.tanh(inner))


def _swiglu_in_f32(gate: Tensor, up: Tensor) -> Tensor:
    return functional.silu(gate.to(torch.float32)).to(gate.dtype) * up


def _rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """With tables that somebody broadcasts to all heads."""
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos + turned * sin


_EVERY_RMS_NORM = (*_rms_norms(_normed), *_rms_norms(_normed_by_power))

# -- products

_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": functional.relu,
    "silu": functional.silu,
    "gelu_erf": functional.gelu,
    "gelu_tanh": partial(functional.gelu, approximate="tanh"),
}


def _activated(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def computes(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
        found = torch.matmul(a, b)
        return activation(found if bias is None else found + bias)

    return computes


def _matmul_and_sum(a: Tensor, b: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    return residual + (torch.matmul(a, b) + bias)


def _linear_and_sum(a: Tensor, b: Tensor, bias: Tensor, residual: Tensor) -> Tensor:
    return residual + functional.linear(a, b, bias)


# -- attention


def _times(scores: Tensor, scale: float) -> Tensor:
    return scores * scale


def _times_tensor(scores: Tensor, scale: float) -> Tensor:
    """As ONNX's constants are."""
    return scores * torch.full((), scale, dtype=scores.dtype)


def _over(scores: Tensor, divisor: float) -> Tensor:
    return scores / divisor


def _over_tensor(scores: Tensor, divisor: float) -> Tensor:
    return scores / torch.full((), divisor, dtype=scores.dtype)


def _weighted(scores: Tensor, v: Tensor) -> Tensor:
    return torch.softmax(scores, -1, dtype=torch.float32).to(v.dtype) @ v


def _safely_weighted(scores: Tensor, v: Tensor) -> Tensor:
    """As PyTorch's operator is decomposed: zeros for a query that sees nothing."""
    weights = torch.softmax(scores, -1)
    seen = torch.any(torch.logical_not(scores == -torch.inf), -1, True)
    zeros = torch.full_like(weights, 0)
    return torch.where(torch.logical_not(seen), zeros, weights) @ v


def _causally_weighted(scores: Tensor, v: Tensor) -> Tensor:
    queries, keys = scores.shape[-2:]
    further = torch.arange(keys).unsqueeze(-2) - torch.arange(queries).unsqueeze(-1)
    seen = torch.logical_and(further <= 0, torch.full((queries, keys), True, dtype=torch.bool))
    mask = torch.where(seen, torch.scalar_tensor(0.0), torch.scalar_tensor(-torch.inf))
    return _safely_weighted(scores + mask, v)


def _decomposed(
    weighted: Callable[[Tensor, Tensor], Tensor], *, has_mask: bool
) -> Callable[..., Tensor]:
    """The same of 16 bits, which are widened before they are scaled."""

    def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (each.to(torch.float32) for each in (q, k, v))
        root = q.shape[-1] ** -0.25
        scores = (q * root) @ (k.transpose(-2, -1) * root)
        return weighted(scores if mask is None else scores + mask, v).to(torch.bfloat16)

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return masked(q, k, v, None)

    return masked if has_mask else plain


Scaled = Callable[..., Tensor]
OF_ANY = {"batch": ANY[0], "heads": ANY[1], "kv_heads": ANY[1]}
OF_ANY_GROUPS = {**OF_ANY, "heads": ANY[1] * ANY[2]}


def _attention(
    scaled: Scaled | None,
    weighted: Callable[[Tensor, Tensor], Tensor] = _weighted,
    *,
    has_mask: bool,
    apart: Callable[[Tensor], Tensor] = lambda x: x,
) -> Callable[..., Tensor]:
    """softmax(q k * scale + mask) v, where keys come transposed.

    Parameters
    ----------
    scaled
        What is done to the scores, with the scale where that is a number of the model; None where
        queries come with their scale.
    apart
        What makes heads and sentences two dims, of tensors that have them in one.
    """

    def attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *scale: float) -> Tensor:
        scores = apart(q) @ apart(k)
        scores = scores if scaled is None else scaled(scores, *scale)
        found = weighted(scores if mask is None else scores + mask, apart(v))
        return found if found.dim() == q.dim() else found.flatten(0, 1)

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return attended(q, k, v, None)

    def masked(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        return attended(q, k, v, mask)

    def with_scale(q: Tensor, k: Tensor, v: Tensor, scale: float) -> Tensor:
        return attended(q, k, v, None, scale)

    def masked_with_scale(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
        return attended(q, k, v, mask, scale)

    if scaled in (_times, _times_tensor):
        return masked_with_scale if has_mask else with_scale
    return masked if has_mask else plain


def _apart(x: Tensor) -> Tensor:
    """Heads of a batch, which all have one mask."""
    return x.unflatten(0, ANY[:2])


_APART = {"apart": _apart}
_FLAT = {"batch": ANY[0] * ANY[1]}
_MASKS: tuple[tuple[str, bool, dict[str, Any], dict[str, int]], ...] = (
    ("flat_masked_attention", True, {}, {}),
    ("flat_attention", False, {}, {}),
    ("flat_attention", False, _APART, _FLAT),
    ("flat_shared_masked_attention", True, _APART, {**_FLAT, "sentences": ANY[0]}),
    ("flat_shared_masked_attention", True, _APART, {**_FLAT, "sentences": 1}),
    ("flat_key_masked_attention", True, _APART, {**_FLAT, "sentences": ANY[0]}),
    ("flat_key_masked_attention", True, _APART, {**_FLAT, "sentences": 1}),
)
"""Kernels by their names, whether they have a mask, and what else there is to say. Heads are in the
batch: what a model has done to its dims before does not matter then."""


def _attentions() -> Iterator[cd.torch.Pattern]:
    for dtype in TYPES:
        for dim in HEADS:
            usual = {"scale": dim**-0.5}
            scales: list[tuple[list[Scaled | None], dict[str, float]]] = [
                ([_times, _times_tensor], {}),
                ([partial(each, divisor=dim**0.5) for each in (_over, _over_tensor)], usual),
                ([None], {"scale": 1.0}),
            ]
            for name, has_mask, options, sizes in _MASKS:
                for forms, fixed in scales:
                    functions = [_attention(each, has_mask=has_mask, **options) for each in forms]
                    if dtype == "f32" and forms == [None] and options:
                        functions.append(
                            _attention(None, _safely_weighted, has_mask=has_mask, **options)
                        )
                    yield cd.torch.Pattern(
                        getattr(attentions, f"{name}_{dtype}_{dim}"),
                        functions,
                        fixed={"causal": False, **fixed},
                        sizes=sizes,
                        axes={"k": (0, 2, 1)},
                        required=False,
                    )


def _decomposed_attentions() -> Iterator[cd.torch.Pattern]:
    """PyTorch's operator, as `ExportedProgram.run_decompositions()` leaves it.

    Those of 16 bits first: without their casts, places of theirs are some of f32.
    """
    for dtype, dim in product(TYPES[1:], HEADS):
        for name, has_mask, weighted in (
            ("attention", False, _causally_weighted),
            ("attention", False, _safely_weighted),
            ("attention", True, _safely_weighted),
            ("masked_attention", True, _safely_weighted),
        ):
            yield cd.torch.Pattern(
                getattr(attentions, f"{name}_{dtype}_{dim}"),
                _decomposed(weighted, has_mask=has_mask),
                fixed={"causal": weighted is _causally_weighted, "scale": dim**-0.5},
                sizes=OF_ANY,
                required=False,
            )
    for dim in HEADS:
        yield cd.torch.Pattern(
            getattr(attentions, f"flat_attention_f32_{dim}"),
            _attention(None, _causally_weighted, has_mask=False, **_APART),
            fixed={"causal": True, "scale": 1.0},
            sizes=_FLAT,
            axes={"k": (0, 2, 1)},
            required=False,
        )


def _each(module: Any, name: str, *computes: Callable[..., Any], **options: Any) -> Patterns:
    return tuple(
        cd.torch.Pattern(
            getattr(module, f"{name}_{dtype}"), list(computes), required=False, **options
        )
        for dtype in TYPES
    )


_TABLE: dict[str, Callable[[], Patterns]] = {
    "layer_norm": lambda: _each(norms, "layer_norm", _layer_norm_in_f32),
    "rms_norm": lambda: _each(norms, "rms_norm", *_EVERY_RMS_NORM),
    "add_rms_norm": lambda: _each(norms, "add_rms_norm", *map(_with_sum, _EVERY_RMS_NORM)),
    "gelu": lambda: _each(elementwise, "gelu_tanh", _new_gelu),
    "swiglu": lambda: _each(elementwise, "swiglu", _swiglu_in_f32),
    "rotary": lambda: tuple(
        pattern
        for tables in (6, 1)
        for pattern in _each(
            attentions, "rotary_apart", _rotary, sizes={"batch": 6, "tables": tables, "dim": 64}
        )
    ),
    "matmul": lambda: (
        *(
            pattern
            for name, activation in _ACTIVATIONS.items()
            for pattern in _each(gemms, f"matmul_{name}", _activated(activation))
        ),
        *_each(gemms, "matmul", _matmul_and_sum),
    ),
    "linear": lambda: _each(gemms, "linear", _linear_and_sum),
    "attention": lambda: (*_decomposed_attentions(), *_attentions()),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
