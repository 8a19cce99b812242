"""Products with weights of 8-bit floats, y = x W^T: the declarations for `quantised_fp8.cu`.

Each is a choice of kernels for a batch of one, of up to 8 and of up to 16, and of those of
`many.py` for any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import custom_dispatch as cd
from cuda_kernels.quantised import many
from cuda_kernels.quantised.formats import FP8, n, parts
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import lazily

FEW_ROWS = 8192
"""Rows of weights up to which a block has more warps, since there are fewer blocks."""


@dataclass(frozen=True)
class Shape:
    """The tile of a kernel, and its warps."""

    columns: int
    """Rows of x in a tile."""
    rows: int
    """Rows of weights in a tile."""
    warps: int
    resident: int
    """Blocks that a multiprocessor must be able to hold, which limits registers."""
    pieces: int = 1
    """Steps of 64 of k that a warp takes at a time, for more than one row of x."""

    @property
    def name(self) -> str:
        """The tile, rows of weights x rows of x, and the warps."""
        return f"t{self.rows}x{self.columns}_w{self.warps}"

    @property
    def at_once(self) -> int:
        """Rows of weights of the blocks that have places at the same time."""
        return MULTIPROCESSORS * self.resident * self.rows

    def entry(self, dtype: str) -> str:
        """The kernel's name in C++."""
        numbers = [self.rows, self.warps, self.resident]
        if self.columns > 1:
            numbers = [self.rows // 16, self.columns, self.warps, self.pieces, self.resident]
        arguments = ", ".join((C_TYPES[dtype], *map(str, numbers)))
        name = "row" if self.columns == 1 else "few"
        return f"cuda_kernels::quantised_fp8_{name}<{arguments}>"


ROW = Shape(1, rows=4, warps=4, resident=9)
ROW_OF_FEWER = Shape(1, rows=2, warps=4, resident=12)
WIDE_8 = Shape(8, rows=16, warps=16, resident=2, pieces=2)
WIDE_16 = Shape(16, rows=16, warps=16, resident=2)
TALL_8 = Shape(8, rows=16, warps=4, resident=8, pieces=2)
TALL_16 = Shape(16, rows=32, warps=4, resident=4, pieces=2)
"""The fastest on an H200: docs/kernels/quantised_fp8.md."""


def launch(dtype: str, shape: Shape) -> dict[str, Any]:
    """That of a kernel for an element type of x and y, and a shape."""
    return {
        "source": "quantised_fp8.cu",
        "entry": shape.entry(dtype),
        "block": 32 * shape.warps,
        "grid": (cd.ceildiv(n, shape.rows), cd.ceildiv(cd.batch, shape.columns)),
    }


def declare_kernel(dtype: str, shape: Shape, *requires: Any) -> cd.Kernel:
    """The kernel for an element type of x and y, and a shape."""
    # The compiler for the CPU wants less code.
    small = replace(shape, rows=min(shape.rows, 16), warps=min(shape.warps, 4), pieces=1)
    of_gpu = cd.Implementation(**launch(dtype, shape))
    return cd.Kernel(
        f"fp8_{dtype}_{shape.name}",
        operands=[
            cd.In("x", dtype, [..., FP8.k]),
            *FP8.operands(dtype),
            cd.Out("y", dtype, [..., n]),
            cd.Scalar("batch", "i32", cd.batch),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", FP8.k),
            cd.Scalar("parts", "i32", parts),
        ],
        requires=[*FP8.requires, cd.batch <= shape.columns, *requires],
        implementations=dict.fromkeys(("cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"), of_gpu),
        reference=FP8.product,
        **launch(dtype, small),
    )


def declare(dtype: str) -> cd.Choice:
    """The choice for an element type of x and y."""
    return cd.Choice(
        f"fp8_{dtype}",
        [
            # With few waves, the last one counts: fewer rows for each block, or fewer waves.
            declare_kernel(
                dtype,
                ROW_OF_FEWER,
                n <= 2 * ROW_OF_FEWER.at_once,
                cd.ceildiv(n, ROW_OF_FEWER.at_once) * ROW_OF_FEWER.rows
                < cd.ceildiv(n, ROW.at_once) * ROW.rows,
            ),
            declare_kernel(dtype, ROW),
            declare_kernel(dtype, WIDE_8, n <= FEW_ROWS),
            declare_kernel(dtype, TALL_8),
            declare_kernel(dtype, WIDE_16, n <= FEW_ROWS),
            declare_kernel(dtype, TALL_16),
            *many.declare_kernels(FP8, dtype, cd.Implementation(**launch(dtype, TALL_16))),
        ],
    )


__getattr__, __dir__ = lazily(
    globals(), {f"fp8_{dtype}": partial(declare, dtype) for dtype in ("f16", "bf16")}
)
