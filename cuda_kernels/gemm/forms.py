"""The kernels of each product: their tiles, and the sizes that each is for.

A name says what a kernel is on sm_90a, and then on GPUs from sm_80 on:
`linear_bf16_pingpong_t128x176_s5_c2_sm80_t128x256_s4`. t is the tile of C that a block computes
(rows x columns), s the stages of the pipeline, c the blocks of a cluster or the rows and columns of
its tiles, k the blocks that split k. `skinny` is for few rows of A, `splitk` has the blocks of a
cluster share k, and `align1` takes operands that are not whole 16 bytes, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuda_kernels.gemm.sm90a import (
    Align1,
    ClusterTile,
    HopperForm,
    SplitK,
    Transposed,
    WarpSpecialised,
)
from cuda_kernels.gemm.tiles import SkinnyTile, Tile, TileF32, TileTf32
from custom_dispatch.kernel.expr import Condition, Expr


@dataclass(frozen=True)
class Sizes:
    """The dims of a product."""

    batch: Expr | int
    m: Expr
    n: Expr
    k: Expr


SKINNY = SkinnyTile(1, 4, 8, 4)
SKINNY_NARROW = SkinnyTile(1, 2, 16, 4)
SKINNY_BY_ROWS = Tile(16, 32, 128, 6, 1, 1, 4)
SKINNY_WIDE = Tile(16, 64, 128, 4, 1, 1, 4)
LARGE = Tile(128, 256, 32, 4, 2, 4)
SQUARE = Tile(128, 128, 64, 3, 2, 2)
MEDIUM = Tile(64, 128, 64, 4, 2, 2)
SMALL = Tile(64, 32, 128, 4, 1, 1, 4)
TINY = Tile(32, 32, 128, 6, 1, 2, 4)
MEDIUM_F32 = TileF32(64, 64, 16, 6, 2, 2)
NARROW_F32 = TileF32(32, 32, 64, 4, 1, 2, 4)
SMALL_F32 = TileF32(32, 16, 128, 4, 1, 1, 8)
SKINNY_F32 = TileF32(16, 16, 128, 6, 1, 1, 8)
SKINNY_F32_WIDE = TileF32(16, 32, 128, 4, 1, 1, 8)
LARGE_TF32 = TileTf32(128, 256, 16, 4, 2, 4)
SQUARE_TF32 = TileTf32(128, 128, 32, 3, 2, 4)
MEDIUM_TF32 = TileTf32(64, 64, 32, 4, 2, 2)
SMALL_TF32 = TileTf32(64, 32, 64, 4, 1, 1, 4)
TINY_TF32 = TileTf32(32, 32, 64, 6, 1, 2, 4)
SKINNY_TF32 = TileTf32(16, 32, 64, 6, 1, 1, 4)


@dataclass(frozen=True)
class Form:
    """One kernel of a choice: its tiles, and the sizes that it is for."""

    tile: Tile | SkinnyTile
    hopper: HopperForm | None = None
    """The kernel for sm_90a, if there is one of its own."""
    skinny: bool = False
    """Whether it is for few rows of A."""
    align1: bool = False
    """Whether it takes rows that are not whole 16 bytes, too."""

    def name(self, has_weights: bool) -> str:
        """The end of the kernel's name."""
        tiles = [self.tile.name]
        if self.hopper is not None:
            tiles = [self.hopper.for_layout(has_weights).name, "sm80", self.tile.name]
        first, last = "skinny" if self.skinny else "", "align1" if self.align1 else ""
        return "_".join(filter(None, (first, *tiles, last)))

    def requires(self, has_weights: bool, sizes: Sizes) -> list[Condition]:
        """Conditions on the sizes: rows of whole 16 bytes, unless it takes others, too."""
        if self.align1:
            return []
        pack = 16 // self.tile.element_bytes
        return [sizes.k % pack == 0, *([] if has_weights else [sizes.n % pack == 0])]

    def rule(self, sizes: Sizes) -> list[Condition]:
        """The sizes that it is for where no table says, as on CPUs."""
        return [sizes.m <= 16] if self.skinny else []


