"""Products that a function of the user's follows, on the CPU: what GPUs run, and what CPUs do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, unaligned

import custom_dispatch as cd
from cuda_kernels import gemm
from cuda_kernels.gemm.epilogue import Epilogue, epilogue_that_calls
from cuda_kernels.gemm.forms import FORMS, FORMS_TF32_BY_ROWS
from cuda_kernels.gemm.sm90a import Align1, ClusterTile, SplitK, Transposed, WarpSpecialised
from custom_dispatch.errors import DeclarationError, SourceError

Random = np.random.Generator
Array = np.ndarray[Any, Any]
SOURCE = Path(__file__).with_name("epilogues.cuh")
TILE = gemm.Form(gemm.Tile(32, 32, 32, 3, 2, 1), align1=True)
SLICED = gemm.Form(gemm.Tile(16, 32, 64, 2, 1, 1, 2), skinny=True, align1=True)
SKINNY = gemm.Form(gemm.SkinnyTile(1, 4, 2, 2), skinny=True, align1=True)
TILE_F32 = gemm.Form(gemm.TileF32(32, 16, 32, 3, 2, 1, 2), align1=True)
SIZES = ((1, 1, 8), (7, 8, 24), (65, 63, 136), (5, 7, 9), (3, 129, 65))


def _limited_gelu(x: Array, limit: Array) -> Array:
    return np.where(x > limit, limit, x / (1 + np.exp(-1.5957691216 * (x + 0.044715 * x**3))))


def _gated(x: Array, up: Array, limit: Array) -> Array:
    return x / (1 + np.exp(-x)) * np.minimum(up, limit)


def _scaled(x: Array, shift: Array, negated: Array) -> Array:
    y = x.astype(np.float64) * 3 + shift
    return np.where(negated, -y, y)


LIMITED_GELU = cd.Function(
    "limited_gelu",
    source=SOURCE,
    entry="epilogues::limited_gelu",
    operands=[cd.Scalar("x", "f32"), cd.Scalar("limit", "f32")],
    result="f32",
    reference=_limited_gelu,
)
GATED = cd.Function(
    "gated",
    source=SOURCE,
    entry="epilogues::gated",
    operands=[cd.Scalar("x", "f32"), cd.Scalar("up", "f32"), cd.Scalar("limit", "f32")],
    result="f32",
    reference=_gated,
)
SCALED = cd.Function(
    "scaled",
    source=SOURCE,
    entry="epilogues::scaled<__nv_bfloat16, 3>",
    operands=[cd.Scalar("x", "bf16"), cd.Scalar("k", "i32"), cd.Scalar("negated", "bool")],
    result="bf16",
    reference=_scaled,
)
LAYER_SCALED = cd.Function(
    "layer_scaled",
    source=SOURCE,
    entry="epilogues::layer_scaled",
    operands=[cd.Scalar(each, "f32") for each in ("x", "before", "gamma", "factor", "delta")],
    result="f32",
    reference=lambda x, before, gamma, factor, delta: before + gamma * x * factor + delta,
)
PLAIN = cd.Function(
    "plain",
    source=SOURCE,
    entry="epilogues::plain",
    operands=[cd.Scalar("x", "f32")],
    result="f32",
    reference=lambda x: x * abs(x),
)


@pytest.fixture(scope="module", params=["tensor cores", "cpu"])
def products(request: pytest.FixtureRequest) -> Shipped:
    limited, plain = epilogue_that_calls(LIMITED_GELU), epilogue_that_calls(PLAIN)
    gated = epilogue_that_calls(GATED, tensors=["up"])
    kernels = [
        gemm.declare("linear", "bf16", layer_scaled("bf16"), form=TILE),
        gemm.declare("linear", "f16", limited, form=SKINNY),
    ]
    thorough = [
        gemm.declare("linear", "bf16", limited, form=TILE),
        gemm.declare("matmul", "f16", gated, out="f32", form=TILE),
        gemm.declare("linear", "f16", gated, form=SKINNY),
        gemm.declare("batch_matmul", "bf16", epilogue_that_calls(SCALED), form=SLICED),
        gemm.declare("linear", "f32", plain, form=TILE_F32),
    ]
    if request.param == "tensor cores":
        kernels, thorough = ([item.own for item in items] for items in (kernels, thorough))
    return Shipped(kernels, thorough)


def layer_scaled(dtype: str) -> Epilogue:
    return epilogue_that_calls(LAYER_SCALED, dtype, tensors=["before"], columns=["gamma", "delta"])


def product(random: Random, dtype: str, layout: str, *sizes: int, batch: Any = ()) -> Any:
    """a, b, bias and residual, of about the same size in the result."""
    m, n, k = sizes
    of_b = (n, k) if layout == "linear" else (k, n)
    shapes = ((*batch, m, k), (*batch, *of_b), (n,), (*batch, m, n))
    a, b, bias, residual = (random.standard_normal(shape) for shape in shapes)
    return [each.astype(DTYPES[dtype]) for each in (a / np.sqrt(k), b, bias, residual)]


@pytest.mark.parametrize("size", SIZES)
def test_tensors_vectors_and_numbers(products: Shipped, random: Random, size: Any) -> None:
    a, b, bias, before = product(random, "bf16", "linear", *size)
    gamma, delta = (random.standard_normal(size[1]).astype(bias.dtype) for _ in range(2))
    for of_bias in (bias, bias[:0]):
        given = map(unaligned, (a, b, of_bias, before, gamma))
        products.check("linear_with_layer_scaled_bf16", *given, 0.5, unaligned(delta), scale=4)


@pytest.mark.parametrize("size", SIZES)
def test_few_rows_and_a_number(products: Shipped, random: Random, size: Any) -> None:
    a, b, bias, residual = product(random, "f16", "linear", min(size[0], 16), *size[1:])
    for of_bias, added in ((bias, residual), (bias[:0], residual[:, :0])):
        for limit in (0.25, np.inf):
            products.check("linear_with_limited_gelu_f16", a, b, of_bias, added, limit)


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
def test_other_layouts_and_types(products: Shipped, random: Random, size: Any) -> None:
    a, b, bias, residual = product(random, "bf16", "linear", *size)
    products.check("linear_with_limited_gelu_bf16", a, b, bias, residual, 0.25)
    a, b, bias, up = product(random, "f16", "matmul", *size)
    products.check("matmul_with_gated_f16_f32", a, b, bias, up.astype(np.float32), 0.5)
    a, b, bias, up = product(random, "f16", "linear", min(size[0], 16), *size[1:])
    products.check("linear_with_gated_f16", a, b, bias, up, 0.5)
    a, b, bias, residual = product(random, "f32", "linear", *size)
    products.check("linear_with_plain_f32", a, b, bias, residual, scale=4)


@pytest.mark.thorough
def test_a_function_of_16_bits_takes_the_rounded_sum(products: Shipped, random: Random) -> None:
    a, b, bias, residual = product(random, "bf16", "batch_matmul", 9, 33, 24, batch=(3,))
    for shift, negated in ((-7, False), (1000, True)):
        got, want = products.both("batch_matmul_with_scaled", a, b, bias, residual, shift, negated)
        np.testing.assert_allclose(got.astype(float), want.astype(float), rtol=2**-6, atol=2**-6)


def test_an_operand_is_renamed_where_the_product_has_one_of_its_name() -> None:
    kernel = gemm.declare("linear", "bf16", epilogue_that_calls(SCALED))
    assert [item.name for item in kernel.inputs][-2:] == ["scaled_k", "negated"]


@pytest.mark.parametrize(
    ("kind", "forms"),
    [
        (ClusterTile, FORMS),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (
                (WarpSpecialised, FORMS),
                (SplitK, FORMS),
                (Align1, FORMS),
                (Transposed, FORMS_TF32_BY_ROWS),
            )
        ),
    ],
)
def test_hopper_s_kernels_do_not_spill(kind: type, forms: Sequence[gemm.Form]) -> None:
    form = [each for each in forms if type(each.hopper) is kind][-1]
    layout, dtype = ("matmul", "tf32") if kind is Transposed else ("linear", "bf16")
    kernel = gemm.declare(layout, dtype, layer_scaled(dtype), form=form)
    library = cd.build(kernel, ["cuda:sm_90a"], fail_on_spill=True)
    assert [item.kernel for item in library.report()] == [kernel.name]


def test_a_choice_is_that_of_the_product_alone() -> None:
    plain, fused = gemm.linear_bf16, gemm.with_epilogue(LIMITED_GELU)
    assert fused.name == "linear_with_limited_gelu_bf16"
    for rows in (1, 16, 128, 4096):
        for target in ("cuda:sm_90a", "cuda:sm_80", "cpu"):
            sizes = {"batch": rows, "n": 3072, "k": 768}
            one = plain.which(target=target, **sizes).kernel
            other = fused.which(target=target, **sizes).kernel
            assert other.replace("with_limited_gelu_", "") == one


def refused(function: cd.Function, *tensors: str, **others: Any) -> tuple[str, str, str]:
    with pytest.raises(DeclarationError) as caught:
        gemm.with_epilogue(function, tensors=tensors, **others)
    error = caught.value
    return error.found, str(error.expected), str(error.next_step)


def declared(operands: Any, **others: Any) -> cd.Function:
    return cd.Function("wrong", source=SOURCE, operands=operands, **{"result": "f32", **others})


def test_functions_that_cannot_follow_a_product_are_refused() -> None:
    wrong: Any = "my_gelu"
    assert refused(wrong) == (
        "What is to follow a product is 'my_gelu'.",
        "a cd.Function",
        'declare it: cd.Function("my_gelu", source="my_gelu.cu", ...).',
    )
    x, up = cd.Scalar("x", "f32"), cd.Scalar("up", "f32")
    pair = cd.Struct("pair", low="f32", high="f32")
    follows = "Function `wrong` is to follow a product, and "
    assert refused(declared([x], result="i32")) == (
        f"{follows}returns i32.",
        "one result, of f32, f16, bf16, f64",
        "declare a function that returns what is to be stored.",
    )
    assert refused(declared([x], result=None, results=[up, cd.Scalar("y", "f32")]))[0] == (
        f"{follows}has 2 results in a struct or through its parameters."
    )
    assert refused(declared([x, pair])) == (
        f"{follows}takes the struct `pair`.",
        "numbers",
        "declare a function that takes the struct's numbers one by one.",
    )
    assert refused(declared([cd.Scalar("index", "i32")])) == (
        f"{follows}takes `index` of i32 first.",
        "the product as its first operand, of f32, f16, bf16, f64",
        "declare a function that takes it first.",
    )
    for tensors in (("up", "other"), ("other",), ("x",)):
        names = ", ".join(map(repr, tensors))
        assert refused(declared([x, up, cd.Scalar("other", "f32")]), *tensors) == (
            f"{follows}is to take tensors as {names}.",
            "one tensor, as its second operand: kernels read one besides the bias",
            "compute the others' part in a function of its own, or declare that operand second.",
        )
    count = cd.Scalar("count", "i32")
    assert refused(declared([x, up, count]), "up", columns=["up"]) == (
        f"{follows}is to take a vector as 'up'.",
        "one of 'count'",
        "name an operand that is neither the product nor a tensor of its shape.",
    )
    assert refused(declared([x, count]), columns=["count"]) == (
        f"{follows}is to take a vector as 'count', which is of another type than f32.",
        "f32, to which elements of vectors are converted",
        "declare a function that takes it as f32.",
    )


def test_a_function_that_returns_what_is_not_declared_is_refused() -> None:
    wrong = cd.Function(
        "plain",
        source=SOURCE,
        entry="epilogues::plain",
        operands=[cd.Scalar("x", "f32")],
        result="f16",
    )
    kernel = gemm.declare("linear", "bf16", epilogue_that_calls(wrong), form=TILE)
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_80"], compiler="nvrtc")
    assert "returns another type than its declaration says" in str(caught.value)


def test_a_function_that_takes_what_is_not_declared_is_refused(tmp_path: Path) -> None:
    """C++ would make an f32 of an f64, and infinity of 1e300."""
    source = tmp_path / "scaled.cu"
    source.write_text("__device__ float scaled(float x, float factor) { return x * factor; }\n")
    operands = [cd.Scalar("x", "f32"), cd.Scalar("factor", "f64")]
    wrong = cd.Function("scaled", source=source, operands=operands, result="f32")
    kernel = gemm.declare("linear", "bf16", epilogue_that_calls(wrong), form=TILE)
    with pytest.raises(SourceError) as caught:
        cd.build(kernel, ["cuda:sm_80"], compiler="nvrtc")
    assert "custom_dispatch_Operand<double>" in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "options", "instruction"),
    [("bf16", [], "div.full"), ("f32", [], "div.rn"), ("bf16", ["-prec-div=true"], "div.rn")],
)
def test_quotients_are_quick_where_elements_have_16_bits(
    dtype: str, options: list[str], instruction: str
) -> None:
    function = cd.Function(
        "gated",
        source=SOURCE,
        entry=GATED.entry,
        operands=GATED.operands,
        result="f32",
        options=options,
    )
    form = TILE if dtype == "bf16" else TILE_F32
    epilogue = epilogue_that_calls(function, dtype=dtype)
    kernel = gemm.declare("linear", dtype, epilogue, form=form)
    (unit,) = cd.build(kernel, ["cuda:sm_80"], image="ptx").units
    code = unit.objects[0].data.decode()
    assert {each for each in ("div.full", "div.rn") if each in code} == {instruction}
