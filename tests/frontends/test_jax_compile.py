"""Functions of JAX with kernels in them, compiled."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError, LinkError, ModelError
from custom_dispatch.frontends.jax.exporting import export_function
from custom_dispatch.link.declarations import Callees
from custom_dispatch.match.replace import replace_places
from tests.sample_kernels.rows import add_row_norm, row_norm

LINES = Path(__file__).read_text().splitlines()


def normalised(x: Any, weight: Any, epsilon: float) -> Any:
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon) * weight


def added(x: Any, residual: Any, weight: Any, epsilon: float) -> Any:
    total = x + residual
    return total, normalised(total, weight, epsilon)


NORM = cd.jax.Pattern(row_norm, normalised)
ADD_NORM = cd.jax.Pattern(add_row_norm, added)
random = numpy.random.default_rng(0)
X = random.normal(size=(2, 6, 24)).astype(numpy.float32)
ROW = random.normal(size=(24,)).astype(numpy.float32)
WEIGHT = jnp.linspace(0.5, 1.5, 24)
LARGE = jnp.asarray(random.normal(size=(24, 48)) / 5, "f4")


@jax.jit
def norm(x: Any) -> Any:
    """In a function of its own in what JAX exports."""
    return normalised(x, WEIGHT, 1e-6)


def other_order(x: Any) -> Any:
    scale = jax.lax.rsqrt(1e-3 + jnp.mean(x * x, -1, keepdims=True))
    return WEIGHT * (scale * x)


def model(x: Any, row: Any) -> Any:
    """Places of several ranks and sizes, one of them twice, and one in a loop."""
    hidden = jax.nn.silu(norm(x) @ LARGE)
    wide = normalised(hidden, jnp.ones(48), 1e-5)
    looped = jax.lax.fori_loop(0, 3, lambda _, y: jnp.sin(norm(y)), x[0])
    return {"wide": wide, "row": norm(row), "again": norm(x), "loop": looped}


def agree(found: Any, expected: Any) -> None:
    for one, other in zip(found, jax.tree.leaves(expected), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_every_place_is_replaced_whatever_its_rank_and_sizes(tmp_path: Path) -> None:
    module = cd.jax.compile(model, (X, ROW), ["cpu"], replace=[NORM])
    assert module.kernels == ("row_norm",)
    assert sorted(item.scalars["epsilon"] for item in module.replaced) == [1e-6] * 4 + [1e-5]
    assert not module.replaced.near_misses
    here = LINES.index("    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + epsilon)"
                       " * weight") + 1  # fmt: skip
    assert {item.place.source for item in module.replaced} == {f"{__file__}:{here}"}
    assert {item.place.module for item in module.replaced} == {
        "model/normalised", "model/norm/normalised"
    }  # fmt: skip
    assert module.parameters is not None
    assert [item.shape for item in module.parameters.entries] == [(24, 48)]
    program = cd.load(module.save(tmp_path / "model.vmfb"), device="cpu")
    assert str(program.main.type) == (
        "(tensor<2x6x24xf32>, tensor<24xf32>) -> "
        "(tensor<2x6x24xf32>, tensor<6x24xf32>, tensor<24xf32>, tensor<2x6x48xf32>)"
    )
    agree(program.main(X, ROW), model(X, ROW))


def test_several_results_and_an_order_that_gives_the_same() -> None:
    def both(x: Any) -> Any:
        total, y = added(x, x * 2, WEIGHT, 1e-5)
        return total @ LARGE, y, normalised(y, WEIGHT, 1e-4)

    module = cd.jax.compile(both, (X,), ["cpu"], replace=[ADD_NORM, NORM], inline_bytes=None)
    assert [item.kernel for item in module.replaced] == ["add_row_norm", "row_norm"]
    assert module.parameters is None
    agree(cd.load(module, device="cpu").main(X), both(X))


# Why each is not replaced, and what makes it so.
MISSES = {
    "divided by another number": (
        lambda x: x * jax.lax.rsqrt(jnp.sum(x * x, -1, keepdims=True) / 23 + 1e-6) * WEIGHT,
        "23.0, where the pattern has 24.0",
    ),
    "another axis": (
        lambda x: normalised(x.reshape(24, 12), 1.0, 1e-6).reshape(2, 6, 24) * WEIGHT,
        "it has stablehlo.constant where the pattern has stablehlo.broadcast_in_dim",
    ),
    "epsilon is no number": (
        lambda x: normalised(x, WEIGHT, jnp.abs(x[..., :1]) + 1e-6),
        "`%N` (stablehlo.add), where the pattern has a number for `epsilon`",
    ),
    "no mean": (
        lambda x: x * jax.lax.rsqrt(jnp.max(x * x, -1, keepdims=True) / 24 + 1e-6) * WEIGHT,
        "it has stablehlo.maximum where the pattern has stablehlo.add",
    ),
    "square root": (
        lambda x: x * jnp.sqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * WEIGHT,
        "it has stablehlo.sqrt where the pattern has stablehlo.rsqrt",
    ),
    "of another value": (
        lambda x: jnp.sin(x) * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * WEIGHT,
        "`x` would be `%N` (stablehlo.sine) here and the argument `%N` there",
    ),
    "a weight for each row": (
        lambda x: normalised(x, jnp.linspace(0.5, 1.5, 6)[:, None], 1e-6),
        "`weight` is tensor<6x1xf32>, and in the pattern another rank or element type",
    ),
}


def test_no_place_that_computes_something_else_is_replaced() -> None:
    def misses(x: Any) -> Any:
        return [norm(x), *(function(x) for function, _ in MISSES.values())]

    module = cd.jax.compile(misses, (X,), ["cpu"], replace=[NORM])
    assert len(module.replaced) == 1
    reasons = [re.sub(r"%\w+", "%N", item.reason) for item in module.replaced.near_misses]
    agree(cd.load(module, device="cpu").main(X), misses(X))
    assert reasons == [reason for _, reason in MISSES.values()]


def test_kernels_are_called_by_name_in_every_way_that_jax_has() -> None:
    """Through `cd.jax.call`, of several ranks and in a loop, as an FFI call and as a composite."""
    called = cd.jax.call(row_norm)
    composite = jax.lax.composite(normalised, name=f"mine.{row_norm.name}")

    def mixed(x: Any) -> Any:
        y = jnp.tanh(called(x, WEIGHT, 1e-6) @ LARGE)
        looped = jax.lax.fori_loop(0, 2, lambda _, z: called(z, WEIGHT, 1e-3) + 1, x[0])
        ffi = jax.ffi.ffi_call(row_norm.name, jax.ShapeDtypeStruct(x.shape, x.dtype))
        return (
            y,
            looped,
            ffi(x, WEIGHT, epsilon=numpy.float32(0.5)),
            composite(x, WEIGHT, epsilon=0.1),
        )

    module = cd.jax.compile(mixed, (X,), ["cpu"], kernels=[row_norm])
    assert module.replaced is None
    wanted = [
        jnp.tanh(normalised(X, WEIGHT, 1e-6) @ LARGE),
        normalised(normalised(X[0], WEIGHT, 1e-3) + 1, WEIGHT, 1e-3) + 1,
        normalised(X, WEIGHT, 0.5),
        normalised(X, WEIGHT, 0.1),
    ]
    agree(cd.load(module, device="cpu").main(X), wanted)


def test_a_size_may_be_symbolic() -> None:
    """Of reshapes, products of matrices, reductions and a softmax, too."""
    called = cd.jax.call(row_norm)
    specs = jax.export.symbolic_args_specs((X[:1],), ("1, rows, 24",))

    def attended(norm: Any, x: Any) -> Any:
        y = norm(x * 2, WEIGHT, 1e-6) @ LARGE
        heads = y.reshape(1, x.shape[1], 4, 12).swapaxes(1, 2)
        keys = jnp.repeat(heads.sum(1, keepdims=True), 4, axis=1)
        scores = jnp.einsum("bhqd,bhkd->bhqk", heads, keys)
        y = jnp.einsum("bhqk,bhkd->bqhd", jax.nn.softmax(scores), heads)
        return jnp.sin(y - jnp.mean(y, -1, keepdims=True)) + jnp.ones((4, 1))

    module = cd.jax.compile(lambda x: attended(called, x), specs, ["cpu"])
    program = cd.load(module, device="cpu")
    for rows in (6, 1):
        agree([program.main(X[:1, :rows])], [attended(normalised, X[:1, :rows])])


def test_a_scalar_that_is_fixed_holds_for_its_value_alone() -> None:
    def scaled(x: Any, weight: Any) -> Any:
        return normalised(x, weight, 2**-10)

    pattern = cd.jax.Pattern(row_norm, scaled, fixed={"epsilon": 2**-10})
    exported = export_function(
        lambda x: [normalised(x, WEIGHT, 2**-10), normalised(x, WEIGHT, 1e-6)], (X,), "main", 4096
    )
    report = replace_places(exported.module, [pattern], Callees([]))
    assert [item.scalars for item in report] == [{"epsilon": 2**-10}]
    assert [item.reason for item in report.near_misses] == [
        "1e-06, where the pattern has 0.0009765625"
    ]


def refusal(kind: type[Exception], function: Any, *arguments: Any, **options: Any) -> str:
    with pytest.raises(kind) as caught:
        cd.jax.compile(function, arguments, ["cuda:sm_80"], **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (jnp.ones(3, jnp.complex64), "complex64"),
        (jnp.ones(3, jnp.int4), "int4"),
        (jax.random.key(0), "key<fry>"),
    ],
)
def test_types_that_modules_do_not_have(value: Any, dtype: str) -> None:
    wanted = (
        f"is {dtype}, which modules do not take.\n"
        "  expected: real numbers or bools, each of whole bytes\n"
        "  next step: pass complex numbers as real ones (x.real, x.imag), and integers of fewer "
        "than 8 bits as int8."
    )
    for function, arguments, what in (
        (lambda x, y: norm(x), (X, value), "argument 1"),
        (lambda x: (norm(x), value), (X,), "result 1"),
    ):
        text = refusal(ModelError, function, *arguments, replace=[NORM])
        assert text == f"The function's {what} {wanted}"
    if dtype.startswith("key"):
        drawn = refusal(ModelError, lambda x: norm(x) + jax.random.normal(value), X, replace=[NORM])
        assert drawn == (
            f"The function holds an array of {dtype}, which is not a type of numpy.\n"
            "  expected: arrays of numbers\n"
            "  next step: make it in the function, from numbers: jax.random.wrap_key_data."
        )


def test_what_cannot_be_exported_is_refused() -> None:
    assert refusal(ModelError, 3) == (
        "The model is 3.\n"
        "  expected: a function of JAX\n"
        "  next step: pass the function itself, without calling it."
    )
    with pytest.raises(ModelError, match="The model's arguments are given as"):
        cd.jax.compile(norm, X, ["cuda:sm_80"])
    for depends_on_data, what in (
        (lambda x: x if x.sum() > 0 else -x, "TracerBoolConversionError"),
        (lambda x: x[x > 0], "NonConcreteBooleanIndexError"),
    ):
        line = depends_on_data.__code__.co_firstlineno
        text = refusal(ModelError, depends_on_data, X, replace=[NORM])
        assert text.startswith(
            f"JAX cannot export the function at {__file__}:{line}.\n"
            f"  next step: correct what JAX finds:\n{what}: "
        )
    assert refusal(LinkError, jnp.sin, X, replace=[NORM]) == (
        "No place in the model computes what kernel `row_norm` replaces.\n"
        "  expected: at least one, since its pattern is required\n"
        "  next step: correct the pattern where the model differs, or let it be missing: "
        "required=False.\n"
        "not replaced by  in  at  because\n"
        "row_norm         -   -   the model has no stablehlo.add, stablehlo.broadcast_in_dim, "
        "stablehlo.divide, stablehlo.multiply, stablehlo.reduce, stablehlo.rsqrt"
    )


def test_a_file_beside_the_package_of_jax_is_the_users() -> None:
    file = f"{Path(jax.__file__).parent}_demo/model.py"
    names: dict[str, Any] = {}
    exec(compile("def model(x):\n  return x[x > 0]\n", file, "exec"), names)  # noqa: S102
    text = refusal(ModelError, names["model"], X, replace=[NORM])
    assert text.startswith(f"JAX cannot export the function at {file}:2.\n")


@pytest.mark.parametrize(
    ("function", "options", "expected"),
    [
        (
            lambda x, weight: x * weight,
            {},
            "The pattern of kernel `row_norm` has no parameter `epsilon`.\n"
            "  expected: the kernel's: x, weight, epsilon\n"
            "  next step: name the function's parameters like the kernel's operands, or fix the "
            'scalar: fixed={"epsilon": ...}.',
        ),
        (
            lambda x, w, epsilon: x,
            {},
            "The pattern of kernel `row_norm` has a parameter `w`.",
        ),
        (
            lambda x, weight, epsilon: x * weight * (1 / epsilon),
            {},
            "The pattern of kernel `row_norm` has a function that computes with `epsilon` "
            "before it uses the number.\n"
            "  expected: scalars that are passed on to operations on arrays as they are\n"
            '  next step: fix the scalar: fixed={"epsilon": ...}, one pattern for each value.',
        ),
        (
            lambda x, weight, epsilon: x * weight,
            {},
            "The pattern of kernel `row_norm` has a function that does not use `epsilon`.",
        ),
        (
            lambda x, weight, epsilon: (x @ weight) * epsilon,
            {},
            "The pattern of kernel `row_norm` has a function that gives tensor<4xf32> for `y`.\n"
            "  expected: [..., columns], which is [4, 12] here",
        ),
        (
            lambda x, weight, epsilon: x[:, 0] @ weight * epsilon,
            {},
            "The pattern of kernel `row_norm` has a function that JAX cannot trace.",
        ),
        (
            normalised,
            {"sizes": {"rows": 3}},
            "The pattern of kernel `row_norm` has the size rows=3.",
        ),
        (normalised, {"fixed": {"eps": 1}}, "The pattern of kernel `row_norm` fixes `eps`."),
    ],
)
def test_a_function_that_is_no_pattern_is_refused(
    function: Any, options: dict[str, Any], expected: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.jax.compile(
            norm, (X,), ["cuda:sm_80"], replace=[cd.jax.Pattern(row_norm, function, **options)]
        )
    assert str(caught.value).startswith(expected)


@pytest.mark.parametrize("graph", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_functions_of_one_module_share_the_arrays_that_they_hold(graph: bool) -> None:
    weight = jnp.asarray(numpy.random.default_rng(0).normal(size=(64, 64)), jnp.float32)

    def scores(x: Any) -> Any:
        return jax.nn.softmax(jnp.where(x > 0, x @ weight, 0))

    def step(x: Any, y: Any) -> Any:
        return jnp.where(y > 0, weight.T @ x, y), jnp.clip(x, 0, 1)

    x, y = jnp.ones((3, 64)), jnp.linspace(-1, 1, 64)
    functions = {"scores_3": scores, "scores_7": scores, "step": step}
    calls = {"scores_3": (x,), "scores_7": (jnp.ones((7, 64)),), "step": (y, y)}
    module = cd.jax.compile(functions, calls, ["cpu"], verify=True, graph=graph)
    assert module.parameters is not None
    assert len(module.parameters.entries) == 1
    program = cd.load(module, "cpu")
    assert [*program.functions] == [*calls]
    for name, given in calls.items():
        drawn = [numpy.random.default_rng(1).normal(size=each.shape).astype("f") for each in given]
        found, wanted = program.function(name)(*drawn), functions[name](*drawn)
        for one, other in zip(jax.tree.leaves((found,)), jax.tree.leaves((wanted,)), strict=True):
            numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
