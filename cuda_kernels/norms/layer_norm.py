"""Layer normalisation of rows: the declarations for `layer_norm.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.rows import SIZES, RowForm, choice, columns
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.operand import Operand

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


def declare(form: RowForm, name: str = "") -> cd.Kernel:
    """The kernel of a form; by default it is named after its element type alone."""
    dtype = form.dtype
    operands: list[Operand] = [
        cd.In("x", dtype, [..., columns]),
        cd.In("weight", dtype, [columns], optional=True),
        cd.In("bias", dtype, [columns], optional=True),
        cd.Out("y", dtype, [..., columns]),
        cd.Scalar("epsilon", "f32"),
        *SIZES,
    ]
    return form.kernel(
        "layer_norm",
        operands,
        1,  # pack of weights and biases is loaded with the row: for more there are no registers
        name=name or f"layer_norm_{dtype}",
        source="layer_norm.cu",
        reference=_normalised,
    )


def _choice(dtype: str) -> cd.Choice:
    return choice(f"layer_norm_{dtype}", declare, RowForm(dtype))


__getattr__, __dir__ = lazily(
    globals(), {f"layer_norm_{dtype}": partial(_choice, dtype) for dtype in TYPES}
)
