"""Products with weights of 8 bits against their references, on the CPU, from sm_80 PTX; choices.

What the others have, these kernels have; `benchmarks/gpu/quantised.py check` runs all on a GPU,
also from addresses that are not aligned.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from shipped import DTYPES, Shipped, unaligned

import custom_dispatch as cd
from cuda_kernels import quantised
from cuda_kernels.quantised import packing
from cuda_kernels.quantised.eight_bit import FEW_ROWS
from custom_dispatch.kernel.binding import bind_dims

Random = np.random.Generator
ONE, SIXTEEN = "fp8_f16_t4x1_w4", "fp8_bf16_t32x16_w4"
EIGHTS = ml_dtypes.float8_e4m3fn
INT8 = {
    "int8_bf16_t4x1_w4": (1,),
    "int8_f16_t32x16_w4": (7, 16),
    "int8_groups_f16_t4x1_w4": (1,),
    "int8_groups_bf16_t32x16_w4": (7, 16),
}
"""Kernels for integers, and rows of x."""
QUICK = ("int8_bf16_t4x1_w4", "int8_groups_bf16_t32x16_w4")
each_of_int8 = pytest.mark.parametrize(
    "name",
    [each if each in QUICK else pytest.param(each, marks=pytest.mark.thorough) for each in INT8],
)


@pytest.fixture(scope="module")
def products() -> Shipped:
    names = (f"{of}_{kind}" for of in ("fp8", "int8", "int8_groups") for kind in ("f16", "bf16"))
    kernels = [kernel for name in names for kernel in getattr(quantised, name).kernels]
    quick = (ONE, SIXTEEN, *QUICK)
    return Shipped(
        [kernel for kernel in kernels if kernel.name in quick],
        [kernel for kernel in kernels if kernel.name in INT8 and kernel.name not in quick],
    )


def drawn(random: Random, n: int, k: int) -> Any:
    weights = random.standard_normal((n, k)).astype(np.float32)
    return quantised.quantise_fp8(weights, by_row=n % 2 == 1)


@pytest.mark.parametrize(("name", "batches"), [(ONE, (1,)), (SIXTEEN, (1, 7, 16))])
def test_products(products: Shipped, random: Random, name: str, batches: tuple[int, ...]) -> None:
    """Off by a rounding, and by what adding up in f32 loses."""
    kind = name.split("_")[1]
    for n, k in ((1, 32), (7, 256), (65, 288), (33, 1056), (17, 4128)):
        for batch in batches:
            x = random.standard_normal((batch, k)).astype(DTYPES[kind])
            got, want = (
                each.astype(np.float64) for each in products.both(name, x, *drawn(random, n, k))
            )
            rounding = 2.0**-11 if kind == "f16" else 2.0**-8
            lost = 2.0**-18 * np.abs(x.astype(np.float64)).sum(-1, keepdims=True)
            assert (np.abs(got - want) <= 2 * np.abs(want) * rounding + lost).all()


@pytest.mark.parametrize("name", [ONE, SIXTEEN])
def test_every_number(products: Shipped, name: str) -> None:
    """A row for each byte, and an x that picks it out."""
    eights = np.zeros((256, 32), np.uint8)
    eights[:, 5] = np.arange(256)
    weights, x = eights.view(EIGHTS), np.zeros((1, 32), DTYPES[name.split("_")[1]])
    x[0, 5] = 1
    got = products.both(name, x, weights, np.ones(1, np.float32))[0]
    np.testing.assert_array_equal(got[0].astype(np.float32), weights[:, 5].astype(np.float32))


@pytest.mark.parametrize("name", [ONE, SIXTEEN])
def test_nan_and_infinity_spoil_their_own_rows_alone(
    products: Shipped, random: Random, name: str
) -> None:
    """Wherever in a word of weights a NaN is, and where x is zero; of x, wherever it is."""
    kind = name.split("_")[1]
    for at in range(96, 100):
        weights, scales = drawn(random, 40, 288)
        weights[9, at] = np.nan
        x = np.zeros((1, 288), DTYPES[kind])
        got = products.both(name, x, weights, scales)[0]
        assert np.flatnonzero(np.isnan(got[0])).tolist() == [9]
    batch = 1 if name == ONE else 3
    for bad in (np.nan, np.inf):
        x = random.standard_normal((batch, 288)).astype(DTYPES[kind])
        x[batch // 2, 200] = bad
        got = products.both(name, x, *drawn(random, 40, 288))[0]
        assert not np.isfinite(got[batch // 2].astype(np.float32)).any()
        assert np.isfinite(np.delete(got, batch // 2, axis=0).astype(np.float32)).all()


def of_int8(random: Random, name: str, n: int, k: int, group: int) -> Any:
    """All numbers, and scales of which some are so small that f16 has no room for them."""
    numbers = random.integers(-128, 128, (n, k)).astype(np.int8)
    shape = (n, k // group) if "groups" in name else (n,)
    least = 1e-3 if "groups_f16" in name else 1e-8
    return numbers, (least * 10 ** random.random(shape)).astype(np.float32)


@each_of_int8
def test_products_of_integers(products: Shipped, random: Random, name: str) -> None:
    """Of rows exact; with scales of groups, weights are rounded, too."""
    kind = "bf16" if "bf16" in name else "f16"
    rounding = 2.0**-11 if kind == "f16" else 2.0**-8
    for n, k, group in ((1, 32, 32), (7, 256, 64), (33, 1056, 96), (17, 4224, 128), (5, 4128, 32)):
        for batch in INT8[name]:
            x = (random.standard_normal((batch, k)) * 2.0**6).astype(DTYPES[kind])
            weights = of_int8(random, name, n, k, group)
            wide = packing.dequantise_int8(*weights) if weights[1].ndim == 1 else None
            wide = packing.dequantise_int8_groups(*weights) if wide is None else wide
            want = x.astype(np.float64) @ wide.T
            lost = 2.0**-18 * np.abs(x.astype(np.float64)) @ np.abs(wide.T)
            if "groups" in name:
                lost += 4 * rounding * np.sqrt((x.astype(np.float64) ** 2) @ (wide**2).T)
            least = 2.0**-25 if kind == "f16" else 0.0
            for given in ((x, *weights), (unaligned(x), *map(unaligned, weights))):
                got = products.both(name, *given)[0].astype(np.float64)
                assert (np.abs(got - want) <= np.abs(want) * rounding + lost + least).all()


@each_of_int8
def test_every_integer(products: Shipped, name: str) -> None:
    """A row for each byte, and an x that picks it out, wherever in a word."""
    batch = INT8[name][0]
    for at in (4, 5, 6, 7):
        weights = np.full((256, 64), 3, np.int8)
        weights[:, at] = np.arange(-128, 128)
        x = np.zeros((batch, 64), DTYPES["bf16" if "bf16" in name else "f16"])
        x[0, at] = 1
        scales = np.full((256, 2) if "groups" in name else 256, 0.5, np.float32)
        got = products.both(name, x, weights, scales)[0]
        np.testing.assert_array_equal(got[0].astype(np.float32), np.arange(-128, 128) / 2)


def test_blocks_of_q8_0_become_groups(random: Random) -> None:
    blocks = quantised.quantise_q8_0(random.standard_normal((5, 96)).astype(np.float32))
    got = packing.dequantise_int8_groups(*quantised.groups_of_q8_0(blocks))
    np.testing.assert_array_equal(got, packing.dequantise_q8_0(blocks))
    with pytest.raises(cd.CustomDispatchError, match=r"\[5, 3, 33\] has no blocks of Q8_0"):
        quantised.groups_of_q8_0(blocks[..., 1:])


def test_integers_of_rows_and_of_groups(random: Random) -> None:
    weights = random.standard_normal((5, 96)).astype(np.float32)
    weights[2] = 0
    rows, groups = quantised.quantise_int8(weights), quantised.quantise_int8(weights, 32)
    assert (rows[0].dtype, rows[1].shape, groups[1].shape) == (np.int8, (5,), (5, 3))
    for wide, scales in (
        (packing.dequantise_int8(*rows), rows[1][:, None]),
        (packing.dequantise_int8_groups(*groups), groups[1].repeat(32, 1)),
    ):
        assert (np.abs(wide - weights) <= 0.501 * scales).all()
    with pytest.raises(cd.CustomDispatchError, match="in groups of 48"):
        quantised.quantise_int8(weights, 48)


def test_scales_for_parts_of_the_rows(products: Shipped, random: Random) -> None:
    weights, _ = drawn(random, 12, 64)
    x = random.standard_normal((1, 64)).astype(np.float16)
    for parts in (1, 3, 12):
        scales = np.arange(1, parts + 1, dtype=np.float32)
        products.check(ONE, x, weights, scales, scale=32.0 * parts)


def test_sizes_that_are_not_taken(products: Shipped) -> None:
    for batch, k, parts, found in (
        (2, 64, 1, "batch <= 1"),
        (1, 64, 2, "n % parts == 0"),
        (1, 40, 1, "k % 32 == 0"),
    ):
        with pytest.raises(cd.CustomDispatchError, match=f"{found} is required, and does not hold"):
            products.both(
                ONE,
                np.zeros((batch, k), np.float16),
                np.zeros((5, k), EIGHTS),
                np.ones(parts, np.float32),
            )


def test_every_target_of_a_gpu_has_the_same_code() -> None:
    """And not that for the CPU, which has fewer warps."""
    for kernel in quantised.fp8_f16.kernels:
        entries = {str(target): form.entry for target, form in kernel.variants}
        assert set(entries) == {"cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"}
        if "many" in kernel.name:  # warpgroups on sm_90a, and 16 rows at a time on sm_90
            del entries["cuda:sm_90a"]
        if "many32" in kernel.name:
            assert "quantised_8bit_few" in entries.pop("cuda:sm_90")
        assert len(set(entries.values())) == 1
        if kernel.name == SIXTEEN.replace("bf16", "f16"):
            assert kernel.entry not in entries.values()


@pytest.mark.parametrize(
    ("batch", "n", "name"),
    [
        (1, 64, "fp8_f16_t2x1_w4"),
        (1, 4096, "fp8_f16_t4x1_w4"),
        (1, 5120, "fp8_f16_t2x1_w4"),
        (1, 11008, "fp8_f16_t4x1_w4"),
        (2, FEW_ROWS, "fp8_f16_t16x8_w16"),
        (8, FEW_ROWS + 1, "fp8_f16_t16x8_w4"),
        (9, 64, "fp8_f16_t16x16_w16"),
        (16, FEW_ROWS + 1, "fp8_f16_t32x16_w4"),
        (17, 1 << 16, "fp8_f16_many32"),
        (300, 11008, "fp8_f16_many128"),
    ],
)
def test_what_the_choice_takes(batch: int, n: int, name: str) -> None:
    shapes = {"x": (batch, 64), "weight": (n, 64), "scales": (1,)}

    def holds(kernel: cd.Kernel) -> bool:
        try:
            bind_dims(kernel, shapes)
        except cd.CustomDispatchError:
            return False
        return True

    assert next(item.name for item in quantised.fp8_f16.kernels if holds(item)) == name
