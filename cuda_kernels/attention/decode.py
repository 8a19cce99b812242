"""Attention of few queries on tensor cores: the declarations for `attention_decode.cu`.

For heads of 64 and 128 of 16 bits. `choices.py` has the choice between these and `prefill.py`. A
name says the warps, the stages of each and the blocks of a cluster that split the keys, on sm_90,
and then the warps and stages on GPUs from sm_80 on:
`decode_attention_bf16_64_w8_s6_c2_sm80_w4_s2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import custom_dispatch as cd
from cuda_kernels.attention.names import kernel_name
from cuda_kernels.attention.signature import (
    attend,
    attend_by_position,
    attend_cache,
    batch,
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
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Condition

DECODED_ROWS = 16
"""Queries, of all heads that share a head of keys, that `attention_decode.cu` takes."""


@dataclass(frozen=True)
class SplitKV:
    """How `attention_decode.cu` splits the keys of a head: the numbers of its template."""

    warps: int
    stages: int
    cluster: int = 1
    """Blocks that split a head."""

    def shared_bytes(self, dim: int) -> int:
        """A tile of queries, and of each warp the stages, of 16 keys and 16 values."""
        return 32 * dim * (1 + 2 * self.warps * self.stages)

    def entry(self, name: str, dtype: str, dim: int, by_position: bool = False) -> str:
        """The instance of a template."""
        numbers = f"{dim}, {self.warps}, {self.stages}, {self.cluster}{placed(by_position)}"
        return f"cuda_kernels::{name}<{C_TYPES[dtype]}, {numbers}>"


WITHOUT_CLUSTERS = SplitKV(4, 2)
"""On GPUs without clusters; it fits into the shared memory of all of them."""


@dataclass(frozen=True)
class Decode:
    """One kernel for few queries: how it splits keys, and the sizes that it is for.

    The bytes in flight are the same for every size of heads.
    """

    cluster: int
    """Blocks that split a head of keys. More blocks than multiprocessors gain nothing."""
    least_heads: int = 0
    """KV heads of all sequences together, from which on it is used where no table says."""
    warps: int = 8
    depth: int = 3
    """Stages for heads of 128; smaller heads have more."""
    without: SplitKV = WITHOUT_CLUSTERS
    """The same for heads of 64 on a GPU without clusters; for heads of 128 no other fits into the
    99 KiB that a block of sm_86 and sm_89 can have."""

    def name(self, dim: int) -> str:
        """The end of the kernel's name, for a size of heads."""
        form, without = self.split(dim), self.split_without(dim)
        return (
            f"w{form.warps}_s{form.stages}_c{form.cluster}_sm80_w{without.warps}_s{without.stages}"
        )

    def split(self, dim: int) -> SplitKV:
        """How it splits keys."""
        return SplitKV(self.warps, self.depth * 128 // dim, self.cluster)

    def split_without(self, dim: int) -> SplitKV:
        """How it splits keys on a GPU without clusters."""
        return self.without if dim == 64 else WITHOUT_CLUSTERS

    @property
    def rule(self) -> list[Condition]:
        """The sizes that it is for, where no table says."""
        return [batch * kv_heads >= self.least_heads] if self.least_heads else []


SPLITS = (Decode(1, 96), Decode(2, 24), Decode(8))
SPLITS_OF_TABLES = (
    Decode(4, warps=4, without=SplitKV(4, 3)),
    Decode(1, depth=2, without=SplitKV(8, 2)),
    Decode(8, warps=4, without=SplitKV(4, 4)),
    Decode(2, warps=4),
)
"""More of them; `custom-dispatch tune` says which is for which sizes."""


def _on_clusters(
    name: str, dtype: str, dim: int, form: Decode, by_position: bool = False
) -> dict[str, cd.Implementation]:
    split = form.split(dim)
    found = cd.Implementation(
        entry=split.entry(name, dtype, dim, by_position),
        block=32 * split.warps,
        grid=(split.cluster, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(dim),
        cluster=split.cluster,
    )
    return {"cuda:sm_90": found, "cuda:sm_90a": found}


def _few_rows() -> list[Condition]:
    return [heads % kv_heads == 0, queries >= 1, queries * heads <= DECODED_ROWS * kv_heads]


def decode(
    dtype: str, dim: int, mask: str, form: Decode, *, by_position: bool = False
) -> cd.Kernel:
    """The kernel for few queries and many keys."""
    on_clusters = _on_clusters("attention_decode", dtype, dim, form, by_position)
    split = form.split_without(dim)
    return cd.Kernel(
        kernel_name("decode_", dtype, dim, mask, by_position, form.name(dim)),
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


def decode_cache(dtype: str, dim: int, form: Decode) -> cd.Kernel:
    """The same with a KV cache that has `lengths` keys, for each sequence.

    The queries are the last of the keys: each sees the keys up to its own.
    """
    split = form.split_without(dim)
    return cd.Kernel(
        f"decode_cache_{dtype}_{dim}_{form.name(dim)}",
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
        implementations=_on_clusters("cached_attention", dtype, dim, form)
        | {"cpu": cached_on_cpu(dtype, dim)},
    )
