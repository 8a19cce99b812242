"""GELU with the error function, and with tanh: the declarations for `gelu.cu`."""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.elementwise import PACKS, THREADS, blocks
from cuda_kernels.shared.rows import C_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _with_erf(x: Array) -> Array:
    wide = x.astype(numpy.float64)
    below = numpy.vectorize(erf, otypes=[numpy.float64])(wide / sqrt(2.0))
    result: Array = (0.5 * wide * (1.0 + below)).astype(x.dtype)
    return result


def _with_tanh(x: Array) -> Array:
    wide = x.astype(numpy.float64)
    inner = numpy.tanh(sqrt(2.0 / pi) * (wide + 0.044715 * wide**3))
    result: Array = (0.5 * wide * (1.0 + inner)).astype(x.dtype)
    return result


columns = cd.dim("columns")


def declare(form: str, dtype: str, threads: int = THREADS, packs: int = PACKS) -> cd.Kernel:
    """The kernel for a form ("erf" or "tanh") and an element type."""
    return cd.Kernel(
        f"gelu_{form}_{dtype}",
        source="gelu.cu",
        entry=f"cuda_kernels::gelu_{form}<{C_TYPES[dtype]}, {threads}, {packs}>",
        operands=[
            cd.In("x", dtype, [..., columns]),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("count", "i64", cd.batch * columns),
        ],
        block=threads,
        grid=blocks(cd.batch * columns, dtype, threads, packs),
        reference=_with_erf if form == "erf" else _with_tanh,
    )


gelu_erf_f32 = declare("erf", "f32")
gelu_erf_f16 = declare("erf", "f16")
gelu_erf_bf16 = declare("erf", "bf16")
gelu_tanh_f32 = declare("tanh", "f32")
gelu_tanh_f16 = declare("tanh", "f16")
gelu_tanh_bf16 = declare("tanh", "bf16")
