"""Attention without tensor cores, for f32 and heads of 32: the declaration for `attention.cu`."""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.attention.head_sizes import (
    Head,
    UpTo,
    columns_of,
    name_of,
    requirements,
    template_of,
)
from cuda_kernels.attention.names import kernel_name
from cuda_kernels.attention.scores import AS_THEY_ARE, Scores
from cuda_kernels.attention.signature import (
    ALL_HEADS,
    blocks,
    flops,
    form_of,
    heads,
    kv_heads,
    mask_requirements,
    on_cpu,
    operands,
    reference_of,
)
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Expr

THREADS, TILE_QUERIES = 128, 64
"""As in `attention.cu`: threads of a block, and queries of its tile."""
TILE_KEYS = {32: 64, 64: 64, 128: 64}
"""Keys of a tile, by the size of a head: two blocks fit into an H100's shared memory, and, except
for heads of 128, into an A100's."""
TILE_KEYS_UP_TO = {64: 64, 96: 64, 128: 64, 192: 32, 256: 16}
"""The same for heads up to a size: two blocks fit into an H100's, one into that of any GPU."""


def shared_bytes(columns: int, tile_keys: int) -> int:
    """Tiles of queries and of keys, and the weights; rows are padded by 4 elements."""
    return 4 * ((TILE_QUERIES + tile_keys) * (columns + 4) + TILE_QUERIES * (tile_keys + 4))


def declare(
    dtype: str,
    head: Head,
    mask: str = "keys",
    *,
    layout: str = "bhsd",
    tile_keys: int | None = None,
    all_heads: Expr = ALL_HEADS,
    scores: Scores = AS_THEY_ARE,
) -> cd.Kernel:
    """The kernel without tensor cores, for a type, a head's size and a mask.

    Parameters
    ----------
    head
        32, 64 or 128, or the largest sizes.
    mask, layout
        As of `signature.operands`. All masks are one entry of one object.
    all_heads
        Heads of all sequences; each has blocks of its own.
    scores
        As of `signature.operands`.
    """
    columns, _ = columns_of(head)
    if tile_keys is None:
        tile_keys = (TILE_KEYS_UP_TO if isinstance(head, UpTo) else TILE_KEYS)[columns]
    form = form_of(layout, scores=scores)
    return cd.Kernel(
        kernel_name(scores.prefix, f"{scores.label}{dtype}", name_of(head), mask, layout),
        source="attention.cu",
        entry=f"cuda_kernels::attention<{C_TYPES[dtype]}, {template_of(head)}, {tile_keys}{form}>",
        operands=operands(dtype, head, mask, layout, scores=scores),
        block=THREADS,
        grid=blocks(TILE_QUERIES, all_heads),
        dynamic_shared_memory=shared_bytes(columns, tile_keys),
        requires=[heads % kv_heads == 0, *requirements(head), *mask_requirements(mask)],
        options=scores.options,
        include_dirs=scores.include_dirs,
        reference=reference_of(layout, scores),
        flops=flops(head),
        implementations={"cpu": on_cpu(dtype, head, layout, all_heads, scores=scores)},
    )
