"""Gated linear units other than SwiGLU, and of the halves of one tensor: for `glu.cu`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf, pi, sqrt
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.elementwise.launch import PACKS, THREADS, blocks
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _sigmoid(x: Array) -> Array:
    with numpy.errstate(over="ignore"):  # exp of large numbers is inf, and the result 0
        result: Array = 1.0 / (1.0 + numpy.exp(-x))
    return result


def _silu(x: Array) -> Array:
    return x * _sigmoid(x)


def _gelu(x: Array) -> Array:
    below: Array = numpy.vectorize(erf, otypes=[numpy.float64])(x / sqrt(2.0))
    return 0.5 * x * (1.0 + below)


def _gelu_tanh(x: Array) -> Array:
    return 0.5 * x * (1.0 + numpy.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3)))


def _relu(x: Array) -> Array:
    return numpy.maximum(x, 0.0)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "silu": _silu,
    "gelu_erf": _gelu,
    "gelu_tanh": _gelu_tanh,
    "sigmoid": _sigmoid,
    "relu": _relu,
}
"""What `glu_of_halves` can gate with, in the order of their numbers."""


def _gated(gate: Array, up: Array, name: str) -> Array:
    wide = ACTIVATIONS[name](gate.astype(numpy.float64)) * up.astype(numpy.float64)
    result: Array = wide.astype(gate.dtype)
    return result


def _of_halves(x: Array, activation: int, gate_is_second: int) -> Array:
    first, second = numpy.split(x, 2, axis=-1)
    gate, up = (second, first) if gate_is_second else (first, second)
    return _gated(gate, up, [*ACTIVATIONS][activation])


columns, width = cd.dim("columns"), cd.dim("width")


def declare(form: str, dtype: str, threads: int = THREADS, packs: int = PACKS) -> cd.Kernel:
    """GEGLU for a form of GELU ("erf" or "tanh") and an element type."""
    return cd.Kernel(
        f"geglu_{form}_{dtype}",
        source="glu.cu",
        entry=f"cuda_kernels::geglu_{form}<{C_TYPES[dtype]}, {threads}, {packs}>",
        operands=[
            cd.In("gate", dtype, [..., columns]),
            cd.In("up", dtype, [..., columns]),
            cd.Out("y", dtype, [..., columns]),
            cd.Scalar("count", "i64", cd.batch * columns),
        ],
        block=threads,
        grid=blocks(cd.batch * columns, dtype, threads, packs),
        reference=partial(_gated, name=f"gelu_{form}"),
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
        grid=cd.ceildiv(cd.batch * cd.ceildiv(width // 2, size), threads),
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
