"""Attention of few queries with a KV cache in pages: declarations for `attention_decode.cu`.

A page holds the keys, or the values, of some positions of one sequence, and a row of a table says
which pages a sequence has, as vLLM, FlashInfer and others keep them.
"""

from __future__ import annotations

from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.decode import Decode, launches
from cuda_kernels.attention.decode_cache import (
    STORED_TYPES,
    cache_name,
    last_of_template,
    last_operands,
    stored_requirements,
)
from cuda_kernels.attention.head_sizes import Head, requirements, sizes_of
from cuda_kernels.attention.names import LAYOUTS
from cuda_kernels.attention.signature import (
    Array,
    attend_cache,
    batch,
    head_scalars,
    heads,
    kv_heads,
    queries,
)
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Expr

pages, page_size, table_width = cd.dim("pages"), cd.dim("page_size"), cd.dim("table_width")
CACHE = page_size * table_width
"""The keys that a sequence has at most."""


def paged(
    dtype: str, head: Head, form: Decode, *, layout: str = "bhsd", stored: str = ""
) -> cd.Kernel:
    """The kernel for a cache in pages, of which sequence b has `lengths[b]` keys.

    The queries are the last of the keys: each sees the keys up to its own, as many as `window`
    [1] says if it is there and not 0. Entries of the table behind a sequence's last page may be
    anything.

    Parameters
    ----------
    layout
        "bhsd": q and the result are [batch, heads, queries, dim], caches [pages, kv_heads,
        page_size, dim]; "bshd": with the last two dims but one in turn.
    stored
        As of `decode.decode_cache`.
    """
    dim, value_dim = sizes_of(head)

    def placed(first: Expr, of_heads: Expr, rows: Expr, size: Expr | int) -> list[Expr | int]:
        return [first, *((of_heads, rows) if layout == "bhsd" else (rows, of_heads)), size]

    types = f"{C_TYPES[dtype]}, {STORED_TYPES.get(stored, C_TYPES[dtype])}"
    behind, last = f", {LAYOUTS.index(layout)}", last_of_template(stored)
    which = "paged_decode" if layout == "bhsd" else f"paged_decode_{layout}"
    return cd.Kernel(
        cache_name(which, dtype, stored, head, form),
        operands=[
            cd.In("q", dtype, placed(batch, heads, queries, dim)),
            cd.In("k", stored or dtype, placed(pages, kv_heads, page_size, dim)),
            cd.In("v", stored or dtype, placed(pages, kv_heads, page_size, value_dim)),
            cd.In("table", "i32", [batch, table_width]),
            cd.In("lengths", "i32", [batch]),
            cd.Out("out", dtype, placed(batch, heads, queries, value_dim)),
            cd.Scalar("scale", "f32"),
            cd.Scalar("batch", "i32", batch),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("kv_heads", "i32", kv_heads),
            cd.Scalar("queries", "i32", queries),
            cd.Scalar("pages", "i32", pages),
            cd.Scalar("page_size", "i32", page_size),
            cd.Scalar("table_width", "i32", table_width),
            *head_scalars(head),
            form.scratch(head, CACHE),
            *last_operands(stored),
        ],
        requires=[
            heads % kv_heads == 0,
            pages >= 1,
            page_size >= 1,
            *requirements(head),
            *stored_requirements(head, stored),
        ],
        reference=_attend_pages if layout == "bhsd" else _attend_pages_bshd,
        flops=2 * (dim + value_dim) * batch * heads * queries * CACHE,
        **launches(
            "paged_attention",
            types,
            head,
            form,
            behind=behind,
            last=last,
            cache=CACHE,
            stored=stored,
        ),
    )


def _attend_pages(q: Array, k: Array, v: Array, table: Array, *given: Any) -> Array:
    """`attend_cache` with the pages of each sequence behind each other."""

    def gathered(x: Array) -> Array:
        of_sequences = x[numpy.clip(table, 0, len(x) - 1)]  # [batch, table_width, kv_heads, ..]
        count, width, of_heads, rows, size = of_sequences.shape
        found: Array = of_sequences.swapaxes(1, 2).reshape(count, of_heads, width * rows, size)
        return found

    return attend_cache(q, gathered(k), gathered(v), *given)


def _attend_pages_bshd(q: Array, k: Array, v: Array, *given: Any) -> Array:
    return _attend_pages(*(each.swapaxes(1, 2) for each in (q, k, v)), *given).swapaxes(1, 2)
