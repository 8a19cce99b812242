"""Attention forward with online softmax.

`attention_{dtype}_{dim}` may take a mask of the keys, [batch, 1, 1, keys], such as that of padded
sentences; `masked_attention_{dtype}_{dim}` takes one for each query, [batch, 1, queries, keys], and
`bool_masked_attention_{dtype}_{dim}` the same of bools, as PyTorch does: True where a key is seen.
`cached_attention_{dtype}_{dim}` takes how many keys each sequence has so far, [batch] of i32.
`attention_by_position_{dtype}_{dim}` gives [batch, queries, heads, dim], as projections take it.

Heads of 64 and 128 of 16 bits take tensor cores (`tensor_core_attention.py`); those of f32 and of
32 take `attention.cu`, which is declared here. On CPUs all are `attention_cpu.cu`; `kernel.own` is
what GPUs run, and runs on a CPU by itself too.
"""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.shared.attention import (
    ALL_HEADS,
    PREFIXES,
    attend,
    blocks,
    flops,
    heads,
    kv_heads,
    on_cpu,
    operands,
)
from cuda_kernels.shared.rows import C_TYPES
from cuda_kernels.tensor_core_attention import choose, choose_cached
from custom_dispatch.kernel.expr import Expr

THREADS, TILE_QUERIES = 128, 64
"""As in `attention.cu`: threads of a block, and queries that it computes."""
TILE_KEYS = {32: 64, 64: 64, 128: 64}
"""Keys of a tile, by the size of a head: two blocks lie in an H100's shared memory, and, but for
heads of 128, in an A100's."""


def shared_bytes(dim: int, tile_keys: int) -> int:
    """Tiles of queries and of keys, and the weights; rows lie 4 elements further apart."""
    return 4 * ((TILE_QUERIES + tile_keys) * (dim + 4) + TILE_QUERIES * (tile_keys + 4))


def declare(
    dtype: str,
    dim: int,
    mask: str = "keys",
    *,
    tile_keys: int | None = None,
    all_heads: Expr = ALL_HEADS,
) -> cd.Kernel:
    """The kernel without tensor cores, for a type, a head's size (32, 64 or 128) and a mask.

    Parameters
    ----------
    mask
        As of `shared.attention.operands`. All forms are one entry of one object.
    all_heads
        Heads of all sequences, each of which has blocks of its own.
    """
    tile_keys = TILE_KEYS[dim] if tile_keys is None else tile_keys
    return cd.Kernel(
        f"{PREFIXES[mask]}attention_{dtype}_{dim}",
        source="attention.cu",
        entry=f"cuda_kernels::attention<{C_TYPES[dtype]}, {dim}, {tile_keys}>",
        operands=operands(dtype, dim, mask),
        block=THREADS,
        grid=blocks(TILE_QUERIES, all_heads),
        dynamic_shared_memory=shared_bytes(dim, tile_keys),
        requires=[heads % kv_heads == 0],
        reference=attend,
        flops=flops(dim),
        implementations={"cpu": on_cpu(dtype, dim, all_heads=all_heads)},
    )


attention_f32_32 = declare("f32", 32)
attention_f32_64 = declare("f32", 64)
attention_f32_128 = declare("f32", 128)
attention_f16_32 = declare("f16", 32)
attention_f16_64 = choose("f16", 64)
attention_f16_128 = choose("f16", 128)
attention_bf16_32 = declare("bf16", 32)
attention_bf16_64 = choose("bf16", 64)
attention_bf16_128 = choose("bf16", 128)

masked_attention_f32_32 = declare("f32", 32, "queries")
masked_attention_f32_64 = declare("f32", 64, "queries")
masked_attention_f32_128 = declare("f32", 128, "queries")
masked_attention_f16_32 = declare("f16", 32, "queries")
masked_attention_f16_64 = choose("f16", 64, "queries")
masked_attention_f16_128 = choose("f16", 128, "queries")
masked_attention_bf16_32 = declare("bf16", 32, "queries")
masked_attention_bf16_64 = choose("bf16", 64, "queries")
masked_attention_bf16_128 = choose("bf16", 128, "queries")

bool_masked_attention_f32_32 = declare("f32", 32, "bool")
bool_masked_attention_f32_64 = declare("f32", 64, "bool")
bool_masked_attention_f32_128 = declare("f32", 128, "bool")
bool_masked_attention_f16_32 = declare("f16", 32, "bool")
bool_masked_attention_f16_64 = choose("f16", 64, "bool")
bool_masked_attention_f16_128 = choose("f16", 128, "bool")
bool_masked_attention_bf16_32 = declare("bf16", 32, "bool")
bool_masked_attention_bf16_64 = choose("bf16", 64, "bool")
bool_masked_attention_bf16_128 = choose("bf16", 128, "bool")

# The result is [batch, queries, heads, dim], without a mask for each query.
attention_by_position_f16_64 = choose("f16", 64, by_position=True)
attention_by_position_f16_128 = choose("f16", 128, by_position=True)
attention_by_position_bf16_64 = choose("bf16", 64, by_position=True)
attention_by_position_bf16_128 = choose("bf16", 128, by_position=True)

cached_attention_f16_64 = choose_cached("f16", 64)
cached_attention_f16_128 = choose_cached("f16", 128)
cached_attention_bf16_64 = choose_cached("bf16", 64)
cached_attention_bf16_128 = choose_cached("bf16", 128)
