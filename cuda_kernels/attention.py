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

from collections.abc import Callable
from functools import partial
from itertools import product

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
from cuda_kernels.shared.lazily import declared
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


_TYPES = ("f32", "f16", "bf16")
_HALVES = tuple(product(("f16", "bf16"), (64, 128)))


def _attention(dtype: str, dim: int, mask: str) -> cd.Kernel | cd.Choice:
    """For f16 and bf16, and heads of 64 and 128, there are kernels that use tensor cores."""
    return (choose if (dtype, dim) in _HALVES else declare)(dtype, dim, mask)


_TABLE: dict[str, Callable[[], cd.Kernel | cd.Choice]] = {
    **{
        f"{PREFIXES[mask]}attention_{dtype}_{dim}": partial(_attention, dtype, dim, mask)
        for mask, dtype, dim in product(("keys", "queries", "bool"), _TYPES, (32, 64, 128))
    },
    # The result is [batch, queries, heads, dim], without a mask for each query.
    **{
        f"attention_by_position_{dtype}_{dim}": partial(choose, dtype, dim, by_position=True)
        for dtype, dim in _HALVES
    },
    **{
        f"cached_attention_{dtype}_{dim}": partial(choose_cached, dtype, dim)
        for dtype, dim in _HALVES
    },
}
"""`attention_f32_32`, `bool_masked_attention_bf16_128`, ..."""


def __getattr__(name: str) -> cd.Kernel | cd.Choice:
    return declared(globals(), _TABLE, name)


def __dir__() -> list[str]:
    return [*globals(), *_TABLE]
