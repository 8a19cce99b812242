"""Attention of few queries on tensor cores: the declarations for `attention_decode.cu`.

For heads of 64 and 128 of 16 bits, and of any size up to 256. `choices.py` has the choice between
these and `prefill.py`. A name says the rows of a tile, which are the queries of all heads that
share a head of keys, and the blocks of a worker, which are a cluster on sm_90:
`decode_attention_bf16_64_r16_c8`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import custom_dispatch as cd
from cuda_kernels.attention.head_sizes import (
    Head,
    UpTo,
    columns_of,
    name_of,
    requirements,
    template_of,
    whole_columns_of,
)
from cuda_kernels.attention.names import kernel_name
from cuda_kernels.attention.scores import AS_THEY_ARE, Scores
from cuda_kernels.attention.signature import (
    batch,
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

STEP_KEYS = 64
"""Keys of a step of a block, in most kernels; others have 32."""
ROWS_OF_KEYS = heads * queries
"""Rows of the tiles of all heads of keys of a sequence."""


@dataclass(frozen=True)
class Tile:
    """How `attention_decode.cu` works: the numbers of its template."""

    groups: int
    """Warps that share keys; each has 16 rows."""
    keys: int
    """Of a step of these."""
    stages: int

    @property
    def rows(self) -> int:
        """Of a tile."""
        return 16 * self.groups

    @property
    def warps(self) -> int:
        """Of a block."""
        return max(self.groups, 4)

    def shared_bytes(self, head: Head, stored: str = "") -> int:
        """A tile of queries, and stages of keys and values."""
        columns, _ = whole_columns_of(head)
        of_keys = self.warps // self.groups * self.keys * self.stages * _words_of(head, stored)
        return 2 * (self.rows * columns + of_keys)

    def resident(self, head: Head, stored: str = "") -> int:
        """Blocks on a multiprocessor of Hopper."""
        return 2 if self.warps == 4 and self.shared_bytes(head, stored) <= 112 << 10 else 1

    def storing(self, head: Head, stored: str) -> Tile:
        """The same with as many stages of caches of a type as the memory has room for."""
        stages = self.stages * _words_of(head, "") // _words_of(head, stored)
        return replace(self, stages=stages)


def _words_of(head: Head, stored: str) -> int:
    """What a key and a value take in shared memory, in 16-bit words: whole parts of 64."""
    words = [-(-each // 2) if stored else each for each in columns_of(head)]
    return sum(-(-each // 64) * 64 for each in words)


@dataclass(frozen=True)
class Consumers:
    """How `attention_decode_sm90a.cu` works: the numbers of its template."""

    count: int
    """Consumer warpgroups of a block; each has 64 rows."""
    keys: int
    """Of a step."""
    stages: int

    def shared_bytes(self, head: Head) -> int:
        """A tile of queries, and stages of keys and values."""
        columns, _ = whole_columns_of(head)
        return 2 * (64 * self.count * columns + self.keys * self.stages * _words_of(head, ""))

    def resident(self, head: Head) -> int:
        """Blocks on a multiprocessor."""
        return 2 if self.count == 1 and self.shared_bytes(head) <= 112 << 10 else 1


CONSUMERS: dict[int, dict[Head, Consumers]] = {
    64: {
        32: Consumers(1, 128, 3),
        64: Consumers(1, 128, 3),
        128: Consumers(1, 64, 3),
        UpTo(64, 64): Consumers(1, 128, 3),
        UpTo(96, 96): Consumers(1, 64, 3),
        UpTo(128, 128): Consumers(1, 64, 3),
        UpTo(192, 128): Consumers(1, 64, 2),
        UpTo(192, 192): Consumers(1, 64, 4),
        UpTo(256, 256): Consumers(1, 64, 3),
    },
    128: {
        32: Consumers(2, 128, 4),
        64: Consumers(2, 128, 4),
        128: Consumers(2, 128, 3),
        UpTo(64, 64): Consumers(2, 128, 4),
        UpTo(96, 96): Consumers(2, 128, 3),
        UpTo(128, 128): Consumers(2, 128, 3),
        UpTo(192, 128): Consumers(2, 128, 2),
        UpTo(192, 192): Consumers(2, 64, 3),
        UpTo(256, 256): Consumers(2, 64, 2),
    },
}
"""By the rows of a name and the size of heads, for caches of 16 bits on `sm_90a`."""

TILES: dict[int, dict[Head, tuple[Tile, Tile]]] = {
    16: {
        32: (Tile(1, 16, 6), Tile(1, 16, 4)),
        64: (Tile(1, 16, 6), Tile(1, 16, 4)),
        128: (Tile(1, 16, 3), Tile(1, 16, 2)),
        UpTo(64, 64): (Tile(1, 16, 6), Tile(1, 16, 4)),
        UpTo(96, 96): (Tile(1, 16, 3), Tile(1, 16, 2)),
        UpTo(128, 128): (Tile(1, 16, 3), Tile(1, 16, 2)),
        UpTo(192, 128): (Tile(1, 16, 2), Tile(1, 16, 2)),
        UpTo(192, 192): (Tile(1, 16, 2), Tile(2, 16, 3)),
        UpTo(256, 256): (Tile(1, 16, 3), Tile(2, 16, 2)),
    },
    64: {
        32: (Tile(4, 64, 6), Tile(4, 64, 4)),
        64: (Tile(4, 64, 6), Tile(4, 64, 4)),
        128: (Tile(4, 64, 3), Tile(4, 64, 2)),
        UpTo(64, 64): (Tile(4, 64, 6), Tile(4, 64, 4)),
        UpTo(96, 96): (Tile(4, 64, 3), Tile(4, 64, 2)),
        UpTo(128, 128): (Tile(4, 64, 3), Tile(4, 64, 2)),
        UpTo(192, 128): (Tile(4, 64, 2), Tile(4, 32, 3)),
        UpTo(192, 192): (Tile(4, 32, 3), Tile(4, 32, 3)),
        UpTo(256, 256): (Tile(4, 32, 5), Tile(4, 32, 2)),
    },
    128: {
        32: (Tile(8, 64, 6), Tile(4, 64, 4)),
        64: (Tile(8, 64, 6), Tile(4, 64, 4)),
        128: (Tile(8, 64, 5), Tile(4, 64, 2)),
        UpTo(64, 64): (Tile(8, 64, 6), Tile(4, 64, 4)),
        UpTo(96, 96): (Tile(8, 64, 5), Tile(4, 64, 2)),
        UpTo(128, 128): (Tile(8, 64, 5), Tile(4, 64, 2)),
        UpTo(192, 128): (Tile(8, 64, 4), Tile(4, 32, 3)),
        UpTo(192, 192): (Tile(8, 32, 6), Tile(4, 32, 3)),
        UpTo(256, 256): (Tile(8, 32, 4), Tile(4, 32, 2)),
    },
}
"""By the rows of a name and the size of heads: on GPUs with clusters, where two blocks fit into a
multiprocessor but for heads over 192, and without, where a block fits into the 99 KiB of sm_86.
There a tile of 16 rows becomes one of 32 where that saves memory."""


@dataclass(frozen=True)
class Decode:
    """One kernel for few queries."""

    rows: int
    """Of a tile: 16, 64 or 128."""
    cluster: int
    """Blocks of a worker. With more of them there are fewer partial results in memory, and each of
    a cluster's blocks combines some of the rows."""

    @property
    def name(self) -> str:
        """The end of the kernel's name."""
        return f"r{self.rows}_c{self.cluster}"

    def tiles(self, head: Head, stored: str = "") -> tuple[Tile, Tile]:
        """With clusters, and without; `stored`: the type of caches, if it has 8 bits."""
        with_clusters, without = (each.storing(head, stored) for each in TILES[self.rows][head])
        return with_clusters, without

    def rule(self, head: Head, cache: Expr = keys) -> list[Condition]:
        """The sizes that it is for, of those that the ones before it in `forms_of` leave.

        Clusters are for few tiles, whose partial results they combine. Those of eight are for more
        rows than their tiles have, too, if caches are short or tiles very few: short steps of many
        blocks take less time than long ones of a few.

        Parameters
        ----------
        cache
            The keys that a sequence has at most.
        """
        is_largest = self.rows == max(form.rows for form in forms_of(head))
        few_rows = self.rows * kv_heads >= ROWS_OF_KEYS
        places = PLACES[self.cluster] * self.resident(head) // 2
        if self.cluster == 8:
            most: Expr | int = places if self.resident(head) == 2 else 16
            if not is_largest:
                few = places * 3 // 8
                of_more = cd.where(cache <= 4096, places, few) if self.rows > 16 else few
                most = cd.where(few_rows, most, of_more)
            return [self.tiles_of_all <= most]
        few_tiles = [self.tiles_of_all <= places * (3 if self.rows == 16 else 1)]
        return [*([] if is_largest else [few_rows]), *(few_tiles if self.cluster > 1 else [])]

    def resident(self, head: Head) -> int:
        """Blocks on a multiprocessor of Hopper, at most."""
        hopper = [CONSUMERS[rows][head].resident(head) for rows in self.hopper_rows(head)]
        return max([self.tiles(head)[0].resident(head), *hopper])

    def hopper_rows(self, head: Head) -> list[int]:
        """The rows of tiles in `attention_decode_sm90a.cu`, if it has this form.

        Heads over 192 have tiles of 64 rows there for 16, too: these leave more room to stages.
        """
        return [max(self.rows, 64)] if self.rows > 16 or columns_of(head)[0] > 192 else []

    @property
    def tiles_of_all(self) -> Expr:
        """Tiles of rows of all sequences."""
        return batch * kv_heads * cd.ceildiv(ROWS_OF_KEYS, self.rows * kv_heads)

    def workers(self, cluster: int, cache: Expr = keys, resident: int = 2) -> Expr:
        """As many as are busy: the blocks that are resident, or one for each step."""
        steps = self.tiles_of_all * cd.ceildiv(cache, STEP_KEYS)
        places = PLACES[cluster] * resident // 2
        return cd.maximum(cd.minimum(places, cd.ceildiv(steps, cluster)), 1)

    def scratch(self, head: Head, cache: Expr = keys) -> cd.Scratch:
        """Of each worker two partial results, and 16 bytes for each block and each of these."""
        _, value_columns = columns_of(head)
        rows = max(*(tile.rows for tile in self.tiles(head)), *self.hopper_rows(head))
        size = 2 * rows * (value_columns + 2) + 8
        resident = max(self.resident(head), self.tiles(head)[1].resident(head))
        return cd.Scratch("partial_results", "f32", [self.workers(1, cache, resident) * size])


