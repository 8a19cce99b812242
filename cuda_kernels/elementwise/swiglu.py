"""SwiGLU, silu(gate) * up: the declarations for `swiglu.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.elementwise.launch import PACKS, THREADS, blocks
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _gated(gate: Array, up: Array) -> Array:
    wide = gate.astype(numpy.float64)
    with numpy.errstate(over="ignore"):  # exp of large numbers is inf, and the result 0
        result: Array = (wide / (1.0 + numpy.exp(-wide)) * up.astype(numpy.float64)).astype(
            gate.dtype
        )
    return result


columns = cd.dim("columns")


def declare(dtype: str, threads: int = THREADS, packs: int = PACKS) -> cd.Kernel:
    """The kernel for an element type."""
    return cd.Kernel(
        f"swiglu_{dtype}",
        source="swiglu.cu",
        entry=f"cuda_kernels::swiglu<{C_TYPES[dtype]}, {threads}, {packs}>",
        operands=[
            cd.In("gate", dtype, [..., columns]),
            cd.In("up", dtype, [..., columns]),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("count", "i64", cd.batch * columns),
        ],
        block=threads,
        grid=blocks(cd.batch * columns, dtype, threads, packs),
        reference=_gated,
    )


__getattr__, __dir__ = lazily(
    globals(), {f"swiglu_{dtype}": partial(declare, dtype) for dtype in TYPES}
)
