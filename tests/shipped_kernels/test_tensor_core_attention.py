"""Attention on tensor cores against its reference, on the CPU, from the PTX for sm_80.

Those of many queries have smaller tiles than the declared kernels: they are compiled in less time.
And what CPUs run in their place.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, ODD, Shipped, assert_close, spoiled, unaligned

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.attention import decode as decoding
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.prefill import Prefill, Tiles, WarpgroupTiles, prefill
from cuda_kernels.attention.signature import attend_cache

Random = np.random.Generator
# Batch, heads, heads of keys, queries, keys: alone, grouped, whole tiles, few keys, many, none.
SIZES = (
    (1, 1, 1, 1, 1),
    (2, 4, 2, 70, 100),
    (1, 3, 1, 64, 64),
    (1, 2, 2, 65, 7),
    (1, 1, 1, 5, 200),
)
FEW = (
    (1, 1, 1, 1, 1),
    (2, 8, 2, 1, 100),
    (1, 16, 1, 1, 63),
    (2, 4, 2, 7, 65),
    (1, 2, 1, 3, 300),
    (1, 23, 1, 2, 130),  # three tiles of rows
)
SMALL = Prefill(Tiles(16, 2, 1, 1), WarpgroupTiles(64, 2, 2))
TWO_PARTS = replace(SMALL, tiles=Tiles(16, 2, 2, 1))


CHOSEN = {
    (16, 32, 8, 1): "decode_attention_bf16_128_r16_c2",
    (64, 32, 8, 4): "decode_attention_bf16_128_r16_c1",
    (1, 32, 8, 1): "decode_attention_bf16_128_r16_c8",
    (1, 71, 1, 1): "decode_attention_bf16_128_r16_c8",
    (3, 71, 1, 1): "decode_attention_bf16_128_r64_c8",
    (64, 64, 8, 4): "decode_attention_bf16_128_r64_c1",
    (64, 32, 4, 16): "decode_attention_bf16_128_r128_c1",
    (1, 32, 8, 256): "decode_attention_bf16_128_r128_c2",
    (4, 32, 8, 256): "prefill_attention_bf16_128_t128x128_s2_sm80_t128x64",
}
"""By batch, heads, heads of keys and queries."""
FORMS = ["tensor cores", "cpu"]
FORMS_BUT_ONE = [pytest.param(FORMS[0], marks=pytest.mark.thorough), FORMS[1]]


def compiled(form: str, *kernels: cd.Kernel) -> Shipped:
    return Shipped([item.own if form == FORMS[0] else item for item in kernels])


@pytest.fixture(scope="module", params=FORMS)
def attentions(request: pytest.FixtureRequest) -> Shipped:
    return compiled(request.param, prefill("f16", 64, form=SMALL), decode("f16", 64))


@pytest.fixture(scope="module", params=FORMS_BUT_ONE)
def bool_masked(request: pytest.FixtureRequest) -> Shipped:
    return compiled(request.param, prefill("bf16", 128, "bool", form=TWO_PARTS))


@pytest.fixture(scope="module", params=FORMS_BUT_ONE)
def by_position(request: pytest.FixtureRequest) -> Shipped:
    layouts = ("by_position", "bshd")
    many = [prefill("f16", 64, layout=layout, form=SMALL) for layout in layouts]
    return compiled(request.param, *many, *(decode("f16", 64, layout=each) for each in layouts))


@pytest.fixture(scope="module", params=FORMS_BUT_ONE)
def cached(request: pytest.FixtureRequest) -> Shipped:
    return compiled(request.param, decode_cache("bf16", 64, decoding.Decode(64, 1)))


def decode(dtype: str, dim: int, *, layout: str = "bhsd") -> cd.Kernel:
    return decoding.decode(dtype, dim, "keys", decoding.Decode(16, 1), layout=layout)


def operands(random: Random, kind: str, dim: int, size: tuple[int, ...]) -> list[Any]:
    batch, heads, kv_heads, queries, keys = size
    shapes = ((batch, heads, queries, dim), *((batch, kv_heads, keys, dim),) * 2)
    return [random.standard_normal(shape).astype(DTYPES[kind]) for shape in shapes]


def mask(random: Random, kind: str, *shape: int) -> Any:
    """Numbers of which every third is -inf: some queries of short masks see nothing."""
    hidden = random.random(shape) < 1 / 3
    return np.where(hidden, -np.inf, random.standard_normal(shape)).astype(DTYPES[kind])


def check(shipped: Shipped, name: str, *arguments: Any) -> None:
    """Weights are rounded to 16 bits, too, so errors are relative to the values."""
    got, want = shipped.both(name, *arguments)
    values = arguments[2].astype(np.float64)
    finite = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    assert_close(got, want, scale=max(1.0, finite / 2))


@pytest.mark.parametrize("causal", [0, 1])
def test_without_a_mask_and_with_one_of_the_keys(
    attentions: Shipped, random: Random, causal: int
) -> None:
    for name, sizes in (("prefill_attention_f16_64", SIZES), ("decode_attention_f16_64", FEW)):
        for size in sizes:
            q, k, v = operands(random, "f16", 64, size)
            batch, *_, keys = size
            none = np.zeros((batch, 1, 1, 0), np.float16)
            for added in (none, mask(random, "f16", batch, 1, 1, keys)):
                check(attentions, name, q, k, v, added, 0.125, causal)


def test_results_by_position(by_position: Shipped, random: Random) -> None:
    name = "attention_by_position_f16_64"
    for which, sizes in (("prefill", SIZES[1:4]), ("decode", FEW[1:4])):
        for size in sizes:
            q, k, v = operands(random, "f16", 64, size)
            none = np.zeros((size[0], 1, 1, 0), np.float16)
            check(by_position, f"{which}_{name}", q, k, v, none, 0.125, 1)


def test_operands_by_position(by_position: Shipped, random: Random) -> None:
    for which, sizes in (("prefill", SIZES), ("decode", FEW)):
        for size in sizes:
            given = operands(random, "f16", 64, size)
            q, k, v = (np.ascontiguousarray(each.swapaxes(1, 2)) for each in given)
            none = np.zeros((size[0], 1, 1, 0), np.float16)
            check(by_position, f"{which}_attention_bshd_f16_64", q, k, v, none, 0.125, 1)


@pytest.mark.parametrize("causal", [0, 1])
def test_with_a_mask_of_bools(bool_masked: Shipped, random: Random, causal: int) -> None:
    for size in SIZES:
        q, k, v = operands(random, "bf16", 128, size)
        batch, *_, queries, keys = size
        seen = random.random((batch, 1, queries, keys)) < 2 / 3
        check(bool_masked, "bool_masked_prefill_attention_bf16_128", q, k, v, seen, 0.1, causal)


def test_a_cache_is_read_as_far_as_it_is_filled(cached: Shipped, random: Random) -> None:
    """What lies behind it may be anything; lengths outside of the cache are its ends."""
    for batch, heads, kv_heads, queries, keys in (
        (4, 8, 2, 1, 100),
        (4, 4, 4, 3, 65),
        (4, 4, 1, 18, 200),
    ):
        q, k, v = operands(random, "bf16", 64, (batch, heads, kv_heads, queries, keys))
        lengths = np.array([keys, queries, 17, 0], np.int32)
        for sequence, length in enumerate(lengths):
            k[sequence, :, length:] = np.nan
            v[sequence, :, length:] = np.inf
        got, _ = cached.both("decode_cache_bf16_64", q, k, v, lengths, 0.125)
        clean = [np.nan_to_num(each.astype(np.float32), posinf=0.0) for each in (k, v)]
        kinds = [each.astype(DTYPES["bf16"]) for each in clean]
        want = attend_cache(q, *kinds, lengths, 0.125)
        assert_close(got, want, scale=2)
        assert not got[3].any()
        lengths[0] += 9
        over, _ = cached.both("decode_cache_bf16_64", q, k, v, lengths, 0.125)
        np.testing.assert_array_equal(over, got)


@pytest.mark.parametrize("scale", [-0.2, 0.0, 3.0])
def test_any_scale(attentions: Shipped, random: Random, scale: float) -> None:
    """Below zero the largest product has the smallest weight; large ones leave one key."""
    for name, size in (
        ("prefill_attention_f16_64", (1, 2, 1, 33, 70)),
        ("decode_attention_f16_64", (1, 2, 1, 5, 70)),
    ):
        q, k, v = operands(random, "f16", 64, size)
        none = np.zeros((1, 1, 1, 0), np.float16)
        check(attentions, name, q, k, v, none, scale, 1)


def test_scores_whose_exponentials_would_overflow(attentions: Shipped, random: Random) -> None:
    """And rise from tile to tile, by more and by less than the weights' base may lag."""
    for name, size in (
        ("prefill_attention_f16_64", (1, 1, 1, 70, 100)),
        ("decode_attention_f16_64", (1, 1, 1, 9, 100)),
    ):
        q, k, v = operands(random, "f16", 64, size)
        none = np.zeros((1, 1, 1, 0), np.float16)
        rising = np.arange(100, dtype=np.float16)[None, None, :, None]
        for factor in (1, 4, 16):
            q[:] = np.abs(q)
            check(attentions, name, q, np.abs(k) * rising / 100 * factor, v, none, 1.0, 0)


