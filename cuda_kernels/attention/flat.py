"""Attention with heads in the batch, [batch, rows, dim], as `iree_linalg_ext.attention` has it.

These are the kernels of `simt.py` and `prefill.py`, with one head in each batch. A mask is
[batch, queries, keys]; or, where all heads of a sentence share one (`flat_shared_masked_...`),
[sentences, 1, queries, keys], and with one row for all queries (`flat_key_masked_...`),
[sentences, 1, 1, keys]. Then batch is sentences times heads.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.mask_spans import size_of
from cuda_kernels.attention.names import FLAT, FLAT_PREFIXES, ON_TENSOR_CORES
from cuda_kernels.attention.prefill import prefill
from cuda_kernels.attention.signature import Array, attend, batch, keys, queries
from cuda_kernels.attention.simt import declare as declare_simt
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.operand import Operand, Scalar


def _attend(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    scale: float,
    causal: bool,
    spans: Array | None = None,
) -> Array:
    del spans  # the mask says all
    of_mask = mask[:, None] if mask is not None and mask.size else None
    return attend(q[:, None], k[:, None], v[:, None], of_mask, scale, causal)[:, 0]


def _attend_shared(q: Array, k: Array, v: Array, mask: Array, *others: Any) -> Array:
    heads = max(len(q) // max(len(mask), 1), 1)
    return _attend(q, k, v, numpy.repeat(mask[:, 0], heads, axis=0), *others)


def declare(dtype: str, dim: int, mask: str = "keys") -> cd.Kernel:
    """The kernel for a type, a head's size (32, 64 or 128) and a form of mask.

    Parameters
    ----------
    mask
        As of `signature.operands`; or "shared", a mask of numbers that all heads of a sentence
        have, or "key", the same with one row for all queries.
    """
    sentences, is_shared = cd.dim("sentences"), mask in ("shared", "key")
    of_heads = prefill if (dtype, dim) in ON_TENSOR_CORES else declare_simt
    kernel = of_heads(dtype, dim, "queries" if is_shared else mask, all_heads=batch)
    heads = batch // sentences if is_shared else 1
    masks: Expr = sentences if is_shared else batch
    rows: Expr | int = 1 if mask in ("key", "keys") else queries
    scalars: dict[str, Expr | int] = {"heads": heads, "kv_heads": heads, "mask_heads": 1}
    scalars |= {"batch": masks, "mask_batches": masks, "mask_rows": rows}

    def flat(item: Operand) -> Operand:
        if isinstance(item, Scalar):
            return cd.Scalar(item.name, "i32", scalars[item.name]) if item.name in scalars else item
        if item.name == "spans":
            return cd.In("spans", "i32", [size_of(masks, rows)], optional=True)
        if isinstance(item, cd.In):
            shape: list[Expr | int] = [item.shape[0], *item.shape[2:]]
            if item.name == "mask":
                shape = [masks, 1, rows, keys] if is_shared else [masks, rows, keys]
            return cd.In(item.name, str(item.dtype), shape, optional=item.optional)
        if isinstance(item, cd.Out):
            return cd.Out(item.name, str(item.dtype), [item.shape[0], *item.shape[2:]])
        return item

    return cd.Kernel(
        f"flat_{FLAT_PREFIXES[mask]}attention_{dtype}_{dim}",
        source=kernel.source,
        entry=kernel.entry,
        operands=[flat(item) for item in kernel.operands],
        block=kernel.block,
        grid=kernel.grid,
        dynamic_shared_memory=kernel.dynamic_shared_memory,
        implementations={str(target): form for target, form in kernel.implementations},
        requires=[batch % sentences == 0] if is_shared else [],
        reference=_attend_shared if is_shared else _attend,
        flops=4 * dim * batch * queries * keys,
    )


__getattr__, __dir__ = lazily(
    globals(), {name: partial(declare, *form) for name, form in FLAT.items()}
)
