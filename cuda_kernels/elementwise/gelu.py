"""GELU with the error function, and with tanh: the declarations for `gelu.cu`."""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.elementwise.launch import PACKS, THREADS, blocks
from cuda_kernels.shared.activations import activated
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _gelu(x: Array, form: str) -> Array:
    result: Array = activated(f"gelu_{form}", x.astype(numpy.float64)).astype(x.dtype)
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
        reference=partial(_gelu, form=form),
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"gelu_{form}_{dtype}": partial(declare, form, dtype)
        for form, dtype in product(("erf", "tanh"), TYPES)
    },
)
