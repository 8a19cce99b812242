"""Products of many rows of x with quantised weights: the declarations for `quantised_many*.cu`.

One kernel for every memory layout of weights; a name says the rows of x of a tile, as
`int4_f16_many128`, and `many128s` is for several tiles. Weights are rounded to the type of x after
they are multiplied by their scales, as if they were dequantised first; fp8 with a scale for whole
rows is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
"""Elements of k of a stage."""
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
    """A block of `quantised_many_sm90a.cu`: 128 * parts rows of weights by `columns` of x."""

    parts: int
    columns: int
    shared_kib: int
    """For stages, at most."""
    share: int = 1
    """Blocks of a cluster, one below the other, that copy x for each other."""
    split: int = 1
    """Blocks of a cluster that share the k of a tile; then `share` is 1."""
    resident: int = 1
    """Blocks in a multiprocessor."""

    @property
    def rows(self) -> int:
        """Of weights."""
        return 128 * self.parts

    def implementation(self, of: Format, dtype: str) -> dict[str, Any]:
        """The launch."""
        stage = self.columns * 2 * STEP + self.rows * of.pitch
        other = (2 * min(self.columns, 64) * 128 if self.split == 1 else 0) + 512
        stages = (self.shared_kib * 1024 - other) // (stage + 16)
        cluster = self.share * self.split
        tiles = cd.ceildiv(n, self.rows * self.share) * cd.ceildiv(cd.batch, self.columns)
        most = MULTIPROCESSORS * self.resident // cluster * cluster
        shape = self.parts, self.columns, stages, self.share, self.split, self.resident
        return {
            "source": "quantised_many_sm90a.cu",
            "entry": _entry(of, dtype, shape),
            "block": 384,
            "grid": tiles * cluster if self.split > 1 else cd.minimum(most, tiles * cluster),
            "cluster": cluster,
            "dynamic_shared_memory": -(-(stages * (stage + 16) + other) // 1024) * 1024,
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
) -> cd.Kernel:
    """The kernel for a layout, an element type of x and y, and tiles."""
    on_sm_80 = cd.Implementation(**sm_80.implementation(of, dtype))
    return cd.Kernel(
        f"{of.name}_{dtype}_{name}",
        operands=[
            cd.In("x", dtype, [..., of.k]),
            *of.operands(dtype),
            cd.Out("y", dtype, [..., n]),
            cd.Scalar("batch", "i32", cd.batch),
            cd.Scalar("n", "i32", n),
            cd.Scalar("k", "i32", of.k),
            cd.Scalar("parts", "i32", of.parts),
        ],
        requires=[*of.requires, *requires],
        implementations={
            "cuda:sm_80": on_sm_80,
            "cuda:sm_90": on_sm_80,
            "cuda:sm_90a": cd.Implementation(**sm_90a.implementation(of, dtype)),
        },
        reference=of.product,
        flops=2 * cd.batch * n * of.k,
        **ON_CPU.implementation(of, dtype),
    )


@dataclass(frozen=True)
class Form:
    """Tiles on each GPU, for a number of rows of x."""

    sm_80: WarpTile
    sm_90a: WarpgroupTile

    @property
    def cost(self) -> Expr:
        """Waves of tiles, times what 64 of k of a tile cost an H200: its columns, and 137."""
        tile = self.sm_90a
        tiles = cd.ceildiv(n, tile.rows) * cd.ceildiv(cd.batch, tile.columns)
        return cd.ceildiv(tiles, MULTIPROCESSORS) * (tile.columns + 137)


FEW = (
    Form(WarpTile(1, 4, 4, 1, 2, 5), WarpgroupTile(1, 32, 112, resident=2)),
    Form(WarpTile(1, 4, 8, 1, 2, 4), WarpgroupTile(1, 64, 112, resident=2)),
    Form(WarpTile(2, 4, 8, 2, 1, 4), WarpgroupTile(1, 128, 226)),
)
"""For as many rows of x as one tile has."""
MANY = (
    Form(WarpTile(2, 4, 8, 2, 1, 4), WarpgroupTile(1, 256, 226)),
    Form(WarpTile(2, 4, 8, 2, 1, 4), WarpgroupTile(1, 192, 226)),
    Form(WarpTile(2, 4, 8, 2, 1, 4), WarpgroupTile(1, 128, 226)),
)
"""The cheapest is taken."""
LONG = 8192
"""From this k on, it pays to reduce four parts of it."""
CLUSTERS_OF_3 = 36
"""As many fit at once: a part of the GPU has 16 or 18 multiprocessors."""


def _splits(of: Format, tile: WarpgroupTile) -> dict[int, list[Condition]]:
    """Blocks that share a tile's k, and when: where all fit into the GPU at once."""
    tiles, most = cd.ceildiv(n, tile.rows), MULTIPROCESSORS * tile.resident
    conditions = {
        4: [of.k >= LONG, tiles * 4 <= most],
        3: [tiles <= CLUSTERS_OF_3],
        2: [tiles * 2 <= most],
    }
    return conditions if tile.resident > 1 else {3: conditions[3], 2: conditions[2]}


def declare_kernels(of: Format, dtype: str) -> list[cd.Kernel]:
    """The kernels for any number of rows of x, in the order of a choice."""
    kernels = []
    for form in FEW:
        tile = form.sm_90a
        for split, requires in {**_splits(of, tile), 1: []}.items():
            name = f"many{tile.columns}" + (f"_split{split}" if split > 1 else "")
            own = replace(tile, split=split)
            fits = cd.batch <= tile.columns
            kernels.append(declare_kernel(of, dtype, name, form.sm_80, own, fits, *requires))
    for i, form in enumerate(MANY):
        cheapest = [form.cost <= other.cost for other in MANY[i + 1 :]]
        name = f"many{form.sm_90a.columns}s"
        kernels.append(declare_kernel(of, dtype, name, form.sm_80, form.sm_90a, *cheapest))
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
