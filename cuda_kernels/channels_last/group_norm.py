"""Group norms of channels-last images, and an activation: for `group_norm_last.cu`.

The number of groups is the last size of `grouping`, as in `cuda_kernels.norms.group_norm`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.group_norm import normalised
from cuda_kernels.norms.rows import BLOCKS, CLUSTERED
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
THREADS = 512
FEWEST_BYTES, MOST_BYTES, FEWEST_PARTS = 32, 128, 16
"""Of a position that a block reads, and the parts that all images are to have where there are few:
a sector, a line, and a cluster on every eighth multiprocessor of an H200."""
MOST_GROUPS = 64
"""Of a block, as in `group_norm_last.cu`."""


def _normalised(
    x: Array, weight: Array | None, bias: Array | None, grouping: Array, *numbers: Any
) -> Array:
    first = numpy.moveaxis(x, -1, 1)
    return numpy.moveaxis(normalised(first, weight, bias, grouping, *numbers), 1, -1)


def declare(dtype: str) -> cd.Kernel:
    """The kernel for images [n, h, w, c] of an element type."""
    images, height, width, channels, groups = map(
        cd.dim, ("images", "height", "width", "channels", "groups")
    )
    shape = [images, height, width, channels]
    size, of_group = ELEMENT_TYPES[dtype].bytes, channels // groups
    wanted = cd.maximum(images * channels // FEWEST_PARTS, FEWEST_BYTES // size)
    of_block = cd.minimum(wanted, MOST_BYTES // size) // of_group
    of_block = cd.minimum(cd.maximum(of_block, 1), cd.minimum(groups, MOST_GROUPS))
    blocks = images * cd.ceildiv(groups, of_block)
    in_cluster = cd.Implementation(
        entry=f"cuda_kernels::group_norm_last_wide<{C_TYPES[dtype]}, {THREADS}, {BLOCKS}>",
        grid=blocks * BLOCKS,
        cluster=BLOCKS,
    )
    return cd.Kernel(
        f"group_norm_last_{dtype}",
        source="group_norm_last.cu",
        entry=f"cuda_kernels::group_norm_last<{C_TYPES[dtype]}, {THREADS}>",
        operands=[
            cd.In("x", dtype, shape),
            cd.In("weight", dtype, [channels], optional=True),
            cd.In("bias", dtype, [channels], optional=True),
            cd.In("grouping", "u8", [0, groups]),
            cd.Out("y", dtype, shape),
            cd.Scalar("groups_of_image", "i32", groups),
            cd.Scalar("channels_of_group", "i32", of_group),
            cd.Scalar("groups_of_block", "i32", of_block),
            cd.Scalar("size", "i32", height * width),
            cd.Scalar("epsilon", "f32"),
            cd.Scalar("slope", "f32"),
            cd.Scalar("activation", "i32"),
        ],
        block=THREADS,
        grid=blocks,
        implementations=dict.fromkeys(CLUSTERED, in_cluster),
        requires=[channels % groups == 0],
        reference=_normalised,
    )


__getattr__, __dir__ = lazily(
    globals(), {f"group_norm_last_{dtype}": partial(declare, dtype) for dtype in TYPES}
)
