"""Layer normalisation of rows: the declarations for `layer_norm.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.rows import THREADS, VALUES, group_threads, row_blocks
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _normalised(x: Array, weight: Array | None, bias: Array | None, epsilon: float) -> Array:
    wide = x.astype(numpy.float64)
    centred = wide - wide.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    result = centred / numpy.sqrt(variance + epsilon)
    if weight is not None and weight.size:
        result = result * weight.astype(numpy.float64)
    if bias is not None and bias.size:
        result = result + bias.astype(numpy.float64)
    rounded: Array = result.astype(x.dtype)
    return rounded


columns = cd.dim("columns")


def declare(dtype: str, threads: int = 0, values: int = 0) -> cd.Kernel:
    """The kernel for an element type, and for blocks of another shape than the usual one."""
    if not threads:
        threads, values = (THREADS, VALUES) if dtype == "f32" else (128, 64)
    return cd.Kernel(
        f"layer_norm_{dtype}",
        source="layer_norm.cu",
        entry=f"cuda_kernels::layer_norm<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            cd.In("x", dtype, [..., columns]),
            cd.In("weight", dtype, [columns], optional=True),
            cd.In("bias", dtype, [columns], optional=True),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("epsilon", "f32"),
            cd.Scalar("rows", "i32", cd.batch),
            cd.Scalar("columns", "i32", columns),
            cd.Scalar("group", "i32", group_threads(columns, threads, values)),
        ],
        block=threads,
        grid=row_blocks(columns, threads, values),
        reference=_normalised,
    )


__getattr__, __dir__ = lazily(
    globals(), {f"layer_norm_{dtype}": partial(declare, dtype) for dtype in TYPES}
)
