"""A gated linear unit (SwiGLU) of few rows in one kernel: the declarations for `gated_few_rows.cu`.

y = silu(x gate) * (x up), for weights [n, k], as in the feed-forward block of a decoder. For up to
16 rows, as in a decoding step; with more, SwiGLU is a small part of the whole.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.tiles import GatedTile
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

TILE = GatedTile(1, 2, 8, 4)
CPU_LANES, CPU_COLUMNS = 32, 4
"""Threads and columns of a block of `gated_cpu.cu`."""


def _gated(x: Array, gate: Array, up: Array) -> Array:
    wide = x.astype(numpy.float64)
    with numpy.errstate(over="ignore", invalid="ignore"):
        left = wide @ gate.astype(numpy.float64).T
        result: Array = left / (1.0 + numpy.exp(-left)) * (wide @ up.astype(numpy.float64).T)
        return result.astype(x.dtype)


n, k = cd.dim("n"), cd.dim("k")


def declare(dtype: str, tile: GatedTile = TILE) -> cd.Kernel:
    """The kernel for an element type, "f16" or "bf16"."""
    return cd.Kernel(
        f"linear_swiglu_{dtype}",
        source=tile.source,
        entry=tile.entry(dtype, dtype),
        operands=[
            cd.In("x", dtype, [..., k]),
            cd.In("gate", dtype, [n, k]),
            cd.In("up", dtype, [n, k]),
            cd.Out("y", dtype, [..., n]),
            cd.Scalar("m", "i32", cd.batch),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", k),
        ],
        block=tile.threads,
        grid=tile.blocks(cd.batch, n),
        dynamic_shared_memory=tile.shared_bytes,
        implementations={
            "cpu": cd.Implementation(
                source="gated_cpu.cu",
                entry=f"cuda_kernels::gated_few_rows_cpu<{C_TYPES[dtype]}>",
                block=CPU_LANES,
                grid=cd.ceildiv(n, CPU_COLUMNS),
                dynamic_shared_memory=0,
            )
        },
        requires=[cd.batch <= 16 * tile.rows],
        reference=_gated,
        flops=4 * cd.batch * n * k,
    )


__getattr__, __dir__ = lazily(
    globals(), {f"linear_swiglu_{dtype}": partial(declare, dtype) for dtype in ("f16", "bf16")}
)
