"""Products with weights of 8 bits, y = x W^T: the declarations for `quantised_8bit.cu`.

Each is a choice of kernels for a batch of one, of up to 8 and of up to 16, and of those of
`many.py` for any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import custom_dispatch as cd
from cuda_kernels.quantised import many
from cuda_kernels.quantised.formats import FP8, INT8, INT8_GROUPS, Format, n
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

    def entry(self, of: Format, dtype: str) -> str:
        """The kernel's name in C++."""
        numbers = [self.rows, self.warps, self.resident]
        if self.columns > 1:
            numbers = [self.rows // 16, self.columns, self.warps, self.pieces, self.resident]
        weight = of.operands(dtype)[0].dtype.c_name
        has_groups = "true" if of is INT8_GROUPS else "false"
        arguments = ", ".join((C_TYPES[dtype], weight, has_groups, *map(str, numbers)))
        name = "row" if self.columns == 1 else "few"
        return f"cuda_kernels::quantised_8bit_{name}<{arguments}>"


ROW = Shape(1, rows=4, warps=4, resident=9)
ROW_OF_FEWER = Shape(1, rows=2, warps=4, resident=12)
WIDE_8 = Shape(8, rows=16, warps=16, resident=2, pieces=2)
WIDE_16 = Shape(16, rows=16, warps=16, resident=2)
TALL_8 = Shape(8, rows=16, warps=4, resident=8, pieces=2)
TALL_16 = Shape(16, rows=32, warps=4, resident=4, pieces=2)
"""The fastest on an H200, of e4m3: docs/kernels/quantised_8bit.md."""
BY_GROUPS = {
    ROW: replace(ROW, resident=8),
    ROW_OF_FEWER: replace(ROW_OF_FEWER, resident=10),
    TALL_8: replace(TALL_8, resident=6),
}
"""Those with more registers, for scales."""


def launch(of: Format, dtype: str, shape: Shape) -> dict[str, Any]:
    """That of a kernel for a layout, an element type of x and y, and a shape."""
    return {
        "source": "quantised_8bit.cu",
        "entry": shape.entry(of, dtype),
        "block": 32 * shape.warps,
        "grid": (cd.ceildiv(n, shape.rows), cd.ceildiv(cd.batch, shape.columns)),
    }


def declare_kernel(of: Format, dtype: str, shape: Shape, *requires: Any) -> cd.Kernel:
    """The kernel for a layout, an element type of x and y, and a shape."""
    # The compiler for the CPU wants less code.
    small = replace(shape, rows=min(shape.rows, 16), warps=min(shape.warps, 4), pieces=1)
    of_gpu = cd.Implementation(**launch(of, dtype, shape))
    return cd.Kernel(
        f"{of.name}_{dtype}_{shape.name}",
        operands=[
            cd.In("x", dtype, [..., of.k]),
            *of.operands(dtype),
            cd.Out("y", dtype, [..., n]),
            cd.Scalar("batch", "i32", cd.batch),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", of.k),
            cd.Scalar("parts", "i32", of.parts),
        ],
        requires=[*of.requires, cd.batch <= shape.columns, *requires],
        implementations=dict.fromkeys(("cuda:sm_80", "cuda:sm_90", "cuda:sm_90a"), of_gpu),
        reference=of.product,
        **launch(of, dtype, small),
    )


def declare(of: Format, dtype: str) -> cd.Choice:
    """The choice for a layout and an element type of x and y."""
    row, row_of_fewer, wide_8, tall_8, wide_16, tall_16 = (
        shape if of is not INT8_GROUPS else BY_GROUPS.get(shape, shape)
        for shape in (ROW, ROW_OF_FEWER, WIDE_8, TALL_8, WIDE_16, TALL_16)
    )
    return cd.Choice(
        f"{of.name}_{dtype}",
        [
            # With few waves, the last one counts: fewer rows for each block, or fewer waves.
            declare_kernel(
                of,
                dtype,
                row_of_fewer,
                n <= 2 * row_of_fewer.at_once,
                cd.ceildiv(n, row_of_fewer.at_once) * row_of_fewer.rows
                < cd.ceildiv(n, row.at_once) * row.rows,
            ),
            declare_kernel(of, dtype, row),
            declare_kernel(of, dtype, wide_8, n <= FEW_ROWS),
            declare_kernel(of, dtype, tall_8),
            declare_kernel(of, dtype, wide_16, n <= FEW_ROWS),
            declare_kernel(of, dtype, tall_16),
            *many.declare_kernels(of, dtype, launch(of, dtype, tall_16)),
        ],
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"{of.name}_{dtype}": partial(declare, of, dtype)
        for of, dtype in product((FP8, INT8, INT8_GROUPS), ("f16", "bf16"))
    },
)
