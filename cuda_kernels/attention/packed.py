"""Attention of sequences of different lengths in one batch, without padding.

Queries, keys and values of all sequences are behind each other, [rows, heads, dim], with offsets
that say where each begins, as `cu_seqlens` of FlashAttention's variable-length functions. A block
has a tile of queries of one sequence, in the sources of `prefill.py` and `simt.py`.
"""

from __future__ import annotations

from functools import partial

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.head_sizes import (
    UpTo,
    columns_of,
    name_of,
    requirements,
    sizes_of,
    template_of,
)
from cuda_kernels.attention.names import PACKED
from cuda_kernels.attention.prefill import PREFILLS, BlockTiles
from cuda_kernels.attention.signature import (
    CPU_QUERIES,
    Array,
    attend,
    head_scalars,
    heads,
    keys,
    kv_heads,
    packed_on_cpu,
    queries,
)
from cuda_kernels.attention.simt import THREADS, TILE_KEYS_UP_TO, TILE_QUERIES, shared_bytes
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Expr

offsets = cd.dim("offsets")

HOPPER: dict[UpTo, BlockTiles] = {
    UpTo(64, 64): BlockTiles(64, 3),
    UpTo(128, 128): BlockTiles(96, 2),
    UpTo(192, 128): BlockTiles(64, 2),
    UpTo(256, 256): BlockTiles(32, 2),
}
"""Tiles on sm_90a, by the largest sizes of a head."""


def _grid(of_queries: int) -> Expr:
    """For each head as many blocks as sequences, and rows behind the last, have tiles at most."""
    return (queries // of_queries + offsets) * heads


def packed(dtype: str, head: UpTo) -> cd.Kernel:
    """The kernel for a type and the largest sizes of a head.

    Query i of a sequence of n queries and m keys is at key i + m - n, so the last query is at the
    last key. It sees `left` keys before that one and `right` behind it, all where a number is
    negative: -1 and 0 are a causal mask, 511 and 0 one with a window of 512. Rows outside of all
    sequences get zeros, and so does a query that sees no key.
    """
    dim, value_dim = sizes_of(head)
    types = f"{C_TYPES[dtype]}, {template_of(head)}"
    implementations = {"cpu": packed_on_cpu(dtype, head, _grid(CPU_QUERIES))}
    if dtype == "f32":
        columns, _ = columns_of(head)
        tile_keys, of_block = TILE_KEYS_UP_TO[columns], TILE_QUERIES
        source, threads, shared = "attention.cu", THREADS, shared_bytes(columns, tile_keys)
        entry = f"packed_attention<{types}, {tile_keys}>"
    else:
        tiles = PREFILLS[head][-1].tiles
        source, threads, of_block = "attention_sm80.cu", 32 * tiles.warps, tiles.queries
        shared = tiles.shared_bytes(head)
        numbers = f"{tiles.keys}, {tiles.warps}, {tiles.parts}, {tiles.resident}"
        entry = f"packed_attention_sm80<{types}, {numbers}>"
        blocks = HOPPER[head]
        implementations["cuda:sm_90a"] = cd.Implementation(
            source="attention_blocks_sm90a.cu",
            entry=f"cuda_kernels::packed_attention_blocks<{types}, {blocks.numbers}>",
            block=128,
            grid=_grid(64),
            dynamic_shared_memory=blocks.shared_bytes(head),
        )
    return cd.Kernel(
        f"packed_attention_{dtype}_{name_of(head)}",
        source=source,
        entry=f"cuda_kernels::{entry}",
        operands=[
            cd.In("q", dtype, [queries, heads, dim]),
            cd.In("k", dtype, [keys, kv_heads, dim]),
            cd.In("v", dtype, [keys, kv_heads, value_dim]),
            cd.In("query_offsets", "i32", [offsets]),
            cd.In("key_offsets", "i32", [offsets]),
            cd.Out("out", dtype, [queries, heads, value_dim]),
            cd.Scalar("scale", "f32"),
            cd.Scalar("left", "i32"),
            cd.Scalar("right", "i32"),
            cd.Scalar("sequences", "i32", offsets - 1),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("kv_heads", "i32", kv_heads),
            cd.Scalar("queries", "i32", queries),
            cd.Scalar("keys", "i32", keys),
            *head_scalars(head),
        ],
        block=threads,
        grid=_grid(of_block),
        dynamic_shared_memory=shared,
        requires=[offsets >= 1, heads % kv_heads == 0, *requirements(head)],
        reference=attend_packed,
        # Of sequences of equal lengths, without a window.
        flops=2 * (dim + value_dim) * heads * queries * cd.ceildiv(keys, offsets),
        implementations=implementations,
    )


def attend_packed(
    q: Array,
    k: Array,
    v: Array,
    query_offsets: Array,
    key_offsets: Array,
    scale: float,
    left: int,
    right: int,
) -> Array:
    """`attend` of each sequence by itself; zeros in rows that none has."""
    found: Array = numpy.zeros((*q.shape[:2], v.shape[2]), q.dtype)
    ends = zip(query_offsets[1:], key_offsets[1:], strict=True)
    for number, (last_query, last_key) in enumerate(ends):
        of_queries = slice(query_offsets[number], last_query)
        of_keys = slice(key_offsets[number], last_key)
        own = [each.swapaxes(0, 1)[None] for each in (q[of_queries], k[of_keys], v[of_keys])]
        count, known = own[0].shape[2], own[1].shape[2]
        at = numpy.arange(count)[:, None] + known - count
        key = numpy.arange(known)
        seen = numpy.ones((count, known), numpy.bool_)
        if left >= 0:
            seen &= key >= at - left
        if right >= 0:
            seen &= key <= at + right
        of_sequence = attend(own[0], own[1], own[2], seen[None, None], scale, False)
        found[of_queries] = of_sequence[0].swapaxes(0, 1)
    return found


def choose(dtype: str) -> cd.Choice:
    """The kernels for heads of any sizes up to 256, for smaller ones first."""
    return cd.Choice(f"packed_attention_{dtype}", [packed(dtype, head) for head in HOPPER])


__getattr__, __dir__ = lazily(
    globals(), {name: partial(choose, dtype) for name, dtype in PACKED.items()}
)
