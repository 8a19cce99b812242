"""Products of groups of rows: the declarations for `grouped*.cu`.

c[i] = a[i] b[g] + residual[i], where row i is of group g: offsets[g - 1] <= i < offsets[g]. The
residual may be absent; rows behind the last group are the residual, or zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple
from functools import cache, partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.gemm.cpu import FEW_COLUMNS, LANES, ROWS, STEP, WARPS
from cuda_kernels.gemm.forms import (
    LARGE,
    MEDIUM,
    MEDIUM_F32,
    NARROW_F32,
    SKINNY,
    SKINNY_BY_ROWS,
    SMALL_F32,
    SQUARE,
)
from cuda_kernels.gemm.tiles import SkinnyTile, Tile
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.expr import Condition

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
LAYOUTS = ("grouped_linear", "grouped_matmul")
FEW = 16
"""Rows of a group, on average, up to which a kernel for few rows is taken."""

rows, groups, n, k = cd.dim("rows"), cd.dim("groups"), cd.dim("n"), cd.dim("k")


def _reference(has_weights: bool) -> Callable[..., Array]:
    def grouped(a: Array, b: Array, offsets: Array, residual: Array | None = None) -> Array:
        right = b.astype(numpy.float64)
        right = right.swapaxes(-1, -2) if has_weights else right
        found = numpy.zeros((a.shape[0], right.shape[-1]))
        start = 0
        with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
            for matrix, end in zip(right, offsets, strict=True):
                found[start:end] = a[start:end].astype(numpy.float64) @ matrix
                start = end
            if residual is not None and residual.size:
                found = found + residual.astype(numpy.float64)
            result: Array = found.astype(a.dtype)
            return result

    return grouped


def declare(layout: str, dtype: str, tile: Tile | SkinnyTile, few: bool = False) -> cd.Kernel:
    """A kernel of one tile, for any sizes.

    Parameters
    ----------
    layout
        "grouped_linear", whose b are weights [groups, n, k], or "grouped_matmul": [groups, k, n].
    tile
        That of a block; a `SkinnyTile` for weights of 16 bits alone.
    few
        Whether CPUs take the kernel for few rows of a group.
    """
    has_weights = layout == LAYOUTS[0]
    weights, c_type = str(has_weights).lower(), C_TYPES[dtype]
    shape = ", ".join(map(str, astuple(tile)))
    if isinstance(tile, SkinnyTile):
        source, entry = "grouped_few_rows.cu", f"grouped_few_rows<{c_type}, {shape}>"
        height, width = 16 * tile.rows, 8 * tile.columns
    else:
        source, entry = "grouped.cu", f"grouped<{c_type}, {weights}, {shape}>"
        height, width = tile.m, tile.n
    few_width = FEW_COLUMNS if has_weights else FEW_COLUMNS * LANES
    on_cpu = (
        cd.Implementation(
            source="grouped_cpu.cu",
            entry=f"cuda_kernels::grouped_few_rows_cpu<{c_type}, {weights}>",
            block=LANES,
            grid=cd.ceildiv(n, few_width) * (groups + 1),
            dynamic_shared_memory=0,
        )
        if few
        else cd.Implementation(
            source="grouped_cpu.cu",
            entry=f"cuda_kernels::grouped_cpu<{c_type}, {weights}, {WARPS}, {STEP}>",
            block=LANES * WARPS,
            grid=_tiles(WARPS * ROWS) * cd.ceildiv(n, LANES),
            dynamic_shared_memory=0,
        )
    )
    return cd.Kernel(
        f"{layout}_{dtype}_{tile.name}",
        source=source,
        entry=f"cuda_kernels::{entry}",
        operands=[
            cd.In("a", dtype, [rows, k]),
            cd.In("b", dtype, [groups, n, k] if has_weights else [groups, k, n]),
            cd.In("offsets", "i32", [groups]),
            cd.In("residual", dtype, [rows, n], optional=True),
            cd.Out("c", dtype, [rows, n]),
            cd.Scalar("rows", "i32", rows),
            cd.Scalar("groups", "i32", groups),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", k),
            cd.Scalar("tiles", "i32", _tiles(height)),
        ],
        block=tile.threads,
        grid=_tiles(height) * cd.ceildiv(n, width),
        dynamic_shared_memory=tile.shared_bytes,
        implementations={"cpu": on_cpu},
        reference=_reference(has_weights),
        flops=2 * rows * n * k,
    )


def _tiles(height: int) -> Any:
    """How many tiles there may be: each group, and the rows behind them, may end within one."""
    return rows // height + cd.minimum(groups + 1, rows)


@cache
def choice(layout: str, dtype: str) -> cd.Choice:
    """All kernels of a product of groups, those for fewer rows of a group first."""
    first: Tile | SkinnyTile = SKINNY if layout == LAYOUTS[0] else SKINNY_BY_ROWS
    tiles = (
        (SMALL_F32, NARROW_F32, MEDIUM_F32) if dtype == "f32" else (first, MEDIUM, SQUARE, LARGE)
    )
    kernels = [declare(layout, dtype, tile, few=index == 0) for index, tile in enumerate(tiles)]
    most = (FEW, 4 * FEW) if dtype == "f32" else (FEW, 4 * FEW, 12 * FEW)
    limits: list[list[Condition]] = [[rows <= count * groups] for count in most]
    names = [kernel.name for kernel in kernels]
    return cd.Choice(f"{layout}_{dtype}", kernels, rules=dict(zip(names, limits, strict=False)))


__getattr__, __dir__ = lazily(
    globals(),
    {f"{layout}_{dtype}": partial(choice, layout, dtype) for layout in LAYOUTS for dtype in TYPES},
)