def test_nan_and_infinity_in_a_key_reach_the_queries_that_see_it(
    attentions: Shipped, random: Random
) -> None:
    for value in (np.nan, np.inf):
        q, k, v = operands(random, "f16", 64, (1, 1, 1, 70, 100))
        k[0, 0, 40, 5] = value
        none = np.zeros((1, 1, 1, 0), np.float16)
        q[..., 5] = 1.0
        got, want = attentions.both("prefill_attention_f16_64", q, k, v, none, 0.1, 1)
        assert np.isnan(got).all(axis=-1)[0, 0].tolist() == [query >= 40 for query in range(70)]
        assert_close(got, want, scale=2)
        few, want = attentions.both("decode_attention_f16_64", q[:, :, :9], k, v, none, 0.1, 0)
        assert np.isnan(few).all()
        assert np.isnan(want).all()


def test_it_is_pytorchs(bool_masked: Shipped, random: Random) -> None:
    """Also where a query sees no key at all, which gives zeros."""
    torch = pytest.importorskip("torch")
    q, k, v = operands(random, "bf16", 128, (2, 4, 2, 70, 100))
    seen = random.random((2, 1, 70, 100)) < 0.7
    seen[0, 0, 3] = False
    got, _ = bool_masked.both("bool_masked_prefill_attention_bf16_128", q, k, v, seen, 0.2, 0)
    want = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(each.astype(np.float32)) for each in (q, k, v)),
        torch.from_numpy(seen),
        scale=0.2,
        enable_gqa=True,
    )
    assert_close(got, want.numpy().astype(DTYPES["bf16"]), scale=2)
    assert not got[0, :, 3].any()


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_the_choice_is_by_size(target: str) -> None:
    """Few queries go to kernels that divide the keys, whose tiles have as many rows as needed."""
    for (batch, heads, kv_heads, queries), name in CHOSEN.items():
        sizes = {"batch": batch, "heads": heads, "kv_heads": kv_heads, "queries": queries}
        which = attention.attention_bf16_128.which(target=target, keys=4096, **sizes)
        assert which.kernel.startswith(name), sizes
        cached = attention.cached_attention_f16_64.which(target=target, keys=4096, **sizes)
        assert cached.kernel.startswith("decode_cache_f16_64_r")


