"""Softmax of rows: the declarations for `softmax.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.rows import THREADS, VALUES, group_threads, row_blocks
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _softmax_of_rows(x: Array) -> Array:
    wide = x.astype(numpy.float64)
    with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
        powers = numpy.exp(wide - wide.max(axis=-1, keepdims=True, initial=-numpy.inf))
        result: Array = (powers / powers.sum(axis=-1, keepdims=True)).astype(x.dtype)
    return result


columns = cd.dim("columns")


def declare(dtype: str, threads: int = THREADS, values: int = VALUES) -> cd.Kernel:
    """The kernel for an element type, and for blocks of another shape than the usual one."""
    return cd.Kernel(
        f"softmax_{dtype}",
        source="softmax.cu",
        entry=f"cuda_kernels::softmax<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            cd.In("x", dtype, [..., columns]),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("rows", "i32", cd.batch),
            cd.Scalar("columns", "i32", columns),
            cd.Scalar("group", "i32", group_threads(columns, threads, values)),
        ],
        block=threads,
        grid=row_blocks(columns, threads, values),
        reference=_softmax_of_rows,
    )


__getattr__, __dir__ = lazily(
    globals(), {f"softmax_{dtype}": partial(declare, dtype) for dtype in TYPES}
)
