"""Choices of kernels with scratch memory, and with implementations for sm_90a alone."""

from __future__ import annotations

import custom_dispatch as cd
from sample_kernels import implementations, scratch

n = cd.dim("n")
_backwards, _, _incremented = scratch.ALL
_geometry, _ = implementations.ALL

_short = cd.Kernel(
    "short",
    entry="reversed",
    source="scratch.cu",
    operands=_backwards.operands,
    block=64,
    grid=cd.ceildiv(n, 64),
    requires=[n <= 64],
)
_thirds = cd.Kernel(
    "thirds",
    entry="geometry",
    source="implementations.cu",
    operands=_geometry.operands,
    block=32,
    grid=cd.ceildiv(n, 32),
    requires=[n % 3 == 0],
    implementations={
        "cuda:sm_90a": cd.Implementation(
            source="implementations_sm90a.cu",
            entry="geometry_persistent",
            block=96,
            grid=cd.minimum(n, 7),
            dynamic_shared_memory=96 * 1024,
        )
    },
)

ALL = [
    cd.Choice("turned", [_short, _backwards]),
    cd.Choice("where_it_ran", [_thirds, _geometry]),
    _incremented,
]
