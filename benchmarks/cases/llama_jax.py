"""A decoder layer as in Llama, in plain jax.numpy; and the same with kernels called by name.

`decoder_layer` knows of no kernels. `compile_by_pattern` puts them into it, for one number of
positions: patterns of JAX are compared at the sizes of a place, which have to be known.
`compile_by_name` compiles `layer_of_kernels`, which calls them, for any number of positions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

import custom_dispatch as cd
from cuda_kernels import attention, gemm
from cuda_kernels.attention import rotary
from cuda_kernels.elementwise import swiglu
from cuda_kernels.norms import rms_norm
from cuda_kernels.patterns import jax as jax_patterns

EPSILON = 1e-5
_NAMES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


class Weights(NamedTuple):
    """Of one layer; matrices are [inputs, outputs]."""

    norm: Any
    q: Any
    k: Any
    v: Any
    o: Any
    second_norm: Any
    gate: Any
    up: Any
    down: Any


def _normalised(x: Any, weight: Any) -> Any:
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + EPSILON)
    return wide.astype(x.dtype) * weight


def _turned(x: Any, cos: Any, sin: Any) -> Any:
    half = x.shape[-1] // 2
    halves = jnp.concatenate([-x[..., half:], x[..., :half]], axis=-1)
    return x * cos[:, None] + halves * sin[:, None]


def _attended(q: Any, k: Any, v: Any) -> Any:
    """Causal; each head of keys and values serves several of queries."""
    k, v = (jnp.repeat(each, q.shape[1] // each.shape[1], axis=1) for each in (k, v))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32)
    scores = scores * q.shape[-1] ** -0.5
    earlier = jnp.tril(jnp.ones(scores.shape[-2:], bool))
    weights = jax.nn.softmax(jnp.where(earlier, scores, -jnp.inf), axis=-1).astype(v.dtype)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)


def _split(x: Any, size: int) -> Any:
    """[batch, length, heads * size] as [batch, heads, length, size]."""
    return x.reshape(*x.shape[:2], x.shape[2] // size, size).swapaxes(1, 2)


def _joined(x: Any) -> Any:
    batch, heads, length, size = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, heads * size)


def decoder_layer(weights: Weights, x: Any, cos: Any, sin: Any) -> Any:
    """One layer.

    Parameters
    ----------
    x
        [batch, length, width].
    cos, sin
        Of the angles by which queries and keys are turned, [batch or 1, length, head's size].
    """
    y = _normalised(x, weights.norm)
    q, k, v = (_split(y @ matrix, cos.shape[-1]) for matrix in (weights.q, weights.k, weights.v))
    q, k = _turned(q, cos, sin), _turned(k, cos, sin)
    x = x + _joined(_attended(q, k, v)) @ weights.o
    y = _normalised(x, weights.second_norm)
    return x + (jax.nn.silu(y @ weights.gate) * (y @ weights.up)) @ weights.down


def layer_of_kernels(dtype: str, size: int) -> Callable[..., Any]:
    """The same layer out of kernels, for an element type (f32, f16, bf16) and a head's size."""
    norm = cd.jax.call(getattr(rms_norm, f"rms_norm_{dtype}"))
    add_norm = cd.jax.call(getattr(rms_norm, f"add_rms_norm_{dtype}"))
    turn = cd.jax.call(getattr(rotary, f"rotary_{dtype}"))
    attend = cd.jax.call(getattr(attention, f"attention_{dtype}_{size}"))
    gated = cd.jax.call(getattr(swiglu, f"swiglu_{dtype}"))
    times = cd.jax.call(getattr(gemm, f"matmul_{dtype}"))

    def layer(weights: Weights, x: Any, cos: Any, sin: Any) -> Any:
        y = norm(x, weights.norm, EPSILON)
        q, k, v = (_split(times(y, matrix), size) for matrix in (weights.q, weights.k, weights.v))
        y = attend(turn(q, cos, sin), turn(k, cos, sin), v, scale=size**-0.5, causal=True)
        x, y = add_norm(x, times(_joined(y), weights.o), weights.second_norm, EPSILON)
        y = gated(times(y, weights.gate), times(y, weights.up))
        return times(y, weights.down, residual=x)

    return layer


def compile_by_pattern(
    weights: Weights, shapes: Sequence[tuple[int, ...]], targets: Sequence[str]
) -> Any:
    """`decoder_layer` for arguments of these shapes, with every kernel that ships."""
    weights = jax.tree.map(jnp.asarray, weights)
    arguments = [jax.ShapeDtypeStruct(shape, weights.q.dtype) for shape in shapes]
    return cd.jax.compile(
        lambda *given: decoder_layer(weights, *given),
        arguments,
        targets,
        replace=jax_patterns.everything,
    )


def compile_by_name(weights: Weights, size: int, targets: Sequence[str]) -> Any:
    """The layer out of kernels, for one sequence of any length, with heads of a size."""
    weights = jax.tree.map(jnp.asarray, weights)
    dtype, width = weights.q.dtype, weights.q.shape[0]
    layer = layer_of_kernels(_NAMES[str(dtype)], size)
    short = [jax.ShapeDtypeStruct((1, 2, last), dtype) for last in (width, size, size)]
    shapes = [f"1, length, {spec.shape[-1]}" for spec in short]
    arguments = jax.export.symbolic_args_specs(tuple(short), tuple(shapes))
    return cd.jax.compile(lambda *given: layer(weights, *given), arguments, targets)
