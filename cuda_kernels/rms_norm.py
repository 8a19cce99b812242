"""Root-mean-square normalisation of rows: the declarations for `rms_norm.cu`.

In 16 bits, which models decode in, there is another kernel for few rows: `rms_norm_bf16` is a
`cd.Choice`.
"""

from __future__ import annotations

from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.rows import C_TYPES, THREADS, VALUES, group_threads, row_blocks
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _normalised(x: Array, weight: Array, epsilon: float) -> Array:
    wide = x.astype(numpy.float64)
    mean = numpy.mean(wide * wide, axis=-1, keepdims=True)
    result: Array = (wide / numpy.sqrt(mean + epsilon) * weight.astype(numpy.float64)).astype(
        x.dtype
    )
    return result


def _sum_and_normalised(
    x: Array, residual: Array, weight: Array, epsilon: float
) -> tuple[Array, Array]:
    total: Array = (x.astype(numpy.float64) + residual.astype(numpy.float64)).astype(x.dtype)
    return total, _normalised(total, weight, epsilon)


columns = cd.dim("columns")

FEW_THREADS, FEW_VALUES, FEW_ROWS = 256, 32, 528
"""Of the kernels for few rows: a block's threads, elements that each holds, and rows at most: four
for each multiprocessor."""


def _operands(dtype: str, *, adds: bool) -> list[Operand]:
    """Those of all kernels, of x or of its sum with a residual; sizes follow."""
    x, weight = cd.In("x", dtype, [..., columns]), cd.In("weight", dtype, [columns])
    y, epsilon = cd.Out("y", dtype, [..., columns]), cd.Scalar("epsilon", "f32")
    if not adds:
        return [x, weight, y, epsilon]
    residual = cd.In("residual", dtype, [..., columns])
    return [x, residual, weight, cd.Out("sum", dtype, [..., columns]), y, epsilon]


def declare(dtype: str, threads: int = 0, values: int = 0) -> cd.Kernel:
    """The kernel for an element type, and for blocks of another shape than the usual one."""
    if not threads:
        threads, values = (THREADS, VALUES) if dtype == "f32" else (128, 64)
    return cd.Kernel(
        f"rms_norm_{dtype}",
        source="rms_norm.cu",
        entry=f"cuda_kernels::rms_norm<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            *_operands(dtype, adds=False),
            cd.Scalar("rows", "i32", cd.batch),
            cd.Scalar("columns", "i32", columns),
            cd.Scalar("group", "i32", group_threads(columns, threads, values)),
        ],
        block=threads,
        grid=row_blocks(columns, threads, values),
        reference=_normalised,
    )


def declare_with_residual(dtype: str, threads: int = THREADS, values: int = VALUES) -> cd.Kernel:
    """The same of a sum, which is a result too."""
    return cd.Kernel(
        f"add_rms_norm_{dtype}",
        source="rms_norm.cu",
        entry=f"cuda_kernels::add_rms_norm<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            *_operands(dtype, adds=True),
            cd.Scalar("rows", "i32", cd.batch),
            cd.Scalar("columns", "i32", columns),
            cd.Scalar("group", "i32", group_threads(columns, threads, values)),
        ],
        block=threads,
        grid=row_blocks(columns, threads, values),
        reference=_sum_and_normalised,
    )


def declare_few(
    dtype: str, threads: int = FEW_THREADS, values: int = FEW_VALUES, rows: int = FEW_ROWS
) -> cd.Kernel:
    """The kernel for few rows, which a block holds whole."""
    return cd.Kernel(
        f"rms_norm_{dtype}_few",
        source="rms_norm.cu",
        entry=f"cuda_kernels::rms_norm_few<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            *_operands(dtype, adds=False),
            cd.Scalar("columns", "i32", columns),
        ],
        block=threads,
        grid=cd.batch,
        requires=[cd.batch <= rows, columns <= threads * values],
        reference=_normalised,
    )


def declare_few_with_residual(
    dtype: str, threads: int = FEW_THREADS, values: int = FEW_VALUES, rows: int = FEW_ROWS
) -> cd.Kernel:
    """The same of a sum, which is a result too."""
    return cd.Kernel(
        f"add_rms_norm_{dtype}_few",
        source="rms_norm.cu",
        entry=f"cuda_kernels::add_rms_norm_few<{C_TYPES[dtype]}, {threads}, {values}>",
        operands=[
            *_operands(dtype, adds=True),
            cd.Scalar("columns", "i32", columns),
        ],
        block=threads,
        grid=cd.batch,
        requires=[cd.batch <= rows, columns <= threads * values],
        reference=_sum_and_normalised,
    )


def _choice(few: cd.Kernel, kernel: cd.Kernel) -> cd.Choice:
    return cd.Choice(kernel.name, [few, kernel.with_launch(name=f"{kernel.name}_any")])


rms_norm_f32 = declare("f32")
rms_norm_f16 = _choice(declare_few("f16"), declare("f16"))
rms_norm_bf16 = _choice(declare_few("bf16"), declare("bf16"))
add_rms_norm_f32 = declare_with_residual("f32")
add_rms_norm_f16 = _choice(declare_few_with_residual("f16"), declare_with_residual("f16"))
add_rms_norm_bf16 = _choice(declare_few_with_residual("bf16"), declare_with_residual("bf16"))
