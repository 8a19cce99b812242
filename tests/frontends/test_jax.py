"""Kernels as functions of JAX."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import pytest

import custom_dispatch as cd
from cuda_kernels.elementwise import gelu_tanh_f16
from cuda_kernels.gemm import matmul_f32
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError, DeclarationError
from tests.sample_kernels.rows import row_norm

norm = cd.jax.call(row_norm)
multiply = cd.jax.call(simple_mul)


def reference(x: Any, weight: Any, epsilon: float) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon) * weight


def arrays(*leading: int) -> tuple[Any, Any]:
    random = numpy.random.default_rng(0)
    return jnp.asarray(random.normal(size=(*leading, 33)), "f4"), jnp.linspace(0.5, 1.5, 33)


def agree(found: Any, expected: Any) -> None:
    numpy.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6)


def refusal(function: Any, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(CallError) as caught:
        function(*arguments, **keywords)
    return str(caught.value)


def test_a_kernel_is_called_with_arrays_and_within_jit() -> None:
    x, weight = arrays(5)
    agree(norm(x, weight, 1e-5), reference(x, weight, 1e-5))
    assert isinstance(norm(x, weight, epsilon=1e-5), jax.Array)

    @jax.jit
    def model(x: Any) -> Any:
        return jnp.sin(norm(x * 2, weight, 1e-5)) + jnp.sum(x)

    agree(model(x), jnp.sin(reference(x * 2, weight, 1e-5)) + jnp.sum(x))
    shaped = jax.eval_shape(lambda x, w: norm(x, w, 1e-5), x, weight)
    assert (shaped.shape, shaped.dtype) == ((5, 33), numpy.float32)


def test_an_in_place_kernel_leaves_its_arguments_alone() -> None:
    x = jnp.arange(8.0)
    kept = numpy.array(x)
    agree(cd.jax.call(simple_mul_inplace)(x, x), kept * kept)
    agree(jax.jit(cd.jax.call(simple_mul_inplace))(x, x), kept * kept)
    agree(x, kept)


def test_leading_dims_are_what_vmap_adds() -> None:
    x, weight = arrays(3, 5)
    agree(norm(x, weight, 1e-5), reference(x, weight, 1e-5))
    each = jax.vmap(lambda x: norm(x, weight, 1e-5), in_axes=1, out_axes=1)
    agree(each(x), reference(x, weight, 1e-5))
    agree(jax.jit(each)(x), reference(x, weight, 1e-5))


def test_an_operand_that_is_left_out_has_the_leading_dims_of_the_others() -> None:
    """What stands for it in a model is compared with the declaration, too."""
    times = cd.jax.call(matmul_f32)

    def ranks(function: Any, *shapes: tuple[int, ...]) -> list[list[int]]:
        traced = jax.make_jaxpr(function)(*(jnp.zeros(shape) for shape in shapes))
        return [
            [variable.aval.ndim for variable in equation.invars]
            for equation in traced.eqns
            if len(equation.invars) == 4
        ]

    assert ranks(times, (2, 3, 4), (4, 5)) == [[3, 2, 1, 3]]
    assert ranks(times, (4,), (4, 5)) == [[1, 2, 1, 1]]
    assert ranks(jax.vmap(times, (0, None)), (2, 3, 4), (4, 5)) == [[3, 2, 1, 3]]


def test_vmap_over_what_has_no_leading_dims_calls_once_for_each() -> None:
    x, weight = arrays(5)
    mine = jnp.stack([weight + i for i in range(5)])
    each = jax.vmap(lambda x, w: norm(x, w, 1e-5))
    agree(each(x, mine), jnp.stack([reference(*pair, 1e-5) for pair in zip(x, mine, strict=True)]))
    agree(jax.vmap(multiply, in_axes=(1, None), out_axes=1)(x, x[:, 0]), x * x[:, :1])
    several = jnp.stack([x, x + 1])
    agree(jax.jit(jax.vmap(jax.vmap(multiply)))(several, several), several * several)
    agree(jax.vmap(multiply)(x[:0], x[:0]), x[:0])
    agree(jax.lax.map(lambda row: multiply(row, row), x), x * x)


def test_what_asks_for_a_derivative_in_another_way_is_told_how() -> None:
    own = cd.jax.call(
        simple_mul, backward=lambda grad_product, lhs, rhs: (grad_product * rhs, grad_product * lhs)
    )
    x, y = jnp.arange(4.0), jnp.ones(4)
    agree(jax.vmap(jax.grad(lambda x: own(x, y).sum()))(jnp.stack([x, x])), jnp.ones((2, 4)))
    for function in (
        lambda x: jax.jvp(lambda x: own(x, y), (x,), (x,)),
        lambda x: jax.jvp(lambda x: multiply(x, y), (x,), (x,)),
        jax.hessian(lambda x: own(x, y).sum()),
        jax.jit(jax.jacfwd(lambda x: own(x, y))),
    ):
        assert refusal(function, x) == (
            "Kernel `simple_mul` has no derivative of the kind that JAX asks for.\n"
            "  expected: a function that computes it: backward= is for jax.grad, and not for a "
            "derivative of that, nor for jax.jvp, jax.jacfwd and jax.hessian\n"
            "  next step: give one: cd.jax.call(kernel, backward=...), or put the call into a "
            "jax.custom_vjp; for the others into a jax.custom_jvp."
        )
    forward = jax.custom_jvp(lambda x: multiply(x, y))
    forward.defjvps(lambda tangent, result, x: tangent * y)
    agree(jax.jvp(forward, (x,), (x,))[1], x * y)


def test_a_derivative_is_what_the_caller_says() -> None:
    x, weight = arrays(5)
    assert refusal(jax.grad(lambda x: norm(x, weight, 1e-5).sum()), x).startswith(
        "Kernel `row_norm` has no derivative of the kind that JAX asks for.\n"
    )

    def backward(x: Any, weight: Any, epsilon: float, grad_y: Any) -> Any:
        return jax.vjp(lambda x, w: reference(x, w, epsilon), x, weight)[1](grad_y)

    own = cd.jax.call(row_norm, backward=backward)

    def loss(function: Any, x: Any, weight: Any) -> Any:
        return jnp.sin(function(x, weight, 1e-5)).sum()

    for wanted in (0, 1):
        found = jax.jit(jax.grad(lambda *a: loss(own, *a), wanted))(x, weight)
        agree(found, jax.grad(lambda *a: loss(reference, *a), wanted)(x, weight))


def test_a_derivative_is_another_kernel_or_of_some_arguments() -> None:
    x = jnp.linspace(1, 2, 8)
    product = cd.jax.call(
        simple_mul, backward=lambda rhs, grad_product: {"lhs": grad_product * rhs}
    )
    agree(jax.grad(lambda x: product(x, 3 * x).sum())(x), 3 * x)
    count = cd.dim("n")
    kernel = cd.Kernel(
        "product_backward", source=simple_mul.source or "", entry="simple_mul", block=64,
        operands=[cd.In("grad_product", "f32", [count]), cd.In("rhs", "f32", [count]),
                  cd.Out("grad_lhs", "f32", [count]), cd.Scalar("count", "i32", count)],
        grid=cd.ceildiv(count, 64),
    )  # fmt: skip
    product = cd.jax.call(simple_mul, backward=kernel)
    agree(jax.jit(jax.grad(lambda x: product(x, 3 * x).sum()))(x), 3 * x)


def test_a_derivative_that_is_none_is_refused() -> None:
    def text(backward: Any) -> str:
        with pytest.raises(DeclarationError) as caught:
            cd.jax.call(simple_mul, backward=backward)
        return str(caught.value)

    assert text(3).startswith("The backward of kernel `simple_mul` is 3.")
    assert text(simple_mul).startswith("The backward of kernel `simple_mul` gives `product`.")
    assert text(lambda a: a) == (
        "The backward of kernel `simple_mul` takes `a`.\n"
        "  expected: some of lhs, rhs, product, grad_product\n"
        "  next step: name what it takes after the kernel's operands."
    )
    three = cd.jax.call(simple_mul, backward=lambda lhs: [lhs, lhs, lhs])
    assert refusal(jax.grad(lambda x: three(x, x).sum()), jnp.ones(4)).startswith(
        "The backward of kernel `simple_mul` returns 3 gradients.\n"
        "  expected: one each of lhs, rhs, or a mapping from these names; None where there is none"
    )


def test_what_does_not_fit_is_refused_as_in_every_call() -> None:
    x, weight = arrays(5)
    assert refusal(norm, x, weight) == (
        "Kernel `row_norm` is called without `epsilon`.\n"
        "  expected: row_norm(x, weight, epsilon)\n"
        "  next step: pass every input."
    )
    assert refusal(jax.jit(norm), x, weight, 1e-5) == (
        "Kernel `row_norm`: the scalar `epsilon` is computed by the traced function.\n"
        "  expected: a number of Python, which is the same in every call\n"
        "  next step: name the argument in static_argnames of jax.jit, or close over the number."
    )
    assert refusal(cd.jax.call(gelu_tanh_f16), x) == (
        "Kernel `gelu_tanh_f16`: operand `x` has dtype float32.\n"
        "  expected: float16 (f16)\n"
        '  next step: convert it: x.astype("float16").'
    )
    text = refusal(jax.jit(lambda x: norm(x, weight[:3], 1e-5)), x)
    assert "`x`.shape[1] and `weight`.shape[0] disagree on dim columns: " in text
    assert refusal(norm, x, weight, "small").startswith(
        "Kernel `row_norm`: the scalar `epsilon` is 'small'."
    )
    polynomial = cd.Kernel(
        "polynomial", source="polynomial.cu", block=1, grid=1,
        operands=[cd.In("x", "f32", [4]), cd.Out("y", "f32", [4]),
                  cd.Struct("curve", c=("f32", 3)), cd.Scalar("scale", "f32")],
    )  # fmt: skip
    for c in ([1, 2], [1, 2, 3, 4], 5):  # else `scale` would be one of these
        assert refusal(cd.jax.call(polynomial), numpy.zeros(4, numpy.float32), {"c": c}, 2.0) == (
            f"Operand `curve` of kernel `polynomial`: field `c` is {c}.\n"
            "  expected: 3 numbers for f32[3]\n"
            "  next step: pass a list of them."
        )
    doubles = cd.Kernel(
        "doubles", source="doubles.cu", block=1, grid=1,
        operands=[cd.In("x", "f64", [4]), cd.Out("y", "f64", [4])],
    )  # fmt: skip
    assert refusal(cd.jax.call(doubles), numpy.zeros(4)) == (
        "Kernel `doubles`: operand `x` has dtype float64, which JAX makes 32 bits of.\n"
        "  expected: JAX with types of 64 bits\n"
        '  next step: call jax.config.update("jax_enable_x64", True) before everything else.'
    )
    with pytest.raises(DeclarationError, match=re.escape("cd.jax.call is given 3.")):
        cd.jax.call(3)  # type: ignore[arg-type]


def test_jax_that_is_not_there_is_named() -> None:
    code = (
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *more: None if name == 'jax' else find(name, *more)\n"
        "import custom_dispatch as cd\n"
        "assert 'jax' not in sys.modules\n"
        "try:\n    cd.jax\nexcept cd.CustomDispatchError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "JAX is not installed in this Python environment.",
        "  expected: the package jax, which `cd.jax` is for",
        "  next step: pip install -e '.[jax]' (in the clone).",
    ], done.stderr
