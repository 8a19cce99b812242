"""Attention of few queries with a cache of latent vectors: the declarations for `latent_decode.cu`.

DeepSeek's multi-head latent attention as its decoding steps compute it: all heads share one vector
of 576 numbers for each position, a latent vector of 512, which is the value, and 64 that rotate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.names import LATENT
from cuda_kernels.attention.signature import Array, attend_cache, batch, heads, keys, queries
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Condition, Expr

COLUMNS, VALUE_COLUMNS = 576, 512
"""Of a query and a key, and of a value, which is the beginning of the key."""
ROWS = heads * queries
pages, page_size, table_width = cd.dim("pages"), cd.dim("page_size"), cd.dim("table_width")


@dataclass(frozen=True)
class Latent:
    """One kernel: the numbers of its template on GPUs with clusters."""

    groups: int
    """Of 16 rows."""
    parts: int
    """Warps that share 16 rows; each has 16 keys of a step."""
    stages: int
    cluster: int

    @property
    def name(self) -> str:
        """The end of the kernel's name."""
        return f"r{16 * self.groups}_c{self.cluster}"

    @property
    def tiles(self) -> Expr:
        """Of all sequences."""
        return batch * cd.ceildiv(ROWS, 16 * self.groups)

    def rule(self, cache: Expr) -> list[Condition]:
        """The sizes that it is for, of those that the ones before it leave.

        Small tiles are for a few of more rows, too, where keys are few: they are more tiles.
        """
        few_rows, most = ROWS <= 16, MULTIPROCESSORS // 4
        if self.cluster == 1:
            return [few_rows] if self.groups == 1 else []
        if self.groups > 1:
            return [self.tiles <= most]
        return [self.tiles <= cd.where(few_rows, most, cd.where(cache <= 8192, most // 3, 0))]

    def launch(self, entry: str, dtype: str, cache: Expr) -> dict[str, Any]:
        """The implementation of an entry."""
        numbers = f"{self.groups}, {self.parts}, {self.stages}, {self.cluster}"
        rows, step = 16 * self.groups, 16 * self.parts
        places = MULTIPROCESSORS if self.cluster == 1 else 14
        steps = self.tiles * cd.ceildiv(cache, step * self.cluster)
        return {
            "entry": f"cuda_kernels::{entry}<{C_TYPES[dtype]}, {numbers}>",
            "block": 32 * self.groups * self.parts,
            "grid": cd.maximum(cd.minimum(places, steps), 1) * self.cluster,
            "dynamic_shared_memory": 2 * COLUMNS * (rows + step * self.stages),
        }


FORMS = (Latent(1, 4, 2, 8), Latent(1, 4, 2, 1), Latent(4, 2, 4, 8), Latent(4, 2, 4, 1))
"""In the order in which calls take them. Clusters are what an H200 has room for, one block each."""
WITHOUT = Latent(1, 2, 2, 1)
"""On GPUs without clusters, for all: what fits into the 99 KiB of sm_86."""


def declare(dtype: str, form: Latent, *, has_pages: bool = False) -> cd.Kernel:
    """The kernel: the queries are the last of the `lengths` keys of their sequence.

    Parameters
    ----------
    has_pages
        Whether the cache is [pages, page_size, 576], and a table [batch, table_width] says which a
        sequence has; otherwise it is [batch, keys, 576].
    """
    entry = "paged_latent_attention" if has_pages else "latent_attention"
    cache = page_size * table_width if has_pages else keys
    clustered = cd.Implementation(**form.launch(entry, dtype, cache), cluster=form.cluster)
    most = 16 * form.groups * (VALUE_COLUMNS + 2) * 2 + 8
    workers = cd.maximum(cd.minimum(MULTIPROCESSORS, batch * ROWS * cache), 1)
    of_cache = [pages, page_size] if has_pages else [batch, keys]
    return cd.Kernel(
        f"{'paged_' if has_pages else ''}latent_decode_{dtype}_{form.name}",
        source="latent_decode.cu",
        operands=[
            cd.In("q", dtype, [batch, heads, queries, COLUMNS]),
            cd.In("cache", dtype, [*of_cache, COLUMNS]),
            *([cd.In("table", "i32", [batch, table_width])] if has_pages else []),
            cd.In("lengths", "i32", [batch]),
            cd.Out("out", dtype, [batch, heads, queries, VALUE_COLUMNS]),
            cd.Scalar("scale", "f32"),
            cd.Scalar("batch", "i32", batch),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("queries", "i32", queries),
            *(
                [
                    cd.Scalar("pages", "i32", pages),
                    cd.Scalar("page_size", "i32", page_size),
                    cd.Scalar("table_width", "i32", table_width),
                ]
                if has_pages
                else [cd.Scalar("keys", "i32", keys)]
            ),
            cd.Scratch("partial_results", "f32", [workers * most]),
        ],
        requires=[pages >= 1, page_size >= 1] if has_pages else [],
        reference=_attend_pages if has_pages else _attend,
        flops=2 * (COLUMNS + VALUE_COLUMNS) * batch * ROWS * cache,
        implementations={"cuda:sm_90": clustered, "cuda:sm_90a": clustered},
        **WITHOUT.launch(entry, dtype, cache),
    )


def _attend(q: Array, cache: Array, lengths: Array, scale: float) -> Array:
    shared = cache[:, None]
    return attend_cache(q, shared, shared[..., :VALUE_COLUMNS], lengths, scale)


def _attend_pages(q: Array, cache: Array, table: Array, lengths: Array, scale: float) -> Array:
    of_sequences = cache[
        numpy.clip(table, 0, len(cache) - 1)
    ]  # [batch, table_width, page_size, ..]
    return _attend(q, of_sequences.reshape(len(table), -1, COLUMNS), lengths, scale)


def choose(dtype: str, *, has_pages: bool) -> cd.Choice:
    """The kernels of a type."""
    kernels = {form: declare(dtype, form, has_pages=has_pages) for form in FORMS}
    rules = {form: form.rule(page_size * table_width if has_pages else keys) for form in FORMS}
    return cd.Choice(
        f"{'paged_' if has_pages else ''}latent_attention_{dtype}",
        [*kernels.values()],
        rules={kernel.name: rules[form] for form, kernel in kernels.items() if rules[form]},
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        name: partial(choose, dtype, has_pages=has_pages)
        for name, (dtype, has_pages) in LATENT.items()
    },
)
