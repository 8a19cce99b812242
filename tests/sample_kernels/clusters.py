"""The declaration for `clusters.cu`: pairs of blocks swap their parts, on sm_90 as a cluster."""

from __future__ import annotations

import custom_dispatch as cd

n = cd.dim("n")

swapped = cd.Kernel(
    "swapped",
    source="clusters.cu",
    operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])],
    block=64,
    grid=n // 64,
    implementations={"cuda:sm_90": cd.Implementation(entry="swapped_in_clusters", cluster=2)},
)
