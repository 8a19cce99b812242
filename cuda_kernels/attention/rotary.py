"""Rotary position embedding, half-split as in Llama: the declarations for `rotary.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.expr import Expr

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

THREADS, HEADS = 128, 2
"""Threads of a block, and heads that each of them turns."""


def _turned(x: Array, cos: Array, sin: Array) -> Array:
    wide = x.astype(numpy.float64)
    table = numpy.arange(len(x)) % max(len(cos), 1)
    cosines, sines = (each.astype(numpy.float64)[table][:, None] for each in (cos, sin))
    a, b = numpy.split(wide, 2, axis=-1)
    result: Array = (wide * cosines + numpy.concatenate([-b, a], axis=-1) * sines).astype(x.dtype)
    return result


def _turned_by_tables_apart(x: Array, cos: Array, sin: Array) -> Array:
    return _turned(x, cos[:, 0], sin[:, 0])


def _turned_by_position(x: Array, cos: Array, sin: Array) -> Array:
    return _turned(x.swapaxes(1, 2), cos, sin)


def _turned_bshd(x: Array, cos: Array, sin: Array) -> Array:
    return _turned_by_position(x, cos, sin).swapaxes(1, 2)


LAYOUTS = {"": (False, False), "_by_position": (True, False), "_bshd": (True, True)}
"""By the ends of names: whether x, and whether y is [batch, length, heads, dim], as a projection
leaves it, and not [batch, heads, length, dim]."""


batch, heads, length, dim, tables = map(cd.dim, ("batch", "heads", "length", "dim", "tables"))


def placed(layout: str) -> tuple[list[Expr | int], list[Expr | int]]:
    """The shapes of x and y."""
    from_position, to_position = LAYOUTS[layout]
    by_heads: list[Expr | int] = [batch, heads, length, dim]
    by_position: list[Expr | int] = [batch, length, heads, dim]
    return (
        by_position if from_position else by_heads,
        by_position if to_position else by_heads,
    )


def declare(
    dtype: str,
    threads: int = THREADS,
    heads_at_once: int = HEADS,
    *,
    layout: str = "",
    size: int | None = None,
    apart: bool = False,
) -> cd.Kernel:
    """The kernel for an element type.

    Parameters
    ----------
    layout
        One of `LAYOUTS`.
    size
        Of the heads, for a kernel that takes no other: where half of it is a number in a model.
    apart
        Whether the tables are [tables, 1, length, dim], as models have them that broadcast them.
    """
    pack = 16 // ELEMENT_TYPES[dtype].bytes
    name = f"rotary{layout}"
    operand, result = placed(layout)
    table: list[Expr | int] = [tables, 1, length, dim] if apart else [tables, length, dim]
    references = {"": _turned, "_by_position": _turned_by_position, "_bshd": _turned_bshd}
    return cd.Kernel(
        name + ("_apart" if apart else "") + f"_{dtype}" + (f"_{size}" if size else ""),
        source="rotary.cu",
        entry=f"cuda_kernels::{name}<{C_TYPES[dtype]}, {threads}, {heads_at_once}>",
        operands=[
            cd.In("x", dtype, operand),
            cd.In("cos", dtype, table),
            cd.In("sin", dtype, table),
            cd.Out("y", dtype, result),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("length", "i32", length),
            cd.Scalar("dim", "i32", dim),
            cd.Scalar("tables", "i32", tables),
        ],
        block=threads,
        grid=(
            cd.ceildiv(length * cd.ceildiv(dim // 2, pack), threads),
            cd.ceildiv(heads, heads_at_once),
            batch,
        ),
        requires=[dim == size if size else dim % 2 == 0, batch % tables == 0],
        reference=_turned_by_tables_apart if apart else references[layout],
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        **{f"rotary_apart_{dtype}": partial(declare, dtype, apart=True) for dtype in TYPES},
        **{
            f"rotary{layout}_{dtype}": partial(declare, dtype, layout=layout)
            for layout in LAYOUTS
            for dtype in TYPES
        },
    },
)
