"""Attention forward with online softmax: the declarations for `attention.cu`.

`attention_{dtype}_{dim}` may take a mask of the keys, [batch, 1, 1, keys], such as that of padded
sentences; `masked_attention_{dtype}_{dim}` takes one for each query, [batch, 1, queries, keys], and
`bool_masked_attention_{dtype}_{dim}` the same of bools, as PyTorch does: True where a key is seen.
"""

from __future__ import annotations

from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.rows import C_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

THREADS, TILE_QUERIES = 128, 64
"""As in `attention.cu`: threads of a block, and queries that it computes."""
TILE_KEYS = {32: 64, 64: 64, 128: 64}
"""Keys of a tile, by the size of a head: two blocks lie in an H100's shared memory, and, but for
heads of 128, in an A100's."""


def _attention(
    q: Array, k: Array, v: Array, mask: Array | None, scale: float, causal: bool
) -> Array:
    shared = numpy.arange(q.shape[1]) * k.shape[1] // max(q.shape[1], 1)  # each head's keys
    keys, values = (each.astype(numpy.float64)[:, shared] for each in (k, v))
    scores = q.astype(numpy.float64) @ keys.swapaxes(-1, -2) * scale
    if causal:
        later = numpy.arange(scores.shape[-1]) > numpy.arange(scores.shape[-2])[:, None]
        scores[..., later] = -numpy.inf
    if mask is not None and mask.size:
        is_bool = mask.dtype == numpy.bool_
        added = numpy.where(mask, 0.0, -numpy.inf) if is_bool else mask.astype(numpy.float64)
        scores = scores + added
    largest = scores.max(axis=-1, keepdims=True, initial=-numpy.inf)
    weights = numpy.exp(scores - numpy.where(largest == -numpy.inf, 0.0, largest))
    sums = weights.sum(axis=-1, keepdims=True)
    result: Array = (weights @ values / numpy.where(sums == 0.0, 1.0, sums)).astype(q.dtype)
    return result


batch, heads, kv_heads = cd.dim("batch"), cd.dim("heads"), cd.dim("kv_heads")
queries, keys = cd.dim("queries"), cd.dim("keys")


def shared_bytes(dim: int, tile_keys: int) -> int:
    """Tiles of queries and of keys, and the weights; rows lie 4 elements further apart."""
    return 4 * ((TILE_QUERIES + tile_keys) * (dim + 4) + TILE_QUERIES * (tile_keys + 4))


def declare(dtype: str, dim: int, mask: str = "keys", *, tile_keys: int | None = None) -> cd.Kernel:
    """The kernel for an element type, a head's size (32, 64 or 128) and a form of mask.

    Parameters
    ----------
    mask
        "keys", one row of numbers for all queries, or none; "queries", one for each; "bool", the
        same of bools, where True is seen. They are one entry of one object.
    """
    tile_keys = TILE_KEYS[dim] if tile_keys is None else tile_keys
    mask_rows = 1 if mask == "keys" else queries
    prefix = {"keys": "", "queries": "masked_", "bool": "bool_masked_"}[mask]
    return cd.Kernel(
        f"{prefix}attention_{dtype}_{dim}",
        source="attention.cu",
        entry=f"cuda_kernels::attention<{C_TYPES[dtype]}, {dim}, {tile_keys}>",
        operands=[
            cd.In("q", dtype, [batch, heads, queries, dim]),
            cd.In("k", dtype, [batch, kv_heads, keys, dim]),
            cd.In("v", dtype, [batch, kv_heads, keys, dim]),
            cd.In(
                "mask",
                "bool" if mask == "bool" else dtype,
                [batch, 1, mask_rows, keys],
                optional=mask == "keys",
            ),
            cd.Out("out", dtype, [batch, heads, queries, dim]),
            cd.Scalar("scale", "f32"),
            cd.Scalar("causal", "bool"),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("kv_heads", "i32", kv_heads),
            cd.Scalar("queries", "i32", queries),
            cd.Scalar("keys", "i32", keys),
            cd.Scalar("mask_rows", "i32", mask_rows),
            cd.Scalar("mask_is_bool", "bool", int(mask == "bool")),
        ],
        block=THREADS,
        grid=(cd.ceildiv(queries, TILE_QUERIES), heads, batch),
        dynamic_shared_memory=shared_bytes(dim, tile_keys),
        requires=[heads % kv_heads == 0],
        reference=_attention,
        flops=4 * dim * batch * heads * queries * keys,
    )


attention_f32_32 = declare("f32", 32)
attention_f32_64 = declare("f32", 64)
attention_f32_128 = declare("f32", 128)
attention_f16_32 = declare("f16", 32)
attention_f16_64 = declare("f16", 64)
attention_f16_128 = declare("f16", 128)
attention_bf16_32 = declare("bf16", 32)
attention_bf16_64 = declare("bf16", 64)
attention_bf16_128 = declare("bf16", 128)

masked_attention_f32_32 = declare("f32", 32, "queries")
masked_attention_f32_64 = declare("f32", 64, "queries")
masked_attention_f32_128 = declare("f32", 128, "queries")
masked_attention_f16_32 = declare("f16", 32, "queries")
masked_attention_f16_64 = declare("f16", 64, "queries")
masked_attention_f16_128 = declare("f16", 128, "queries")
masked_attention_bf16_32 = declare("bf16", 32, "queries")
masked_attention_bf16_64 = declare("bf16", 64, "queries")
masked_attention_bf16_128 = declare("bf16", 128, "queries")

bool_masked_attention_f32_32 = declare("f32", 32, "bool")
bool_masked_attention_f32_64 = declare("f32", 64, "bool")
bool_masked_attention_f32_128 = declare("f32", 128, "bool")
bool_masked_attention_f16_32 = declare("f16", 32, "bool")
bool_masked_attention_f16_64 = declare("f16", 64, "bool")
bool_masked_attention_f16_128 = declare("f16", 128, "bool")
bool_masked_attention_bf16_32 = declare("bf16", 32, "bool")
bool_masked_attention_bf16_64 = declare("bf16", 64, "bool")
bool_masked_attention_bf16_128 = declare("bf16", 128, "bool")
