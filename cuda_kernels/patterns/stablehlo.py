"""What the kernels compute in JAX's words, for StableHLO that JAX has exported: `cd.compile`.

For functions of JAX there is `cuda_kernels.patterns.jax`, which finds more. Each name is a tuple
with a pattern for each element type, none of which has to be found. In 16 bits a norm is computed
in f32 and rounded before it is multiplied by the weight, and attention has its scores and their
softmax in f32, as models have it; the kernels round the result alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import elementwise, norms
from cuda_kernels import gemm as gemms
from cuda_kernels.patterns.profitable import where_profitable
from cuda_kernels.shared.lazily import lazily

if TYPE_CHECKING:
    Patterns = tuple[cd.jax.Pattern, ...]

_TYPES = ("f32", "f16", "bf16")
_HEADS = (32, 64, 128)
_ONE_EACH = {"heads": 6, "kv_heads": 6}
"""A head of keys for every head of queries."""
_GROUPED = {"heads": 8, "kv_heads": 2}


def _each(module: Any, name: str, *computes: Callable[..., Any], **options: Any) -> Patterns:
    return tuple(
        cd.jax.Pattern(
            getattr(module, f"{name}_{dtype}"), list(computes), required=False, **options
        )
        for dtype in _TYPES
    )


def _rms_norm(x: Any, weight: Any, epsilon: float) -> Any:
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + epsilon)
    return wide.astype(x.dtype) * weight


def _rms_norm_of_square(x: Any, weight: Any, epsilon: float) -> Any:
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + epsilon)
    return wide.astype(x.dtype) * weight


def _add_rms_norm(x: Any, residual: Any, weight: Any, epsilon: float) -> Any:
    total = x + residual
    return total, _rms_norm(total, weight, epsilon)


def _layer_norm(x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
    wide = x.astype(jnp.float32)
    centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
    variance = jnp.var(wide, axis=-1, keepdims=True)
    return (centred * jax.lax.rsqrt(variance + epsilon)).astype(x.dtype) * weight + bias


def _softmax(x: Any) -> Any:
    return jax.nn.softmax(x, axis=-1)


def _gelu(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=False)


def _gelu_tanh(x: Any) -> Any:
    return jax.nn.gelu(x, approximate=True)


def _swiglu(gate: Any, up: Any) -> Any:
    return jax.nn.silu(gate) * up


def _rotary(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    turned = jnp.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * cos[:, None] + turned * sin[:, None]


def _attention(q: Any, k: Any, v: Any, scale: float) -> Any:
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * scale, axis=-1) @ v


def _causal_attention(q: Any, k: Any, v: Any, scale: float) -> Any:
    scores = q @ jnp.swapaxes(k, -1, -2) * scale
    earlier = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1) @ v


def _scores(q: Any, k: Any, scale: float) -> Any:
    return jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) * scale


def _weighted(scores: Any, v: Any) -> Any:
    return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(scores, axis=-1).astype(v.dtype), v)


def _attention_in_f32(q: Any, k: Any, v: Any, scale: float) -> Any:
    return _weighted(_scores(q, k, scale), v)


def _causal_attention_in_f32(q: Any, k: Any, v: Any, scale: float) -> Any:
    scores = _scores(q, k, scale)
    earlier = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return _weighted(jnp.where(earlier, scores, -jnp.inf), v)


def _grouped_attention(q: Any, k: Any, v: Any, scale: float) -> Any:
    k, v = (jnp.repeat(each, q.shape[1] // each.shape[1], axis=1) for each in (k, v))
    return _causal_attention_in_f32(q, k, v, scale)


def _of_jax(q: Any, k: Any, v: Any, scale: float) -> Any:
    return jax.nn.dot_product_attention(q, k, v, scale=scale)


def _causal_of_jax(q: Any, k: Any, v: Any, scale: float) -> Any:
    return jax.nn.dot_product_attention(q, k, v, scale=scale, is_causal=True)


def _masked_of_jax(q: Any, k: Any, v: Any, mask: Any, scale: float) -> Any:
    return jax.nn.dot_product_attention(q, k, v, bias=mask, scale=scale)


_HEADS_LAST = (0, 2, 1, 3)
"""What JAX's own attention has: [batch, length, heads, dim]."""
_OF_MASK = {"batch": 36, "mask_batches": 36, "mask_heads": 1, "queries": 40, "mask_rows": 40}


