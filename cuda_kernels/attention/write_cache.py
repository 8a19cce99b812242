"""KV-cache update, in place: the declarations for `write_cache.cu`.

`write_cache_{dtype}` writes the same positions of all sequences, and `write_pages_{dtype}` tokens
at slots of a cache in pages, as vLLM and others number them. A cache of 8 bits with a page for each
sequence, [batch, kv_heads, keys, dim], is written by `write_pages_{dtype}_{f8}`, too: its slots are
sequence times keys plus position.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.names import WRITE_PAGES
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.operand import Operand

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


pages, page_size, scales = map(cd.dim, ("pages", "page_size", "scales"))
_LARGEST = {"f8E4M3FN": 448.0, "f8E5M2": 57344.0}


def _written_pages(
    layout: str, stored: str, cache: Array, fresh: Array, slots: Array, factors: Array | None = None
) -> Array:
    by_position = cache.copy() if layout == "bshd" else cache.swapaxes(1, 2).copy()
    rows = by_position.reshape(-1, *by_position.shape[2:])  # [slots, heads, dim]
    values = fresh
    if factors is not None:
        most = _LARGEST[stored]
        values = (fresh.astype(numpy.float32) / factors[:, None]).clip(-most, most)
    inside = (slots >= 0) & (slots < len(rows))
    rows[slots[inside]] = values[inside].astype(cache.dtype)
    result = rows.reshape(by_position.shape)
    return result if layout == "bshd" else result.swapaxes(1, 2)


def declare_pages(
    dtype: str, layout: str = "bhsd", stored: str = "", threads: int = THREADS
) -> cd.Kernel:
    """The kernel for a cache in pages.

    Parameters
    ----------
    layout
        "bhsd": [pages, heads, page_size, dim]; "bshd": [pages, page_size, heads, dim].
    stored
        The type of the cache, if it has 8 bits: f8E4M3FN or f8E5M2. Then `scales` are what its
        numbers are multiplied by when they are read, one for all or one for each head.
    """
    of_page = (heads, page_size) if layout == "bhsd" else (page_size, heads)
    behind = ", const float*, int" if stored else ""
    types = f"{C_TYPES[dtype]}, {ELEMENT_TYPES[stored or dtype].c_name}"
    by_position = str(layout == "bshd").lower()
    given: list[Operand] = [cd.In("scales", "f32", [scales]), cd.Scalar("of_scales", "i32", scales)]
    stored_bytes = ELEMENT_TYPES[stored or dtype].bytes
    return cd.Kernel(
        "_".join(filter(None, ("write_pages", layout.replace("bhsd", ""), dtype, stored.lower()))),
        source="write_cache.cu",
        entry=f"cuda_kernels::write_pages<{types}, {by_position}, {threads}{behind}>",
        operands=[
            cd.InOut("cache", stored or dtype, [pages, *of_page, dim]),
            cd.In("fresh", dtype, [count, heads, dim]),
            cd.In("slots", "i64", [count]),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("count", "i32", count),
            cd.Scalar("pages", "i32", pages),
            cd.Scalar("page_size", "i32", page_size),
            cd.Scalar("dim", "i32", dim),
            *(given if stored else []),
        ],
        requires=[(scales - 1) * (heads - scales) == 0] if stored else [],
        block=threads,
        grid=cd.ceildiv(count * heads * cd.ceildiv(dim, 8), threads),
        bytes_moved=heads * count * dim * (ELEMENT_TYPES[dtype].bytes + stored_bytes) + 8 * count,
        reference=partial(_written_pages, layout, stored),
    )


__getattr__, __dir__ = lazily(
    globals(),
    {f"write_cache_{dtype}": partial(declare, dtype) for dtype in TYPES}
    | {name: partial(declare_pages, *form) for name, form in WRITE_PAGES.items()},
)
