"""Attention with heads in the batch, [batch, rows, dim], as `iree_linalg_ext.attention` has it.

The kernels of `simt.py` and `prefill.py`, each batch with one head of its own.
`flat_attention_{dtype}_{dim}` has no mask, `flat_masked_...` one of numbers, and
`flat_bool_masked_...` one of bools, [batch, queries, keys].

Of `flat_shared_masked_...` and `flat_key_masked_...` the heads of a sentence have one mask of
numbers: [sentences, 1, queries, keys] and [sentences, 1, 1, keys]; batch is sentences times heads.
"""

from __future__ import annotations

from functools import partial

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.names import FLAT, FLAT_SHARED, ON_TENSOR_CORES, PREFIXES
from cuda_kernels.attention.prefill import prefill
from cuda_kernels.attention.signature import Array, attend, batch, keys, queries
from cuda_kernels.attention.simt import declare as declare_simt
from cuda_kernels.shared.lazily import lazily
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.operand import Operand, Scalar


def _attend(q: Array, k: Array, v: Array, mask: Array | None, scale: float, causal: bool) -> Array:
    of_mask = mask[:, None] if mask is not None and mask.size else None
    return attend(q[:, None], k[:, None], v[:, None], of_mask, scale, causal)[:, 0]


def _attend_shared(q: Array, k: Array, v: Array, mask: Array, scale: float, causal: bool) -> Array:
    heads = max(len(q) // max(len(mask), 1), 1)
    return _attend(q, k, v, numpy.repeat(mask[:, 0], heads, axis=0), scale, causal)


def _operands(kernel: cd.Kernel) -> list[Operand]:
    """A kernel's, without the dim of heads, of which there is one."""
    found: list[Operand] = []
    for item in kernel.operands:
        if isinstance(item, cd.In):
            shape = [item.shape[0], *item.shape[2:]]
            found.append(cd.In(item.name, str(item.dtype), shape, optional=item.optional))
        elif isinstance(item, cd.Out):
            found.append(cd.Out(item.name, str(item.dtype), [item.shape[0], *item.shape[2:]]))
        elif isinstance(item, Scalar) and item.name in ("heads", "kv_heads"):
            found.append(cd.Scalar(item.name, "i32", 1))
        else:
            found.append(item)
    return found


def declare(dtype: str, dim: int, mask: str = "keys") -> cd.Kernel:
    """The kernel for a type, a head's size (32, 64 or 128) and a form of mask."""
    of_heads = prefill if (dtype, dim) in ON_TENSOR_CORES else declare_simt
    kernel = of_heads(dtype, dim, mask, all_heads=batch)
    return cd.Kernel(
        f"flat_{PREFIXES[mask]}attention_{dtype}_{dim}",
        source=kernel.source,
        entry=kernel.entry,
        operands=_operands(kernel),
        block=kernel.block,
        grid=kernel.grid,
        dynamic_shared_memory=kernel.dynamic_shared_memory,
        implementations={str(target): form for target, form in kernel.implementations},
        reference=_attend,
        flops=4 * dim * batch * queries * keys,
    )


def declare_shared(dtype: str, dim: int, mask: str) -> cd.Kernel:
    """The same with a mask of numbers that all heads of a sentence have.

    Parameters
    ----------
    mask
        "shared", with a row for each query, or "key", with one for all.
    """
    sentences = cd.dim("sentences")
    heads = batch // sentences
    mask_rows: Expr | int = queries if mask == "shared" else 1
    scalars: dict[str, Expr | int] = {
        "batch": sentences,
        "heads": heads,
        "kv_heads": heads,
        "mask_rows": mask_rows,
    }
    flat = declare(dtype, dim, "queries")
    operands: list[Operand] = []
    for item in flat.operands:
        if item.name == "mask":
            operands.append(cd.In("mask", dtype, [sentences, 1, mask_rows, keys]))
        elif isinstance(item, Scalar) and item.name in scalars:
            operands.append(cd.Scalar(item.name, "i32", scalars[item.name]))
        else:
            operands.append(item)
    return cd.Kernel(
        f"flat_{mask}_masked_attention_{dtype}_{dim}",
        source=flat.source,
        entry=flat.entry,
        operands=operands,
        block=flat.block,
        grid=flat.grid,
        dynamic_shared_memory=flat.dynamic_shared_memory,
        implementations={str(target): form for target, form in flat.implementations},
        requires=[batch % sentences == 0],
        reference=_attend_shared,
        flops=4 * dim * batch * queries * keys,
    )


__getattr__, __dir__ = lazily(
    globals(),
    {
        **{name: partial(declare, *form) for name, form in FLAT.items()},
        **{name: partial(declare_shared, *form) for name, form in FLAT_SHARED.items()},
    },
)
