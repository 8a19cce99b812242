"""Root-mean-square normalisation of rows: the declarations for `rms_norm.cu`.

In 16 bits, which models decode in, there is another kernel for few rows: `rms_norm_bf16` is a
`cd.Choice`.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.rows import THREADS, VALUES, group_threads, row_blocks
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _normalised(x: Array, weight: Array, epsilon: float) -> Array:
    wide = x.astype(numpy.float64)
    mean = numpy.mean(wide * wide, axis=-1, keepdims=True)
    result: Array = (wide / numpy.sqrt(mean + epsilon) * weight.astype(numpy.float64)).astype(
        x.dtype
    )
    return result


def _normalised_from(x: Array, weight: Array | None, epsilon: float, offset: float) -> Array:
    given = weight if weight is not None and weight.size else numpy.zeros(x.shape[-1:])
    return _normalised(x, given.astype(numpy.float64) + offset, epsilon)


def _sum_and_normalised(
    x: Array, residual: Array, weight: Array, epsilon: float
) -> tuple[Array, Array]:
    total: Array = (x.astype(numpy.float64) + residual.astype(numpy.float64)).astype(x.dtype)
    return total, _normalised(total, weight, epsilon)


columns = cd.dim("columns")

FEW_THREADS, FEW_VALUES, FEW_ROWS = 256, 32, 528
"""Of the kernels for few rows, a row a block: its threads, the elements that each holds, and the
most rows, four for each multiprocessor."""


def _operands(dtype: str, *, adds: bool) -> list[Operand]:
    """The operands of all kernels, for x or for x + residual; scalars with sizes follow."""
    x, weight = cd.In("x", dtype, [..., columns]), cd.In("weight", dtype, [columns])
    y, epsilon = cd.Out("y", dtype, [..., columns]), cd.Scalar("epsilon", "f32")
    if not adds:
        return [x, weight, y, epsilon]
    residual = cd.In("residual", dtype, [..., columns])
    return [x, residual, weight, cd.Out("sum", dtype, [..., columns]), y, epsilon]


def declare(dtype: str, threads: int = 0, values: int = 0, *, adds: bool = False) -> cd.Kernel:
    """The kernel for an element type, and for blocks of another shape than the usual one.

    Parameters
    ----------
    adds
        Whether it is of a sum with a residual, which is a result too.
    """
    if not threads:
        threads, values = (THREADS, VALUES) if adds or dtype == "f32" else (128, 64)
    name = _name(adds)
    return cd.Kernel(
        f"{name}_{dtype}",
        source="rms_norm.cu",
        entry=f"cuda_kernels::{name}<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            *_operands(dtype, adds=adds),
            *_sizes(threads, values),
        ],
        block=threads,
        grid=row_blocks(columns, threads, values),
        reference=_sum_and_normalised if adds else _normalised,
    )


def declare_few(
    dtype: str, threads: int = FEW_THREADS, values: int = FEW_VALUES, *, adds: bool = False
) -> cd.Kernel:
    """The same for few rows: a block holds one row."""
    name = _name(adds)
    return cd.Kernel(
        f"{name}_{dtype}_few",
        source="rms_norm.cu",
        entry=f"cuda_kernels::{name}_few<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[*_operands(dtype, adds=adds), cd.Scalar("columns", "i32", columns)],
        block=threads,
        grid=cd.batch,
        requires=[cd.batch <= FEW_ROWS, columns <= threads * values],
        reference=_sum_and_normalised if adds else _normalised,
    )


def declare_from(dtype: str, threads: int = 0, values: int = 0) -> cd.Kernel:
    """The kernel whose weights are added to a number; absent weights are zeros."""
    if not threads:
        threads, values = (THREADS, VALUES) if dtype == "f32" else (128, 64)
    return cd.Kernel(
        f"rms_norm_from_{dtype}",
        source="rms_norm.cu",
        entry=f"cuda_kernels::rms_norm_from<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            cd.In("x", dtype, [..., columns]),
            cd.In("weight", dtype, [columns], optional=True),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("epsilon", "f32"),
            cd.Scalar("offset", "f32"),
            *_sizes(threads, values),
        ],
        block=threads,
        grid=row_blocks(columns, threads, values),
        reference=_normalised_from,
    )


def _sizes(threads: int, values: int) -> list[Operand]:
    return [
        cd.Scalar("rows", "i32", cd.batch),
        cd.Scalar("columns", "i32", columns),
        cd.Scalar("group", "i32", group_threads(columns, threads, values)),
    ]


def _name(adds: bool) -> str:
    return "add_rms_norm" if adds else "rms_norm"


def _choice(dtype: str, *, adds: bool = False) -> cd.Choice:
    kernel = declare(dtype, adds=adds)
    few = declare_few(dtype, adds=adds)
    return cd.Choice(kernel.name, [few, kernel.with_launch(name=f"{kernel.name}_any")])


def _declared(dtype: str, *, adds: bool) -> cd.Kernel | cd.Choice:
    return (declare if dtype == "f32" else _choice)(dtype, adds=adds)


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"{_name(adds)}_{dtype}": partial(_declared, dtype, adds=adds)
        for adds, dtype in product((False, True), TYPES)
    }
    | {f"rms_norm_from_{dtype}": partial(declare_from, dtype) for dtype in TYPES},
)
