"""Attention of many queries on tensor cores: declarations for `attention_sm80.cu`, `_sm90a.cu`.

For heads of 64 and 128 of 16 bits, and of any size up to 256. `choices.py` has the choice between
these and `decode.py`. A name says the tile on sm_90a, queries x keys, and its stages, and then the
tile on GPUs from sm_80 on:
`prefill_attention_bf16_64_t192x128_s2_sm80_t128x64`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import custom_dispatch as cd
from cuda_kernels.attention.head_sizes import (
    Head,
    UpTo,
    name_of,
    requirements,
    template_of,
    whole_columns_of,
)
from cuda_kernels.attention.names import kernel_name
from cuda_kernels.attention.signature import (
    ALL_HEADS,
    REFERENCES,
    blocks,
    flops,
    form_of,
    heads,
    kv_heads,
    mask_requirements,
    on_cpu,
    operands,
)
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from custom_dispatch.kernel.expr import Expr

_SHARED_BYTES, _SHARED_BYTES_OF_SM86 = 227 * 1024, 99 * 1024
"""Of a block on sm_90 and sm_86, at most. CUDA C++ Programming Guide, "Compute Capabilities"."""


@dataclass(frozen=True)
class Tiles:
    """The tile of `attention_sm80.cu`: the numbers of its template."""

    keys: int
    """Keys of a tile."""
    warps: int
    parts: int
    """Queries of a warp, in 16."""
    resident: int
    """Blocks that a multiprocessor must be able to hold, which limits registers."""

    @property
    def queries(self) -> int:
        """Queries of a block."""
        return 16 * self.parts * self.warps

    def shared_bytes(self, head: Head, number_stages: int = 0) -> int:
        """A tile of queries, one of keys, one of values and one of the mask's numbers."""
        columns, value_columns = whole_columns_of(head)
        tiles = (self.queries + self.keys) * columns + self.keys * value_columns
        return 2 * (tiles + number_stages * self.queries * -(-self.keys // 64) * 64)

    def number_stages(self, head: Head) -> int:
        """1 where a tile of the mask's numbers fits into the shared memory of sm_86, else 0."""
        return int(self.shared_bytes(head, 1) <= _SHARED_BYTES_OF_SM86)


TILES: dict[Head, Tiles] = {64: Tiles(64, 4, 2, 2), 128: Tiles(64, 4, 2, 1)}
"""By the size of a head: the fastest of those tried (docs/kernels/attention.md)."""
TILES_UP_TO: dict[Head, Tiles] = {
    UpTo(64, 64): Tiles(64, 4, 2, 2),
    UpTo(96, 96): Tiles(64, 4, 2, 1),
    UpTo(128, 128): Tiles(64, 4, 2, 1),
    UpTo(192, 128): Tiles(64, 8, 1, 1),
    UpTo(192, 192): Tiles(64, 8, 1, 1),
    UpTo(256, 256): Tiles(32, 8, 1, 1),
}
"""The same by the largest sizes; in the 99 KiB of shared memory that a block of sm_86 can have."""


@dataclass(frozen=True)
class WarpgroupTiles:
    """The tile of `attention_sm90a.cu`."""

    keys: int
    consumers: int
    """Consumer warpgroups, each with 64 queries; one more is the producer."""
    stages: int

    @property
    def queries(self) -> int:
        """Queries of a block."""
        return 64 * self.consumers

    def shared_bytes(self, head: Head, number_stages: int = 0) -> int:
        """`SharedStorage`: tiles, tensor maps, pointers to them, barriers; a multiple of 128.

        With stages of the mask's numbers their tiles and `NumberPipeline`, too.
        """
        columns, value_columns = whole_columns_of(head)
        of_keys = self.stages * self.keys * (columns + value_columns)
        tiles = 2 * (self.queries * columns + of_keys)
        found = tiles + 3 * 128 + -(-8 * (3 + 2 + 4 * self.stages) // 128) * 128
        if not number_stages:
            return found
        found += 128 + -(-8 * (1 + 2 * number_stages) // 128) * 128
        return found + self._number_bytes(number_stages, found)

    def _number_bytes(self, stages: int, others: int) -> int:
        """`NumberArea`: stages of tiles, or of rows where they are no whole chunks."""
        tiles = 2 * stages * self.queries * -(-self.keys // 64) * 64
        of_rows = self.queries * (2 * self.keys + 16)
        fits = stages * of_rows + others <= _SHARED_BYTES
        return max(tiles, (stages if fits else tiles // of_rows) * of_rows)

    def number_stages(self, head: Head) -> int:
        """As many stages of the mask's numbers as fit, at most 2."""
        fits = [each for each in (1, 2) if self.shared_bytes(head, each) <= _SHARED_BYTES]
        return max(fits, default=0)


WARPGROUP_TILES: dict[Head, WarpgroupTiles] = {
    64: WarpgroupTiles(128, 3, 2),
    128: WarpgroupTiles(128, 2, 2),
}
WARPGROUP_TILES_UP_TO: dict[Head, WarpgroupTiles] = {
    UpTo(64, 64): WarpgroupTiles(128, 3, 2),
    UpTo(96, 96): WarpgroupTiles(128, 2, 3),
    UpTo(128, 128): WarpgroupTiles(128, 2, 2),
    UpTo(192, 128): WarpgroupTiles(128, 2, 2),
    UpTo(192, 192): WarpgroupTiles(96, 2, 2),
    UpTo(256, 256): WarpgroupTiles(64, 2, 2),
}
WARPGROUP_TILES_WITH_NUMBERS: dict[Head, WarpgroupTiles] = {
    UpTo(96, 96): WarpgroupTiles(128, 2, 2),
    UpTo(192, 128): WarpgroupTiles(96, 2, 2),
}
"""Where a mask's numbers take a part of the shared memory; names still say the others."""


@dataclass(frozen=True)
class Prefill:
    """One kernel for many queries: its tiles, by the size of a head; the usual ones if left out."""

    tiles: Mapping[Head, Tiles] = field(default_factory=lambda: {**TILES, **TILES_UP_TO})
    warpgroup_tiles: Mapping[Head, WarpgroupTiles] = field(
        default_factory=lambda: {**WARPGROUP_TILES, **WARPGROUP_TILES_UP_TO}
    )

    def name(self, head: Head) -> str:
        """The end of the kernel's name, for a size of heads."""
        tile, hopper = self.tiles[head], self.warpgroup_tiles[head]
        of_hopper = f"t{hopper.queries}x{hopper.keys}_s{hopper.stages}"
        return f"{of_hopper}_sm80_t{tile.queries}x{tile.keys}"


SMALL = Prefill({64: Tiles(64, 4, 1, 2)}, {64: WarpgroupTiles(128, 2, 2)})
"""With smaller tiles, for heads of 64."""


def _rounds(of_queries: int) -> Expr:
    """How often all multiprocessors take tiles of so many queries."""
    return cd.ceildiv(blocks(of_queries), MULTIPROCESSORS)


SMALL_RULE = [2 * _rounds(128) < 3 * _rounds(192)]
"""Where they are done sooner: as the usual ones have 192 queries, and these 128."""


def prefill(
    dtype: str,
    head: Head,
    mask: str = "keys",
    *,
    layout: str = "bhsd",
    form: Prefill = Prefill(),
    all_heads: Expr = ALL_HEADS,
    is_capped: bool = False,
) -> cd.Kernel:
    """The kernel for any number of queries.

    Parameters
    ----------
    mask, layout, is_capped
        As of `signature.operands`.
    form
        Its tiles.
    all_heads
        Heads of all sequences; each has work tiles of its own.
    """
    tiles, hopper = form.tiles[head], form.warpgroup_tiles[head]
    adds = mask == "queries"
    if adds:
        hopper = WARPGROUP_TILES_WITH_NUMBERS.get(head, hopper)
    staged, hopper_staged = (each.number_stages(head) * adds for each in (tiles, hopper))
    sizes = template_of(head)
    numbers = f"{sizes}, {tiles.keys}, {tiles.warps}, {tiles.parts}, {tiles.resident}"
    hopper_numbers = f"{sizes}, {hopper.keys}, {hopper.consumers}, {hopper.stages}"
    numbers += form_of(dtype, layout, staged=staged, is_capped=is_capped)
    hopper_numbers += form_of(dtype, layout, staged=hopper_staged, is_capped=is_capped)
    least = 64 if hopper_staged or isinstance(head, UpTo) else hopper.queries  # of a work tile
    which = "capped_prefill_" if is_capped else "prefill_"
    return cd.Kernel(
        kernel_name(which, dtype, name_of(head), mask, layout, form.name(head)),
        source="attention_sm80.cu",
        entry=f"cuda_kernels::attention_sm80<{C_TYPES[dtype]}, {numbers}>",
        operands=operands(dtype, head, mask, layout, is_capped=is_capped),
        block=32 * tiles.warps,
        grid=blocks(tiles.queries, all_heads),
        dynamic_shared_memory=tiles.shared_bytes(head, staged),
        requires=[heads % kv_heads == 0, *requirements(head), *mask_requirements(mask)],
        reference=REFERENCES[layout],
        flops=flops(head),
        implementations={
            "cpu": on_cpu(dtype, head, layout, all_heads, is_capped=is_capped),
            "cuda:sm_90a": cd.Implementation(
                source="attention_sm90a.cu",
                entry=f"cuda_kernels::attention_sm90a<{C_TYPES[dtype]}, {hopper_numbers}>",
                block=128 * (hopper.consumers + 1),
                grid=cd.minimum(blocks(least, all_heads), MULTIPROCESSORS),
                dynamic_shared_memory=hopper.shared_bytes(head, hopper_staged),
            ),
        },
    )
