"""Attention with what is known of its mask, on the CPU: the same as with the mask alone.

From the PTX for sm_80, with smaller tiles than the declared kernels; and what CPUs run instead.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close, unaligned

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.attention.decode import Decode, decode
from cuda_kernels.attention.head_sizes import UP_TO
from cuda_kernels.attention.mask_spans import spans_of
from cuda_kernels.attention.prefill import Prefill, Tiles, WarpgroupTiles, prefill
from cuda_kernels.attention.signature import attend
from cuda_kernels.attention.simt import declare

Random = np.random.Generator
Array = np.ndarray[Any, Any]
SMALLEST = UP_TO[0]
FORMS = [pytest.param("gpu", marks=pytest.mark.thorough), "cpu"]
SMALL = Prefill(Tiles(32, 2, 1, 1), WarpgroupTiles(64, 2, 2))
TWO_PARTS = replace(SMALL, tiles=Tiles(16, 2, 2, 1))
# Of several tiles and groups of rows, odd and whole; few keys, few queries.
SIZES = ((130, 200), (64, 128), (1, 1), (70, 33), (3, 300))


def compiled(form: str, *kernels: cd.Kernel) -> Shipped:
    return Shipped([item.own if form == "gpu" else item for item in kernels])


@pytest.fixture(scope="module", params=FORMS)
def attentions(request: pytest.FixtureRequest) -> Shipped:
    return compiled(
        request.param,
        prefill("f16", 64, "bool", form=SMALL),
        prefill("f16", 64, "queries", form=SMALL),
        prefill("bf16", 64, "queries", form=TWO_PARTS),
        decode("f16", 64, "bool", Decode(16, 1)),
        declare("f32", SMALLEST, "bool"),
    )


def masks(random: Random, queries: int, keys: int) -> dict[str, Array]:
    """[queries, keys], by what they mean."""
    row, column = np.arange(queries)[:, None], np.arange(keys)
    behind = column - row - max(keys - queries, 0)
    document = np.sort(random.integers(0, 3, max(queries, keys)))
    found = {
        "causal": column <= row,
        "causal, the last queries": behind <= 0,
        "padded on the right": (column <= row) & (column < keys * 2 // 3),
        "padded on the left": (behind <= 0) & (column >= keys // 3),
        "window": (behind <= 0) & (behind > -17),
        "prefix": (column <= row) | (column < keys // 2),
        "packed": (document[:queries, None] == document[:keys]) & (column <= row),
        "all": np.ones((queries, keys), bool),
        "nothing": np.zeros((queries, keys), bool),
        "one key each": column == row * 7 % keys,
        "any": random.random((queries, keys)) < 0.5,
        "few": random.random((queries, keys)) < 0.01,
        "a hole": (column <= row) & ((column < 5) | (column > 40)),
    }
    return {name: np.broadcast_to(mask, (queries, keys)) for name, mask in found.items()}


def operands(random: Random, kind: str, size: tuple[int, ...]) -> list[Array]:
    batch, heads, kv_heads, queries, keys = size
    shapes = ((batch, heads, queries, 64), *((batch, kv_heads, keys, 64),) * 2)
    return [random.standard_normal(shape).astype(DTYPES[kind]) for shape in shapes]


def check(shipped: Shipped, name: str, *given: Any, causal: int = 0, scale: float = 0.125) -> None:
    *qkv, mask = given
    got, want = shipped.both(name, *qkv, mask, scale, causal, spans_of(mask))
    assert_close(got, want, scale=2)


def test_every_kind_of_mask(attentions: Shipped, random: Random) -> None:
    for queries, keys in SIZES:
        q, k, v = operands(random, "f16", (1, 2, 1, queries, keys))
        wide = [each.astype(np.float32) for each in (q, k, v)]
        for mask in masks(random, queries, keys).values():
            of_mask = np.ascontiguousarray(mask[None, None])
            check(attentions, "bool_masked_prefill_attention_f16_64", q, k, v, of_mask)
            if queries > 1:
                check(attentions, "bool_masked_attention_f32_up_to_64", *wide, of_mask)
            if queries <= 8:
                check(attentions, "bool_masked_decode_attention_f16_64", q, k, v, of_mask)


@pytest.mark.parametrize("scale", [0.125, -0.1])
def test_masks_of_numbers_that_hide_or_add(
    attentions: Shipped, random: Random, scale: float
) -> None:
    queries, keys = SIZES[0]
    q, k, v = operands(random, "f16", (1, 2, 2, queries, keys))
    for number, shown in enumerate(masks(random, queries, keys).values()):
        for added in (np.zeros(shown.shape), random.standard_normal(shown.shape)):
            # Rows with nothing else than the lowest number are the mean of all: below.
            lowest = np.where(shown.any(-1, keepdims=True) & (number % 2 == 0), -65504.0, -np.inf)
            mask = np.where(shown, added, lowest).astype(np.float16)[None, None]
            check(attentions, "masked_prefill_attention_f16_64", q, k, v, mask, scale=scale)


def test_a_query_whose_keys_all_have_the_lowest_number_sees_their_mean(
    attentions: Shipped, random: Random
) -> None:
    """As in PyTorch: models hide keys by that number, and the rows of padding have nothing else."""
    q, k, v = operands(random, "bf16", (1, 2, 2, 70, 33))
    lowest = np.float32(-3.3895314e38).astype(DTYPES["bf16"])
    mask = np.where(np.arange(70)[:, None] % 2, lowest, np.float32(0)) * np.ones((1, 1, 70, 33))
    mask = mask.astype(DTYPES["bf16"])
    name = "masked_prefill_attention_bf16_64"
    got, _ = attentions.both(name, q, k, v, mask, 0.125, 0, spans_of(mask))
    mean = np.broadcast_to(v.astype(np.float32).mean(2, keepdims=True), (1, 2, 35, 64))
    np.testing.assert_allclose(np.float32(got)[:, :, 1::2], mean, rtol=2e-2, atol=2e-3)


def test_masks_of_each_sequence_and_head_or_of_all(attentions: Shipped, random: Random) -> None:
    """And of each query or of all; with spans and without."""
    for name, queries in (("prefill_attention_f16_64", 70), ("decode_attention_f16_64", 3)):
        size = (2, 4, 2, queries, 90)
        q, k, v = operands(random, "f16", size)
        for sizes in ((1, 1, queries), (2, 4, queries), (1, 4, 1), (2, 1, 1), (2, 4, 1)):
            mask = random.random((*sizes, 90)) < 0.5
            for causal in (0, 1):
                check(attentions, f"bool_masked_{name}", q, k, v, mask, causal=causal)
            got, want = attentions.both(f"bool_masked_{name}", q, k, v, mask, 0.1, 0)
            assert_close(got, want, scale=2)


def test_keys_that_nobody_sees_may_be_anything(attentions: Shipped, random: Random) -> None:
    q, k, v = operands(random, "f16", (1, 1, 1, 70, 200))
    mask = np.zeros((1, 1, 70, 200), bool)
    mask[..., 64:128] = True
    k[:, :, :64], v[:, :, 128:] = np.nan, np.inf
    name = "bool_masked_prefill_attention_f16_64"
    got, _ = attentions.both(name, q, k, v, mask, 0.1, 0, spans_of(mask))
    clean = [each[:, :, 64:128] for each in (k, v)]
    assert_close(got, attend(q, *clean, None, 0.1, False), scale=2)


@pytest.mark.parametrize(
    "kind",
    ["bool", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("f32", "f16", "bf16"))],
)
def test_spans_are_those_of_their_reference(random: Random, kind: str) -> None:
    kernel = getattr(attention, f"mask_spans_{kind}")
    for queries, keys in (*SIZES, (65, 700), (2, 0)):
        for shown in masks(random, queries, keys).values() if keys else [np.ones((2, 0), bool)]:
            mask = np.stack([shown, shown[::-1]])[:, None]
            if kind != "bool":
                hidden = random.choice([-np.inf, -1e9, -1e4, np.finfo(np.float32).min])
                hidden = max(hidden, -65504.0) if kind == "f16" and np.isfinite(hidden) else hidden
                numbers = np.where(mask, random.integers(0, 2), hidden)
                numbers[0, 0, 0] = hidden
                mask = numbers.astype(DTYPES[kind])
            for given in (mask, unaligned(mask)) if queries == 3 else (mask,):
                np.testing.assert_array_equal(np.asarray(kernel(given)), spans_of(mask))
