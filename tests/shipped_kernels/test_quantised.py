"""Products with quantised weights against their references, on the CPU; packing; choices.

The kernels are the declared ones' source with fewer warps and stages, which are compiled in less
time, and whose tiles and turns are met at smaller sizes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from shipped import DTYPES, ODD, Shipped, unaligned

import custom_dispatch as cd
from cuda_kernels import quantised
from cuda_kernels.quantised import four_bit
from cuda_kernels.quantised import packing as quantisation
from cuda_kernels.quantised.four_bit import RowShape, Shape
from custom_dispatch.kernel.binding import grid_for

Random = np.random.Generator
SIZES = ((1, 32), (7, 256), (65, 288), (33, 1056), (13, 1280), (17, 2080))
ONE = RowShape(8, 2, resident=1)
ANY = Shape(16, 4, 2, tiles=2, blocks=2, team=2)
# What the others have, these have; `benchmarks/gpu/quantised.py check` runs all on a GPU.
KERNELS = (
    (four_bit.Q4_0, "f16", ANY),
    (four_bit.INT4_ZEROS, "bf16", ONE),
    (four_bit.INT4, "f16", RowShape(16, 2, resident=1)),
)
THOROUGH = (
    (four_bit.Q4_0, "f16", RowShape(12, 2, resident=1)),
    (four_bit.Q4_1, "bf16", ONE),
)
each_kernel = pytest.mark.parametrize(
    ("layout", "kind", "shape"),
    [*KERNELS, *(pytest.param(*each, marks=pytest.mark.thorough) for each in THOROUGH)],
    ids=lambda item: getattr(item, "name", None),
)


@pytest.fixture(scope="module")
def products() -> Shipped:
    return Shipped(
        *([four_bit.declare_kernel(*each) for each in some] for some in (KERNELS, THOROUGH))
    )


def packed(layout: str, kind: str, random: Random, n: int, k: int, group: int = 32) -> Any:
    weights = random.standard_normal((n, k)).astype(np.float32)
    if layout == "q4_0":
        return (quantised.quantise_q4_0(weights),)
    if layout == "q4_1":
        return (quantised.quantise_q4_1(weights),)
    zeros = layout == "int4_zeros"
    return quantised.quantise_int4(weights, group, zeros=zeros, dtype=DTYPES[kind])


def product(products: Shipped, name: str, x: Any, weights: Any) -> None:
    """One product: off by a rounding, and by what adding up in f32 loses."""
    got, want = products.both(name, x, *weights)
    wide = np.abs(want.astype(np.float64))
    rounding = 2.0**-11 if x.dtype == np.float16 else 2.0**-8
    lost = 2.0**-18 * np.abs(x.astype(np.float64)).sum(-1, keepdims=True)
    assert (
        np.abs(got.astype(np.float64) - want.astype(np.float64)) <= 2 * wide * rounding + lost
    ).all()


@each_kernel
def test_products(products: Shipped, random: Random, layout: Any, kind: str, shape: Any) -> None:
    name = f"{layout.name}_{kind}_{shape.name}"
    for n, k in SIZES:
        for batch in {1: (1,), 8: (1, 3, 8)}.get(shape.columns, (1, 7, 16)):
            x = random.standard_normal((batch, k)).astype(DTYPES[kind])
            product(products, name, x, packed(layout.name, kind, random, n, k))


@pytest.mark.parametrize("layout", ["int4_zeros_bf16", "int4_f16"])
@pytest.mark.parametrize(("k", "group"), [(1152, 64), (1152, 96), (1152, 1152), (1536, 128)])
def test_groups_of_other_sizes(
    products: Shipped, random: Random, layout: str, k: int, group: int
) -> None:
    name, kind = layout.rsplit("_", 1)
    x = random.standard_normal((1, k)).astype(DTYPES[kind])
    product(products, layout, x, packed(name, kind, random, 19, k, group))


def test_leading_dims(products: Shipped, random: Random) -> None:
    x = random.standard_normal((2, 3, 256)).astype(np.float16)
    got, want = products.both(f"q4_0_f16_{ANY.name}", x, *packed("q4_0", "f16", random, 5, 256))
    assert got.shape == want.shape == (2, 3, 5)


def test_nan_and_infinity_spoil_their_own_rows_alone(products: Shipped, random: Random) -> None:
    x = np.ones((3, 288), np.float16)
    x[1, 200] = np.nan
    (weights,) = packed("q4_0", "f16", random, 40, 288)
    weights[7, 3, :2] = np.array([np.inf], np.float16).view(np.uint8)  # a scale
    got = products.both(f"q4_0_f16_{ANY.name}", x, weights)[0]
    assert np.isnan(got[1]).all()
    assert not np.isfinite(got[:, 7]).any()
    assert np.isfinite(np.delete(got, 7, axis=1)[[0, 2]]).all()


def test_sizes_that_are_not_taken(products: Shipped, random: Random) -> None:
    weights = packed("int4_zeros", "bf16", random, 4, 256, 64)
    with pytest.raises(cd.CustomDispatchError, match="batch <= 1 is required, and does not hold"):
        products.both("int4_zeros_bf16", np.zeros((2, 256), ml_dtypes.bfloat16), *weights)


def test_every_row_of_weights_has_a_block_however_many_there_are() -> None:
    """A block of the kernels for one row of x has rows once; the others go on to the next."""
    n = (1 << 31) - 1
    for layout in (four_bit.Q4_0, four_bit.Q4_1, four_bit.INT4, four_bit.INT4_ZEROS):
        choice = getattr(quantised, f"{layout.name}_f16")
        for kernel, (shape, _) in zip(choice.kernels, layout.one, strict=False):
            for rows in (1, 5120, n):
                dims = {"batch": 1, "n": rows, "blocks": 1, "halves": 16, "groups": 1}
                for form in kernel.forms:
                    assert grid_for(form, dims)[0] * shape.rows >= rows


def test_rows_whose_bytes_32_bits_do_not_count_are_refused(products: Shipped) -> None:
    weights = np.zeros((1, (1 << 22) + 1, 18), np.uint8)
    x = np.zeros((1, 32 * weights.shape[1]), np.float16)
    with pytest.raises(cd.CustomDispatchError, match=r"blocks \* 32 <= 134217728 is required"):
        products.both(f"q4_0_f16_{ANY.name}", x, weights)


def test_a_choice_takes_rows_of_any_number() -> None:
    for choice in (quantised.q4_0_f16, quantised.int4_zeros_bf16):
        requires = [len(kernel.requires) for kernel in choice.kernels]
        assert requires[-1] == min(requires)
        assert not any(str(each).startswith("batch") for each in choice.kernels[-1].requires)


def test_every_target_of_a_gpu_has_unrolled_loops() -> None:
    """Also `cuda:sm_90a`, which does not take what `cuda:sm_90` has."""
    for kernel in quantised.q4_0_f16.kernels:
        forms = {str(target): form for target, form in kernel.variants}
        assert set(forms) == {"cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"}
        if "many" in kernel.name:  # warpgroups on sm_90a, and nothing that is rolled
            continue
        if "x1_w" not in kernel.name:  # others have no loops that are rolled or not
            assert all(form.entry.endswith("false>") for form in forms.values())
        assert forms["cuda:sm_90a"].entry == forms["cuda:sm_90"].entry


def test_a_choice_is_an_operator_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    from torch._subclasses.fake_tensor import FakeTensorMode

    operator = cd.torch.register(quantised.q4_0_f16)
    with FakeTensorMode():
        x = torch.empty(2, 3, 64, dtype=torch.float16)
        y = operator(x, torch.empty(5, 2, 18, dtype=torch.uint8))
    assert (y.shape, y.dtype) == ((2, 3, 5), torch.float16)


def test_blocks_are_ggmls() -> None:
    """A block by hand, from `block_q4_0` and `block_q4_1` of ggml-common.h."""
    weights = np.zeros((1, 32), np.float32)
    weights[0, :3], weights[0, 16:18] = (-8.0, 7.0, 0.4), (1.0, -2.6)
    block = quantisation.quantise_q4_0(weights)
    assert block.shape == (1, 1, 18)
    assert block[0, 0, :2].view(np.float16)[0] == 1.0
    assert block[0, 0, 2:6].tolist() == [0x90, 0x5F, 0x88, 0x88]
    block = quantisation.quantise_q4_1(weights)
    assert block[0, 0, :4].view(np.float16).tolist() == [1.0, -8.0]
    assert block[0, 0, 4:8].tolist() == [0x90, 0x5F, 0x88, 0x88]


def test_groups_of_blocks_are_the_same_weights(products: Shipped, random: Random) -> None:
    (blocks,) = packed("q4_0", "f16", random, 19, 768)
    weights, scales = quantised.groups_of_q4_0(blocks)
    assert (weights.shape, scales.shape, scales.dtype) == ((19, 384), (19, 24), np.float16)
    wanted = quantisation.dequantise_q4_0(blocks)
    assert (quantisation.dequantise_int4(weights, scales) == wanted).all()
    x = random.standard_normal((1, 768)).astype(np.float16)
    product(products, "int4_f16", x, (weights, scales))


@pytest.mark.parametrize(
    "given", [np.zeros((2, 3, 20), np.uint8), np.zeros((2, 54), np.uint8), np.zeros((2, 3, 18))]
)
def test_groups_of_what_are_no_blocks(given: Any) -> None:
    with pytest.raises(cd.CustomDispatchError, match="has no blocks of Q4_0") as caught:
        quantised.groups_of_q4_0(given)
    assert caught.value.expected == "uint8 [n, k / 32, 18]"
    assert str(given.dtype) in str(caught.value)
    assert caught.value.next_step


@pytest.mark.parametrize("layout", ["q4_0", "q4_1", "int4", "int4_zeros", "fp8"])
def test_what_is_unpacked_is_near_what_was_packed(random: Random, layout: str) -> None:
    weights = random.standard_normal((6, 256)).astype(np.float32)
    weights[2] = 0
    weights[3, :32] = 2.5
    packs: dict[str, Callable[[], Any]] = {
        "q4_0": lambda: (quantised.quantise_q4_0(weights),),
        "q4_1": lambda: (quantised.quantise_q4_1(weights),),
        "int4": lambda: quantised.quantise_int4(weights, 64),
        "int4_zeros": lambda: quantised.quantise_int4(weights, 64, zeros=True),
        "fp8": lambda: quantised.quantise_fp8(weights),
    }
    parts = packs[layout]()
    unpacked = getattr(quantisation, f"dequantise_{layout.removesuffix('_zeros')}")(*parts)
    largest = np.abs(weights).max()
    assert np.abs(unpacked - weights).max() <= largest * (1 / 14 if layout == "fp8" else 1 / 7)
    assert (unpacked[2] == 0).all()


def test_weights_that_cannot_be_quantised() -> None:
    for call, found in (
        (lambda: quantised.quantise_q4_0(np.zeros((2, 40))), r"shape \[2, 40\] cannot .* of 32"),
        (lambda: quantised.quantise_q4_1(np.zeros(64)), r"shape \[64\] cannot"),
        (lambda: quantised.quantise_int4(np.zeros((2, 96)), 48), "in groups of 48"),
        (lambda: quantised.quantise_fp8(np.full((1, 32), np.inf)), "infinities or NaN"),
    ):
        with pytest.raises(cd.CustomDispatchError, match=found) as caught:
            call()
        assert caught.value.expected
        assert caught.value.next_step


@each_kernel
def test_odd_sizes_in_unaligned_views(
    products: Shipped, random: Random, layout: Any, kind: str, shape: Any
) -> None:
    """Every size as that of columns and, where there may be so many, of rows of x."""
    name = f"{layout.name}_{kind}_{shape.name}"
    for size in ODD:
        rows = min(size, shape.columns)
        for batch, n, k in ((rows, 7, 64), (1, size, 96)):
            x = random.standard_normal((batch, k)).astype(DTYPES[kind])
            weights = packed(layout.name, kind, random, n, k)
            product(products, name, unaligned(x), [unaligned(each) for each in weights])
