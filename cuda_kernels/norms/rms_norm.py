"""Root-mean-square normalisation of rows: the declarations for `rms_norm.cu`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.norms.rows import SIZES, RowForm, choice, columns
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _normalised(x: Array, weight: Array, epsilon: float) -> Array:
    wide = x.astype(numpy.float64)
    mean = numpy.mean(wide * wide, axis=-1, keepdims=True)
    result: Array = (wide / numpy.sqrt(mean + epsilon) * weight.astype(numpy.float64)).astype(
        x.dtype
    )
    return result


def _normalised_from(x: Array, weight: Array | None, epsilon: float, offset: float) -> Array:
    given = weight if weight is not None and weight.size else numpy.zeros(x.shape[-1:])
    return _normalised(x, given.astype(numpy.float64) + offset, epsilon)


def _sum_and_normalised(
    x: Array, residual: Array, weight: Array, epsilon: float
) -> tuple[Array, Array]:
    total: Array = (x.astype(numpy.float64) + residual.astype(numpy.float64)).astype(x.dtype)
    return total, _normalised(total, weight, epsilon)


def _sum_and_normalised_from(
    x: Array, residual: Array, weight: Array | None, epsilon: float, offset: float
) -> tuple[Array, Array]:
    total: Array = (x.astype(numpy.float64) + residual.astype(numpy.float64)).astype(x.dtype)
    return total, _normalised_from(total, weight, epsilon, offset)


_FORMS: dict[str, Callable[..., Any]] = {
    "rms_norm": _normalised,
    "add_rms_norm": _sum_and_normalised,
    "rms_norm_from": _normalised_from,
    "add_rms_norm_from": _sum_and_normalised_from,
}


def declare(form: RowForm, name: str = "", *, function: str = "rms_norm") -> cd.Kernel:
    """The kernel of a form; by default it is named after what it computes and its element type.

    Parameters
    ----------
    function
        "rms_norm"; with "add_" before it for the sum with a residual, which is a result, too; with
        "_from" behind it for weights that are added to a number and may be absent, which is zeros.
    """
    adds, is_from = function.startswith("add"), function.endswith("from")
    dtype, rows = form.dtype, list[Any]([..., columns])
    operands: list[Operand] = [
        cd.In("x", dtype, rows),
        *([cd.In("residual", dtype, rows)] if adds else []),
        cd.In("weight", dtype, [columns], optional=is_from),
        *([cd.Out("sum", dtype, rows)] if adds else []),
        cd.Out("y", dtype, rows),
        cd.Scalar("epsilon", "f32"),
        *([cd.Scalar("offset", "f32")] if is_from else []),
        *SIZES,
    ]
    return form.kernel(
        function,
        operands,
        2,  # packs of weights are loaded with the row
        name=name or f"{function}_{dtype}",
        source="rms_norm.cu",
        reference=_FORMS[function],
    )


def _choice(dtype: str, function: str) -> cd.Choice:
    return choice(f"{function}_{dtype}", partial(declare, function=function), RowForm(dtype))


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"{function}_{dtype}": partial(_choice, dtype, function)
        for function, dtype in product(_FORMS, TYPES)
    },
)
