"""The launch of products on CPUs, by `gemm_cpu.cu`."""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.gemm.names import TF32
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Expr

LANES, WARPS, ROWS, STEP = 32, 16, 8, 64
"""Threads of a warp, and columns of a tile; warps of a block; rows of each; k of a step."""
FEW_COLUMNS = 4
"""Columns of weights of a block if rows are few; of another matrix, times a warp's lanes."""


def on_cpu(
    dtype: str,
    out: str,
    activation: str,
    has_weights: bool,
    sizes: tuple[Expr | int, Expr, Expr],
    *,
    skinny: bool,
) -> cd.Implementation:
    """The launch for a batch of products of m x n; skinny ones are for few rows."""
    batch, m, n = sizes
    types = f"{C_TYPES[dtype]}, {C_TYPES[out]}, {activation}, {str(has_weights).lower()}"
    read = "cuda_kernels::RoundedToTf32" if dtype == TF32 else C_TYPES[dtype]
    if skinny:
        width = FEW_COLUMNS if has_weights else FEW_COLUMNS * LANES
        return cd.Implementation(
            source="gemm_cpu.cu",
            entry=f"cuda_kernels::gemm_few_rows_cpu<{types}, {read}>",
            block=LANES,
            grid=cd.ceildiv(n, width) * batch,
            dynamic_shared_memory=0,
        )
    return cd.Implementation(
        source="gemm_cpu.cu",
        entry=f"cuda_kernels::gemm_cpu<{types}, {WARPS}, {STEP}, {read}>",
        block=LANES * WARPS,
        grid=cd.ceildiv(m, WARPS * ROWS) * cd.ceildiv(n, LANES) * batch,
        dynamic_shared_memory=0,
    )
