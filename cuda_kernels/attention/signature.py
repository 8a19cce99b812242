"""The operands and the references that all attention kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.attention.head_sizes import Head, columns_of, sizes_of, template_of
from cuda_kernels.attention.mask_spans import mask_batches, mask_heads, mask_rows, size_of
from cuda_kernels.attention.names import LAYOUTS
from cuda_kernels.attention.scores import AS_THEY_ARE, Scores
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Condition, Expr
from custom_dispatch.kernel.operand import Operand

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

batch, heads, kv_heads = cd.dim("batch"), cd.dim("heads"), cd.dim("kv_heads")
queries, keys = cd.dim("queries"), cd.dim("keys")
ALL_HEADS = heads * batch
"""Heads of all sequences."""
CPU_QUERIES = 64
"""Of a block of `attention_cpu.cu`."""


def operands(
    dtype: str, head: Head, mask: str, layout: str = "bhsd", *, scores: Scores = AS_THEY_ARE
) -> list[Operand]:
    """The C signature of all of them.

    Parameters
    ----------
    mask
        "keys", one row of numbers for all queries, or none; "queries", a row for each or one for
        all, and a mask for each sequence and head, or one; "bool", the same of bools, where True is
        seen. `mask_spans.py` says what spans are.
    layout
        One of `names.LAYOUTS`: by position as projections leave operands and take the result.
    scores
        What is done to scores, whose operands are the last ones.
    """

    def placed(of_heads: Expr, rows: Expr, *, is_result: bool = False) -> list[Expr]:
        is_by_position = layout == "bshd" or (is_result and layout == "by_position")
        return [batch, *((rows, of_heads) if is_by_position else (of_heads, rows))]

    of_mask = (batch, 1, 1) if mask == "keys" else (mask_batches, mask_heads, mask_rows)
    dim, value_dim = sizes_of(head)
    return [
        cd.In("q", dtype, [*placed(heads, queries), dim]),
        cd.In("k", dtype, [*placed(kv_heads, keys), dim]),
        cd.In("v", dtype, [*placed(kv_heads, keys), value_dim]),
        cd.In(
            "mask",
            "bool" if mask == "bool" else dtype,
            [*of_mask, keys],
            optional=mask == "keys",
        ),
        cd.Out("out", dtype, [*placed(heads, queries, is_result=True), value_dim]),
        cd.Scalar("scale", "f32"),
        cd.Scalar("causal", "bool"),
        cd.Scalar("batch", "i32", batch),
        cd.Scalar("heads", "i32", heads),
        cd.Scalar("kv_heads", "i32", kv_heads),
        cd.Scalar("queries", "i32", queries),
        cd.Scalar("keys", "i32", keys),
        cd.Scalar("mask_rows", "i32", of_mask[2]),
        cd.Scalar("mask_is_bool", "bool", int(mask == "bool")),
        *head_scalars(head),
        cd.In("spans", "i32", [size_of(of_mask[0] * of_mask[1], of_mask[2])], optional=True),
        cd.Scalar("mask_batches", "i32", of_mask[0]),
        cd.Scalar("mask_heads", "i32", of_mask[1]),
        *scores.operands,
    ]


def mask_requirements(mask: str) -> list[Condition]:
    """That a mask has as many sequences, heads and rows as there are, or one for all."""
    sizes = ((batch, mask_batches), (heads, mask_heads), (queries, mask_rows))
    return [] if mask == "keys" else [(own - 1) * (of - own) == 0 for of, own in sizes]


def head_scalars(head: Head) -> list[Operand]:
    """The last operands: the sizes of a head."""
    dim, value_dim = sizes_of(head)
    return [cd.Scalar("dim", "i32", dim), cd.Scalar("value_dim", "i32", value_dim)]


def form_of(layout: str, *, staged: int | None = None, scores: Scores = AS_THEY_ARE) -> str:
    """The last template arguments: the layout, whether numbers are staged, operands of scores.

    Those that are the defaults are left out.

    Parameters
    ----------
    staged
        Stages of a mask's numbers; None where a kernel has no such argument.
    """
    number = LAYOUTS.index(layout)
    if not staged and not scores.types:
        return f", {number}" if number else ""
    stages = "" if staged is None else f", {staged:d}"
    return ", ".join((f", {number}{stages}", *scores.types))


def blocks(of_queries: int, all_heads: Expr = ALL_HEADS) -> Expr:
    """The grid with a block for each `of_queries` queries of a head: `QueryTile`."""
    return cd.ceildiv(queries, of_queries) * all_heads


def on_cpu(
    dtype: str,
    head: Head,
    layout: str = "bhsd",
    all_heads: Expr = ALL_HEADS,
    *,
    scores: Scores = AS_THEY_ARE,
    entry: str = "attention_cpu",
) -> cd.Implementation:
    """What CPUs run for all of these kernels: `attention_cpu.cu`."""
    numbers = f"{template_of(head)}{form_of(layout, scores=scores)}"
    return _on_cpu(f"{entry}<{C_TYPES[dtype]}, {numbers}>", head, blocks(CPU_QUERIES, all_heads))


def cached_on_cpu(dtype: str, head: Head) -> cd.Implementation:
    """`on_cpu` with a partly filled KV cache."""
    entry = f"cached_attention_cpu<{C_TYPES[dtype]}, {template_of(head)}>"
    return _on_cpu(entry, head, blocks(CPU_QUERIES))


def packed_on_cpu(dtype: str, head: Head, grid: Expr) -> cd.Implementation:
    """`on_cpu` of sequences behind each other, with a block for each 64 queries of a head."""
    return _on_cpu(f"packed_attention_cpu<{C_TYPES[dtype]}, {template_of(head)}>", head, grid)


def _on_cpu(entry: str, head: Head, grid: Expr) -> cd.Implementation:
    warps, rows, lanes = 8, CPU_QUERIES // 8, 32
    columns, value_columns = columns_of(head)
    tiles = (warps * rows + lanes) * columns + lanes * value_columns
    tiles += warps * rows * (2 * lanes + 2)
    return cd.Implementation(
        source="attention_cpu.cu",
        entry=f"cuda_kernels::{entry}",
        block=warps * lanes,
        grid=grid,
        dynamic_shared_memory=4 * tiles,
    )


def flops(head: Head) -> Any:
    """Multiplications and additions of both products; a causal mask does not lower them."""
    dim, value_dim = sizes_of(head)
    return 2 * (dim + value_dim) * batch * heads * queries * keys


def attend(
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None,
    scale: float,
    causal: bool,
    spans: Array | None = None,
    softcap: float = 0.0,
    sinks: Array | None = None,
    *,
    change: Callable[[Array], Array] | None = None,
) -> Array:
    """softmax(q k^T * scale + mask) v in f64, rounded as q is; zeros where nothing is seen.

    With a soft cap, softcap * tanh(q k^T * scale / softcap) + mask; or what `change` makes of
    q k^T * scale. A sink is one more score of all queries of a head, with a value of 0.
    """
    del spans  # the mask says all
    shared = numpy.arange(q.shape[1]) * k.shape[1] // max(q.shape[1], 1)  # each head's keys
    keys, values = (each.astype(numpy.float64)[:, shared] for each in (k, v))
    scores = q.astype(numpy.float64) @ keys.swapaxes(-1, -2) * scale
    if softcap:
        scores = softcap * numpy.tanh(scores / softcap)
    if change is not None:
        scores = change(scores).astype(numpy.float64)
    if causal:
        later = numpy.arange(scores.shape[-1]) > numpy.arange(scores.shape[-2])[:, None]
        scores[..., later] = -numpy.inf
    if mask is not None and mask.size:
        is_bool = mask.dtype == numpy.bool_
        added = numpy.where(mask, 0.0, -numpy.inf) if is_bool else mask.astype(numpy.float64)
        scores = scores + added
    largest = scores.max(axis=-1, keepdims=True, initial=-numpy.inf)
    weights = numpy.exp(scores - numpy.where(largest == -numpy.inf, 0.0, largest))
    sums = weights.sum(axis=-1, keepdims=True)
    if sinks is not None and sinks.size:
        with numpy.errstate(over="ignore"):  # where nothing is seen, any base does
            base = numpy.where(largest == -numpy.inf, 0.0, largest)
            sums = sums + numpy.exp(sinks.astype(numpy.float64)[:, None, None] - base)
    result: Array = (weights @ values / numpy.where(sums == 0.0, 1.0, sums)).astype(q.dtype)
    return result


def attend_by_position(*given: Any, **others: Any) -> Array:
    """`attend`, with the result as [batch, queries, heads, dim]."""
    return attend(*given, **others).swapaxes(1, 2)


def attend_bshd(q: Array, k: Array, v: Array, *given: Any, **others: Any) -> Array:
    """The same, with all operands so."""
    return attend_by_position(*(each.swapaxes(1, 2) for each in (q, k, v)), *given, **others)


REFERENCES = dict(zip(LAYOUTS, (attend, attend_by_position, attend_bshd), strict=True))
"""By layout."""


def reference_of(layout: str, scores: Scores = AS_THEY_ARE) -> Callable[..., Array] | None:
    """What a kernel computes, or None where a function of the user's does not say what it does."""
    attend, compute = REFERENCES[layout], scores.compute
    if not scores.calls:
        return attend
    if compute is None:
        return None

    def attend_with_scores(
        q: Array,
        k: Array,
        v: Array,
        mask: Array | None,
        scale: float,
        causal: bool,
        spans: Array | None = None,
        sinks: Array | None = None,
        *numbers: numpy.generic,
    ) -> Array:
        def change(of: Array) -> Array:
            return compute(of, *numbers)

        return attend(q, k, v, mask, scale, causal, spans, 0.0, sinks, change=change)

    return attend_with_scores


def attend_cache(
    q: Array,
    k: Array,
    v: Array,
    lengths: Array,
    scale: float,
    *last: Array | None,
) -> Array:
    """`attend` where sequence b has lengths[b] keys, and the queries are the last of them.

    Parameters
    ----------
    last
        What keys and values are multiplied by first, of each head of keys or one for all, if there
        are such scales; and the number of keys that a query sees, up to its own, if it has a limit.
    """
    *scales, window = last if len(last) % 2 else (*last, None)
    counts = numpy.clip(lengths, 0, k.shape[2])[:, None, None, None]
    count = q.shape[2]
    seen = numpy.arange(k.shape[2]) < counts - count + 1 + numpy.arange(count)[:, None]
    if window is not None and window[0] > 0:
        own = counts - count + numpy.arange(count)[:, None]
        seen &= numpy.arange(k.shape[2]) > own - window[0]
    if scales:
        k, v = (
            x.astype(numpy.float64) * factors[:, None, None]
            for x, factors in zip((k, v), scales, strict=True)
            if factors is not None
        )
    return attend(q, k, v, seen, scale, False)
