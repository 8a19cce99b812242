"""Operations that follow products in functions of JAX, as functions that the products call."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import statements_on_cpu
from jax import nn

import custom_dispatch as cd
from cuda_kernels.patterns import jax as jax_patterns
from cuda_kernels.patterns.jax_epilogues import epilogues, everything
from cuda_kernels.patterns.jax_places.graph import read
from cuda_kernels.patterns.jax_places.operations import values_of
from custom_dispatch.frontends.jax.rewriting import apply_rules

WIDTH = 32
random = np.random.default_rng(3)
LIMITED_GELU = cd.jax.call(statements_on_cpu.LIMITED_GELU)


def array(*shape: int, dtype: str = "float32") -> Any:
    return jnp.asarray(random.normal(size=shape), dtype)


X, Z = array(2, 5, WIDTH), array(2, 5, WIDTH)
W, V, BIAS, GAMMA = array(WIDTH, WIDTH) / 6, array(WIDTH, WIDTH) / 6, array(WIDTH), array(WIDTH)

OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "arithmetic": lambda x, y: (1.5 - x - 2 * y) * 0.25 / (y * 3),
    "signs": lambda x, _: jnp.sign(x) - jnp.abs(-x),
    "exponents": lambda x, _: jnp.exp(x) + jnp.exp2(x) + jnp.expm1(x),
    "logarithms": lambda x, _: jnp.log(x) + jnp.log2(x) + jnp.log10(x) + jnp.log1p(x),
    "roots": lambda x, _: jnp.sqrt(x) + jax.lax.rsqrt(x) + jnp.cbrt(x) + jnp.reciprocal(x),
    "circle": lambda x, _: jnp.sin(x) + jnp.cos(x) + jnp.tan(x),
    "arcs": lambda x, y: jnp.arcsin(x) + jnp.arccos(x) + jnp.arctan(x) + jnp.arctan2(x, y),
    "hyperbola": lambda x, _: jnp.sinh(x) + jnp.tanh(x) + jnp.arcsinh(x),
    "cosh": lambda x, _: jnp.cosh(x),
    "arccosh": lambda x, _: jnp.arccosh(x) + jnp.arctanh(x),
    "errors": lambda x, _: jax.lax.erf(x) + jax.lax.erfc(x),
    "steps": lambda x, _: jnp.floor(x) + jnp.ceil(x) + jnp.round(x) + jax.lax.round(x),
    "squares": lambda x, _: x**2 + x**3 + x**4 + x**5 + jnp.square(x),
    "inverse powers": lambda x, _: x**-1 + x**-2 + x**-3,
    "powers": lambda x, _: x**1.7 + x**0.5,
    "of a number": lambda x, _: 2.0**x,
    "of a tensor": lambda x, y: jnp.abs(x) ** y,
    "extremes": lambda x, y: jnp.minimum(x, y) + 2 * jnp.maximum(x, y),
    "clamp": lambda x, _: jnp.clip(x, -0.5, 2) + jnp.clip(x, min=-1) + jnp.clip(x, max=3),
    "clamp of lax": lambda x, _: jax.lax.clamp(-1.0, x, 2.0),
    "clamp of nothing": lambda x, _: jax.lax.clamp(2.0, x, -1.0),
    "choice": lambda x, y: jnp.where((x > y) | jnp.isnan(x), x, y) + jnp.where(x <= 0.5, 1.0, y),
    "conditions": lambda x, y: jnp.where(((x >= y) ^ (x < 0)) & ~(x == 1) & (x != y), x, jnp.nan),
    "finite": lambda x, y: jnp.where(jnp.isfinite(x), x, y) + jnp.isinf(x),
    "as number": lambda x, _: (x > 0).astype(jnp.float32) * x.astype(bool),
    "gelu": lambda x, _: nn.gelu(x) + 2 * nn.gelu(x, approximate=False),
    "silu": lambda x, _: nn.silu(x) + nn.sigmoid(x) + nn.log_sigmoid(x),
    "relu": lambda x, _: nn.relu(x) + nn.relu6(x) + nn.leaky_relu(x, 0.3),
    "elu": lambda x, _: nn.elu(x) + nn.selu(x) + nn.celu(x, 0.7),
    "hard": lambda x, _: nn.hard_tanh(x) + nn.hard_sigmoid(x) + nn.hard_swish(x),
    "soft": lambda x, _: nn.softplus(x) + nn.mish(x) + nn.squareplus(x) + nn.soft_sign(x),
    "nothing": lambda x, y: jax.lax.stop_gradient(x).astype(jnp.float32) + jnp.copy(y),
}


def test_operations_compute_what_jax_does() -> None:
    """In one kernel for all of them."""
    some = [0.0, 1e-30, -1e-3, 1.0, 30.0, -30.0, 88.0, -88.0, np.inf, -np.inf, np.nan]
    x = np.array([*np.linspace(-9, 9, 61), *some], np.float32)
    y = x[::-1] + np.float32(0.5)

    def every(x: Any, y: Any) -> Any:
        return [operation(x, y) for operation in OPERATIONS.values()]

    graph = read(jax.make_jaxpr(every)(x, y))
    values = values_of(graph)
    names = dict(zip(map(values.__getitem__, graph.arguments), ("x", "y"), strict=True))
    lines = []
    for node in graph.nodes:
        value = values[node.result]
        if value.operands:  # else it is a number
            assert value.statement is not None, node.name
            names[value] = f"y{len(names)}"
            lines.append(value.statement(names[value], [names[each] for each in value.operands]))
    results = [names[values[result]] for result in graph.results]
    got = statements_on_cpu.computed(lines, results, x, y)
    wanted = every(jnp.asarray(x), jnp.asarray(y))
    for index, (name, want) in enumerate(zip(OPERATIONS, wanted, strict=True)):
        np.testing.assert_allclose(got[:, index], want, 2e-5, 2e-5, err_msg=name)


def test_a_number_that_was_made_an_integer_is_none_of_floats() -> None:
    closed = jax.make_jaxpr(lambda x: jnp.tanh(x) + jnp.full_like(x, 0.7).astype(int))(X)
    values = values_of(read(closed)).values()
    written = [each.statement("y", ["a", "b"]) for each in values if each.statement]
    assert written == ["const float y = tanhf(a);", "const float y = a + b;"]


# -- what is found


def found(function: Callable[..., Any], *arrays: Any, rules: Any = epilogues) -> list[str]:
    """The kernels in a function, without digests."""
    _, report = apply_rules(jax.make_jaxpr(function)(*arrays), rules)
    assert not report.near_misses
    return [re.sub(r"_[0-9a-f]{8}_", "_", item.kernel) for item in report]


def dense(x: Any) -> Any:
    return x @ W + BIAS


def test_what_follows_products_becomes_their_functions() -> None:
    assert found(lambda x: nn.gelu(dense(x)) * (x @ V), X) == ["matmul_with_gelu_tanh_mul_f32"]
    assert found(lambda x: nn.silu(dense(x)) * (x @ V), X) == ["matmul_with_silu_mul_f32"]
    assert found(lambda x: nn.relu(dense(x)) ** 2, X) == ["matmul_with_relu_integer_pow_f32"]
    assert found(lambda x: jnp.tanh(dense(x) / 30) * 30, X) == ["matmul_with_div_tanh_mul_f32"]
    assert found(lambda x: x + GAMMA * dense(x), X) == ["matmul_with_mul_add_f32"]
    assert found(lambda x: nn.elu(dense(x)), X) == [
        "matmul_with_gt_select_n_expm1_mul_select_n_f32"
    ]
    assert found(lambda x, z: LIMITED_GELU(dense(x), z), X, Z) == ["matmul_with_limited_gelu_f32"]
    assert found(lambda x, z: LIMITED_GELU(dense(x), 0.5) + z, X, Z) == [
        "matmul_with_limited_gelu_add_f32"
    ]


def test_the_order_of_dims_does_not_matter() -> None:
    heads, bias = W.reshape(WIDTH, 4, 8), BIAS.reshape(4, 8)

    def of_heads(x: Any) -> Any:
        return jnp.tanh(jnp.einsum("btd,dhk->bthk", x, heads) + bias) * GAMMA.reshape(4, 8)

    def of_one(x: Any) -> Any:
        return x + GAMMA * (W @ x + BIAS)

    assert found(of_heads, X) == ["matmul_with_tanh_mul_f32"]
    assert found(jax.vmap(jax.vmap(of_one)), X) == ["linear_with_mul_add_f32"]
    assert found(of_one, X[0, 0]) == ["linear_with_mul_add_f32"]
    assert found(lambda x, z: jnp.tanh(jnp.einsum("btd,bsd->bts", x, z)) * 2, X, Z) == [
        "batch_matmul_nt_with_tanh_mul_f32"
    ]
    layers = jnp.stack([W, V])
    assert found(lambda x: jax.lax.scan(lambda x, w: (jnp.sin(x @ w) * 2, 0), x, layers)[0], X) == [
        "matmul_with_sin_mul_f32"
    ]
    (batch,) = jax.export.symbolic_shape("batch")
    open_size = jax.ShapeDtypeStruct((batch, WIDTH), "float32")
    assert found(lambda x: jnp.sin(dense(x)) * x, open_size) == ["matmul_with_sin_mul_f32"]


def test_what_ships_has_no_function() -> None:
    assert not found(lambda x: x + dense(x), X)
    assert not found(lambda x: nn.gelu(dense(x)), X)
    assert not found(lambda x: nn.relu(x @ W), X)
    every = [
        found(function, X, rules=everything)
        for function in (
            lambda x: x + dense(x),
            lambda x: nn.gelu(dense(x), approximate=False),
            lambda x: nn.softmax(nn.relu(dense(x)) ** 2),
        )
    ]
    assert every == [
        ["matmul_f32"],
        ["matmul_gelu_erf_f32"],
        ["matmul_with_relu_integer_pow_f32", "softmax_f32"],
    ]


def test_where_a_chain_ends() -> None:
    assert found(lambda x: nn.softmax(jnp.tanh(dense(x)) * 2), X) == ["matmul_with_tanh_mul_f32"]
    # What something else reads ends it, and what needs a third tensor.
    assert not found(lambda x: (jnp.tanh(dense(x)) * 2, dense(x)), X)
    assert found(lambda x: (jnp.tanh(dense(x)) * 2, jnp.tanh(dense(x))), X) == [
        "matmul_with_tanh_f32"
    ]
    assert found(lambda x, z: jnp.sin(dense(x)) * z + jnp.cos(z), X, Z) == [
        "matmul_with_sin_mul_f32"
    ]
    # A branch of it may come back.
    assert found(lambda x, z: nn.sigmoid(jnp.tanh(x @ W) + z) * (x @ W), X, Z) == [
        "matmul_with_tanh_add_logistic_mul_f32"
    ]
    # Neither rows nor numbers that are computed are vectors; nor are integers and bools.
    assert found(lambda x, z: jnp.tanh(dense(x)) * z[..., :1], X, Z) == ["matmul_with_tanh_f32"]
    assert found(lambda x, n: jnp.tanh(dense(x)) * n, X, jnp.float32(2)) == ["matmul_with_tanh_f32"]
    assert found(lambda x: jnp.tanh(dense(x)).astype(int), X) == ["matmul_with_tanh_f32"]
    assert found(lambda x, z: jnp.where(z > 0, jnp.tanh(dense(x)), 0), X, Z) == [
        "matmul_with_tanh_f32"
    ]
    integers = jnp.ones((4, 4), int)
    assert not found(lambda n: (n @ n) * 2, integers)


def test_kernels_store_the_products_type_or_f32_and_read_a_tensor_of_that() -> None:
    half, weight, wide = X.astype("float16"), W.astype("float16"), Z

    def capped(x: Any) -> Any:
        return jnp.tanh((x @ weight).astype("float32") / 3)

    assert found(lambda x, z: capped(x) + z, half, wide) == ["matmul_with_div_tanh_add_f16_f32"]
    assert found(lambda x, z: capped(x).astype("float16") + z, half, half) == [
        "matmul_with_div_tanh_add_f16"
    ]
    assert found(lambda x, z: capped(x) + z.astype("float32"), half, half) == [
        "matmul_with_div_tanh_add_f16_f32"
    ]


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.thorough)])
def test_a_function_computes_the_same(tmp_path: Path, dtype: str) -> None:
    w, v, bias, gamma = (each.astype(dtype) for each in (W, V, BIAS, GAMMA))

    def block(x: Any, z: Any) -> Any:
        y = x @ w + bias
        y = LIMITED_GELU(jnp.tanh(y / 2).astype("float32"), 0.5).astype(dtype) * gamma
        y = z + nn.leaky_relu(y, 0.25)
        return nn.gelu(y @ v) * z

    x, z = np.array(array(4, 5, WIDTH)), np.array(array(4, 5, WIDTH))
    x[0, 1, 3], x[1, 1, 3], x[2, 4, 7], z[3, 3, 3] = np.nan, np.inf, -np.inf, np.nan
    x, z = (each.astype(dtype) for each in (x, z))
    rules = [*jax_patterns.matmul, *epilogues]  # for all products, also small ones
    module = cd.jax.compile(block, (x, z), ["cpu:host"], replace=rules)
    assert module.replaced is not None
    kind = {"float32": "f32", "bfloat16": "bf16"}[dtype]
    assert [re.sub(r"_[0-9a-f]{8}_", "_", item.kernel) for item in module.replaced] == [
        f"matmul_with_div_tanh_limited_gelu_mul_ge_mul_select_{kind}",
        f"matmul_with_gelu_tanh_mul_{kind}",
    ]
    program = cd.load(module.save(tmp_path / "block.vmfb"), "cpu")
    got = np.asarray(program.main(x, z)).astype("f4")
    want = np.asarray(block(x, z)).astype("f4")
    assert np.isnan(want).any()
    tolerance = 1e-5 if dtype == "float32" else 5e-2
    np.testing.assert_allclose(got, want, tolerance, tolerance)