def launches(
    name: str,
    types: str,
    head: Head,
    form: Decode,
    *,
    behind: str = "",
    last: str = "",
    cache: Expr = keys,
    stored: str = "",
) -> dict[str, Any]:
    """What a declaration says of launches: by the template's first and last arguments.

    Parameters
    ----------
    last
        The arguments of a pack of operands, in C++: those of caches.
    cache
        The keys that a sequence has at most.
    stored
        The type of caches, if it has 8 bits.
    """

    def launch(tile: Tile, cluster: int) -> dict[str, Any]:
        numbers = f"{tile.groups}, {tile.keys}, {tile.stages}, {cluster}{behind}{last}"
        return {
            "entry": f"cuda_kernels::{name}<{types}, {template_of(head)}, {numbers}>",
            "block": 32 * tile.warps,
            "grid": form.workers(cluster, cache, tile.resident(head, stored)) * cluster,
            "dynamic_shared_memory": tile.shared_bytes(head, stored),
        }

    with_clusters, without = form.tiles(head, stored)
    clustered = cd.Implementation(**launch(with_clusters, form.cluster), cluster=form.cluster)
    both = {"cuda:sm_90": clustered, "cuda:sm_90a": clustered}
    for rows in form.hopper_rows(head) if not stored else ():
        tile = CONSUMERS[rows][head]
        of_queries = types.partition(",")[0]
        numbers = f"{tile.count}, {tile.keys}, {tile.stages}, {form.cluster}{behind}"
        both["cuda:sm_90a"] = cd.Implementation(
            source="attention_decode_sm90a.cu",
            entry=f"cuda_kernels::{name}_sm90a<{of_queries}, {template_of(head)}, {numbers}>",
            block=128 * (1 + tile.count),
            grid=form.workers(form.cluster, cache, tile.resident(head)) * form.cluster,
            dynamic_shared_memory=tile.shared_bytes(head),
            cluster=form.cluster,
        )
    return launch(without, 1) | {"source": "attention_decode.cu", "implementations": both}


