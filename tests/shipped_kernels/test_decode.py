"""Attention of few queries with caches in pages and in 8 bits: the PTX for sm_80 on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close

from cuda_kernels.attention.decode import Decode
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.head_sizes import UP_TO
from cuda_kernels.attention.paged import paged
from custom_dispatch.errors import CallError

Random = np.random.Generator
Stored = tuple[Callable[..., tuple[Any, Any]], str, str, str]
"""Runs a kernel beside its reference; its type, layout, and the type of its cache."""
F8 = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
# Batch, heads, heads of keys, queries, keys of a cache, and its pages' size.
SIZES = (
    (1, 1, 1, 1, 1, 16),
    (2, 8, 2, 1, 100, 16),
    (2, 4, 2, 7, 65, 5),
    (1, 71, 1, 1, 300, 64),
    (3, 6, 2, 11, 257, 24),
)
HEAD, (DIM, VALUE_DIM) = UP_TO[0], (48, 62)
FORMS = {
    "paged": ("f16", "bshd", "f8E4M3FN", 16),
    "cached": ("bf16", "", "f8E5M2", 64),
    "paged without": ("bf16", "bhsd", "", 64),
}


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=[pytest.mark.thorough] * (name != "paged")) for name in FORMS],
)
def stored(request: pytest.FixtureRequest) -> Stored:
    dtype, layout, of_cache, rows = FORMS[request.param]
    form = Decode(rows, 1)
    if layout:
        kernel = paged(dtype, HEAD, form, layout=layout, stored=of_cache)
    else:
        kernel = decode_cache(dtype, HEAD, form, of_cache)
    shipped = Shipped([kernel.own])

    def both(*given: Any) -> tuple[Any, Any]:
        return shipped.both(kernel.name, *given)

    return both, dtype, layout, of_cache


def operands(
    random: Random, size: tuple[int, ...], dtype: str, layout: str, of_cache: str
) -> list[Any]:
    """All, with nonsense where a cache has no keys of a sequence."""
    batch, heads, kv_heads, queries, keys, page_size = size
    lengths = random.integers(0, keys + 1, batch).astype(np.int32)
    shape = (batch, kv_heads, keys)
    tables = []
    if layout:
        width = -(-keys // page_size)
        table = random.permutation(batch * width + 1)[: batch * width].astype(np.int32)
        table = table.reshape(batch, width)
        shape = (batch * width + 1, kv_heads, page_size)
        for sequence, length in enumerate(lengths):
            table[sequence, -(-int(length) // page_size) :] = -(1 << 30)
        tables = [table]
    kind = F8[of_cache] if of_cache else DTYPES[dtype]
    q = random.standard_normal((batch, heads, queries, DIM)).astype(DTYPES[dtype])
    k, v = (random.standard_normal((*shape, dim)).astype(kind) for dim in (DIM, VALUE_DIM))
    if layout == "bshd":
        q, k, v = (np.ascontiguousarray(each.swapaxes(1, 2)) for each in (q, k, v))
    scales = [random.uniform(0.5, 1.5, count).astype(np.float32) for count in (kv_heads,) * 2]
    return [q, k, v, *tables, lengths, 0.125, *(scales if of_cache else [])]


def test_caches_in_pages_and_in_8_bits(stored: Stored, random: Random) -> None:
    """Pages may be anywhere and of any size, and scales are those of heads; so may windows be."""
    both, dtype, layout, of_cache = stored
    for size, window in zip(SIZES, (None, 7, 0, 200, 40), strict=True):
        windows = [] if window is None else [np.array([window], np.int32)]
        got, want = both(*operands(random, size, dtype, layout, of_cache), *windows)
        assert_close(got, want, scale=3)


def test_one_scale_is_for_all_heads(stored: Stored, random: Random) -> None:
    both, dtype, layout, of_cache = stored
    if of_cache:
        *others, of_keys, of_values = operands(random, SIZES[1], dtype, layout, of_cache)
        got, want = both(*others, of_keys[:1], of_values[:1])
        assert_close(got, want, scale=3)


def test_every_float_of_8_bits(stored: Stored, random: Random) -> None:
    """The finite ones are exact; one that is NaN makes all of its column NaN, or of its row."""
    both, dtype, layout, of_cache = stored
    if not of_cache:
        return
    given = operands(random, (1, 1, 1, 1, 256, 256), dtype, layout, of_cache)
    q, k, v, *others = given
    every = np.arange(256, dtype=np.uint8).view(F8[of_cache])
    others[-4] = np.array([256], np.int32)  # of keys
    if layout:
        others[0] = np.zeros((1, 1), np.int32)
    place = (0, slice(None), 0, 3) if layout == "bshd" else (0, 0, slice(None), 3)
    for bad in (v, k):
        bad[place] = np.where(np.isfinite(every.astype(np.float32)), every, 0)
        got, want = both(q, k, v, *others)
        size = float(np.abs(want.astype(np.float64)).max())
        assert_close(got, want, scale=max(size, 3.0))
    v[place] = every
    got, _ = both(q, k, v, *others)
    assert np.isnan(got.astype(np.float32)).ravel().nonzero()[0].tolist() == [3]


def test_what_caches_of_8_bits_need_is_said(random: Random) -> None:
    kernel = paged("f16", HEAD, Decode(16, 1), stored="f8E4M3FN")
    q, k, *others = operands(random, (2, 4, 2, 1, 32, 16), "f16", "bhsd", "f8E4M3FN")
    with pytest.raises(CallError, match="requires dim % 2 == 0, which does not hold"):
        kernel(q[..., :47], k[..., :47], *others)
    scales = [np.ones(3, np.float32)] * 2
    with pytest.raises(CallError, match=r"requires \(scales - 1\) \* \(kv_heads - scales\) == 0"):
        kernel(q, k, *others[:-2], *scales)
