"""Matrix products against numpy, on the CPU.

What GPUs run, with smaller tiles, which are compiled in less time; and what CPUs do.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, ODD, Shipped, spoiled, unaligned

import custom_dispatch as cd
from cuda_kernels import gemm
from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.target import Target

Random = np.random.Generator
TILE = gemm.Tile(32, 32, 32, 3, 2, 1)
TILE_F32 = gemm.TileF32(32, 16, 32, 3, 2, 1, 2)
TILE_TF32 = gemm.TileTf32(32, 16, 32, 3, 2, 1, 2)
SKINNY = gemm.Form(gemm.SkinnyTile(1, 4, 2, 2), skinny=True, align1=True)
SKINNY_BY_ROWS = gemm.Form(gemm.Tile(16, 32, 64, 2, 1, 1, 2), skinny=True, align1=True)
# m, n, k: one element, less than a tile, a tile, a little more, several; k that ends within a step.
SIZES = (
    (1, 1, 8),
    (7, 8, 24),
    (8, 7, 64),
    (65, 63, 136),
    (32, 32, 32),
    (127, 16, 8),
    (3, 129, 64),
)
UNALIGNED = ((5, 7, 9), (2, 40, 1), (129, 35, 65))
"""Rows that do not begin at multiples of 16 bytes."""


@pytest.fixture(scope="module", params=["tensor cores", "cpu"])
def products(request: pytest.FixtureRequest) -> Shipped:
    kernels = [
        gemm.declare("linear", "bf16", "gelu_erf", form=gemm.Form(TILE, align1=True)),
        gemm.declare("linear", "f16", form=SKINNY),
        gemm.declare("linear", "f32", "gelu_tanh", form=gemm.Form(TILE_F32, align1=True)),
        gemm.declare("batch_matmul", "f32", form=gemm.Form(TILE_F32, align1=True)),
        gemm.declare("linear", "tf32", form=gemm.Form(TILE_TF32, align1=True)),
    ]
    return Shipped([item.own if request.param == "tensor cores" else item for item in kernels])


@pytest.fixture(
    scope="module", params=[pytest.param("tensor cores", marks=pytest.mark.thorough), "cpu"]
)
def by_rows_of_k(request: pytest.FixtureRequest) -> Shipped:
    """The same tiles with the other layout of b."""
    kernels = [
        gemm.declare("matmul", "f16", "silu", out="f32", form=gemm.Form(TILE, align1=True)),
        gemm.declare("batch_matmul", "bf16", "relu", form=SKINNY_BY_ROWS),
    ]
    return Shipped([item.own if request.param == "tensor cores" else item for item in kernels])


def product(random: Random, dtype: str, layout: str, *sizes: int, batch: Any = ()) -> Any:
    """a, b, bias and residual, of about the same size in the result."""
    m, n, k = sizes
    of_b = (n, k) if layout == "linear" else (k, n)
    of_batch = batch if layout.startswith("batch") else ()
    shapes = ((*batch, m, k), (*of_batch, *of_b), (n,), (*batch, m, n))
    a, b, bias, residual = (random.standard_normal(shape) for shape in shapes)
    return [(a / np.sqrt(k)).astype(DTYPES[dtype]), b.astype(DTYPES[dtype]),
            bias.astype(DTYPES[dtype]), residual.astype(DTYPES[dtype])]  # fmt: skip


@pytest.mark.parametrize("size", SIZES + UNALIGNED)
def test_linear(products: Shipped, random: Random, size: tuple[int, int, int]) -> None:
    a, b, bias, residual = product(random, "bf16", "linear", *size)
    none = residual[:, :0]
    for of_bias, of_residual in ((bias, none), (bias[:0], residual), (bias, residual)):
        products.check("linear_gelu_erf_bf16", a, b, of_bias, of_residual)


@pytest.mark.parametrize("size", SIZES + UNALIGNED)
def test_matmul_to_f32(by_rows_of_k: Shipped, random: Random, size: tuple[int, int, int]) -> None:
    a, b, bias, residual = product(random, "f16", "matmul", *size)
    wide = residual.astype(np.float32)
    for added in (wide, wide[:, :0]):
        by_rows_of_k.check("matmul_silu_f16_f32", a, b, bias, added)


@pytest.mark.parametrize("size", SIZES + UNALIGNED)
def test_products_of_f32(products: Shipped, random: Random, size: tuple[int, int, int]) -> None:
    a, b, bias, residual = product(random, "f32", "linear", *size)
    for added in (residual, residual[:, :0]):
        products.check("linear_gelu_tanh_f32", a, b, bias, added)
    a, b, bias, residual = product(random, "f32", "batch_matmul", *size, batch=(3,))
    products.check("batch_matmul_f32", a, b, bias[:0], residual)


@pytest.mark.parametrize("size", [SIZES[3], UNALIGNED[0]])
def test_tf32_is_rounded_to_nearest_and_asked_for_by_name(
    products: Shipped, random: Random, size: tuple[int, int, int]
) -> None:
    """Numbers of 11 bits are exact, and those beside them are taken for them."""
    m, n, k = size
    a = random.integers(-1024, 1025, (m, k)).astype(np.float32)
    b = random.integers(-4, 5, (n, k)).astype(np.float32)
    none = np.zeros(0, np.float32), np.zeros((m, 0), np.float32)
    near = a * np.float32(1 + 2**-12)  # less than half of the last bit further
    want = a @ b.T
    for left in (a, near):
        got, of_reference = products.both("linear_tf32", left, b, *none)
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(of_reference, want)
    a[m // 2, k - 1], b[n // 2, 0] = np.inf, np.nan
    got, of_reference = products.both("linear_tf32", a, b, *none)
    np.testing.assert_array_equal(got, of_reference)


@pytest.mark.parametrize("size", [*SIZES, *UNALIGNED, (16, 40, 1000)])
def test_few_rows(products: Shipped, random: Random, size: tuple[int, int, int]) -> None:
    m, n, k = min(size[0], 16), *size[1:]
    a, b, bias, residual = product(random, "f16", "linear", m, n, k)
    for added in (residual, residual[:, :0]):
        products.check("linear_f16_skinny", a, b, bias, added)


@pytest.mark.parametrize("batch", [(), (3,), (2, 2)])
@pytest.mark.parametrize("size", [*SIZES[:4], *UNALIGNED])
def test_few_rows_of_several(
    by_rows_of_k: Shipped, random: Random, size: tuple[int, int, int], batch: tuple[int, ...]
) -> None:
    m, n, k = min(size[0], 16), *size[1:]
    a, b, bias, residual = product(random, "bf16", "batch_matmul", m, n, k, batch=batch)
    by_rows_of_k.check("batch_matmul_relu_bf16_skinny", a, b, bias, residual)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_reach_their_row_alone(
    by_rows_of_k: Shipped, random: Random, bad: float
) -> None:
    """Also those next to the end of k, beside which zeros are multiplied."""
    a, b, bias, residual = product(random, "f16", "matmul", 40, 40, 24)
    a[33, 23] = bad
    wide = residual.astype(np.float32)
    got, want = by_rows_of_k.both("matmul_silu_f16_f32", a, b, bias, wide)
    assert not np.isfinite(got[33]).any()
    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_of_few_rows_reach_theirs_alone(
    products: Shipped, random: Random, bad: float
) -> None:
    a, b, bias, residual = product(random, "f16", "linear", 9, 40, 24)
    a[8, 23] = bad
    got, _ = products.both("linear_f16_skinny", a, b, bias, residual)
    assert np.isfinite(got[:8]).all()
    assert not np.isfinite(got[8]).any()


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan, 3.4e38])
def test_infinity_times_numbers_of_few_bits_is_infinity(
    products: Shipped, random: Random, bad: float
) -> None:
    """Of such the tensor cores see all, and nothing is left for the products with a rest."""
    a = random.integers(-8, 8, (1, 20, 24)).astype(np.float32)
    b = random.integers(1, 8, (1, 24, 40)).astype(np.float32) / 8
    none = np.zeros(0, np.float32)
    got, want = products.both("batch_matmul_f32", a, b, none, none.reshape(1, 20, 0))
    np.testing.assert_array_equal(got, want)
    a[0, 7, 3] = bad
    got, want = products.both("batch_matmul_f32", a, b, none, none.reshape(1, 20, 0))
    np.testing.assert_allclose(got, want, rtol=1e-6)
    got, want = products.both(
        "batch_matmul_f32",
        b.swapaxes(1, 2)[:, :20],
        a.swapaxes(1, 2),
        none,
        np.zeros((1, 20, 0), np.float32),
    )
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_nothing_to_sum_leaves_bias_and_residual(products: Shipped, random: Random) -> None:
    a, b, bias, residual = product(random, "f16", "linear", 5, 20, 8)
    got, _ = products.both("linear_f16_skinny", a[:, :0], b[:, :0], bias, residual)
    np.testing.assert_array_equal(got, bias + residual)


def test_many_rows_are_refused_where_few_are_meant(random: Random) -> None:
    kernel = gemm.declare("linear", "f16", form=SKINNY)
    a, b, *_ = product(random, "f16", "linear", 17, 8, 8)
    with pytest.raises(CallError, match="requires batch <= 16, which does not hold"):
        kernel(a, b)


def test_rows_are_refused_for_a_matrix_by_rows_of_k() -> None:
    with pytest.raises(DeclarationError) as caught:
        gemm.declare("matmul", "f16", form=SKINNY)
    assert caught.value.found == (
        "SkinnyTile(rows=1, columns=4, warps=2, stages=2) is for weights, and of `matmul` b is "
        "[k, n]."
    )
    assert "Tile(16, 32, 128, 6, 1, 1, 4)" in caught.value.next_step


def test_every_size_has_a_kernel() -> None:
    """The last of a choice that no table is needed for requires nothing."""
    for item in (getattr(gemm, name) for name in gemm.__dir__()):
        if isinstance(item, cd.Choice):
            last = item.taken_on([Target.parse("cuda:sm_80")]).ordered({})[-1]
            # Scales are for equal parts of the rows.
            assert [each for each in last.requires if "parts" not in str(each)] == []


def test_odd_sizes_in_unaligned_views_with_nan_and_infinity(
    products: Shipped, random: Random
) -> None:
    """Every size as that of rows, of columns and of k."""
    for size in ODD:
        for m, n, k in ((size, 7, 8), (7, size, 9), (7, 9, size)):
            for name, kind in (
                ("linear_gelu_erf_bf16", "bf16"),
                ("linear_gelu_tanh_f32", "f32"),
                ("linear_f16_skinny", "f16"),
            ):
                rows = min(m, 16) if name.endswith("skinny") else m
                given = product(random, kind, "linear", rows, n, k)
                products.check(name, *map(unaligned, given))
                for turn in range(4):
                    # Of -inf GELU in 16 bits is 0, its limit: test_elementwise.py.
                    values = (np.nan,) if kind == "bf16" else (-np.inf, np.inf)
                    bad = spoiled(random, given[turn], values)
                    products.check(name, *map(unaligned, [*given[:turn], bad, *given[turn + 1 :]]))
