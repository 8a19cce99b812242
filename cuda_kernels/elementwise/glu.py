"""Gated linear units other than SwiGLU, and of the halves of one tensor: for `glu.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.elementwise.launch import PACKS, THREADS, blocks
from cuda_kernels.shared.activations import activated
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


ACTIVATIONS = ("silu", "gelu_erf", "gelu_tanh", "sigmoid", "relu", "quick_gelu", "squared_relu")
"""What `glu_of_halves` can gate with, in the order of their numbers."""


def _gated(gate: Array, up: Array, name: str) -> Array:
    wide = activated(name, gate.astype(numpy.float64)) * up.astype(numpy.float64)
    result: Array = wide.astype(gate.dtype)
    return result


def _of_halves(x: Array, activation: int, gate_is_second: int) -> Array:
    first, second = numpy.split(x, 2, axis=-1)
    gate, up = (second, first) if gate_is_second else (first, second)
    return _gated(gate, up, ACTIVATIONS[activation])


columns, width = cd.dim("columns"), cd.dim("width")


def declare(form: str, dtype: str, threads: int = THREADS, packs: int = PACKS) -> cd.Kernel:
    """GEGLU for a form of GELU ("erf" or "tanh") and an element type."""
    return declare_gated(f"geglu_{form}", "glu.cu", f"gelu_{form}", dtype, threads, packs)


def declare_gated(
    name: str, source: str, activation: str, dtype: str, threads: int, packs: int
) -> cd.Kernel:
    """A unit of two tensors, gate and up; `name` is that of the function in `source`, too."""
    return cd.Kernel(
        f"{name}_{dtype}",
        source=source,
        entry=f"cuda_kernels::{name}<{C_TYPES[dtype]}, {threads}, {packs}>",
        operands=[
            cd.In("gate", dtype, [..., columns]),
            cd.In("up", dtype, [..., columns]),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("count", "i64", cd.batch * columns),
        ],
        block=threads,
        grid=blocks(cd.batch * columns, dtype, threads, packs),
        reference=partial(_gated, name=activation),
    )


def declare_of_halves(dtype: str, threads: int = THREADS) -> cd.Kernel:
    """The unit of the halves of each row: any of `ACTIVATIONS`, by its number."""
    size = 16 // ELEMENT_TYPES[dtype].bytes
    return cd.Kernel(
        f"glu_of_halves_{dtype}",
        source="glu.cu",
        entry=f"cuda_kernels::glu_of_halves<{C_TYPES[dtype]}, {threads}>",
        operands=[
            cd.In("x", dtype, [..., width]),
            cd.Out("y", dtype, [..., width // 2]),
            cd.Scalar("activation", "i32"),
            cd.Scalar("gate_is_second", "i32"),
            cd.Scalar("rows", "i64", cd.batch),
            cd.Scalar("columns", "i32", width // 2),
        ],
        block=threads,
        grid=cd.ceildiv(cd.batch * (width // 2 // size + 2), threads),
        requires=[width % 2 == 0],
        reference=_of_halves,
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        **{
            f"geglu_{form}_{dtype}": partial(declare, form, dtype)
            for form in ("erf", "tanh")
            for dtype in TYPES
        },
        **{f"glu_of_halves_{dtype}": partial(declare_of_halves, dtype) for dtype in TYPES},
    },
)
