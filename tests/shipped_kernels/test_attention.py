"""Attention against its reference and PyTorch, on the CPU.

What GPUs run, with smaller tiles, which are compiled in less time; and what CPUs do.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, ODD, Shipped, assert_close, spoiled, unaligned

from cuda_kernels import attention
from cuda_kernels.attention import flat as flat_attention
from cuda_kernels.attention.prefill import Prefill, Tiles, WarpgroupTiles, prefill
from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import grid_for
from custom_dispatch.kernel.geometry import MAX_GRID

Random = np.random.Generator
DIM = 32
SMALL = Prefill(Tiles(16, 2, 2, 1), WarpgroupTiles(64, 2, 2))
# Batch, heads, heads of keys, queries, keys: alone, grouped, whole tiles, few keys, many.
SIZES = (
    (1, 1, 1, 1, 1),
    (2, 4, 2, 70, 100),
    (1, 3, 1, 64, 64),
    (1, 2, 2, 130, 7),
    (1, 1, 1, 5, 200),
)


TENSOR_CORES = pytest.param("gpu", marks=pytest.mark.thorough)
"""Their code takes long to compile for CPUs: test_tensor_core_attention.py has it in quick runs."""


@pytest.fixture(scope="module", params=["gpu", "cpu"])
def attentions(request: pytest.FixtureRequest) -> Shipped:
    kernel = attention.declare("f32", DIM, tile_keys=32)
    return Shipped([kernel.own if request.param == "gpu" else kernel])


@pytest.fixture(scope="module", params=[TENSOR_CORES, "cpu"])
def bool_masked(request: pytest.FixtureRequest) -> Shipped:
    kernel = prefill("bf16", DIM, "bool", form=SMALL)
    return Shipped([kernel.own if request.param == "gpu" else kernel])


@pytest.fixture(scope="module", params=[TENSOR_CORES, "cpu"])
def masked(request: pytest.FixtureRequest) -> Shipped:
    kernel = prefill("f16", DIM, "queries", form=SMALL)
    return Shipped([kernel.own if request.param == "gpu" else kernel])


def operands(random: Random, kind: str, size: tuple[int, ...]) -> list[Any]:
    batch, heads, kv_heads, queries, keys = size
    shapes = ((batch, heads, queries, DIM), *((batch, kv_heads, keys, DIM),) * 2)
    return [random.standard_normal(shape).astype(DTYPES[kind]) for shape in shapes]


def mask(random: Random, kind: str, *shape: int) -> Any:
    """Numbers of which every third is -inf: some queries of short masks see nothing."""
    hidden = random.random(shape) < 1 / 3
    return np.where(hidden, -np.inf, random.standard_normal(shape)).astype(DTYPES[kind])


@pytest.mark.parametrize("causal", [0, 1])
def test_without_a_mask_and_with_one_of_the_keys(
    attentions: Shipped, random: Random, causal: int
) -> None:
    for size in SIZES:
        q, k, v = operands(random, "f32", size)
        batch, *_, keys = size
        none = np.zeros((batch, 1, 1, 0), np.float32)
        for added in (none, mask(random, "f32", batch, 1, 1, keys)):
            attentions.check("attention_f32_32", q, k, v, added, DIM**-0.5, causal)


@pytest.mark.parametrize("causal", [0, 1])
def test_with_a_mask_of_every_query(masked: Shipped, random: Random, causal: int) -> None:
    for size in SIZES:
        q, k, v = operands(random, "f16", size)
        batch, *_, queries, keys = size
        added = mask(random, "f16", batch, 1, queries, keys)
        masked.check("masked_prefill_attention_f16_32", q, k, v, added, 0.3, causal, scale=2)


@pytest.mark.parametrize("causal", [0, 1])
def test_with_a_mask_of_bools(bool_masked: Shipped, random: Random, causal: int) -> None:
    """Some queries see nothing."""
    for size in SIZES:
        q, k, v = operands(random, "bf16", size)
        batch, *_, queries, keys = size
        seen = random.random((batch, 1, queries, keys)) < 2 / 3
        name = "bool_masked_prefill_attention_bf16_32"
        bool_masked.check(name, q, k, v, seen, 0.3, causal, scale=2)


def test_it_is_pytorchs(masked: Shipped, random: Random) -> None:
    """Also where a query sees no key at all, which gives zeros."""
    torch = pytest.importorskip("torch")
    q, k, v = operands(random, "f16", (2, 4, 2, 70, 100))
    added = mask(random, "f16", 2, 1, 70, 100)
    added[0, 0, 3] = -np.inf
    got, _ = masked.both("masked_prefill_attention_f16_32", q, k, v, added, 0.2, 0)
    want = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(each).float() for each in (q, k, v, added)), scale=0.2, enable_gqa=True
    )
    assert_close(got, want.half().numpy(), scale=2)
    assert not got[0, :, 3].any()


def test_scores_whose_exponentials_would_overflow(attentions: Shipped, random: Random) -> None:
    q, k, v = operands(random, "f32", (1, 1, 1, 70, 100))
    none = np.zeros((1, 1, 1, 0), np.float32)
    attentions.check("attention_f32_32", q * 30, k * 30, v, none, 1.0, 0, scale=100)


def test_a_nan_in_a_key_reaches_the_queries_that_see_it(
    attentions: Shipped, random: Random
) -> None:
    q, k, v = operands(random, "f32", (1, 1, 1, 70, 100))
    k[0, 0, 40, 5] = np.nan
    none = np.zeros((1, 1, 1, 0), np.float32)
    got, want = attentions.both("attention_f32_32", q, k, v, none, 0.1, 1)
    assert np.isnan(got).all(axis=-1)[0, 0].tolist() == [query >= 40 for query in range(70)]
    assert_close(got, want)


def test_sequences_and_heads_may_be_more_than_a_grid_has_in_y_and_z() -> None:
    """IREE's own attention takes any number: so must what replaces it."""
    sizes = {"queries": 49, "keys": 49, "heads": 16, "kv_heads": 16}
    flat = flat_attention.flat_attention_f32_32, flat_attention.flat_attention_f16_64
    alone = attention.attention_f32_32, prefill("f16", 64)
    for kernel, batch in itertools.product((*flat, *alone), (1, 1 << 20)):
        for form in kernel.forms:
            grid = grid_for(form, sizes | {"batch": batch})
            assert all(size <= most for size, most in zip(grid, MAX_GRID, strict=True))


def test_heads_that_cannot_be_grouped_are_refused(random: Random) -> None:
    q, k, v = operands(random, "f32", (1, 3, 2, 4, 4))
    with pytest.raises(CallError, match="requires heads % kv_heads == 0, which does not hold"):
        attention.attention_f32_32(q, k, v, None, 1.0, False)


def test_odd_sizes_in_unaligned_views_with_nan_and_infinity(
    attentions: Shipped, random: Random
) -> None:
    none = np.zeros((1, 1, 1, 0), np.float32)
    for size in ODD:
        for queries, keys in ((size, 7), (7, size)):
            q, k, v = map(unaligned, operands(random, "f32", (1, 1, 1, queries, keys)))
            for causal in (0, 1):
                attentions.check("attention_f32_32", q, k, v, none, 0.2, causal)
            bad = [unaligned(spoiled(random, each)) for each in (q, k, v)]
            for turn in range(3):
                given = [*(q, k, v)[:turn], bad[turn], *(q, k, v)[turn + 1 :]]
                attentions.check("attention_f32_32", *given, none, 0.2, 0)
