"""Attention of few queries on tensor cores: the declarations for `attention_decode.cu`.

For heads of 64 and 128 of 16 bits, and of any size up to 256. `choices.py` has the choice between
these and `prefill.py`. A name says the warps, the stages of each and the blocks of a cluster that
split the keys, on sm_90, and then the warps and stages on GPUs from sm_80 on:
`decode_attention_bf16_64_w8_s6_c2_sm80_w4_s2`.
"""

from __future__ import annotations

from dataclasses import dataclass

import custom_dispatch as cd
from cuda_kernels.attention.head_sizes import (
    Head,
    UpTo,
    name_of,
    requirements,
    sizes_of,
    template_of,
    whole_columns_of,
)
from cuda_kernels.attention.names import kernel_name
from cuda_kernels.attention.signature import (
    REFERENCES,
    attend_cache,
    batch,
    cached_on_cpu,
    flops,
    form_of,
    head_scalars,
    heads,
    keys,
    kv_heads,
    mask_requirements,
    on_cpu,
    operands,
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

    def shared_bytes(self, head: Head) -> int:
        """A tile of queries, and of each warp the stages, of 16 keys and 16 values."""
        columns, value_columns = whole_columns_of(head)
        return 32 * (columns + self.warps * self.stages * (columns + value_columns))

    def entry(
        self,
        name: str,
        dtype: str,
        head: Head,
        layout: str = "bhsd",
        *,
        is_capped: bool = False,
    ) -> str:
        """The instance of a template."""
        form = form_of(dtype, layout, is_capped=is_capped)
        numbers = f"{self.warps}, {self.stages}, {self.cluster}{form}"
        return f"cuda_kernels::{name}<{C_TYPES[dtype]}, {template_of(head)}, {numbers}>"


WITHOUT_CLUSTERS = SplitKV(4, 2)
"""On GPUs without clusters; it fits into the shared memory of all of them."""
WARPS_AND_STAGES_UP_TO = {
    UpTo(64, 64): ((8, 6), (4, 2)),
    UpTo(96, 96): ((8, 3), (4, 2)),
    UpTo(128, 128): ((8, 3), (4, 2)),
    UpTo(192, 128): ((4, 4), (4, 2)),
    UpTo(192, 192): ((4, 4), (2, 3)),
    UpTo(256, 256): ((4, 3), (2, 2)),
}
"""For heads up to these sizes: the warps and stages on GPUs with clusters, and without, where they
fit into the 99 KiB of sm_86."""


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

    def name(self, head: Head) -> str:
        """The end of the kernel's name, for a size of heads."""
        form, without = self.split(head), self.split_without(head)
        return (
            f"w{form.warps}_s{form.stages}_c{form.cluster}_sm80_w{without.warps}_s{without.stages}"
        )

    def split(self, head: Head) -> SplitKV:
        """How it splits keys."""
        if isinstance(head, UpTo):
            return SplitKV(*WARPS_AND_STAGES_UP_TO[head][0], self.cluster)
        return SplitKV(self.warps, self.depth * 128 // head, self.cluster)

    def split_without(self, head: Head) -> SplitKV:
        """How it splits keys on a GPU without clusters."""
        if isinstance(head, UpTo):
            return SplitKV(*WARPS_AND_STAGES_UP_TO[head][1])
        return self.without if head == 64 else WITHOUT_CLUSTERS

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
    name: str,
    dtype: str,
    head: Head,
    form: Decode,
    layout: str = "bhsd",
    *,
    is_capped: bool = False,
) -> dict[str, cd.Implementation]:
    split = form.split(head)
    found = cd.Implementation(
        entry=split.entry(name, dtype, head, layout, is_capped=is_capped),
        block=32 * split.warps,
        grid=(split.cluster, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(head),
        cluster=split.cluster,
    )
    return {"cuda:sm_90": found, "cuda:sm_90a": found}


def _few_rows(head: Head) -> list[Condition]:
    few = [heads % kv_heads == 0, queries >= 1, queries * heads <= DECODED_ROWS * kv_heads]
    return [*few, *requirements(head)]


def decode(
    dtype: str,
    head: Head,
    mask: str,
    form: Decode,
    *,
    layout: str = "bhsd",
    is_capped: bool = False,
) -> cd.Kernel:
    """The kernel for few queries and many keys; by position for one query."""
    name = "attention_decode"
    requires = [*_few_rows(head), *mask_requirements(mask)]
    on_clusters = _on_clusters(name, dtype, head, form, layout, is_capped=is_capped)
    split = form.split_without(head)
    which = "capped_decode_" if is_capped else "decode_"
    return cd.Kernel(
        kernel_name(which, dtype, name_of(head), mask, layout, form.name(head)),
        source="attention_decode.cu",
        entry=split.entry(name, dtype, head, layout, is_capped=is_capped),
        operands=operands(dtype, head, mask, layout, is_capped=is_capped),
        block=32 * split.warps,
        grid=(1, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(head),
        requires=[*requires, queries == 1] if layout == "bshd" else requires,
        reference=REFERENCES[layout],
        flops=flops(head),
        implementations=on_clusters | {"cpu": on_cpu(dtype, head, layout, is_capped=is_capped)},
    )


def decode_cache(dtype: str, head: Head, form: Decode) -> cd.Kernel:
    """The same with a KV cache that has `lengths` keys, for each sequence.

    The queries are the last of the keys: each sees the keys up to its own.
    """
    split = form.split_without(head)
    dim, value_dim = sizes_of(head)
    return cd.Kernel(
        f"decode_cache_{dtype}_{name_of(head)}_{form.name(head)}",
        source="attention_decode.cu",
        entry=split.entry("cached_attention", dtype, head),
        operands=[
            cd.In("q", dtype, [batch, heads, queries, dim]),
            cd.In("k", dtype, [batch, kv_heads, keys, dim]),
            cd.In("v", dtype, [batch, kv_heads, keys, value_dim]),
            cd.In("lengths", "i32", [batch]),
            cd.Out("out", dtype, [batch, heads, queries, value_dim]),
            cd.Scalar("scale", "f32"),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("kv_heads", "i32", kv_heads),
            cd.Scalar("queries", "i32", queries),
            cd.Scalar("keys", "i32", keys),
            *head_scalars(head),
        ],
        block=32 * split.warps,
        grid=(1, kv_heads, batch),
        dynamic_shared_memory=split.shared_bytes(head),
        requires=_few_rows(head),
        reference=attend_cache,
        flops=flops(head),
        implementations=_on_clusters("cached_attention", dtype, head, form)
        | {"cpu": cached_on_cpu(dtype, head)},
    )