_TILES = (
    Form(LARGE, WarpSpecialised(128, 256, 4, 2)),
    Form(LARGE, WarpSpecialised(128, 256, 4, 1)),
    Form(LARGE, WarpSpecialised(128, 224, 4, 1)),
    Form(LARGE, WarpSpecialised(128, 192, 4, 2)),
    Form(MEDIUM, WarpSpecialised(128, 128, 6, 1)),
    Form(LARGE, WarpSpecialised(128, 176, 5, 2, 1)),
    Form(SQUARE, WarpSpecialised(128, 128, 6, 2, 1)),
    Form(SMALL, WarpSpecialised(64, 128, 8, 1, 1)),
    Form(MEDIUM, ClusterTile(224, 128, columns=2)),
    Form(MEDIUM, ClusterTile(192, 128, columns=2)),
    Form(MEDIUM, ClusterTile(160, 128, columns=2)),
    Form(MEDIUM, ClusterTile(160, 128, rows=2)),
    Form(MEDIUM, ClusterTile(144, 128, columns=2)),
    Form(MEDIUM, ClusterTile(128, 128, columns=2)),
    Form(MEDIUM, ClusterTile(112, 128, columns=2)),
    Form(MEDIUM, ClusterTile(112, 128, columns=2, split=2)),
    Form(MEDIUM, ClusterTile(96, 128, columns=2)),
    Form(MEDIUM, ClusterTile(96, 128, rows=2, columns=2)),
    Form(MEDIUM, ClusterTile(80, 128, columns=2)),
    Form(MEDIUM, ClusterTile(80, 128, split=4)),
    Form(MEDIUM, ClusterTile(48, 128, split=3)),
    Form(MEDIUM, ClusterTile(160, 64, rows=2)),
    Form(MEDIUM, ClusterTile(160, 64, columns=4)),
    Form(MEDIUM, ClusterTile(128, 64)),
    Form(MEDIUM, ClusterTile(128, 64, split=2)),
    Form(SMALL, ClusterTile(96, 64, split=4)),
    Form(MEDIUM, ClusterTile(80, 64, columns=2)),
    Form(SMALL, ClusterTile(32, 64)),
    Form(TINY, ClusterTile(32, 64, split=2)),
    Form(SMALL, ClusterTile(32, 64, split=4)),
    Form(MEDIUM, SplitK(128, 128, 6, 2)),
    Form(MEDIUM, SplitK(128, 96, 7, 2)),
    Form(MEDIUM, SplitK(128, 64, 8, 2)),
    Form(SMALL, SplitK(64, 128, 8, 2)),
    Form(SMALL, SplitK(64, 64, 12, 2)),
    Form(MEDIUM, Align1(64, 128), align1=True),
    Form(MEDIUM, Align1(64, 128, split=2), align1=True),
    Form(SMALL, Align1(64, 64, split=4), align1=True),
    Form(SMALL, Align1(32, 128, split=4), align1=True),
    Form(SMALL, Align1(16, 64, split=8), align1=True),
)
"""Tables say which is for which sizes; where there is none, the first that takes them is. Fewer
tiles than multiprocessors leave some of these idle: then tiles are smaller, or blocks split k."""
FORMS = (
    Form(SKINNY, skinny=True, align1=True),
    *_TILES,
    # For few columns, which are too few blocks of 32.
    Form(SKINNY_NARROW, skinny=True, align1=True),
)
FORMS_BY_ROWS = (Form(SKINNY_WIDE, skinny=True), Form(SKINNY_BY_ROWS, skinny=True), *_TILES)
"""Where b is [k, n]."""
FORMS_F32 = (
    # On CPUs these are another kernel.
    Form(SKINNY_F32_WIDE, skinny=True, align1=True),
    Form(SKINNY_F32, skinny=True, align1=True),
    Form(MEDIUM_F32, align1=True),
    Form(NARROW_F32, align1=True),
    Form(SMALL_F32, align1=True),
)
FORMS_TF32 = (
    Form(SKINNY_TF32, skinny=True, align1=True),
    Form(LARGE_TF32, WarpSpecialised(128, 256, 4, 2)),
    Form(LARGE_TF32, WarpSpecialised(128, 192, 4, 1)),
    Form(SQUARE_TF32, WarpSpecialised(128, 128, 6, 2, 1)),
    Form(SQUARE_TF32, WarpSpecialised(128, 128, 6, 1)),
    Form(SMALL_TF32, WarpSpecialised(64, 128, 8, 1, 1)),
    Form(MEDIUM_TF32, SplitK(128, 128, 6, 2)),
    Form(SMALL_TF32, SplitK(64, 64, 12, 2)),
    Form(TINY_TF32, SplitK(64, 64, 12, 4)),
    Form(MEDIUM_TF32, align1=True),
    Form(SMALL_TF32, align1=True),
)
FORMS_TF32_BY_ROWS = (
    Form(SKINNY_TF32, skinny=True, align1=True),
    Form(MEDIUM_TF32, Transposed(256, 4)),
    Form(MEDIUM_TF32, Transposed(128, 6)),
    Form(TINY_TF32),
    Form(MEDIUM_TF32, align1=True),
    Form(SMALL_TF32, align1=True),
)
"""Where b is [k, n]."""


def forms_of(has_weights: bool, dtype: str) -> tuple[Form, ...]:
    """The forms of a choice, each kernel once.

    Where b is [k, n], tiles of some widths become the next wider ones, which there may be already.
    """
    of_type = {"f32": (FORMS_F32, FORMS_F32), "tf32": (FORMS_TF32, FORMS_TF32_BY_ROWS)}
    forms = of_type.get(dtype, (FORMS, FORMS_BY_ROWS))[not has_weights]
    found: dict[str, Form] = {}
    for form in forms:
        found.setdefault(form.name(has_weights), form)
    return tuple(found.values())
