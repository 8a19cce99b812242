"""The patterns of StableHLO that ship: what their kernels compute, and found in a model."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels.patterns import stablehlo as stablehlo_patterns
from custom_dispatch.frontends.jax.exporting import export_function
from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.declarations import Callees
from custom_dispatch.match.replace import replace_places
from tests.shipped_kernels.every_pattern import of_one_type

SIZES = {"columns": 16, "queries": 5, "keys": 5, "batch": 2, "heads": 3, "length": 5, "dim": 8}
SIZES |= {"m": 5, "n": 24, "k": 16}
random = numpy.random.default_rng(0)


SOME = [
    pattern
    for pattern in stablehlo_patterns.everything
    if (not pattern.axes or pattern.kernel.name.endswith(("f32_32", "bf16_64")))
    and "_f16" not in pattern.kernel.name
]
"""Without those that only differ in type and size."""


def arguments_of(pattern: cd.jax.Pattern) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in pattern.kernel.inputs:
        if isinstance(item, Buffer) and not (item.optional and item.name in ("mask", "spans")):
            sizes = {"dim": 24, "value_dim": 40} | SIZES | dict(pattern.sizes)
            shape = [sizes[str(s)] if str(s) in sizes else int(str(s)) for s in item.shape]
            found[item.name] = random.normal(size=shape).astype(item.dtype.to_numpy())
    return found


def turned(pattern: cd.jax.Pattern, name: str, array: Any) -> Any:
    """An operand or result as the pattern's function has it."""
    axes = pattern.axes.get(name)
    return array if axes is None else array.transpose(axes)


@pytest.mark.parametrize("pattern", of_one_type(SOME))
def test_a_pattern_computes_what_the_kernels_reference_does(pattern: cd.jax.Pattern) -> None:
    arrays = arguments_of(pattern)
    for function in pattern.computes:
        names = pattern.parameters(function)
        scalars = {name: 0.25 for name in ("epsilon", "scale") if name in names}
        taken = {name: array for name, array in arrays.items() if name in names}
        arguments = {n: jnp.asarray(turned(pattern, n, a)) for n, a in taken.items()}
        found = jax.jit(partial(function, **scalars))(**arguments)
        fixed = {name: v(SIZES["dim"]) if callable(v) else v for name, v in pattern.fixed.items()}
        given = {**taken, **scalars, **fixed}
        assert pattern.kernel.reference is not None
        wanted = pattern.kernel.reference(
            *(given.get(item.name) for item in pattern.kernel.inputs)  # what is optional, none
        )
        tolerance = 2e-5 if arrays[next(iter(names))].dtype == numpy.float32 else 4e-2
        outputs = [item.name for item in pattern.kernel.outputs]
        results = [
            turned(pattern, name, one)
            for name, one in zip(outputs, jax.tree.leaves(wanted), strict=True)
        ]
        for one, other in zip(jax.tree.leaves(found), results, strict=True):
            numpy.testing.assert_allclose(
                numpy.asarray(one, "f8"), numpy.asarray(other, "f8"), tolerance, tolerance
            )


def test_they_are_found_in_a_layer_of_an_encoder_and_of_a_decoder() -> None:
    width, heads = 64, 2
    matrices = [jnp.asarray(random.normal(size=(width, width)), "f4") for _ in range(7)]
    weight = jnp.ones(width)

    def split(x: Any) -> Any:
        return x.reshape(*x.shape[:-1], heads, width // heads).swapaxes(-2, -3)

    def attended(x: Any, *, causal: bool) -> Any:
        q, k, v = (split(x @ matrix) for matrix in matrices[:3])
        scores = q @ k.swapaxes(-1, -2) * (width // heads) ** -0.5
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -jnp.inf)
        y = jax.nn.softmax(scores, axis=-1) @ v
        return y.swapaxes(-2, -3).reshape(x.shape) @ matrices[3]

    def rms(x: Any) -> Any:
        return x * jax.lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-6) * weight

    def layer(x: Any) -> Any:
        mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + weight

    def model(x: Any) -> Any:
        x = layer(x + attended(x, causal=False))
        x = layer(x + jax.nn.gelu(x @ matrices[4], approximate=False) @ matrices[5])
        x = x + attended(rms(x), causal=True)
        y = rms(x)
        return x + (jax.nn.silu(y @ matrices[4]) * (y @ matrices[5])) @ matrices[6]

    exported = export_function(model, (jnp.ones((2, 8, width)),), "main", 4096)
    found = replace_places(exported.module, stablehlo_patterns.everything, Callees([]))
    assert Counter(item.kernel for item in found) == {
        "attention_f32_32": 2,
        "layer_norm_f32": 2,
        "rms_norm_f32": 1,
        "add_rms_norm_f32": 1,
        "swiglu_f32": 1,
        "matmul_gelu_erf_f32": 1,
        "matmul_f32": 12,
    }


def dot_product_attention(q: Any, k: Any, v: Any, fewer: Any, bias: Any) -> Any:
    """JAX's own, one behind another: plain, causal, with heads of keys for several, with a bias."""
    x = jax.nn.dot_product_attention(q, k, v)
    x = jax.nn.dot_product_attention(x, k, v, is_causal=True)
    x = jax.nn.dot_product_attention(x, fewer, fewer)
    return jax.nn.dot_product_attention(x, k, v, bias=bias, scale=0.3)


SHAPES = ((1, 7, 4, 32), (1, 5, 4, 32), (1, 5, 4, 32), (1, 9, 2, 32), (1, 1, 7, 5))


def test_attention_of_jax_is_found_in_16_bits_which_iree_does_not_compile() -> None:
    specs = tuple(jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in SHAPES)
    exported = export_function(dot_product_attention, specs, "main", 4096)
    found = replace_places(exported.module, stablehlo_patterns.attention, Callees([]))
    assert Counter(item.kernel for item in found) == {
        "attention_bf16_32": 3,
        "masked_attention_bf16_32": 1,
    }
    assert [item.scalars["causal"] for item in found].count(True) == 1


@pytest.mark.thorough  # of each pattern in it, and of the kernel, other tests have the results
def test_attention_of_jax_gives_what_jax_does() -> None:
    arrays = [random.normal(size=shape).astype("f4") for shape in SHAPES]
    module = cd.jax.compile(
        dot_product_attention, tuple(arrays), ["cpu"], replace=stablehlo_patterns.attention
    )
    assert module.replaced is not None
    assert len(module.replaced) == 4
    got = cd.load(module, "cpu").main(*arrays)
    want = dot_product_attention(*map(jnp.asarray, arrays))
    numpy.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
