"""Products of 8-bit floats with scales against numpy, on the CPU: as GPUs and as CPUs do it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from shipped import Shipped, unaligned

from cuda_kernels import gemm
from cuda_kernels.gemm import scaled
from custom_dispatch.errors import CallError

Random = np.random.Generator
FORM = gemm.Form(scaled.TileF8(32, 16, 64, 2, 2, 1), align1=True)
SIZES = ((1, 1, 16), (7, 24, 80), (33, 17, 64), (65, 8, 16), (5, 7, 9), (3, 40, 65))
"""m, n, k: less than a tile, a little more, k within a step; rows that are not whole 16 bytes."""
E4M3, E5M2 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


@pytest.fixture(
    scope="module", params=["tensor cores", pytest.param("cpu", marks=pytest.mark.thorough)]
)
def products(request: pytest.FixtureRequest) -> Shipped:
    def own(dtype: str, out: str) -> Any:
        kernel = scaled.declare(dtype, out, FORM)
        return kernel.own if request.param == "tensor cores" else kernel

    return Shipped([own("e4m3", "bf16")], thorough=[own("e5m2", "f32")])


def operands(random: Random, kind: Any, m: int, n: int, k: int, *, of_rows: bool) -> list[Any]:
    x, weight = random.standard_normal((m, k)), random.standard_normal((n, k))
    parts = (m, n) if of_rows else (1, 1)
    of_x, of_weight = (random.random(size).astype(np.float32) + 0.25 for size in parts)
    return [x.astype(kind), weight.astype(E4M3), of_x / 8, of_weight]


@pytest.mark.parametrize("of_rows", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_one_scale_or_one_for_each_row(
    products: Shipped, random: Random, size: tuple[int, int, int], of_rows: bool
) -> None:
    given = operands(random, E4M3, *size, of_rows=of_rows)
    bias = random.standard_normal(size[1]).astype(ml_dtypes.bfloat16)
    for added in (bias, bias[:0]):
        products.check("scaled_linear_e4m3_bf16", *given, added)
    products.check("scaled_linear_e4m3_bf16", *map(unaligned, [*given, bias]))


@pytest.mark.thorough
@pytest.mark.parametrize("size", SIZES)
def test_e5m2_with_infinities(
    products: Shipped, random: Random, size: tuple[int, int, int]
) -> None:
    given = operands(random, E5M2, *size, of_rows=True)
    none = np.zeros(0, np.float32)
    products.check("scaled_linear_e5m2_f32", *given, none, scale=float(size[2]))
    given[0][size[0] // 2, size[2] - 1] = np.inf
    products.check("scaled_linear_e5m2_f32", *given, none, scale=float(size[2]))


def test_every_number_of_8_bits_is_multiplied_exactly(products: Shipped) -> None:
    """Those below the least exponent, the largest, and both NaNs, in every place of a word."""
    numbers = np.arange(256, dtype=np.uint8).view(E4M3)
    x = np.concatenate([np.roll(numbers, -turn).reshape(16, 16) for turn in range(4)])
    ones = np.ones(1, np.float32)
    got, want = products.both(
        "scaled_linear_e4m3_bf16",
        x,
        np.eye(16, dtype=E4M3),
        ones,
        ones,
        np.zeros(0, ml_dtypes.bfloat16),
    )
    np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
    assert int(np.isnan(got.astype(np.float32)).sum()) >= 8


def test_scales_that_divide_no_rows_are_refused(random: Random) -> None:
    kernel = scaled.declare("e4m3", "bf16", FORM)
    x, weight, _, scales = operands(random, E4M3, 6, 8, 16, of_rows=False)
    with pytest.raises(CallError, match="requires batch % x_parts == 0, which does not hold"):
        kernel(x, weight, np.ones(4, np.float32), scales)