def _attentions_of_jax() -> Patterns:
    found = []
    for dtype in _TYPES:
        for size in _HEADS:
            kernel = getattr(attentions, f"attention_{dtype}_{size}")
            masked = getattr(attentions, f"masked_attention_{dtype}_{size}")
            turned = dict.fromkeys(("q", "k", "v", "out"), _HEADS_LAST)
            of_masked = turned
            if dtype != "f32" and size > 32:
                kernel = getattr(attentions, f"attention_by_position_{dtype}_{size}")
                turned = dict.fromkeys(("q", "k", "v"), _HEADS_LAST)
            for sizes in (_ONE_EACH, _GROUPED):
                found += [
                    cd.jax.Pattern(
                        item,
                        function,
                        fixed={"causal": causal},
                        sizes=sizes | _OF_MASK if item is masked else sizes,
                        axes=axes,
                        required=False,
                    )
                    for item, function, causal, axes in (
                        (kernel, _of_jax, False, turned),
                        (kernel, _causal_of_jax, True, turned),
                        (masked, _masked_of_jax, False, of_masked),
                    )
                ]
    return tuple(found)


def _attentions() -> Patterns:
    found = []
    for dtype in _TYPES:
        for end in (*(f"_{size}" for size in _HEADS), ""):
            forms: list[tuple[list[Callable[..., Any]], bool, dict[str, int]]] = [
                ([_attention_in_f32], False, _ONE_EACH),
                ([_causal_attention_in_f32], True, _ONE_EACH),
                ([_grouped_attention], True, _GROUPED),
            ]
            if dtype == "f32":
                forms[0][0].append(_attention)
                forms[1][0].append(_causal_attention)
            found += [
                cd.jax.Pattern(
                    getattr(attentions, f"attention_{dtype}{end}"),
                    functions,
                    fixed={"causal": causal},
                    sizes=sizes,
                    required=False,
                )
                for functions, causal, sizes in forms
            ]
    return tuple(found)


def _matmul(a: Any, b: Any) -> Any:
    return a @ b


def _matmul_and_bias(a: Any, b: Any, bias: Any) -> Any:
    return a @ b + bias


def _matmul_and_sum(a: Any, b: Any, residual: Any) -> Any:
    return residual + a @ b


def _linear(a: Any, b: Any) -> Any:
    return a @ b.T


def _linear_and_bias(a: Any, b: Any, bias: Any) -> Any:
    return a @ b.T + bias


def _matmul_nt(a: Any, b: Any) -> Any:
    return a @ jnp.swapaxes(b, -1, -2)


def _activated(
    activation: Callable[[Any], Any],
) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any, Any], Any]]:
    """A product and its activation, without a bias and with one."""
    return (
        lambda a, b: activation(a @ b),
        lambda a, b, bias: activation(a @ b + bias),
    )


def _named(*names: str) -> Patterns:
    return tuple(pattern for name in names for pattern in __getattr__(name))


_EVERYTHING = (
    "layer_norm",  # first: its bias is no residual of a norm behind it
    "add_rms_norm",
    "rms_norm",
    "attention",
    "softmax",
    "gelu",
    "swiglu",
    "rotary",
    "matmul",
)
"""In this order: the sum that a norm is of goes with the norm."""
_TABLE: dict[str, Callable[[], Patterns]] = {
    "rms_norm": lambda: _each(norms, "rms_norm", _rms_norm, _rms_norm_of_square),
    "add_rms_norm": lambda: _each(norms, "add_rms_norm", _add_rms_norm),
    "layer_norm": lambda: _each(norms, "layer_norm", _layer_norm),
    "softmax": lambda: _each(norms, "softmax", _softmax),
    "gelu": lambda: (
        *_each(elementwise, "gelu_erf", _gelu),
        *_each(elementwise, "gelu_tanh", _gelu_tanh),
    ),
    "swiglu": lambda: _each(elementwise, "swiglu", _swiglu),
    "rotary": lambda: (
        *_each(attentions, "rotary", _rotary, sizes={"batch": 6, "tables": 6}),
        *_each(attentions, "rotary", _rotary, sizes={"batch": 6, "tables": 1}),
    ),
    "attention": lambda: (*_attentions(), *_attentions_of_jax()),
    "matmul": lambda: (  # those first that stand for more
        *_each(gemms, "matmul_relu", *_activated(jax.nn.relu)),
        *_each(gemms, "matmul_silu", *_activated(jax.nn.silu)),
        *_each(gemms, "matmul_gelu_erf", *_activated(_gelu)),
        *_each(gemms, "matmul_gelu_tanh", *_activated(_gelu_tanh)),
        *_each(gemms, "matmul", _matmul_and_bias, _matmul_and_sum),
        *_each(gemms, "linear", _linear_and_bias),
        *_each(gemms, "linear", _linear),
        *_each(gemms, "matmul", _matmul),
        *_each(gemms, "batch_matmul_nt", _matmul_nt),
        *_each(gemms, "batch_matmul", _matmul),
    ),
    "everything": lambda: where_profitable(_named(*_EVERYTHING)),
}

__getattr__, __dir__ = lazily(globals(), _TABLE)
