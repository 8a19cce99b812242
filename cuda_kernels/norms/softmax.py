"""Softmax of rows: the declarations for `softmax.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.rows import SIZES, RowForm, choice, columns
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _softmax_of_rows(x: Array) -> Array:
    wide = x.astype(numpy.float64)
    with numpy.errstate(invalid="ignore"):  # inf - inf is NaN, as it should be
        powers = numpy.exp(wide - wide.max(axis=-1, keepdims=True, initial=-numpy.inf))
        result: Array = (powers / powers.sum(axis=-1, keepdims=True)).astype(x.dtype)
    return result


def declare(form: RowForm, name: str = "") -> cd.Kernel:
    """The kernel of a form; by default it is named after its element type alone."""
    dtype = form.dtype
    return form.kernel(
        "softmax",
        [cd.In("x", dtype, [..., columns]), cd.Out("y", dtype, [..., columns]), *SIZES],
        name=name or f"softmax_{dtype}",
        source="softmax.cu",
        reference=_softmax_of_rows,
    )


def _choice(dtype: str) -> cd.Choice:
    return choice(f"softmax_{dtype}", declare, RowForm(dtype))


__getattr__, __dir__ = lazily(
    globals(), {f"softmax_{dtype}": partial(_choice, dtype) for dtype in TYPES}
)
