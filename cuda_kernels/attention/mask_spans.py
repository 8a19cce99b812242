"""What attention wants to know of a mask: the declarations for `mask_spans.cu`.

Attention takes it as `spans`, beside the mask. It then skips the keys that no query of a tile sees.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.names import SPANS
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Expr

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

ROWS, WORDS, WARPS = 64, 8, 16
"""Rows of a span and its words, as in `../include/mask_spans.cuh`, and warps of a block."""
_NONE = 2**31 - 1
_LOW, _LOW_F16 = -9e8, -65504.0
"""Numbers from here down hide keys, as `mask_spans.cu` says."""
mask_batches, mask_heads = cd.dim("mask_batches"), cd.dim("mask_heads")
mask_rows, keys = cd.dim("mask_rows"), cd.dim("keys")


def size_of(heads: Expr | int, rows: Expr | int) -> Expr:
    """Words for a mask of so many heads of all sequences: spans, and bits."""
    groups = cd.ceildiv(rows, ROWS) if isinstance(rows, Expr) else -(-rows // ROWS)
    return heads * (WORDS * groups + 4 * rows * cd.ceildiv(keys, 128))


def spans_of(mask: Array) -> Array:
    """The reference: see `../include/mask_spans.cuh` for what stands where."""
    shown, added, low, unclear = _looked_at(mask)
    *outer, rows, count = mask.shape
    wide = numpy.zeros((*outer, rows, -(-count // 128) * 128), numpy.bool_)
    wide[..., :count] = shown
    bits = numpy.packbits(wide, axis=-1, bitorder="little").view(numpy.int32)
    groups = numpy.zeros((*outer, -(-rows // ROWS), WORDS), numpy.int32)
    for index in numpy.ndindex(*groups.shape[:-1]):
        part = slice(index[-1] * ROWS, (index[-1] + 1) * ROWS)
        of_group = (each[index[:-1]][part] for each in (shown, added, low, unclear))
        groups[index] = _span(*of_group)
    return numpy.concatenate([groups.ravel(), bits.ravel()])


def _looked_at(mask: Array) -> tuple[Array, Array, Array, Array]:
    """Which keys are shown, and which of these add something; in which rows finite numbers hide
    keys, and which of these have no others.
    """
    if mask.dtype == numpy.bool_:
        none = numpy.zeros(mask.shape[:-1], numpy.bool_)
        return mask, numpy.zeros_like(mask), none, none
    numbers = mask.astype(numpy.float64)
    low = _LOW_F16 if mask.dtype == numpy.float16 else _LOW
    shown = ~(numbers <= low)
    has_low = (~shown & (numbers != -numpy.inf)).any(axis=-1)
    unclear = has_low & ~(numbers > low / 2).any(axis=-1)
    return shown, shown & (numbers != 0.0), has_low, unclear


def _span(shown: Array, added: Array, low: Array, unclear: Array) -> tuple[int, ...]:
    begin, end, whole = _NONE, 0, (0, _NONE)
    for row, is_unclear in zip(shown, unclear, strict=True):
        (seen,) = numpy.nonzero(row)
        first, behind = (seen[0], seen[-1] + 1) if seen.size else (row.size, 0)
        is_one = 0 < seen.size == behind - first
        if is_unclear:  # its numbers are needed, of all keys
            first, behind = 0, row.size
            is_one = False
        begin, end = min(begin, first), max(end, behind)
        mine = (first, behind) if is_one else (0, 0)
        whole = (max(whole[0], mine[0]), min(whole[1], mine[1]))
    return (begin, end, *whole, int(added.any() or unclear.any()), int(low.any()), 0, 0)


def declare(dtype: str) -> cd.Kernel:
    """The kernel for masks of an element type."""
    return cd.Kernel(
        f"mask_spans_{dtype}",
        source="mask_spans.cu",
        entry=f"cuda_kernels::mask_spans<{C_TYPES.get(dtype, dtype)}>",
        operands=[
            cd.In("mask", dtype, [mask_batches, mask_heads, mask_rows, keys]),
            cd.Out("spans", "i32", [size_of(mask_batches * mask_heads, mask_rows)]),
            cd.Scalar("heads", "i32", mask_batches * mask_heads),
            cd.Scalar("rows", "i32", mask_rows),
            cd.Scalar("keys", "i32", keys),
        ],
        block=32 * WARPS,
        grid=cd.ceildiv(mask_rows, ROWS) * mask_heads * mask_batches,
        reference=spans_of,
    )


__getattr__, __dir__ = lazily(
    globals(), {name: partial(declare, dtype) for name, dtype in SPANS.items()}
)
