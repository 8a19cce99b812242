"""What the kernels compute in JAX's words, for `cd.jax.compile(..., replace=...)`.

The only module here that loads JAX. Each name is a tuple with a pattern for each element type, none
of which has to be found. In 16 bits a norm is computed in f32 and rounded before it is multiplied
by the weight, as models have it; the kernels round the result alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels import gelu as gelus
from cuda_kernels import layer_norm as layer_norms
from cuda_kernels import rms_norm as rms_norms
from cuda_kernels import softmax as softmaxes
from cuda_kernels import swiglu as swiglus

Patterns = tuple[cd.jax.Pattern, ...]
_TYPES = ("f32", "f16", "bf16")
_HEADS = (32, 64, 128)


def _each(module: Any, name: str, *computes: Callable[..., Any]) -> Patterns:
    return tuple(
        cd.jax.Pattern(getattr(module, f"{name}_{dtype}"), list(computes), required=False)
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


def _attention(q: Any, k: Any, v: Any, scale: float) -> Any:
    return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * scale, axis=-1) @ v


def _causal_attention(q: Any, k: Any, v: Any, scale: float) -> Any:
    scores = q @ jnp.swapaxes(k, -1, -2) * scale
    earlier = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    return jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1) @ v


def _attentions() -> Patterns:
    sizes = {"heads": 6, "kv_heads": 6}  # a head of keys for every head of queries
    return tuple(
        cd.jax.Pattern(
            getattr(attentions, f"attention_f32_{size}"),
            computes,
            fixed={"causal": causal},
            sizes=sizes,
            required=False,
        )
        for size in _HEADS
        for computes, causal in ((_attention, False), (_causal_attention, True))
    )


rms_norm = _each(rms_norms, "rms_norm", _rms_norm, _rms_norm_of_square)
add_rms_norm = _each(rms_norms, "add_rms_norm", _add_rms_norm)
layer_norm = _each(layer_norms, "layer_norm", _layer_norm)
softmax = _each(softmaxes, "softmax", _softmax)
gelu = _each(gelus, "gelu_erf", _gelu) + _each(gelus, "gelu_tanh", _gelu_tanh)
swiglu = _each(swiglus, "swiglu", _swiglu)
attention = _attentions()
everything = (
    *layer_norm,  # first: its bias is no residual of a norm behind it
    *add_rms_norm,
    *rms_norm,
    *attention,
    *softmax,
    *gelu,
    *swiglu,
)
"""All of them; the sum that a norm is of goes with the norm."""
