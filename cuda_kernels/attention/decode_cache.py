"""Attention of few queries with a KV cache: declarations for `attention_decode.cu`.

Caches are of the queries' type or have 8 bits. The kernels are those of `decode.py`.
"""

from __future__ import annotations

import custom_dispatch as cd
from cuda_kernels.attention.decode import Decode, launches
from cuda_kernels.attention.head_sizes import Head, name_of, requirements, sizes_of
from cuda_kernels.attention.signature import (
    attend_cache,
    batch,
    cached_on_cpu,
    flops,
    head_scalars,
    heads,
    keys,
    kv_heads,
    queries,
)
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Condition, Expr
from custom_dispatch.kernel.operand import Operand

STORED_TYPES = {"f8E4M3FN": "cuda_kernels::F8E4M3", "f8E5M2": "cuda_kernels::F8E5M2"}
"""Types of 8 bits that caches may have, in C++."""
scales = cd.dim("scales")


def decode_cache(dtype: str, head: Head, form: Decode, stored: str = "") -> cd.Kernel:
    """The same with a KV cache that has `lengths` keys, for each sequence.

    The queries are the last of the keys: each sees the keys up to its own, as many as `window`
    [1] says if it is there and not 0.

    Parameters
    ----------
    stored
        The type of the cache, if it has 8 bits: f8E4M3FN or f8E5M2. Then `key_scales` and
        `value_scales` are what its numbers are multiplied by, one for all or one for each head.
    """
    dim, value_dim = sizes_of(head)
    types = f"{C_TYPES[dtype]}, {STORED_TYPES.get(stored, C_TYPES[dtype])}"
    last = last_of_template(stored)
    launch = launches("cached_attention", types, head, form, last=last, stored=stored)
    if not stored:
        launch["implementations"]["cpu"] = cached_on_cpu(dtype, head)
    return cd.Kernel(
        cache_name("decode_cache", dtype, stored, head, form),
        operands=[
            cd.In("q", dtype, [batch, heads, queries, dim]),
            cd.In("k", stored or dtype, [batch, kv_heads, keys, dim]),
            cd.In("v", stored or dtype, [batch, kv_heads, keys, value_dim]),
            cd.In("lengths", "i32", [batch]),
            cd.Out("out", dtype, [batch, heads, queries, value_dim]),
            cd.Scalar("scale", "f32"),
            cd.Scalar("batch", "i32", batch),
            cd.Scalar("heads", "i32", heads),
            cd.Scalar("kv_heads", "i32", kv_heads),
            cd.Scalar("queries", "i32", queries),
            cd.Scalar("keys", "i32", keys),
            *head_scalars(head),
            form.scratch(head),
            *last_operands(stored),
        ],
        requires=[heads % kv_heads == 0, *requirements(head), *stored_requirements(head, stored)],
        reference=attend_cache,
        flops=flops(head),
        **launch,
    )


def cache_name(which: str, dtype: str, stored: str, head: Head, form: Decode) -> str:
    """A kernel's name."""
    return "_".join(filter(None, (which, dtype, stored.lower(), name_of(head), form.name)))


def last_operands(stored: str) -> list[Operand]:
    """The scales of a cache of 8 bits, and a window."""
    given = [cd.In(f"{name}_scales", "f32", [scales]) for name in ("key", "value")]
    of_scales: list[Operand] = [*given, cd.Scalar("scales", "i32", scales)] if stored else []
    return [*of_scales, cd.In("window", "i32", [1], optional=True)]


def last_of_template(stored: str) -> str:
    """Their types in C++."""
    return f"{', const float*, const float*, int' if stored else ''}, const int*"


def stored_requirements(head: Head, stored: str) -> list[Condition]:
    """That a cache of 8 bits has a scale for all heads or one for each, and rows of words."""
    if not stored:
        return []
    sizes = [each for each in sizes_of(head) if isinstance(each, Expr)]
    return [(scales - 1) * (kv_heads - scales) == 0, *(each % 2 == 0 for each in sizes)]
