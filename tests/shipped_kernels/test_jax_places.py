"""Places in functions of JAX: found however they are written, and nothing that only looks alike.

Kernels are their references here; other tests run them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import pytest
from jax.extend.core import jaxpr_as_fun

import custom_dispatch as cd
from cuda_kernels.patterns import jax as jax_patterns
from cuda_kernels.patterns.jax_places.rewriting import put_kernels
from custom_dispatch.frontends.jax import primitive
from custom_dispatch.frontends.jax.exporting import export_function
from custom_dispatch.frontends.jax.rewriting import Rule, apply_rules
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.match.pattern import as_list

random = numpy.random.default_rng(0)
nn = jax.nn
Cases = Sequence[tuple[Callable[..., Any], Sequence[Any]]]
OF_16_BITS = [pytest.param(dtype, marks=pytest.mark.thorough) for dtype in ("bfloat16", "float16")]


def array(*shape: int, dtype: str = "float32") -> Any:
    return jnp.asarray(random.normal(size=shape), dtype)


def _reference(item: Any, scalars: Any, arrays: Any) -> Any:
    kernel, _ = primitive._fitting(arrays, item)
    rest, numbers = map(iter, (arrays, scalars))
    given = []
    for operand in kernel.arguments:
        if isinstance(operand, Scalar):
            given.append(next(numbers))
        else:
            value = numpy.asarray(next(rest))
            given.append(None if operand.optional and not value.size else value)
    found = kernel.reference(*given)
    return found if isinstance(found, tuple) else (found,)


def found_in(
    monkeypatch: pytest.MonkeyPatch, cases: Cases, tolerance: float = 3e-6
) -> dict[str, int]:
    """The kernels that functions get, which compute what the functions do."""
    monkeypatch.setattr(primitive, "_run", _reference)
    leaves = [jax.tree.leaves(given) for _, given in cases]

    def model(*arrays: Any) -> list[Any]:
        rest = iter(arrays)
        results = []
        for (function, _), flat in zip(cases, leaves, strict=True):
            results += jax.tree.leaves(function(*(next(rest) for _ in flat)))
        return results

    arrays = [each for flat in leaves for each in flat]
    closed, report = apply_rules(jax.make_jaxpr(model)(*arrays), jax_patterns.everything)
    assert not report.near_misses
    # XLA has no products of f16 with sums of f32 on CPUs; JAX by itself has.
    of_f16 = any(each.dtype == numpy.float16 for each in arrays)
    got, want = (
        jax.jit(jaxpr_as_fun(closed))(*arrays),
        (model if of_f16 else jax.jit(model))(*arrays),
    )
    for index, (one, other) in enumerate(zip(got, want, strict=True)):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        a, b = (numpy.asarray(each).astype("f8") for each in (one, other))
        error = numpy.linalg.norm(a - b) / numpy.linalg.norm(b)
        assert error < tolerance, (index, error)
    return dict(Counter(item.kernel for item in report))


def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    mean, variance = (f(x, axis=-1, keepdims=True) for f in (jnp.mean, jnp.var))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias


def fast_layer_norm(x: Any, weight: Any, bias: Any) -> Any:
    """As Flax has it: the variance of two means, and the weight with the root."""
    mean, square = x.mean(-1), (x * x).mean(-1)
    factor = jax.lax.rsqrt(jnp.maximum(0.0, square - mean**2) + 1e-5)[..., None] * weight
    return (x - mean[..., None]) * factor + bias


def rms_norm(x: Any, weight: Any) -> Any:
    wide = x.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), -1, keepdims=True) + 1e-6)
    return wide.astype(x.dtype) * weight


def test_norms_are_found_in_every_order_of_their_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, bias = array(2, 5, 24), array(24), array(24)
    cases: Cases = [
        (layer_norm, (x, weight, bias)),
        (fast_layer_norm, (x, weight, bias)),
        (jax.vmap(layer_norm, (1, None, None), 1), (x, weight, bias)),
        (lambda x: (x - x.mean(0)) / jnp.sqrt(x.var(0) + 1e-6), (x[0],)),
        (lambda x, w, b: layer_norm(x, 1.0, 0.0) * w[:, None] + b[:, None], (x, x[:, 0], x[:, 1])),
        (rms_norm, (x, weight)),
        (lambda x, y, w: rms_norm(x * y, 1 + w), (x, x + 1, weight)),
        (lambda x, w: rms_norm(x.reshape(2, 5, 4, 6), w), (x, weight[:6])),
        (lambda x, w: w * (x / jnp.sqrt((x**2).sum(-1, keepdims=True) / 24 + 1e-6)), (x, weight)),
        (lambda x, y, w: (rms_norm(x + y, w), x + y), (x, x * 2, weight)),
    ]
    assert found_in(monkeypatch, cases) == {
        "layer_norm_f32": 5,
        "rms_norm_f32": 4,
        "add_rms_norm_f32": 1,
    }


def test_what_looks_like_a_norm_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    x, other = array(2, 24), array(2, 24)
    mean, var = (lambda x: x.mean(-1, keepdims=True)), (lambda x: x.var(-1, keepdims=True))
    cases: Cases = [
        (lambda x: (x - mean(x)) / (x.std(-1, keepdims=True) + 1e-5), (x,)),
        (lambda x: (x - mean(x)) / jnp.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-5), (x,)),
        (lambda x, y: (x - mean(y)) / jnp.sqrt(var(x) + 1e-5), (x, other)),
        (lambda x: x / jnp.sqrt((x**2).sum(-1, keepdims=True) + 1e-6), (x,)),
        (lambda x, y: x * jax.lax.rsqrt((y * y).mean(-1, keepdims=True) + 1e-6), (x, other)),
    ]
    assert not found_in(monkeypatch, cases)


@pytest.mark.parametrize(
    ("dtype", "kind"),
    [("bfloat16", "bf16"), pytest.param("float16", "f16", marks=pytest.mark.thorough)],
)
def test_norms_of_16_bits_keep_weights_of_f32(
    monkeypatch: pytest.MonkeyPatch, dtype: str, kind: str
) -> None:
    x, weight = array(3, 24, dtype=dtype), array(24)
    cases: Cases = [
        (rms_norm, (x, weight.astype(dtype))),
        (lambda x, w: fast_layer_norm(x.astype("f4"), w, w).astype(x.dtype), (x, weight)),
        (lambda x: nn.softmax(x.astype("f4")).astype(x.dtype), (x,)),
    ]
    kernels = {f"rms_norm_{kind}": 1, "layer_norm_f32": 1, f"softmax_{kind}": 1}
    assert found_in(monkeypatch, cases, 1e-2) == kernels


def test_layers_share_masks_and_functions_hold_bfloat16(monkeypatch: pytest.MonkeyPatch) -> None:
    x = array(2, 5, 16, dtype="bfloat16")
    root = numpy.sqrt(16).astype(jnp.bfloat16)

    def layers(x: Any) -> Any:
        for _ in range(2):
            hidden = (1 - jnp.tri(x.shape[1], dtype=x.dtype)) * -1e10
            x = nn.softmax(x @ x.swapaxes(1, 2) / jnp.sqrt(root * root) + hidden, axis=-1) @ x
        return x

    assert found_in(monkeypatch, [(layers, (x,))], 2e-2) == {"attention_bf16": 2}


def test_softmax_and_activations_are_found_by_their_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, up = 3 * array(3, 5, 9), array(3, 5, 9)
    root = numpy.float32(numpy.sqrt(2 / numpy.pi))
    cases: Cases = [
        (lambda x: nn.softmax(x, 1), (x,)),
        (lambda x: jnp.exp(x) / jnp.exp(x).sum(-1, keepdims=True), (x,)),
        (lambda x: jnp.exp(nn.log_softmax(x / 0.7)), (x,)),
        (lambda x: nn.gelu(x, approximate=False), (x,)),
        (lambda x: x * jax.scipy.stats.norm.cdf(x), (x,)),
        (nn.gelu, (x,)),
        (lambda x: x * nn.sigmoid(2 * root * (x + 0.044715 * x**3)), (x,)),
        (lambda x, up: up * (x / (1 + jnp.exp(-x))), (x, up)),
        (lambda x, up: nn.gelu(x) * up, (x, up)),
        # These are none:
        (lambda x: jnp.exp(x) / jnp.exp(x).sum(0)[None] * 2, (x[:, :, :5],)),
        (lambda x: jnp.exp(x) / jnp.exp(x).sum(0)[:, None], (x[0, :5, :5],)),
        (lambda x: x * nn.sigmoid(1.702 * x), (x,)),
        (nn.mish, (x,)),
    ]
    assert found_in(monkeypatch, cases) == {
        "softmax_f32": 4,  # the last one's sum is of another dim, times 2
        "gelu_erf_f32": 2,
        "gelu_tanh_f32": 2,
        "swiglu_f32": 1,
        "geglu_tanh_f32": 1,
    }


def test_products_are_found_with_what_is_done_to_them(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w, b = array(2, 5, 24), array(24, 14), array(14)
    heads, bias = array(24, 2, 7), array(2, 7)
    dense = "btd,dhk->bthk"
    cases: Cases = [
        (lambda x, w, b: nn.relu(x @ w + b), (x, w, b)),
        (lambda x, w, b, r: r + (x @ w + b), (x, w, b, array(2, 5, 14))),
        (lambda x, w, b: jnp.einsum(dense, x, w) + b, (x, heads, bias)),
        (lambda x, w, b: jnp.einsum("btd,hdk->bhtk", x, w) + b[:, None],
         (x, array(2, 24, 7), bias)),
        (lambda x, w: jnp.einsum("bthk,dhk->btd", x, w), (array(2, 5, 2, 7), heads)),
        (jax.vmap(jax.vmap(lambda x, w, b: nn.silu(w @ x + b), (0, None, None)), (0, None, None)),
         (x, w.T, b)),
        (lambda x, w: (nn.relu(x @ w), x @ w), (x, w)),  # it is used twice
        (lambda x, w: x @ w.T, (x, w.T)),
        (lambda a, b: jnp.einsum("mkb,knb->mnb", a, b), (array(5, 6, 3), array(6, 7, 3))),
        (lambda x, w: jax.lax.scan(lambda c, _: (nn.gelu(c @ w), None), x, None, 2)[0],
         (x[0], array(24, 24) / 5)),
        (jax.checkpoint(lambda x, w, b: nn.gelu(x @ w + b, approximate=False)), (x, w, b)),
    ]  # fmt: skip
    assert found_in(monkeypatch, cases) == {
        "matmul_relu_f32": 1,
        "matmul_f32": 4,
        "linear_f32": 2,
        "linear_silu_f32": 1,
        "batch_matmul_nt_f32": 1,
        "matmul_gelu_tanh_f32": 1,
        "matmul_gelu_erf_f32": 1,
    }


def test_convolutions_of_patches_are_products(monkeypatch: pytest.MonkeyPatch) -> None:
    convolve = jax.lax.conv_general_dilated
    last, first = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
    x, w, b = array(2, 8, 6, 5), array(4, 2, 5, 9), array(9)
    of_x = array(2, 5, 8, 6)

    def of(strides: Any, padding: Any, dims: Any, **more: Any) -> Any:
        return lambda x, w: convolve(x, w, strides, padding, dimension_numbers=dims, **more)

    patches = of((4, 2), "VALID", last)
    cases: Cases = [
        (lambda x, w, b: nn.relu(patches(x, w) + b), (x, w, b)),
        (of((4, 2), "VALID", first), (of_x, array(9, 5, 4, 2))),
        (lambda x, w, y: y + of((1, 1), "SAME", last)(x, w),
         (x, array(1, 1, 5, 9), array(2, 8, 6, 9))),
        (of((4,), "VALID", ("NWC", "WIO", "NWC")), (x[:, :, 0], w[:, 0])),
        # These are no patches side by side, or would be transposed:
        (of((4, 3), "VALID", last), (x, w)),
        (of((4, 2), "VALID", last, rhs_dilation=(1, 2)), (x, w)),
        (of((1, 1), "VALID", first), (of_x, array(9, 5, 1, 1))),
        (of((4, 2), "VALID", last), (array(2, 9, 6, 5), w)),
        (of((1, 1), "VALID", last, feature_group_count=5), (x, array(1, 1, 1, 10))),
    ]  # fmt: skip
    kernels = found_in(monkeypatch, cases)
    assert kernels == {
        "matmul_relu_f32": 1,
        "linear_f32": 1,
        "matmul_f32": 2,
        "convolution_2d_f32": 5,
    }


@pytest.mark.parametrize("dtype", ["float32", *OF_16_BITS])
def test_convolutions_are_found_with_what_is_done_to_them(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    last, first = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
    x, w = array(2, 7, 6, 4, dtype=dtype), array(3, 2, 4, 6, dtype=dtype)
    b, mean, variance = array(6, dtype=dtype), array(6, dtype=dtype), jnp.abs(array(6, dtype=dtype))

    def of(
        x: Any, w: Any, dims: Any, strides: Any = (1, 1), padding: Any = "SAME", **more: Any
    ) -> Any:
        given = {"dimension_numbers": dims, **more}
        return jax.lax.conv_general_dilated(x, w, strides, padding, **given)

    def normed(y: Any, mean: Any, variance: Any, b: Any) -> Any:
        return (y - mean) * (jax.lax.rsqrt(variance + 1e-5) * b) + b

    by_filter = b[:, None, None]
    one = lambda x, w, b: nn.silu(of(x[None], w, first)[0] + b)  # noqa: E731
    cases: Cases = [
        (lambda x, w, b: nn.relu(of(x, w, last) + b), (x, w, b)),
        (lambda x, w, m, v, b: nn.relu(normed(of(x, w, last, (2, 2)), m, v, b)),
         (x, w, mean, variance, b)),
        (lambda x, w, y: nn.relu(of(x, w, last, rhs_dilation=(2, 1)) + y),
         (x, w, array(2, 7, 6, 6, dtype=dtype))),
        (lambda x, w: of(x, w, last, (2, 1), ((1, 0), (0, 2)), feature_group_count=2),
         (x, array(3, 2, 2, 6, dtype=dtype))),
        (jax.vmap(one, (0, None, None)),
         (x.transpose(0, 3, 1, 2), w.transpose(3, 2, 0, 1), by_filter)),
        (lambda x, w: nn.gelu(of(x, w, ("NWC", "WIO", "NWC"), (2,), "SAME")), (x[:, 0], w[:, 0])),
        (lambda x, w, m, b: b - (of(x, w, last) - m) / 3, (x, w, mean, b)),
        # The kernel does these apart from the convolution, or not at all:
        (lambda x, w, m: nn.relu(of(x, w, last)) * m, (x, w, mean)),
        (lambda x, w, m: of(x, w, last) + m[:, None], (x, w, mean)),
        (lambda x, w: of(x, w, last, (1, 1), ((1, 1), (1, 0)), lhs_dilation=(2, 1)), (x, w)),
    ]  # fmt: skip
    kernels = found_in(monkeypatch, cases, 3e-6 if dtype == "float32" else 1e-2)
    end = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}[dtype]
    wanted = {f"convolution_2d_{end}": 8, f"convolution_1d_{end}": 1}
    assert {name: n for name, n in kernels.items() if "convolution" in name} == wanted
    assert len(kernels) == len(wanted) or dtype != "float32"


def attend(q: Any, k: Any, v: Any, mask: Any = None, bias: Any = 0.0, fill: float = -1e9) -> Any:
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5 + bias
    if mask is not None:
        scores = jnp.where(mask, scores, fill)
    return jnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores, axis=-1), v)


QUERIES, KEYS, HEADS = 7, 9, 4
CAUSAL = numpy.tril(numpy.ones((QUERIES, QUERIES), bool))
of_jax = jax.nn.dot_product_attention


def causal_in_jax(q: Any) -> Any:
    return attend(q, q, q, jnp.arange(q.shape[1])[:, None] >= jnp.arange(q.shape[1]))


def test_attention_is_found_in_any_order_of_dims(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = array(2, QUERIES, HEADS, 16), array(2, KEYS, HEADS, 16), array(2, KEYS, HEADS, 16)
    fewer, one = k[:, :, :2], k[:, :, 0]
    plain = lambda q, k, v: nn.softmax(q @ k.swapaxes(-1, -2) / 4) @ v  # noqa: E731
    heads_first = [each.swapaxes(1, 2) for each in (q, k, array(2, KEYS, HEADS, 24))]
    repeated = lambda q, k: attend(q, *[jnp.repeat(k, 2, axis=2)] * 2)  # noqa: E731
    cases: Cases = [
        (attend, (q, k, v)),
        (of_jax, (q, k, v)),
        (plain, heads_first),
        (plain, (q[0, :, 0], k[0, :, 0], v[0, :, 0])),
        (jax.vmap(jax.vmap(plain, 1, 1)), (q, k, v)),
        (repeated, (q, fewer)),
        (of_jax, (q, fewer, fewer)),
        (lambda q, k: attend(q, *[jnp.broadcast_to(k[:, :, None], v.shape)] * 2), (q, one)),
        (lambda q, k: attend(q[:, :1], k, k), (q, k)),
        (attend, (q, k[..., :16], array(2, KEYS, HEADS, 16))),
    ]
    assert found_in(monkeypatch, cases) == {"attention_f32": len(cases)}


def test_causal_masks_are_found_by_their_values_and_are_no_masks_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    q = array(2, QUERIES, HEADS, 32)
    cases: Cases = [
        (lambda q: attend(q, q, q, CAUSAL), (q,)),
        (lambda q: attend(q, q, q, jnp.tril(jnp.ones_like(CAUSAL)), fill=-jnp.inf), (q,)),
        (causal_in_jax, (q,)),
        (lambda q: attend(q, q, q, bias=(1.0 - CAUSAL) * -1e9), (q,)),
        (lambda q: attend(q, q, q, ~jnp.triu(jnp.ones_like(CAUSAL), 1)), (q,)),
        (lambda q: of_jax(q, q, q, is_causal=True), (q,)),
    ]
    assert found_in(monkeypatch, cases) == {"attention_f32_32": len(cases)}


@pytest.mark.parametrize("dtype", ["float32", *OF_16_BITS])
def test_masks_give_what_jax_does_where_nothing_is_seen(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    q, k = array(2, QUERIES, HEADS, 16, dtype=dtype), array(2, KEYS, 2, 16, dtype=dtype)
    keys = jnp.asarray(random.random((2, 1, 1, KEYS)) < 0.6).at[1].set(False)
    rows = jnp.asarray(random.random((2, 1, QUERIES, KEYS)) < 0.6).at[1, 0, 2].set(False)
    heads = jnp.asarray(random.random((2, HEADS, QUERIES, KEYS)) < 0.6).at[0, 1, 3].set(False)
    late = keys[..., :QUERIES].at[0, ..., 0].set(False)
    cases: Cases = [
        *((lambda q, k, m: of_jax(q, k, k, mask=m), (q, k, mask)) for mask in (keys, rows, heads)),
        (lambda q, m: of_jax(q, q, q, mask=m, is_causal=True), (q, late)),
        (lambda q, k, b: of_jax(q, k, k, bias=b), (q, k, array(1, HEADS, 1, KEYS, dtype=dtype))),
        (lambda q, k, b, m: of_jax(q, k, k, b, m), (q, k, rows.astype(dtype), heads)),
    ]
    kernels = found_in(monkeypatch, cases, 3e-6 if dtype == "float32" else 1e-2)
    assert sum(kernels.values()) == len(cases)
    assert all("attention" in name for name in kernels)


def test_what_looks_like_attention_is_left_to_products(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = array(QUERIES, 16), array(KEYS, 16), array(KEYS, 16)
    seen = jnp.asarray(random.random((QUERIES, KEYS)) < 0.6)
    cases: Cases = [
        (lambda q, k, v: nn.softmax(q @ k.T, axis=0) @ v, (q, k, v)),
        (lambda q, k, v: (nn.softmax(q @ k.T) * 2 + 1) @ v, (q, k, v)),
        (lambda q, v: nn.softmax(q @ q.T).T @ v, (q, q + 1)),
        (lambda q, k, v: nn.softmax(jnp.sin(q @ k.T)) @ v, (q, k, v)),
        (lambda q, k, v, m: nn.softmax(jnp.tanh(q @ k.T + m)) @ v, (q, k, v, array(QUERIES, KEYS))),
        (lambda q, k, v, m: nn.softmax(jnp.where(m, q @ k.T, -1.0)) @ v, (q, k, v, seen)),
        (lambda q, k, v: nn.softmax(q @ k.T) @ v, (array(3, 300), array(4, 300), array(4, 300))),
    ]
    kernels = found_in(monkeypatch, cases)
    assert not [name for name in kernels if "attention" in name]
    assert sum(count for name, count in kernels.items() if "softmax" not in name) == 2 * len(cases)


def with_sinks(scores: Any, sinks: Any) -> Any:
    joined = jnp.concatenate([scores, jnp.broadcast_to(sinks, (*scores.shape[:-1], 1))], axis=-1)
    return nn.softmax(joined, axis=-1)[..., :-1]


def summed_with_sinks(scores: Any, sinks: Any) -> Any:
    largest = jnp.maximum(scores.max(axis=-1, keepdims=True), sinks)
    weights = jnp.exp(scores - largest)
    return weights / (weights.sum(axis=-1, keepdims=True) + jnp.exp(sinks - largest))


@pytest.mark.parametrize("dtype", ["float32", *OF_16_BITS])
def test_attention_has_soft_caps_and_sinks(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    q, k = array(2, QUERIES, HEADS, 16, dtype=dtype), array(2, KEYS, 2, 16, dtype=dtype)
    sinks = array(HEADS, dtype=dtype)
    rows = jnp.asarray(random.random((2, 1, QUERIES, KEYS)) < 0.6).at[1, 0, 2].set(False)

    def grouped(q: Any, k: Any, cap: float, mask: Any, of: Any, sinks: Any) -> Any:
        scores = jnp.einsum("bqkgd,bskd->bkgqs", q.reshape(2, -1, 2, HEADS // 2, 16), k)
        scores = scores.reshape(2, HEADS, -1, k.shape[1]).astype("float32") / 4
        scores = jnp.tanh(scores / cap) * cap if cap else scores
        scores = jnp.where(mask, scores, -1e30)
        if of is not None:
            scores = of(scores, sinks[:, None, None].astype("float32"))
        else:
            scores = nn.softmax(scores)
        weights = scores.reshape(2, 2, HEADS // 2, -1, k.shape[1]).astype(q.dtype)
        return jnp.einsum("bkgqs,bskd->bqkgd", weights, k).reshape(q.shape)

    causal = numpy.tril(numpy.ones((KEYS, KEYS), bool))
    longer = array(2, KEYS, HEADS, 16, dtype=dtype)
    cases: Cases = [
        (lambda q, k, m, s: grouped(q, k, 0.0, m, with_sinks, s), (q, k, rows, sinks)),
        (lambda q, k, m, s: grouped(q, k, 0.0, m, summed_with_sinks, s), (q, k, rows, sinks)),
        (lambda q, k, m: grouped(q, k, 3.0, m, None, None), (q, k, rows)),
        (lambda q, k, m, s: grouped(q, k, 3.0, m, with_sinks, s), (q, k, rows, sinks)),
        (lambda q, k, s: grouped(q, k, 2.0, causal, with_sinks, s), (longer, k, sinks)),
        (lambda q, k, s, m: grouped(q, k, 0.0, m & causal, with_sinks, s),
         (longer, k, sinks, rows[:, :, :1].at[1].set(False))),
    ]  # fmt: skip
    kernels = found_in(monkeypatch, cases, 3e-6 if dtype == "float32" else 1e-2)
    assert sum(kernels.values()) == len(cases)
    assert all("capped_attention" in name for name in kernels)


def test_what_looks_like_a_sink_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, sink = array(QUERIES, 16), array(KEYS, 16), array(1)

    def joined(scores: Any, sink: Any) -> Any:
        return jnp.concatenate([scores, jnp.broadcast_to(sink, (*scores.shape[:-1], 1))], axis=-1)

    cases: Cases = [
        (lambda q, k, s: nn.softmax(joined(q @ k.T, s))[:, 1:] @ k, (q, k, sink)),
        (lambda q, k, s: nn.softmax(joined(q @ k.T, s), axis=0)[:, :-1] @ k, (q, k, sink)),
        (lambda q, k, s: (jnp.exp(q @ k.T - 1) / (jnp.exp(q @ k.T - 1).sum(-1, keepdims=True)
                          + jnp.exp(s - 2))) @ k, (q, k, sink)),
    ]  # fmt: skip
    assert not [name for name in found_in(monkeypatch, cases) if "attention" in name]


def turned_halves(x: Any, cos: Any, sin: Any) -> Any:
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)


def turned_pairs(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x[..., ::2], x[..., 1::2]
    return jnp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1).reshape(x.shape)


def test_rotary_embeddings_are_found_in_every_order_of_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x, cos, sin = array(2, 7, 4, 16), array(7, 1, 8), array(7, 1, 8)
    both = lambda table: jnp.concatenate([table, table], axis=-1)  # noqa: E731

    def whole(x: Any, cos: Any, sin: Any, sign: float = -1.0) -> Any:
        turned = jnp.concatenate([sign * x[..., 8:] if sign > 0 else -x[..., 8:], x[..., :8]], -1)
        return x * cos + turned * sin

    def alternating(x: Any, cos: Any, sin: Any) -> Any:
        turned = jnp.stack([-x[..., 1::2], x[..., ::2]], axis=-1).reshape(x.shape)
        return x * jnp.repeat(cos, 2, axis=-1) + turned * jnp.repeat(sin, 2, axis=-1)

    def apart(x: Any, cos: Any, sin: Any) -> Any:
        a, b = jnp.unstack(x.reshape(2, 7, 4, 8, 2), axis=-1)
        return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def of_part(x: Any, cos: Any, sin: Any, turn: Any = turned_halves) -> Any:
        return jnp.concatenate([turn(x[..., :16], cos, sin), x[..., 16:]], axis=-1)

    wide = array(2, 7, 4, 24)
    cases: Cases = [
        (turned_halves, (x, cos, sin)),
        (lambda x, c, s: whole(x, both(c), both(s)), (x, cos, sin)),
        (turned_halves, (x.swapaxes(1, 2), cos[:, 0], sin[:, 0])),
        (lambda x, c, s: turned_halves(x, c, s).swapaxes(1, 2), (x, cos, sin)),
        (turned_pairs, (x, cos, sin)),
        (alternating, (x, cos, sin)),
        (apart, (x, cos, sin)),
        (of_part, (wide, cos, sin)),
        (lambda x, c, s: of_part(x, c, s, turned_pairs), (wide, cos, sin)),
        (turned_pairs, (x[:, :1], cos[0, 0], sin[0, 0])),
        (lambda x, c, s: turned_pairs(x.reshape(2, 7, 4, 16), c, s),
         (x.reshape(2, 7, 64), cos, sin)),
        (turned_pairs, (x, array(2, 7, 1, 8), array(2, 7, 1, 8))),
        # This turns the other way:
        (lambda x, c, s: jnp.concatenate([x[..., :8] * c + x[..., 8:] * s,
                                          x[..., 8:] * c - x[..., :8] * s], -1), (x, cos, sin)),
        (lambda x, c, s: of_part(x, c, s)[..., :20], (wide, cos, sin)),
        # The rest is not all that is left of the heads:
        (lambda x, c, s: jnp.concatenate([turned_halves(x[..., :16], c, s), x[..., 16:20]], -1),
         (wide, cos, sin)),
        # The second one shares products with the first:
        (lambda x, c, s: turned_pairs(x, c, s) + turned_pairs(x, s, c)[..., ::-1], (x, cos, sin)),
        # These do not turn:
        (lambda x, c, s: whole(x, both(c), both(s), 1.0), (x, cos, sin)),
        (lambda x, c, s: jnp.stack([x[..., ::2] * c - x[..., 1::2] * s,
                                    x[..., ::2] * s - x[..., 1::2] * c], -1), (x, cos, sin)),
        (lambda x, c, s: jnp.concatenate([x[..., 8:] * c - x[..., :8] * s,
                                          x[..., 8:] * s + x[..., :8] * c], -1), (x, cos, sin)),
    ]  # fmt: skip
    kernels = found_in(monkeypatch, cases)
    assert kernels == {
        "rotary_bshd_f32": 5,
        "rotary_f32": 1,
        "rotary_any_bshd_f32": 9,
        "rotary_any_f32": 1,
    }


@pytest.mark.parametrize("dtype", ["bfloat16", OF_16_BITS[1]])
def test_heads_of_16_bits_are_turned_by_tables_of_f32(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    x, cos, sin = array(2, 7, 4, 16, dtype=dtype), array(7, 1, 8), array(7, 1, 8)
    cases: Cases = [
        (lambda x, c, s: turned_halves(x, c, s).astype(x.dtype), (x, cos, sin)),
        (lambda x, c, s: turned_pairs(x, c, s).astype(x.dtype), (x, cos, sin)),
        (turned_pairs, (x, cos, sin)),  # goes on in f32
    ]
    short = {"bfloat16": "bf16", "float16": "f16"}[dtype]
    kernels = found_in(monkeypatch, cases, 1e-2)
    assert kernels == {f"rotary_any_bshd_{short}": 2, "rotary_any_bshd_f32": 1}


def block(x: Any, weights: dict[str, Any]) -> Any:
    y = fast_layer_norm(x, weights["norm"], weights["norm"])
    q, k, v = (jnp.einsum("btd,dhk->bthk", y, weights[name]) for name in "qkv")
    y = causal_in_jax(q) if weights.get("self") else attend(q, k, v)
    x = x + jnp.einsum("bthk,hkd->btd", y, weights["out"])
    return x + nn.gelu(rms_norm(x, weights["norm"]) @ weights["up"]) @ weights["up"].T


def attention_alone(x: Any, weights: dict[str, Any]) -> Any:
    return attend(*(jnp.einsum("btd,dhk->bthk", x, weights[name]) for name in "qkv"))


WIDTH = 48


def of_weights(function: Callable[..., Any]) -> Callable[[Any], Any]:
    heads, size = 3, 16
    scaled = lambda *shape: array(*shape) / shape[0] ** 0.5  # noqa: E731
    weights = {name: scaled(WIDTH, heads, size) for name in "qkv"}
    weights |= {"norm": array(WIDTH), "out": scaled(heads, size, WIDTH), "up": scaled(WIDTH, 64)}
    return lambda x: function(x, weights)


def sizes_of_block() -> tuple[Any, Any]:
    """As numbers, and as symbols."""
    spec = jax.ShapeDtypeStruct((2, 5, WIDTH), jnp.float32)
    (symbolic,) = jax.export.symbolic_args_specs((spec,), (f"batch, length, {WIDTH}",))
    return spec, symbolic


def test_a_block_of_symbolic_sizes_has_the_same_places() -> None:
    reports = [
        export_function(
            of_weights(block), (given,), "main", 4096, rules=jax_patterns.everything
        ).replaced
        for given in sizes_of_block()
    ]
    counts = [Counter(item.kernel for item in report) for report in reports]
    assert counts[0] == counts[1]
    assert counts[0] == {
        "layer_norm_f32": 1,
        "matmul_f32": 4,
        "attention_f32": 1,
        "add_rms_norm_f32": 1,
        "matmul_gelu_tanh_f32": 1,
        "linear_f32": 1,
    }
    assert all(item.place.source for item in reports[0])


@pytest.mark.parametrize(
    "function", [attention_alone, pytest.param(block, marks=pytest.mark.thorough)]
)
def test_functions_of_symbolic_sizes_run(function: Callable[..., Any]) -> None:
    model, (_, symbolic) = of_weights(function), sizes_of_block()
    module = cd.jax.compile(model, (symbolic,), ["cpu"], replace=jax_patterns.everything)
    program = cd.load(module, "cpu")
    for batch, length in ((1, 3), (3, 17)):
        x = random.normal(size=(batch, length, WIDTH)).astype("f4")
        numpy.testing.assert_allclose(program.main(x), model(x), rtol=2e-5, atol=2e-5)


def test_small_products_are_left_to_iree_on_cpus_and_its_users_have_the_last_word() -> None:
    def places(size: int, targets: Sequence[str], *replace: Any) -> set[str]:
        x, w = (jax.ShapeDtypeStruct((size, size), "float32") for _ in range(2))

        def model(x: Any, w: Any) -> Any:
            return nn.softmax(nn.relu(x @ w))

        closed = jax.make_jaxpr(model)(x, w)
        given = [*as_list(replace), Rule(put_kernels, tuple(targets))]
        _, report = apply_rules(closed, given)
        return {item.kernel for item in report}

    both = {"matmul_relu_f32", "softmax_f32"}
    assert not places(16, ["cpu"], jax_patterns.everything)
    assert places(1024, ["cpu"], jax_patterns.everything) == both
    assert places(16, ["cuda"], jax_patterns.everything) == both
    chosen = places(16, ["cpu"], jax_patterns.matmul, jax_patterns.everything)
    assert chosen == {"matmul_relu_f32"}
    x = jnp.ones((4, 4))
    with pytest.warns(UserWarning, match="since IREE's own code is faster"):
        module = cd.jax.compile(lambda x: x @ x, (x,), ["cpu"], replace=jax_patterns.everything)
    assert not module.replaced


def test_a_rule_is_no_pattern_of_mlir() -> None:
    with pytest.raises(cd.CustomDispatchError, match="replace has Rule"):
        cd.compile("module {}", [], ["cpu"], replace=jax_patterns.softmax)
