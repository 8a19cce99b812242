"""GELU with the error function, and with tanh: the declarations for `gelu.cu`."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import erf, pi, sqrt
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.elementwise.launch import PACKS, THREADS, blocks
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

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


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"gelu_{form}_{dtype}": partial(declare, form, dtype)
        for form, dtype in product(("erf", "tanh"), TYPES)
    },
)