_BLOCKS_OF_PREFILL = batch * heads * cd.ceildiv(queries, 128)
FEW_QUERIES = [
    cd.where(queries <= 128, 0, _BLOCKS_OF_PREFILL) <= MULTIPROCESSORS // 2,
    cd.where(queries <= 16, 0, 16 * queries) <= keys,
]
"""Where these are taken rather than `prefill.py`: up to 128 queries, and more where its blocks
would leave half of the multiprocessors without work; and 16 keys or more for each of many."""
PLACES = {1: 2 * MULTIPROCESSORS, 2: MULTIPROCESSORS, 8: 28}
"""Blocks, and clusters of so many blocks, that an H100 and an H200 run at once, two blocks on a
multiprocessor."""
_FORMS = (*(Decode(rows, cluster) for rows in (16, 64, 128) for cluster in (8, 2, 1)),)


def forms_of(head: Head) -> tuple[Decode, ...]:
    """Those for a size of heads, in the order in which calls take them."""
    return tuple(form for form in _FORMS if form.rows < 128 or columns_of(head)[0] <= 192)


def decode(
    dtype: str,
    head: Head,
    mask: str,
    form: Decode,
    *,
    layout: str = "bhsd",
    scores: Scores = AS_THEY_ARE,
) -> cd.Kernel:
    """The kernel for few queries and many keys."""
    behind = form_of(layout, scores=scores)
    launch = launches("attention_decode", C_TYPES[dtype], head, form, behind=behind)
    launch["implementations"]["cpu"] = on_cpu(
        dtype, head, layout, scores=scores, entry="attention_decode_cpu"
    )
    which = f"{scores.prefix}decode_"
    given = operands(dtype, head, mask, layout, scores=scores)
    before = len(given) - len(scores.operands)
    return cd.Kernel(
        kernel_name(which, f"{scores.label}{dtype}", name_of(head), mask, layout, form.name),
        operands=[*given[:before], form.scratch(head), *given[before:]],
        requires=[heads % kv_heads == 0, *requirements(head), *mask_requirements(mask)],
        options=scores.options,
        include_dirs=scores.include_dirs,
        reference=reference_of(layout, scores),
        flops=flops(head),
        **launch,
    )
