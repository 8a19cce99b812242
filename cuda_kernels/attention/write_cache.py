"""KV-cache update, in place: the declarations for `write_cache.cu`."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

THREADS = 128


def _written(cache: Array, fresh: Array, positions: Array) -> Array:
    keys = cache.shape[2]
    inside = (positions >= -keys) & (positions < keys)
    result = cache.copy()
    result[:, :, positions[inside]] = fresh[:, :, inside]  # numpy counts from the end, too
    return result


batch, heads, keys, count, dim = map(cd.dim, ("batch", "heads", "keys", "count", "dim"))


def declare(dtype: str, threads: int = THREADS) -> cd.Kernel:
    """The kernel for an element type."""
    pack = 16 // ELEMENT_TYPES[dtype].bytes
    return cd.Kernel(
        f"write_cache_{dtype}",
        source="write_cache.cu",
        entry=f"cuda_kernels::write_cache<{C_TYPES[dtype]}, {threads}>",
        operands=[
            cd.InOut("cache", dtype, [batch, heads, keys, dim]),
            cd.In("fresh", dtype, [batch, heads, count, dim]),
            cd.In("positions", "i64", [count]),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("count", "i32", count),
            cd.Scalar("keys", "i32", keys),
            cd.Scalar("dim", "i32", dim),
        ],
        block=threads,
        grid=(cd.ceildiv(count * cd.ceildiv(dim, pack), threads), heads, batch),
        bytes_moved=2 * batch * heads * count * dim * ELEMENT_TYPES[dtype].bytes + 8 * count,
        reference=_written,
    )


__getattr__, __dir__ = lazily(
    globals(), {f"write_cache_{dtype}": partial(declare, dtype) for dtype in TYPES}
)
