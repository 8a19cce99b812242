"""Attention of many queries on tensor cores: the declarations for three sources.

For heads of 16 bits of 32, 64 and 128, and of any size up to 256. On sm_90a these are
`attention_sm90a.cu`, persistent blocks with a producer, and `attention_blocks_sm90a.cu`, a block
for each 64 queries; on GPUs from sm_80 on `attention_sm80.cu`. `choices.py` has the choice between
these and `decode.py`. A name says the tile on sm_90a, queries x keys, and the stages of persistent
blocks, and then the tile on GPUs from sm_80 on: `prefill_attention_bf16_64_b64x128_sm80_t128x64`,
`prefill_attention_bf16_128_t128x128_s2_sm80_t128x64`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from cuda_kernels.attention.scores import AS_THEY_ARE, Scores
from cuda_kernels.attention.signature import (
    ALL_HEADS,
    blocks,
    flops,
    form_of,
    heads,
    keys,
    kv_heads,
    mask_requirements,
    on_cpu,
    operands,
    queries,
    reference_of,
)
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from custom_dispatch.kernel.expr import Condition, Expr

_SHARED_BYTES, _SHARED_BYTES_OF_SM86 = 227 * 1024, 99 * 1024
"""Of a block on sm_90 and sm_86, at most. CUDA C++ Programming Guide, "Compute Capabilities"."""


def _tile_bytes(head: Head, queries: int, keys: int, stages: int = 1) -> int:
    """A tile of queries, and `stages` of keys and of values."""
    columns, value_columns = whole_columns_of(head)
    return 2 * (queries * columns + stages * keys * (columns + value_columns))


def _number_bytes(queries: int, keys: int) -> int:
    """What `number_rows.cuh` takes for the numbers of a mask: rows, each 16 bytes longer."""
    return queries * (2 * keys + 16)


@dataclass(frozen=True)
class Form:
    """What kernels of the same tiles differ in."""

    layout: str
    adds: bool
    """Whether the mask has numbers for each query, which are staged in shared memory."""
    scores: Scores


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

    def shared_bytes(self, head: Head, *, staged: bool = False) -> int:
        """Tiles, and one of the mask's numbers if they are staged."""
        numbers = 2 * self.queries * -(-self.keys // 64) * 64 if staged else 0
        return _tile_bytes(head, self.queries, self.keys) + numbers

    def with_room(self) -> Tiles:
        """The same tile by twice as many warps, where one of them has no register left."""
        is_full = self.parts == 2 and self.resident == 1
        return replace(self, warps=2 * self.warps, parts=1) if is_full else self

    def stages_numbers(self, head: Head) -> bool:
        """Whether the mask's numbers fit into the shared memory of sm_86, too."""
        return self.shared_bytes(head, staged=True) <= _SHARED_BYTES_OF_SM86


@dataclass(frozen=True)
class WarpgroupTiles:
    """The tile of `attention_sm90a.cu`."""

    keys: int
    consumers: int
    """Consumer warpgroups, each with 64 queries; one more is the producer."""
    stages: int

    @property
    def name(self) -> str:
        """As in a kernel's name."""
        return f"t{64 * self.consumers}x{self.keys}_s{self.stages}"

    @property
    def queries(self) -> int:
        """Queries of a block."""
        return 64 * self.consumers

    def with_room(self) -> WarpgroupTiles:
        """The same with two consumers, which have more registers than three."""
        return replace(self, consumers=min(self.consumers, 2))

    def shared_bytes(self, head: Head, number_stages: int = 0) -> int:
        """`SharedStorage`: tiles, tensor maps, pointers to them, barriers; a multiple of 128.

        With stages of the mask's numbers their tiles and `NumberPipeline`, too.
        """
        tiles = _tile_bytes(head, self.queries, self.keys, self.stages)
        found = tiles + 3 * 128 + -(-8 * (3 + 2 + 4 * self.stages) // 128) * 128
        if not number_stages:
            return found
        found += 128 + -(-8 * (1 + 2 * number_stages) // 128) * 128
        return found + self._number_bytes(number_stages, found)

    def _number_bytes(self, stages: int, others: int) -> int:
        """`NumberArea`: stages of tiles, or of rows where they are no whole chunks."""
        tiles = 2 * stages * self.queries * -(-self.keys // 64) * 64
        of_rows = _number_bytes(self.queries, self.keys)
        fits = stages * of_rows + others <= _SHARED_BYTES
        return max(tiles, (stages if fits else tiles // of_rows) * of_rows)

    def number_stages(self, head: Head) -> int:
        """As many stages of the mask's numbers as fit, at most 2."""
        fits = [each for each in (1, 2) if self.shared_bytes(head, each) <= _SHARED_BYTES]
        return max(fits, default=0)

    def implementation(
        self, form: Form, dtype: str, head: Head, all_heads: Expr
    ) -> cd.Implementation:
        """What runs on sm_90a."""
        staged = self.number_stages(head) if form.adds else 0
        numbers = f"{template_of(head)}, {self.keys}, {self.consumers}, {self.stages}"
        numbers += form_of(form.layout, staged=staged, scores=form.scores)
        return cd.Implementation(
            source="attention_sm90a.cu",
            entry=f"cuda_kernels::attention_sm90a<{C_TYPES[dtype]}, {numbers}>",
            block=128 * (self.consumers + 1),
            grid=cd.minimum(blocks(64, all_heads), MULTIPROCESSORS),
            dynamic_shared_memory=self.shared_bytes(head, staged),
        )


@dataclass(frozen=True)
class BlockTiles:
    """The tile of `attention_blocks_sm90a.cu`, of 64 queries."""

    keys: int
    resident: int
    """Blocks that a multiprocessor must be able to hold, which limits registers."""
    holds_queries: bool = False
    """In registers, or they are read from shared memory for each tile."""
    stages: int = 2
    """Of keys and of values; one is enough where a tile has all keys."""

    @property
    def name(self) -> str:
        """As in a kernel's name."""
        return f"b64x{self.keys}{'' if self.stages == 2 else '_s1'}"

    @property
    def numbers(self) -> str:
        """The template arguments behind the head."""
        holds = "true" if self.holds_queries else "false"
        return f"{self.keys}, {self.stages}, {self.resident}, {holds}"

    def shared_bytes(self, head: Head, *, staged: bool = False) -> int:
        """Tiles, two of keys and of values, the mask's numbers if they are staged, a mask."""
        numbers = _number_bytes(64, self.keys) if staged else 0
        return _tile_bytes(head, 64, self.keys, self.stages) + numbers + 64

    def implementation(
        self, form: Form, dtype: str, head: Head, all_heads: Expr
    ) -> cd.Implementation:
        """What runs on sm_90a."""
        numbers = f"{template_of(head)}, {self.numbers}"
        numbers += form_of(form.layout, staged=form.adds, scores=form.scores)
        return cd.Implementation(
            source="attention_blocks_sm90a.cu",
            entry=f"cuda_kernels::attention_blocks<{C_TYPES[dtype]}, {numbers}>",
            block=128,
            grid=blocks(64, all_heads),
            dynamic_shared_memory=self.shared_bytes(head, staged=form.adds),
        )


@dataclass(frozen=True)
class Prefill:
    """One kernel for many queries: its tiles, and the sizes that it is for."""

    tiles: Tiles
    hopper: WarpgroupTiles | BlockTiles
    rule: tuple[Condition, ...] = ()
    hopper_with_numbers: WarpgroupTiles | BlockTiles | None = None
    """Where a mask's numbers take a part of the shared memory; names still say the other."""

    @property
    def requirements(self) -> list[Condition]:
        """What has to hold for the keys, which a single stage has all at once."""
        is_one = isinstance(self.hopper, BlockTiles) and self.hopper.stages == 1
        return [keys <= self.hopper.keys] if is_one else []

    @property
    def name(self) -> str:
        """The end of the kernel's name."""
        return f"{self.hopper.name}_sm80_t{self.tiles.queries}x{self.tiles.keys}"


ONE_TILE = 80
"""Keys, of small blocks that have them all in one tile, as those of a prompt's 77."""
FEW_KEYS = (keys <= 448,)
"""Where tiles of 64 keys are faster than of 128, since more blocks run at once."""
LITTLE = (cd.ceildiv(queries, 64) * cd.ceildiv(keys, 64) * ALL_HEADS <= 12 * MULTIPROCESSORS,)
"""Where the tiles of 64 x 64 are so few that the start of persistent blocks takes too long."""
_OF_192 = cd.ceildiv(queries, 192) * ALL_HEADS
"""Tiles of persistent blocks with three consumers."""
SEVERAL_ROUNDS = (queries >= 1024, 2 * _OF_192 >= 5 * MULTIPROCESSORS)
"""Where heads of 64 gain from blocks that read keys for 192 queries."""
TWO_ROUNDS = (_OF_192 >= 2 * MULTIPROCESSORS,)
"""The same for heads of 65 to 96: with less, two consumers with larger tiles are faster."""

_SMALL_80, _USUAL_80 = Tiles(64, 4, 1, 2), Tiles(64, 4, 2, 2)
_LARGE_80 = Tiles(64, 4, 2, 1)


def _one_tile(tiles: Tiles, resident: int, otherwise: WarpgroupTiles | BlockTiles) -> Prefill:
    return Prefill(tiles, BlockTiles(ONE_TILE, resident, stages=1), hopper_with_numbers=otherwise)


PREFILLS: dict[Head, tuple[Prefill, ...]] = {
    32: (
        Prefill(_SMALL_80, BlockTiles(64, 4, holds_queries=True), FEW_KEYS, BlockTiles(64, 3)),
        Prefill(
            _USUAL_80,
            BlockTiles(128, 3, holds_queries=True),
            hopper_with_numbers=WarpgroupTiles(128, 3, 2),
        ),
    ),
    64: (
        _one_tile(_SMALL_80, 4, BlockTiles(64, 3)),
        Prefill(_SMALL_80, BlockTiles(64, 4), FEW_KEYS, BlockTiles(64, 3)),
        Prefill(_USUAL_80, WarpgroupTiles(128, 3, 2), SEVERAL_ROUNDS),
        Prefill(_USUAL_80, BlockTiles(128, 3), hopper_with_numbers=WarpgroupTiles(128, 3, 2)),
    ),
    128: (
        _one_tile(Tiles(64, 4, 1, 1), 3, BlockTiles(64, 2)),
        Prefill(Tiles(64, 4, 1, 1), BlockTiles(64, 2), LITTLE),
        Prefill(_LARGE_80, WarpgroupTiles(128, 2, 2)),
    ),
    UpTo(64, 64): (
        _one_tile(_SMALL_80, 4, BlockTiles(64, 3)),
        Prefill(_SMALL_80, BlockTiles(64, 4), (keys <= 1024,), BlockTiles(64, 3)),
        Prefill(_USUAL_80, WarpgroupTiles(128, 3, 2)),
    ),
    UpTo(96, 96): (
        _one_tile(_LARGE_80, 3, WarpgroupTiles(128, 2, 2)),
        Prefill(_LARGE_80, WarpgroupTiles(64, 3, 3), TWO_ROUNDS, WarpgroupTiles(128, 2, 2)),
        Prefill(
            _LARGE_80,
            WarpgroupTiles(128, 2, 3),
            hopper_with_numbers=WarpgroupTiles(128, 2, 2),
        ),
    ),
    UpTo(128, 128): (
        _one_tile(_LARGE_80, 3, WarpgroupTiles(128, 2, 2)),
        Prefill(_LARGE_80, WarpgroupTiles(128, 2, 2)),
    ),
    UpTo(192, 128): (
        Prefill(
            Tiles(64, 8, 1, 1), WarpgroupTiles(64, 2, 3), (keys <= 400,), WarpgroupTiles(96, 2, 2)
        ),
        Prefill(
            Tiles(64, 8, 1, 1),
            WarpgroupTiles(128, 2, 2),
            hopper_with_numbers=WarpgroupTiles(96, 2, 2),
        ),
    ),
    UpTo(192, 192): (Prefill(Tiles(64, 8, 1, 1), WarpgroupTiles(96, 2, 2)),),
    UpTo(256, 256): (Prefill(Tiles(32, 8, 1, 1), WarpgroupTiles(64, 2, 2)),),
}
"""By the size of a head, or the largest sizes: the fastest of those tried, the last for whatever
the others leave (docs/kernels/attention.md). `attention_sm80.cu` has to fit into the 99 KiB of
shared memory that a block of sm_86 can have."""


def prefill(
    dtype: str,
    head: Head,
    mask: str = "keys",
    *,
    layout: str = "bhsd",
    form: Prefill | None = None,
    all_heads: Expr = ALL_HEADS,
    scores: Scores = AS_THEY_ARE,
) -> cd.Kernel:
    """The kernel for any number of queries.

    Parameters
    ----------
    mask, layout, scores
        As of `signature.operands`.
    form
        Its tiles; by default those for whatever size.
    all_heads
        Heads of all sequences; each has work tiles of its own.
    """
    form = form or PREFILLS[head][-1]
    of = Form(layout, mask == "queries", scores)
    tiles, hopper = form.tiles.with_room() if scores.calls else form.tiles, form.hopper
    # A cap takes registers, too, which small blocks have where fewer of them are resident.
    needs_room = of.adds or (bool(scores.types) and isinstance(hopper, BlockTiles))
    if needs_room and form.hopper_with_numbers is not None:
        hopper = form.hopper_with_numbers
    if scores.calls and isinstance(hopper, WarpgroupTiles):
        hopper = hopper.with_room()
    staged = of.adds and tiles.stages_numbers(head)
    numbers = f"{tiles.keys}, {tiles.warps}, {tiles.parts}, {tiles.resident}"
    numbers += form_of(layout, staged=staged, scores=scores)
    which = f"{scores.prefix}prefill_"
    return cd.Kernel(
        kernel_name(which, f"{scores.label}{dtype}", name_of(head), mask, layout, form.name),
        source="attention_sm80.cu",
        entry=f"cuda_kernels::attention_sm80<{C_TYPES[dtype]}, {template_of(head)}, {numbers}>",
        operands=operands(dtype, head, mask, layout, scores=scores),
        block=32 * tiles.warps,
        grid=blocks(tiles.queries, all_heads),
        dynamic_shared_memory=tiles.shared_bytes(head, staged=staged),
        requires=[
            heads % kv_heads == 0,
            *requirements(head),
            *mask_requirements(mask),
            *form.requirements,
        ],
        options=scores.options,
        include_dirs=scores.include_dirs,
        reference=reference_of(layout, scores),
        flops=flops(head),
        implementations={
            "cpu": on_cpu(dtype, head, layout, all_heads, scores=scores),
            "cuda:sm_90a": hopper.implementation(of, dtype, head, all_heads),
        },
    )
