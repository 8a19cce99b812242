"""Attention with caches of latent vectors, as DeepSeek's models have them: the PTX for sm_80."""

from __future__ import annotations

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close

from cuda_kernels.attention.latent import COLUMNS, FORMS, declare

Random = np.random.Generator


@pytest.mark.thorough
@pytest.mark.parametrize(("dtype", "has_pages"), [("bf16", True), ("f16", False)])
def test_all_heads_share_a_latent_vector(dtype: str, has_pages: bool, random: Random) -> None:
    """Whatever the lengths are, and whatever lies behind them and in other pages."""
    kernel = declare(dtype, FORMS[-1], has_pages=has_pages)
    shipped = Shipped([kernel])
    for batch, heads, queries, width, page_size in (
        (1, 1, 1, 1, 1),
        (3, 5, 4, 3, 16),
        (2, 17, 1, 9, 5),
    ):
        keys = width * page_size
        lengths = random.integers(0, keys + 1, batch).astype(np.int32)
        q = random.standard_normal((batch, heads, queries, COLUMNS)).astype(DTYPES[dtype])
        cache = random.standard_normal((batch, keys, COLUMNS)).astype(DTYPES[dtype])
        for sequence, length in enumerate(lengths):
            cache[sequence, length:] = np.nan
        tables = []
        if has_pages:
            table = random.permutation(batch * width).reshape(batch, width).astype(np.int32)
            pages = np.empty((batch * width, page_size, COLUMNS), cache.dtype)
            pages[table.reshape(-1)] = cache.reshape(pages.shape)
            for sequence, length in enumerate(lengths):
                table[sequence, -(-int(length) // page_size) :] = 1 << 30
            tables, cache = [table], pages
        assert kernel.reference is not None
        got, _ = shipped.both(kernel.name, q, cache, *tables, lengths, 0.05)
        there = np.where(np.isnan(cache.astype(np.float32)), 0, cache).astype(cache.dtype)
        want = kernel.reference(q, there, *tables, lengths, 0.05)
        assert_close(got, want, scale=3)
