"""Rotary position embedding in every layout, of whole heads or a part: for `rotary_any.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.rotary import (
    HEADS,
    LAYOUTS,
    THREADS,
    batch,
    dim,
    heads,
    length,
    placed,
    tables,
)
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def _rotated(x: Array, cos: Array, sin: Array, pairs_in: int, pairs_out: int) -> Array:
    count = cos.shape[-1]
    table = numpy.arange(len(x)) % max(len(cos), 1)
    cosines, sines = (each.astype(numpy.float64)[table][:, None] for each in (cos, sin))
    wide = x[..., :count].astype(numpy.float64)
    a, b = (wide[..., ::2], wide[..., 1::2]) if pairs_in else numpy.split(wide, 2, axis=-1)

    def joined(one: Array, other: Array) -> Array:
        if pairs_out:
            return numpy.stack([one, other], axis=-1).reshape(wide.shape)
        return numpy.concatenate([one, other], axis=-1)

    turned = joined(a, b) * cosines + joined(-b, a) * sines
    result: Array = numpy.concatenate([turned.astype(x.dtype), x[..., count:]], axis=-1)
    return result


def _rotated_by_position(x: Array, *given: Any) -> Array:
    return _rotated(x.swapaxes(1, 2), *given)


def _rotated_bshd(x: Array, *given: Any) -> Array:
    return _rotated_by_position(x, *given).swapaxes(1, 2)


rotated = cd.dim("rotated")


def declare(dtype: str, *, layout: str = "") -> cd.Kernel:
    """The kernel for an element type; its tables are of f32.

    Parameters
    ----------
    layout
        One of `rotary.LAYOUTS`.
    """
    pack = 16 // ELEMENT_TYPES[dtype].bytes
    packs = cd.ceildiv(rotated // 2, pack) + cd.ceildiv(dim - rotated, pack)
    operand, result = placed(layout)
    where = ", ".join("true" if each else "false" for each in LAYOUTS[layout])
    references = {"": _rotated, "_by_position": _rotated_by_position, "_bshd": _rotated_bshd}
    return cd.Kernel(
        f"rotary_any{layout}_{dtype}",
        source="rotary_any.cu",
        entry=f"cuda_kernels::rotary_any<{C_TYPES[dtype]}, {THREADS}, {HEADS}, {where}>",
        operands=[
            cd.In("x", dtype, operand),
            cd.In("cos", "f32", [tables, length, rotated]),
            cd.In("sin", "f32", [tables, length, rotated]),
            cd.Out("y", dtype, result),
            cd.Scalar("pairs_in", "i32"),
            cd.Scalar("pairs_out", "i32"),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("length", "i32", length),
            cd.Scalar("dim", "i32", dim),
            cd.Scalar("rotated", "i32", rotated),
            cd.Scalar("tables", "i32", tables),
        ],
        block=THREADS,
        grid=(cd.ceildiv(length * packs, THREADS), cd.ceildiv(heads, HEADS), batch),
        requires=[rotated % 2 == 0, rotated <= dim, batch % tables == 0],
        reference=references[layout],
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        f"rotary_any{layout}_{dtype}": partial(declare, dtype, layout=layout)
        for layout in LAYOUTS
        for dtype in TYPES
    },
)