def test_the_tiles_are_by_size() -> None:
    """On sm_90a: small blocks up to 64 unless there are several rounds; few tiles of 128."""

    def taken(choice: cd.Choice, heads: int, queries: int, keys: int, **of_head: int) -> str:
        sizes = {"batch": 1, "heads": heads, "kv_heads": heads, "queries": queries, "keys": keys}
        name = choice.which(target="cuda:sm_90a", **sizes, **of_head).kernel
        (tile,) = re.findall(r"_([bt]\d+x\d+)_", name)
        return tile

    assert taken(attention.attention_f16_32, 96, 197, 197) == "b64x64"
    assert taken(attention.attention_f16_32, 512, 4096, 4096) == "b64x128"
    assert taken(attention.attention_bf16_64, 96, 197, 197) == "b64x64"
    assert taken(attention.attention_bf16_64, 96, 900, 77) == "b64x80"
    assert taken(attention.attention_bf16_64, 8, 4096, 4096) == "b64x128"
    assert taken(attention.attention_bf16_64, 128, 900, 900) == "b64x128"
    assert taken(attention.attention_bf16_64, 32, 4096, 4096) == "t192x128"
    assert taken(attention.attention_bf16_128, 16, 333, 333) == "b64x64"
    assert taken(attention.attention_bf16_128, 32, 2048, 77) == "b64x80"
    assert taken(attention.attention_bf16_128, 32, 4096, 4096) == "t128x128"
    assert taken(attention.attention_f16, 24, 700, 700, dim=40, value_dim=40) == "b64x64"
    assert taken(attention.attention_f16, 24, 2000, 2000, dim=40, value_dim=40) == "t192x128"
    assert taken(attention.attention_f16, 24, 4000, 300, dim=80, value_dim=80) == "t192x64"
    assert taken(attention.attention_f16, 8, 600, 600, dim=80, value_dim=80) == "t128x128"
    assert taken(attention.attention_f16, 8, 900, 300, dim=192, value_dim=128) == "t128x64"


def test_odd_sizes_in_unaligned_views_with_nan_and_infinity(
    attentions: Shipped, random: Random
) -> None:
    none = np.zeros((1, 1, 1, 0), np.float16)
    for size in ODD:
        few = min(size, 8)
        for name, queries, keys in (
            ("prefill_attention_f16_64", size, 7),
            ("prefill_attention_f16_64", 7, size),
            ("decode_attention_f16_64", few, size),
        ):
            q, k, v = map(unaligned, operands(random, "f16", 64, (1, 1, 1, queries, keys)))
            check(attentions, name, q, k, v, none, 0.125, 1)
            bad = [unaligned(spoiled(random, each)) for each in (q, k, v)]
            for turn in range(3):
                given = [*(q, k, v)[:turn], bad[turn], *(q, k, v)[turn + 1 :]]
                check(attentions, name, *given, none, 0.125, 0)
