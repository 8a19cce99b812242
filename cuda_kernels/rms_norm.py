"""Root-mean-square normalisation of rows: the declarations for `rms_norm.cu`."""

from __future__ import annotations

from typing import Any

import numpy

import custom_dispatch as cd

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _normalised(x: Array, weight: Array, epsilon: float) -> Array:
    wide = x.astype(numpy.float64)
    mean = numpy.mean(wide * wide, axis=-1, keepdims=True)
    result: Array = (wide / numpy.sqrt(mean + epsilon) * weight).astype(x.dtype)
    return result


columns = cd.dim("columns")


def _rms_norm(dtype: str, c_type: str) -> cd.Kernel:
    return cd.Kernel(
        f"rms_norm_{dtype}",
        source="rms_norm.cu",
        entry=f"cuda_kernels::rms_norm<{c_type}, 256>",
        operands=[
            cd.In("x", dtype, [..., columns]),
            cd.In("weight", dtype, [columns]),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("epsilon", "f32"),
            cd.Scalar("columns", "i32", columns),
        ],
        block=(256, 1, 1),
        grid=(cd.batch, 1, 1),
        reference=_normalised,
    )


rms_norm_f32 = _rms_norm("f32", "float")
rms_norm_f16 = _rms_norm("f16", "__half")
