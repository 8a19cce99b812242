"""Products of many rows of x with quantised weights: the declarations for `quantised_many*.cu`.

One kernel for every memory layout of weights; a name says the rows of x of a tile, as
`int4_f16_many128`, and how many blocks of a cluster share k: `many128_split2`. Weights are rounded
to the type of x after they are multiplied by their scales, as if they were dequantised first; fp8
with a scale for whole rows is exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import custom_dispatch as cd
from cuda_kernels.quantised import formats
from cuda_kernels.quantised.formats import Format
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import LEAST_SHARED_BYTES, MULTIPROCESSORS
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Condition, Expr

STEP = 64
"""Elements of k of a step; a stage of weights has 4 in `quantised_many_sm90a.cu`."""
TILE_ROWS = 128
"""Of weights, there."""
SHARED_BYTES = 227 * 1024
"""The most of a block on sm_90."""
LEAST_GAIN, MOST_PARTS = 6, 8
"""As in `stream_k.cuh`: the stages that sharing has to save, and the parts of a tile."""
n = cd.dim("n")


@dataclass(frozen=True)
class WarpTile:
    """A block of `quantised_many.cu`."""

    tiles: int
    """16 rows of weights of a warp."""
    tall: int
    """Warps one below the other, along the weights."""
    eights: int
    """8 rows of x of a warp."""
    wide: int
    """Warps along the rows of x."""
    deep: int
    """Warps that share k."""
    stages: int

    @property
    def rows(self) -> int:
        """Of weights."""
        return 16 * self.tiles * self.tall

    @property
    def columns(self) -> int:
        """Rows of x."""
        return 8 * self.eights * self.wide

    def implementation(self, of: Format, dtype: str) -> dict[str, Any]:
        """The launch, with as many stages as every GPU has room for."""
        stage = self.columns * 2 * STEP + self.rows * of.pitch
        stages = min(self.stages, LEAST_SHARED_BYTES // stage)
        shape = self.tiles, self.tall, self.eights, self.wide, self.deep, stages
        return {
            "source": "quantised_many.cu",
            "entry": _entry(of, dtype, shape),
            "block": 32 * self.tall * self.wide * self.deep,
            "grid": cd.ceildiv(n, self.rows) * cd.ceildiv(cd.batch, self.columns),
            "dynamic_shared_memory": stages * stage,
        }


@dataclass(frozen=True)
class WarpgroupTile:
    """A block of `quantised_many_sm90a.cu`: 128 rows of weights by `columns` of x."""

    columns: int
    split: int = 1
    """Blocks of a cluster that share the k of a tile. Without clusters, blocks share the last tiles
    equally (stream-K), and add up parts of k through scratch memory.
    """

    def deep(self, of: Format) -> int:
        """Pairs of warpgroups that share k: two for blocks of GGUF, whose floats take longer to
        make, as long as there are registers for them.
        """
        return 2 if self.columns <= 64 and of.function == "quantised_many_blocks" else 1

    def other_bytes(self, of: Format) -> int:
        """Shared memory beside stages: boxes of y, sums of the other pair, barriers."""
        boxes = 2 * min(self.columns, 32) * 2 * STEP if self.split == 1 else 0
        return boxes + (self.deep(of) - 1) * self.columns * 512 + 1024

    @property
    def name(self) -> str:
        """The rows of x, and in how many parts k is."""
        return f"many{self.columns}" + (f"_split{self.split}" if self.split > 1 else "")

    def tiles(self) -> Expr:
        """Of a call."""
        return cd.ceildiv(n, TILE_ROWS) * cd.ceildiv(cd.batch, self.columns)

    def blocks(self, of: Format) -> Expr:
        """In the grid: without clusters, as many as are busy; without k, too, for its zeros."""
        if self.split > 1:
            return self.tiles() * self.split
        stages = cd.maximum(cd.ceildiv(of.k, 4 * STEP), 1)
        return cd.minimum(MULTIPROCESSORS, self.tiles() * stages)

    def scratch(self, of: Format) -> cd.Scratch:
        """Where blocks share tiles, two parts of each, and 16 bytes a part that say whether it
        is there; else one number.
        """
        stages, left = cd.ceildiv(of.k, 4 * STEP), self.tiles() % MULTIPROCESSORS
        share = cd.where(left > 0, cd.ceildiv(left * stages, MULTIPROCESSORS), stages)
        floats = self.blocks(of) * (2 * TILE_ROWS * self.columns + 8)
        shared = cd.where(share + LEAST_GAIN <= stages, floats, 1)
        return cd.Scratch("partial_results", "f32", [shared if self.split == 1 else 1])

    def stages(self, of: Format) -> tuple[int, int]:
        """Of 64 of k of x, and of 256 of k of weights: as many as have room."""
        stage, weights = self.columns * 2 * STEP, TILE_ROWS * of.wide_pitch
        left = SHARED_BYTES - self.other_bytes(of)
        wanted = 8 if self.columns <= 32 else 5 if self.columns <= 128 else 4
        for of_weights in range(6, 1, -1):
            of_x = (left - of_weights * weights) // stage
            if of_x >= wanted or of_weights == 2:
                break
        return min(of_x, 12), of_weights

    def implementation(self, of: Format, dtype: str) -> dict[str, Any]:
        """The launch."""
        of_x, of_weights = self.stages(of)
        stages = of_x * self.columns * 2 * STEP + of_weights * TILE_ROWS * of.wide_pitch
        shape = self.columns, of_x, of_weights, self.split, self.deep(of)
        return {
            "source": "quantised_many_sm90a.cu",
            "entry": _entry(of, dtype, shape),
            "block": 128 + 256 * self.deep(of),
            "grid": self.blocks(of),
            "cluster": self.split,
            "dynamic_shared_memory": -(-(stages + self.other_bytes(of)) // 1024) * 1024,
        }


def _entry(of: Format, dtype: str, shape: Sequence[int]) -> str:
    arguments = ", ".join([of.template(C_TYPES[dtype]), *map(str, shape)])
    return f"cuda_kernels::{of.function}<{arguments}>"


ON_CPU = WarpTile(1, 2, 2, 1, 1, 2)
"""The compiler for the CPU wants less code."""


def declare_kernel(
    of: Format,
    dtype: str,
    name: str,
    sm_80: WarpTile,
    sm_90a: WarpgroupTile,
    *requires: Condition,
    sm_90: cd.Implementation | None = None,
) -> cd.Kernel:
    """The kernel for a layout, an element type of x and y, and tiles.

    `sm_90` is what H100s take in code without warpgroups, if not what is for sm_80.
    """
    on_sm_80 = cd.Implementation(**sm_80.implementation(of, dtype))
    return cd.Kernel(
        f"{of.name}_{dtype}_{name}",
        operands=[
            cd.In("x", dtype, [..., of.k]),
            *of.operands(dtype),
            cd.Out("y", dtype, [..., n]),
            sm_90a.scratch(of),
            cd.Scalar("batch", "i32", cd.batch),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", of.k),
            cd.Scalar("parts", "i32", of.parts),
        ],
        requires=[*of.requires, *requires],
        implementations={
            "cuda:sm_80": on_sm_80,
            "cuda:sm_90": sm_90 or on_sm_80,
            "cuda:sm_90a": cd.Implementation(**sm_90a.implementation(of, dtype)),
        },
        reference=of.product,
        flops=2 * cd.batch * n * of.k,
        **ON_CPU.implementation(of, dtype),
    )


CLUSTERS = {2: MULTIPROCESSORS // 2, 3: 36, 4: 30}
"""By their blocks, as many as fit at once, one block to a multiprocessor: a part of the GPU has 16
or 18 of these."""
ROW_NS, BLOCK_NS, SPLIT_ROW_NS = 5, 2300, 13
PARTS_NS, PART_ROW_NS = 4500, 13
"""Of a block whose tiles have parts, and of each part that the last block adds."""


def cost(of: Format, tile: WarpgroupTile) -> Expr:
    """Nanoseconds that a form takes on an H200, but for the launch: waves of tiles, and the stages,
    the start and the end of each.
    """
    stages, tiles = cd.ceildiv(of.k, 4 * STEP), tile.tiles()
    stage = of.stage_ns * (4 if tile.deep(of) == 1 else 3) // 4 + tile.columns * ROW_NS
    if tile.split > 1:
        end = BLOCK_NS + tile.columns * SPLIT_ROW_NS
        return cd.ceildiv(tiles, CLUSTERS[tile.split]) * (
            cd.ceildiv(stages, tile.split) * stage + end
        )
    waves = cd.ceildiv(tiles, MULTIPROCESSORS)
    least = cd.ceildiv(stages, MOST_PARTS)
    share = cd.maximum(cd.ceildiv(tiles * stages, MULTIPROCESSORS), least)
    more = cd.minimum(cd.ceildiv(MULTIPROCESSORS, cd.maximum(tiles, 1)), MOST_PARTS)
    parts = PARTS_NS + tile.columns * PART_ROW_NS + more * (tile.columns * PART_ROW_NS)
    return waves * BLOCK_NS + cd.minimum(waves * stages * stage, share * stage + parts)


def _tiles(columns: int) -> list[WarpgroupTile]:
    """Of so many rows of x, with every way to share k."""
    return [WarpgroupTile(columns, split) for split in (4, 3, 2, 1)]


LARGER = [
    WarpgroupTile(256),
    WarpgroupTile(224),
    WarpgroupTile(192, split=2),
    WarpgroupTile(160),
    *(WarpgroupTile(128, split) for split in (4, 2, 1)),
]
FORMS = [(32, _tiles(32)), (128, [*_tiles(64), *LARGER]), (None, LARGER)]
"""Up to so many rows of x, what is compared."""
ON_SM_80 = {
    32: WarpTile(1, 4, 4, 1, 2, 5),
    64: WarpTile(1, 4, 8, 1, 2, 4),
    128: WarpTile(2, 4, 8, 2, 1, 4),
}
"""By rows of x; more take the last."""


def declare_kernels(
    of: Format, dtype: str, few: Mapping[str, Any] | None = None
) -> list[cd.Kernel]:
    """The kernels for any number of rows of x, in the order of a choice.

    Of those for as many rows the one that costs least is taken. Up to 32 rows, code for H100s
    without warpgroups is `few`, the launch of a kernel for 16 rows, if there is one: that takes
    0.7 of the time. Its template's last argument makes a place for scratch memory.
    """
    kernels = []
    for rows, tiles in FORMS:
        fits = [] if rows is None else [cd.batch <= rows]
        for i, tile in enumerate(tiles):
            if tile in LARGER and rows is not None:
                continue
            cheapest = [cost(of, tile) <= cost(of, other) for other in tiles[i + 1 :]]
            sm_80 = ON_SM_80[min(tile.columns, max(ON_SM_80))]
            sm_90 = None
            if few is not None and rows == 32:
                sm_90 = cd.Implementation(**{**few, "entry": few["entry"][:-1] + ", float*>"})
            kernels.append(
                declare_kernel(of, dtype, tile.name, sm_80, tile, *fits, *cheapest, sm_90=sm_90)
            )
    return kernels


def declare(of: Format, dtype: str) -> cd.Choice:
    """The choice for a layout that has no kernels for few rows of x of its own."""
    return cd.Choice(f"{of.name}_{dtype}", declare_kernels(of, dtype))


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"{of.name}_{dtype}": partial(declare, of, dtype)
        for of in (formats.Q8_0, formats.Q4_K, formats.FP8_BLOCKS)
        for dtype in ("f16", "bf16")
    },
)
