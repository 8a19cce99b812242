"""Functions of JAX that call kernels of Pallas: compiled with nothing declared."""

import re
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import ModelError, ToolNotFoundError

jax = pytest.importorskip("jax")
pytest.importorskip("triton")
from jax.experimental import pallas as pl  # noqa: E402

from custom_dispatch.frontends.jax.pallas import with_kernels  # noqa: E402

jnp, lax = jax.numpy, jax.lax
RNG = np.random.default_rng()


def rows_of(x: Any) -> Any:
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def softmax(x: Any) -> Any:
    def softmax_rows(x_ref: Any, y_ref: Any) -> None:
        x = x_ref[...]
        e = jnp.exp(x - jnp.max(x, axis=-1, keepdims=True))
        y_ref[...] = e / jnp.sum(e, axis=-1, keepdims=True)

    rows, columns = x.shape
    block = pl.BlockSpec((1, columns), lambda row: (row, 0))
    return pl.pallas_call(
        softmax_rows, out_shape=rows_of(x), grid=(rows,), in_specs=[block], out_specs=block
    )(x)


def sum_and_difference(x: Any, y: Any) -> Any:
    def kernel(x_ref: Any, y_ref: Any, sum_ref: Any, difference_ref: Any) -> None:
        x, y = x_ref[...], y_ref[...]
        sum_ref[...], difference_ref[...] = x + y, x - y

    block = pl.BlockSpec((64,), lambda i: (i,))
    return pl.pallas_call(
        kernel,
        out_shape=[rows_of(x), rows_of(x)],
        grid=(x.shape[0] // 64,),
        in_specs=[block, block],
        out_specs=[block, block],
        input_output_aliases={0: 1},  # x becomes the difference
    )(x, y)


def test_a_call_is_a_kernel_for_every_target() -> None:
    x = RNG.standard_normal((5, 256)).astype("f")

    def model(x: Any) -> Any:
        return softmax(x * 2) + 1

    module = cd.jax.compile(model, (x,), ["cuda:sm_90a", "cpu"], verify=True)
    (name,) = module.kernels
    assert name.startswith("softmax_rows_")
    wide = np.exp(2 * x.astype("d"))
    got = cd.load(module, device="cpu").main(x)
    np.testing.assert_allclose(got, wide / wide.sum(-1, keepdims=True) + 1, rtol=1e-5)


def test_calls_in_loops_with_results_in_the_place_of_arguments() -> None:
    def model(x: Any, y: Any) -> Any:
        def step(carried: Any, _: Any) -> Any:
            total, difference = jax.jit(sum_and_difference)(carried, y)
            return total * 0.5, difference

        return lax.scan(step, x, None, length=3)

    x, y = (RNG.standard_normal(256).astype("f") for _ in "xy")
    module = cd.jax.compile(model, (x, y), ["cpu"], verify=True)
    last, differences = cd.load(module).main(x, y)
    carried = x.astype("d")
    for each in differences:
        np.testing.assert_allclose(each, carried - y, rtol=1e-5, atol=1e-6)
        carried = (carried + y) / 2
    np.testing.assert_allclose(last, carried, rtol=1e-5, atol=1e-6)


def add_one(**options: Any) -> Any:
    def kernel(x_ref: Any, y_ref: Any) -> None:
        y_ref[...] = x_ref[...] + 1

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((64,), "float32"), **options)


def test_what_is_not_for_triton_is_refused() -> None:
    class CompilerParams:
        pass

    def model(x: Any) -> Any:
        return add_one(name="mine")(x)

    def compiled(x: Any) -> Any:
        return add_one(name="mine", compiler_params=CompilerParams())(x)

    x = np.ones(64, "f")
    assert (cd.load(cd.jax.compile(model, (x,), ["cpu"])).main(x) == 2).all()
    with pytest.raises(ModelError) as caught:
        cd.jax.compile(compiled, (x,), ["cpu"])
    assert str(caught.value) == (
        "The pallas_call `mine` is compiled with test_jax_pallas.CompilerParams.\n"
        "  expected: a kernel for Triton\n"
        "  next step: compiler_params=jax.experimental.pallas.triton.CompilerParams()."
    )


def test_a_grid_that_depends_on_data_is_refused() -> None:
    def model(x: Any, blocks: Any) -> Any:
        block = pl.BlockSpec((16,), lambda i: (i,))
        return add_one(name="mine", grid=(blocks,), in_specs=[block], out_specs=block)(x)

    with pytest.raises(ModelError) as caught:
        cd.jax.compile(model, (np.ones(64, "f"), np.int32(4)), ["cpu"])
    assert str(caught.value) == (
        "The pallas_call `mine` has a grid that depends on data.\n"
        "  expected: a grid of numbers, which is known when the function is traced\n"
        "  next step: make the grid as large as it may be, and let blocks do nothing."
    )


def test_what_pallas_itself_refuses_is_said() -> None:
    def model(x: Any) -> Any:
        def kernel(x_ref: Any, y_ref: Any) -> None:
            y_ref[...] = jnp.sort(x_ref[...])

        return pl.pallas_call(kernel, out_shape=rows_of(x))(x)

    with pytest.raises(ModelError, match="Unimplemented primitive in Pallas Triton lowering: sort"):
        cd.jax.compile(model, (np.ones(64, "f"),), ["cpu"])


def test_a_type_that_no_kernel_takes_is_refused() -> None:
    def model(x: Any) -> Any:
        def kernel(x_ref: Any, y_ref: Any) -> None:
            y_ref[...] = x_ref[...].astype("float32")

        out = jax.ShapeDtypeStruct((64,), "float32")
        return pl.pallas_call(kernel, out_shape=out, name="mine")(x.astype("int4"))

    with pytest.raises(ModelError) as caught:
        cd.jax.compile(model, (np.ones(64, np.int8),), ["cpu"])
    assert str(caught.value) == (
        "The pallas_call `mine` takes an array of int4.\n"
        "  expected: a type of kernels\n"
        "  next step: convert it."
    )


def test_code_assumes_no_more_of_addresses_than_kernels_have() -> None:
    def model(x: Any) -> Any:
        return add_one(name="mine")(x)

    closed = with_kernels(jax.make_jaxpr(model)(np.ones(64, "f")))
    (call,) = closed.jaxpr.eqns
    assert set(re.findall(r"tt.divisibility = (\d+)", call.params["kernel"].producer.source)) == {
        "16"
    }


def test_without_triton_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: Any, **__: Any) -> Any:
        raise ToolNotFoundError("Triton is not installed.", next_step="install it.")

    monkeypatch.setattr("custom_dispatch.frontends.jax.pallas.require", missing)
    with pytest.raises(ToolNotFoundError):
        cd.jax.compile(lambda x: add_one()(x), (np.ones(64, "f"),), ["cpu"])
