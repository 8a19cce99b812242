"""Attention on tensor cores, for heads of 64 and 128 of 16 bits: many queries, and few.

The declarations for `attention_sm80.cu`, `attention_sm90a.cu` and `attention_decode.cu`. Who calls
them takes the choices of `attention.py`, which have the kernel for each size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import custom_dispatch as cd
from cuda_kernels.shared.attention import (
    ALL_HEADS,
    PREFIXES,
    attend,
    attend_by_position,
    attend_cache,
    batch,
    blocks,
    cached_on_cpu,
    flops,
    heads,
    keys,
    kv_heads,
    on_cpu,
    operands,
    placed,
    queries,
)
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.rows import C_TYPES
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.expr import Expr

DECODED_ROWS = 16
"""Queries, of all heads that share a head of keys, that `attention_decode.cu` takes."""


@dataclass(frozen=True)
class Tiles:
    """How `attention_sm80.cu` divides its work: the numbers of its template."""

    keys: int
    """Keys of a tile."""
    warps: int
    parts: int
    """Queries of a warp, in 16."""
    resident: int
    """Blocks of a multiprocessor that registers are to suffice for."""

    @property
    def queries(self) -> int:
        """Queries of a block."""
        return 16 * self.parts * self.warps

    def shared_bytes(self, dim: int) -> int:
        """A tile of queries, one of keys and one of values."""
        return 2 * dim * (self.queries + 2 * self.keys)


TILES = {64: Tiles(64, 4, 2, 2), 128: Tiles(64, 4, 2, 1)}
"""By the size of a head: the fastest of those tried (docs/kernels/attention.md)."""


@dataclass(frozen=True)
class WarpgroupTiles:
    """The same of `attention_sm90a.cu`."""

    keys: int
    consumers: int
    """Warpgroups, each with 64 queries, beside the one that copies."""
    stages: int

    @property
    def queries(self) -> int:
        """Queries of a block."""
        return 64 * self.consumers

    def shared_bytes(self, dim: int) -> int:
        """`Pipeline`: tiles, tensor maps, pointers to them and barriers, in whole 128 bytes."""
        tiles = 2 * dim * (self.queries + 2 * self.stages * self.keys)
        return tiles + 3 * 128 + -(-8 * (3 + 2 + 4 * self.stages) // 128) * 128


WARPGROUP_TILES = {64: WarpgroupTiles(128, 3, 2), 128: WarpgroupTiles(128, 2, 2)}


@dataclass(frozen=True)
class Prefill:
    """Tiles of the kernel for many queries, by the size of a head; the usual ones if left out."""

    infix: str = ""
    """Of its name."""
    tiles: Mapping[int, Tiles] = field(default_factory=lambda: TILES)
    warpgroup_tiles: Mapping[int, WarpgroupTiles] = field(default_factory=lambda: WARPGROUP_TILES)


PREFILLS_OF_TABLES = (
    Prefill(
        "less_",
        {64: Tiles(64, 4, 1, 2), 128: Tiles(64, 4, 1, 1)},
        {64: WarpgroupTiles(128, 2, 2), 128: WarpgroupTiles(64, 2, 4)},
    ),
    Prefill(
        "long_",
        {64: Tiles(128, 8, 1, 1), 128: Tiles(128, 8, 1, 1)},
        {64: WarpgroupTiles(64, 3, 4), 128: WarpgroupTiles(64, 2, 3)},
    ),
)
"""More of them; `custom-dispatch tune` says which is for which sizes."""


@dataclass(frozen=True)
class Split:
    """How `attention_decode.cu` divides the keys of a head."""

    warps: int
    stages: int
    blocks: int = 1
    """Of a cluster, which share a head."""

    def shared_bytes(self, dim: int) -> int:
        """A tile of queries, and of each warp the stages, of 16 keys and 16 values."""
        return 32 * dim * (1 + 2 * self.warps * self.stages)

    def entry(self, name: str, dtype: str, dim: int, by_position: bool = False) -> str:
        """The instance of a template."""
        numbers = f"{dim}, {self.warps}, {self.stages}, {self.blocks}{placed(by_position)}"
        return f"cuda_kernels::{name}<{C_TYPES[dtype]}, {numbers}>"


SPLIT = Split(4, 2)
"""Where there are no clusters, and any GPU has room for it."""


@dataclass(frozen=True)
class Clusters:
    """How a kernel for few queries divides keys on a GPU with clusters, and which sizes it is for.

    As many bytes are on their way for every size of heads.
    """

    infix: str
    """Of its name."""
    blocks: int
    """That share a head of keys. More blocks than multiprocessors gain nothing."""
    least_heads: int = 0
    """Of keys, of all sequences together, where no table says which sizes it is for."""
    warps: int = 8
    depth: int = 3
    """Stages of heads of 128; smaller heads have more."""
    without: Split = SPLIT
    """The same for heads of 64 on a GPU without clusters; for those of 128 none other has room in
    99 KiB, all that a block of sm_86 and sm_89 can have."""

    def split(self, dim: int) -> Split:
        """How keys are divided."""
        return Split(self.warps, self.depth * 128 // dim, self.blocks)

    def split_without(self, dim: int) -> Split:
        """The same on a GPU without clusters."""
        return self.without if dim == 64 else SPLIT

    @property
    def rule(self) -> list[Condition]:
        """The sizes that it is for, where no table says."""
        return [batch * kv_heads >= self.least_heads] if self.least_heads else []


CLUSTERS = (Clusters("", 1, 96), Clusters("2_", 2, 24), Clusters("8_", 8))
CLUSTERS_OF_TABLES = (
    Clusters("4x4x3_", 4, warps=4, without=Split(4, 3)),
    Clusters("1x8x2_", 1, depth=2, without=Split(8, 2)),
    Clusters("8x4x3_", 8, warps=4, without=Split(4, 4)),
    Clusters("2x4x3_", 2, warps=4),
)
"""More of them; `custom-dispatch tune` says which is for which sizes."""


def _name(which: str, dtype: str, dim: int, mask: str, by_position: bool, infix: str = "") -> str:
    placement = "by_position_" if by_position else ""
    return f"{PREFIXES[mask]}{which}attention_{placement}{infix}{dtype}_{dim}"


def prefill(
    dtype: str,
    dim: int,
    mask: str = "keys",
    *,
    by_position: bool = False,
    form: Prefill = Prefill(),
    all_heads: Expr = ALL_HEADS,
) -> cd.Kernel:
    """The kernel for any number of queries.

    Parameters
    ----------
    mask, by_position
        As of `shared.attention.operands`.
    form
        Its tiles.
    all_heads
        Heads of all sequences, each of which has work of its own.
    """
    tiles, hopper = form.tiles[dim], form.warpgroup_tiles[dim]
    numbers = f"{dim}, {tiles.keys}, {tiles.warps}, {tiles.parts}, {tiles.resident}"
    hopper_numbers = f"{dim}, {hopper.keys}, {hopper.consumers}, {hopper.stages}"
    numbers, hopper_numbers = (each + placed(by_position) for each in (numbers, hopper_numbers))
    return cd.Kernel(
        _name("prefill_", dtype, dim, mask, by_position, form.infix),
        source="attention_sm80.cu",
        entry=f"cuda_kernels::attention_sm80<{C_TYPES[dtype]}, {numbers}>",
        operands=operands(dtype, dim, mask, by_position),
        block=32 * tiles.warps,
        grid=blocks(tiles.queries, all_heads),
        dynamic_shared_memory=tiles.shared_bytes(dim),
        requires=[heads % kv_heads == 0],
        reference=attend_by_position if by_position else attend,
        flops=flops(dim),
        implementations={
            "cpu": on_cpu(dtype, dim, by_position, all_heads),
            "cuda:sm_90a": cd.Implementation(
                source="attention_sm90a.cu",
                entry=f"cuda_kernels::attention_sm90a<{C_TYPES[dtype]}, {hopper_numbers}>",
                block=128 * (hopper.consumers + 1),
                grid=cd.minimum(blocks(hopper.queries, all_heads), MULTIPROCESSORS),
                dynamic_shared_memory=hopper.shared_bytes(dim),
            ),
        },
    )


def _on_clusters(
    name: str, dtype: str, dim: int, clusters: Clusters, by_position: bool = False
) -> dict[str, cd.Implementation]:
    split = clusters.split(dim)
    found = cd.Implementation(
        entry=split.entry(name, dtype, dim, by_position),
        block=32 * split.warps,
        grid=(split.blocks, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(dim),
        cluster=split.blocks,
    )
    return {"cuda:sm_90": found, "cuda:sm_90a": found}


def _few_rows() -> list[Condition]:
    return [heads % kv_heads == 0, queries >= 1, queries * heads <= DECODED_ROWS * kv_heads]


def decode(
    dtype: str, dim: int, mask: str, clusters: Clusters, *, by_position: bool = False
) -> cd.Kernel:
    """The kernel for few queries and many keys."""
    on_clusters = _on_clusters("attention_decode", dtype, dim, clusters, by_position)
    split = clusters.split_without(dim)
    return cd.Kernel(
        _name("decode_", dtype, dim, mask, by_position, clusters.infix),
        source="attention_decode.cu",
        entry=split.entry("attention_decode", dtype, dim, by_position),
        operands=operands(dtype, dim, mask, by_position),
        block=32 * split.warps,
        grid=(1, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(dim),
        requires=_few_rows(),
        reference=attend_by_position if by_position else attend,
        flops=flops(dim),
        implementations=on_clusters | {"cpu": on_cpu(dtype, dim, by_position)},
    )


def decode_cache(dtype: str, dim: int, clusters: Clusters) -> cd.Kernel:
    """The same with a cache that is filled as far as `lengths` says, for each sequence.

    The queries are the last of the keys: each sees those up to its own.
    """
    split = clusters.split_without(dim)
    return cd.Kernel(
        f"decode_cache_{clusters.infix}{dtype}_{dim}",
        source="attention_decode.cu",
        entry=split.entry("cached_attention", dtype, dim),
        operands=[
            cd.In("q", dtype, [batch, heads, queries, dim]),
            cd.In("k", dtype, [batch, kv_heads, keys, dim]),
            cd.In("v", dtype, [batch, kv_heads, keys, dim]),
            cd.In("lengths", "i32", [batch]),
            cd.Out("out", dtype, [batch, heads, queries, dim]),
            cd.Scalar("scale", "f32"),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("kv_heads", "i32", kv_heads),
            cd.Scalar("queries", "i32", queries),
            cd.Scalar("keys", "i32", keys),
        ],
        block=32 * split.warps,
        grid=(1, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(dim),
        requires=_few_rows(),
        reference=attend_cache,
        flops=flops(dim),
        implementations=_on_clusters("cached_attention", dtype, dim, clusters)
        | {"cpu": cached_on_cpu(dtype, dim)},
    )


@cache
def choose(dtype: str, dim: int, mask: str = "keys", *, by_position: bool = False) -> cd.Choice:
    """The kernels for a type, a size of heads and a form of mask, few queries first.

    Which is taken was measured on an H200 for bf16 without a mask; the others take the same.
    """
    forms = (*CLUSTERS, *CLUSTERS_OF_TABLES)
    decoding = [decode(dtype, dim, mask, each, by_position=by_position) for each in forms]
    others = [
        prefill(dtype, dim, mask, by_position=by_position, form=form)
        for form in (Prefill(), *PREFILLS_OF_TABLES)
    ]
    is_own = (dtype, mask, by_position) == ("bf16", "keys", False)
    return cd.Choice(
        _name("", dtype, dim, mask, by_position),
        [*decoding, *others],
        tuning=f"attention_{dim}.tuning.json" if is_own else choose("bf16", dim),
        rules=_rules(decoding),
    )


def choose_cached(dtype: str, dim: int) -> cd.Choice:
    """The same with a cache that is partly filled, and few queries."""
    decoding = [decode_cache(dtype, dim, form) for form in (*CLUSTERS, *CLUSTERS_OF_TABLES)]
    return cd.Choice(
        f"cached_attention_{dtype}_{dim}",
        decoding,
        tuning=choose("bf16", dim),
        rules=_rules(decoding),
    )


def _rules(kernels: Sequence[cd.Kernel]) -> dict[str, list[Condition]]:
    """The rules of the kernels for few queries, by their names."""
    forms = (*CLUSTERS, *CLUSTERS_OF_TABLES)
    pairs = zip(kernels, forms, strict=True)
    return {kernel.name: form.rule for kernel, form in pairs if form.rule}
