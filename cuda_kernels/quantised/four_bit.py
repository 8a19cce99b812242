"""Products with weights of 4 bits, y = x W^T: the declarations for `quantised_4bit.cu`.

Each is a choice of kernels for a batch of one, of up to 8 and of up to 16, for few or many rows of
weights, and of those of `many.py` for any more. A name says the tile, rows of weights x rows of x,
the warps and the stages of each: `q4_0_f16_t32x8_w12_s3`. On GPUs from sm_80 on warps may be fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import custom_dispatch as cd
from cuda_kernels.quantised import formats, many
from cuda_kernels.quantised.formats import Format, n
from cuda_kernels.quantised.packing import BLOCK
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Condition

SHARED_BYTES_SM_80 = 163 * 1024
"""The most of a block there (CUDA C++ Programming Guide, compute capability 8.0)."""
STEP = 256
"""Elements of k of a step."""
X_OF_SLICE = 576
"""Bytes of a step of x in shared memory, for one row of it."""
LARGEST_K = 1 << 27
"""The bytes of a block's 32 or fewer rows of weights are counted with 32 bits."""


@dataclass(frozen=True)
class Shape:
    """The tile of a kernel for several rows of x, its warps and stages."""

    columns: int
    """Rows of x in a tile."""
    warps: int
    stages: int
    """Steps of k that a warp has in shared memory."""
    tiles: int
    """MMA tiles of 16 rows of weights, in a block's tile."""
    team: int
    """Warps that share a stage, 2 or 4; a divisor of `warps` and of `tiles`."""
    resident: int = 1
    """Blocks that a multiprocessor must be able to hold, which limits registers."""
    blocks: int = 1 << 20
    """The most of a launch: with fewer than tiles, blocks are persistent."""
    rolled: bool = False
    """Whether loops are not unrolled."""

    @property
    def name(self) -> str:
        """The tile, rows of weights x rows of x, the warps and their stages."""
        return f"t{self.rows}x{self.columns}_w{self.warps}_s{self.stages}"

    def arguments(self) -> str:
        """As template arguments."""
        numbers = self.tiles, self.columns, self.warps, self.stages, self.resident, self.team
        return ", ".join(map(str, numbers)) + (", true" if self.rolled else ", false")

    @property
    def rows(self) -> int:
        """Rows of weights in a block's tile."""
        return 16 * self.tiles

    def shared_bytes(self, layout: Layout) -> int:
        """Dynamic shared memory: stages, and twice the warps' partial sums of a tile."""
        slot = self.rows * layout.stride + self.columns * (2 * STEP + layout.padding)
        found = 4 * self.rows * self.columns
        return self.warps * (self.stages * slot // self.team + 2 * found)

    def within(self, limit: int, layout: Layout) -> Shape:
        """The shape with as many warps as fit into `limit` bytes of shared memory."""
        shape = self
        while shape.shared_bytes(layout) > limit:
            shape = replace(shape, warps=shape.warps - shape.team)
        return shape

    def for_cpu(self) -> Shape:
        """The shape with less code, which the compiler for the CPU needs."""
        return replace(self, tiles=min(self.tiles, 2), team=min(self.team, 2), rolled=True)


@dataclass(frozen=True)
class RowShape:
    """The tile of a kernel for one row of x, and its warps."""

    rows: int
    """Rows of weights of a block; a multiple of 4."""
    warps: int
    resident: int
    """Blocks that a multiprocessor must be able to hold, which limits registers."""
    columns: int = 1
    blocks: int = (1 << 31) - 1
    """The most of a launch: CUDA's limit, since these blocks are not persistent."""

    @property
    def name(self) -> str:
        """The tile, rows of weights x rows of x, and the warps."""
        return f"t{self.rows}x{self.columns}_w{self.warps}"

    def arguments(self) -> str:
        """As template arguments."""
        return f"{self.rows // 4}, {self.warps}, {self.resident}"

    def shared_bytes(self, layout: Layout) -> int:
        """Dynamic shared memory: two stages of rows if staged, x twice, partial sums."""
        if layout.apart is None:
            return 0
        piece = self.warps * layout.step
        row = piece + (layout.apart - piece) % 128
        return 2 * self.rows * row + self.warps * (2 * X_OF_SLICE + 4 * self.rows)

    def within(self, limit: int, layout: Layout) -> RowShape:
        """The shape with as many warps as fit into `limit` bytes of shared memory."""
        shape = self
        while shape.shared_bytes(layout) > limit:
            shape = replace(shape, warps=shape.warps - 1)
        return shape

    def for_cpu(self) -> RowShape:
        """The shape with less code, which the compiler for the CPU needs."""
        return replace(self, rows=8)


FEW_ROWS = 8192
"""Rows of weights up to which a block has fewer of them, since there are fewer blocks."""
LONG = 8192
"""k from which on more warps share a row of blocks of GGUF."""
WIDE_8 = Shape(8, 12, 3, tiles=2, team=2, blocks=MULTIPROCESSORS)
WIDE_16 = Shape(16, 12, 2, tiles=2, team=2, blocks=MULTIPROCESSORS)
TALL_8 = Shape(8, 12, 3, tiles=4, team=4, blocks=MULTIPROCESSORS)
TALL_16 = Shape(16, 12, 2, tiles=4, team=4, blocks=MULTIPROCESSORS)
TALL_16_BY_TWO_NUMBERS = Shape(16, 8, 2, tiles=4, team=2, blocks=MULTIPROCESSORS)
ONE = RowShape(16, 8, resident=2)
ONE_OF_FEWER = RowShape(8, 4, resident=5)
ONE_OF_MORE = RowShape(16, 4, resident=4)
ONE_OF_BLOCKS_TALL = RowShape(28, 4, resident=4)
"""The fastest on an H200: docs/kernels/quantised.md."""


def at_once(shape: RowShape) -> Condition:
    """Whether the blocks for all rows of weights have places at the same time."""
    return n <= MULTIPROCESSORS * shape.resident * shape.rows


@dataclass(frozen=True)
class Layout:
    """How the kernels for few rows of x take a memory layout of weights."""

    format: Format
    entry: Callable[[str, str, str], str]
    """The kernel in C++, from "" or "_row" (for one row of x), a type and a shape's arguments."""
    step: int
    """Bytes of a row of weights for `STEP` of k."""
    stride: int
    """Bytes from row to row of weights in a stage."""
    padding: int
    """Bytes of padding after a row of x in a stage, for more than one row."""
    one: Sequence[tuple[RowShape, Sequence[Condition]]]
    """The shapes for one row of x, and when each is the fastest: the first that holds."""
    apart: int | None
    """Bytes past a multiple of 128 from row to row in shared memory, if the kernel for one row of x
    stages weights there."""
    tall_16: Shape
    """The shape for many rows of weights and up to 16 of x."""

    @property
    def name(self) -> str:
        """The format's."""
        return self.format.name


def _blocks(of: Format, size: int, has_minimum: str) -> Layout:
    return Layout(
        of,
        lambda suffix, kind, shape: f"quantised_blocks{suffix}<{kind}, {has_minimum}, {shape}>",
        step=STEP // BLOCK * size,
        stride=144 if size == 18 else 176,
        padding=32,
        one=(
            (ONE, (at_once(ONE), of.k >= LONG)),
            (ONE_OF_MORE, (at_once(ONE_OF_MORE),)),
            (ONE_OF_BLOCKS_TALL, ()),
        ),
        apart=64 if size == 18 else 0,
        tall_16=TALL_16 if size == 18 else TALL_16_BY_TWO_NUMBERS,
    )


def _groups(of: Format, entry: str, stride: int, tall_16: Shape) -> Layout:
    return Layout(
        of,
        lambda suffix, kind, shape: f"{entry}{suffix}<{kind}, {shape}>",
        step=STEP // 2,
        stride=stride,
        padding=64,
        one=(
            (ONE, (at_once(ONE),)),
            (ONE_OF_FEWER, (at_once(ONE_OF_FEWER),)),
            (ONE_OF_MORE, ()),
        ),
        apart=None,
        tall_16=tall_16,
    )


Q4_0 = _blocks(formats.Q4_0, 18, "false")
Q4_1 = _blocks(formats.Q4_1, 20, "true")
INT4 = _groups(formats.INT4, "quantised_groups", 144, TALL_16)
INT4_ZEROS = _groups(formats.INT4_ZEROS, "quantised_groups_zeros", 176, TALL_16_BY_TWO_NUMBERS)


def launch(layout: Layout, dtype: str, shape: Shape | RowShape) -> dict[str, Any]:
    """That of a kernel for a layout, an element type of x and y, and a number of rows of x."""
    suffix = "_row" if shape.columns == 1 else ""
    return {
        "source": "quantised_4bit.cu",
        "entry": f"cuda_kernels::{layout.entry(suffix, C_TYPES[dtype], shape.arguments())}",
        "block": 32 * shape.warps,
        "grid": (
            cd.minimum(cd.ceildiv(n, shape.rows), shape.blocks),
            cd.ceildiv(cd.batch, shape.columns),
        ),
        "dynamic_shared_memory": shape.shared_bytes(layout),
    }


def declare_kernel(
    layout: Layout, dtype: str, shape: Shape | RowShape, *requires: Condition
) -> cd.Kernel:
    """The kernel for a layout, an element type of x and y, and a number of rows of x."""
    # Loops are unrolled for GPUs: the compiler for the CPU wants less code.
    small = shape.within(SHARED_BYTES_SM_80, layout)
    return cd.Kernel(
        f"{layout.name}_{dtype}_{shape.name}",
        operands=[
            cd.In("x", dtype, [..., layout.format.k]),
            *layout.format.operands(dtype),
            cd.Out("y", dtype, [..., n]),
            cd.Scalar("batch", "i32", cd.batch),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", layout.format.k),
            cd.Scalar("parts", "i32", layout.format.parts),
        ],
        requires=[
            *layout.format.requires,
            layout.format.k <= LARGEST_K,
            cd.batch <= shape.columns,
            *requires,
        ],
        implementations={
            "cuda:sm_80": cd.Implementation(**launch(layout, dtype, small)),
            **dict.fromkeys(
                ("cuda:sm_90", "cuda:sm_90a"), cd.Implementation(**launch(layout, dtype, shape))
            ),
        },
        reference=layout.format.product,
        **launch(layout, dtype, small.for_cpu()),
    )


def declare(layout: Layout, dtype: str) -> cd.Choice:
    """The choice for a layout and an element type of x and y."""
    kernels = [
        *(declare_kernel(layout, dtype, shape, *conditions) for shape, conditions in layout.one),
        declare_kernel(layout, dtype, WIDE_8, n <= FEW_ROWS),
        declare_kernel(layout, dtype, TALL_8),
        declare_kernel(layout, dtype, WIDE_16, n <= FEW_ROWS),
        declare_kernel(layout, dtype, layout.tall_16),
        *many.declare_kernels(layout.format, dtype, launch(layout, dtype, layout.tall_16)),
    ]
    return cd.Choice(f"{layout.name}_{dtype}", kernels)


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"{layout.name}_{dtype}": partial(declare, layout, dtype)
        for layout, dtype in product((Q4_0, Q4_1, INT4, INT4_ZEROS), ("f16", "bf16"))
    },
)
