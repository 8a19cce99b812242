"""Pooling of channels-last images, and turning images: declarations for `pooling.cu`, `turning.cu`.

`pooling_last_f16` is of images [n, h, w, c] and `window`, an array without elements whose shape is
[0, rows, columns, strides, paddings, dilations]; its `kind` is a position in KINDS. `turning_f16`
makes [n, b, a] of [n, a, b], with zeros up to `wide` where that is more than a: the last size of
the array `until`, [0, wide].
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.channels_last.convolution import sizes_of
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
KINDS = ("maximum", "mean", "mean_of_those")
"""The last is the mean of what is in the image, without zeros around it."""
THREADS, SIDE = 256, 64


def _pooled(x: Array, window: Array, kind: int) -> Array:
    rows, columns, *numbers = window.shape[1:]
    stride, padding, dilation = numbers[:2], numbers[2:4], numbers[4:]
    size = x.shape[1:3]
    out = [
        (size[i] + 2 * padding[i] - dilation[i] * ((rows, columns)[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    ]
    result = numpy.zeros((x.shape[0], *out, x.shape[3]))
    wide = x.astype(numpy.float64)
    for at in numpy.ndindex(*out):
        start = [at[i] * stride[i] - padding[i] for i in range(2)]
        lines = [start[0] + r * dilation[0] for r in range(rows)]
        places = [start[1] + s * dilation[1] for s in range(columns)]
        there = wide[:, [h for h in lines if 0 <= h < size[0]]]
        there = there[:, :, [w for w in places if 0 <= w < size[1]]]
        if KINDS[kind] == "maximum":
            found = there.max(axis=(1, 2), initial=-numpy.inf)
        else:
            count = there.shape[1] * there.shape[2]
            if KINDS[kind] == "mean":
                count = sum(h < size[0] + padding[0] for h in lines)
                count *= sum(w < size[1] + padding[1] for w in places)
            found = there.sum(axis=(1, 2)) / count
        result[:, at[0], at[1]] = found
    typed: Array = result.astype(x.dtype)
    return typed


def _pooling(dtype: str) -> cd.Kernel:
    sizes = sizes_of()
    shape = [sizes.images, *sizes.out, sizes.channels]
    count = sizes.images * sizes.out[0] * sizes.out[1]
    pack = 4 if dtype == "f32" else 8
    return cd.Kernel(
        f"pooling_last_{dtype}",
        source="pooling.cu",
        entry=f"cuda_kernels::pooling_last<{C_TYPES[dtype]}, {THREADS}>",
        operands=[
            cd.In("x", dtype, [sizes.images, *sizes.size, sizes.channels]),
            cd.In("window", "u8", [0, *sizes.taps, *sizes.window[1:]]),
            cd.Out("y", dtype, shape),
            cd.Scalar("n", "i32", sizes.images),
            cd.Scalar("h", "i32", sizes.size[0]),
            cd.Scalar("w", "i32", sizes.size[1]),
            cd.Scalar("c", "i32", sizes.channels),
            *sizes.numbers[2:],
            cd.Scalar("kind", "i32"),
        ],
        block=THREADS,
        grid=cd.ceildiv(count * cd.ceildiv(sizes.channels, pack), THREADS),
        reference=_pooled,
    )


def _turned(x: Array, until: Array) -> Array:
    more = until.shape[1] - x.shape[1]
    return numpy.ascontiguousarray(numpy.pad(x, [(0, 0), (0, more), (0, 0)]).swapaxes(1, 2))


def _turning(dtype: str) -> cd.Kernel:
    images, rows, columns, wide = map(cd.dim, ("images", "rows", "columns", "wide"))
    return cd.Kernel(
        f"turning_{dtype}",
        source="turning.cu",
        entry=f"cuda_kernels::turning<{C_TYPES[dtype]}, {THREADS}>",
        operands=[
            cd.In("x", dtype, [images, rows, columns]),
            cd.In("until", "u8", [0, wide]),
            cd.Out("y", dtype, [images, columns, wide]),
            cd.Scalar("n", "i32", images),
            cd.Scalar("height", "i32", rows),
            cd.Scalar("width", "i32", columns),
            cd.Scalar("out_width", "i32", wide),
        ],
        block=THREADS,
        grid=images * cd.ceildiv(wide, SIDE) * cd.ceildiv(columns, SIDE),
        requires=[wide >= rows],
        reference=_turned,
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        **{f"pooling_last_{dtype}": partial(_pooling, dtype) for dtype in TYPES},
        **{f"turning_{dtype}": partial(_turning, dtype) for dtype in TYPES},
    },
)
