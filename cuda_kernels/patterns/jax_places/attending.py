"""Attention, softmax(q k * scale + masks) v, however its products' dims are ordered."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import jax.numpy as jnp
import numpy

from cuda_kernels.patterns.jax_places.axes import (
    Atom,
    Dim,
    Seen,
    after,
    arranged,
    flat,
    new,
    product_operands,
    size_of,
)
from cuda_kernels.patterns.jax_places.graph import (
    VIEWS,
    Graph,
    Node,
    only_user,
)
from cuda_kernels.patterns.jax_places.masks import (
    Mask,
    as_bools,
    as_numbers,
    constant_mask,
    parts_of,
)
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, exists, kind_of, place
from cuda_kernels.patterns.jax_places.scores import Scores, factored, scores_of
from cuda_kernels.patterns.jax_places.sinks import weights_of

_UNSEEN = -1e30
"""What is added to a score that a bool hides, where a type holds it. Of any score that makes this
number, so that where everything is hidden all keys weigh the same, as in JAX."""


@dataclass(frozen=True, slots=True)
class _Attention:
    """The operands of attention, and the kinds of their dims."""

    q: Seen
    k: Seen
    v: Seen
    result: Seen
    scale: float
    keys: Dim
    depth: Dim
    """What queries and keys are multiplied along."""
    width: Dim
    """The dims of values that the result has."""
    queries: Dim = ()
    groups: Dim = ()
    """Heads of queries that share one of keys."""
    batch: Dim = ()
    heads: Dim = ()
    """Heads of keys."""
    causal: bool = False
    masks: tuple[Mask, ...] = field(default=())
    softcap: float = 0.0
    sinks: Seen | None = None
    """Scores of heads that no key has."""


def attentions(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Attention with heads of up to 256."""
    if "attention" not in groups:
        return
    for node in graph.nodes:
        if node.name == "dot_general":
            for found in _attentions_at(node):
                made = _as_place(found)
                if made is not None:
                    yield made


def _attentions_at(node: Node) -> Iterator[_Attention]:
    result = new(node.result)
    left, right, summed = product_operands(node, result.axes)
    keys = flat(summed)
    if not keys:
        return
    for weights, values in ((left, right), (right, left)):
        softmax = weights_of(weights)
        if softmax is None or flat(softmax.over) != flat(summed):
            continue
        scores = scores_of(softmax.scores)
        if scores is None:
            continue
        found = _operands(scores, values, result, flat(summed), softmax.sinks)
        if found is not None:
            yield found


# -- operands


def _operands(
    scores: Scores, values: Seen, result: Seen, keys: Dim, sinks: Seen | None
) -> _Attention | None:
    node = scores.product.value.node
    assert node is not None  # noqa: S101 - it is a product
    left, right, summed = product_operands(node, scores.product.axes)
    depth = flat(summed)
    known = {*keys}
    if {*left.atoms} & known:
        left, right = right, left
    if {*left.atoms} & known or not known <= {*right.atoms} or not depth:
        return None
    parts = [part for mask in scores.masks for part in parts_of(mask)]
    for part in parts:
        part.dims()  # which may take some dims apart
    (q, by_q), (k, by_k) = factored(left), factored(right)
    v = values.widened
    keys, depth = flat(keys), flat(depth)
    width = tuple(atom for atom in v.atoms if atom not in {*q.atoms, *keys, *k.atoms})
    shared = {*k.atoms} - {*keys, *depth}
    own = {*v.atoms} - {*keys, *width}
    if not width or not {*keys} <= {*v.atoms} or not {*depth} <= {*k.atoms} & {*q.atoms}:
        return None
    outer = shared | own
    if not outer <= {*q.atoms}:
        return None
    rows = tuple(atom for atom in q.atoms if atom not in outer | {*depth})
    if {*result.atoms} != {*q.atoms} - {*depth} | {*width}:
        return None
    start = _Attention(
        *(q, k, v, result, scores.scale * by_q * by_k, keys, depth, width),
        queries=rows,
        softcap=scores.softcap,
        sinks=None if sinks is None else sinks.widened,
    )
    heads = tuple(atom for atom in q.atoms if atom in outer)
    return _with_masks(start, heads, parts)


def _with_masks(start: _Attention, outer: Dim, parts: list[Mask]) -> _Attention | None:
    """Attention whose dims of queries, heads and sentences follow from what its masks have."""
    rows = flat(start.queries)
    causal, left = "", list[Mask]()
    choice: Dim | None = None
    for part in parts:
        found = constant_mask(part, (), start.keys) and "all"
        if not found:
            for atom in rows:
                if constant_mask(part, (atom,), start.keys) == "causal":
                    found, choice = "causal", (atom,)
        if not found and constant_mask(part, rows, start.keys):
            found = constant_mask(part, rows, start.keys)
            choice = rows if found == "causal" else choice
        if not found:
            left.append(part)
        elif found == "causal":
            causal = found
    varied = set[Atom]().union(*(part.dims() for part in left)) if left else set[Atom]()
    of_sinks = {*start.sinks.atoms} if start.sinks is not None else set[Atom]()
    if choice is None:
        choice = _queries(tuple(atom for atom in rows if atom not in of_sinks), varied)
    groups = tuple(atom for atom in rows if atom not in choice)
    if varied & {*groups}:  # a mask for each head of a group: all of it is queries
        if causal:
            return None
        choice, groups = (*groups, *choice), ()
    batch = tuple(atom for atom in outer if atom in varied)
    heads = tuple(atom for atom in outer if atom not in varied)
    if (not {*outer[:-1]} & varied and not {*outer[-1:]} & varied) or (
        batch == outer[: len(batch)] and len(heads) > 1
    ):
        batch, heads = outer[:-1], outer[-1:]
    if of_sinks:
        heads = tuple(atom for atom in outer if atom in of_sinks)
        batch = tuple(atom for atom in outer if atom not in of_sinks)
        if not of_sinks <= {*heads, *groups} or varied & {*heads}:
            return None
    return replace(
        start,
        queries=choice,
        groups=groups,
        batch=batch,
        heads=heads,
        causal=bool(causal),
        masks=tuple(left),
    )


def _queries(rows: Dim, varied: set[Atom]) -> Dim:
    """Which of the dims that keys lack are positions; the others are heads that share keys."""
    of_masks = tuple(atom for atom in rows if atom in varied)
    if of_masks:
        return of_masks
    sizes = [atom.size if isinstance(atom.size, int) else math.inf for atom in rows]
    if not rows:
        return ()
    return (rows[sizes.index(max(sizes))],)


# -- kernels


def _as_place(found: _Attention) -> Place | None:
    kind = kind_of(found.q.value)
    same = {each.value.dtype for each in (found.q, found.k, found.v)}
    target = found.result
    if len(same) != 1 or not kind:
        return None
    if target.value.dtype != found.q.value.dtype:
        cast = target.value.users[0] if len(target.value.users) == 1 else None
        if cast is None or cast.name != "convert_element_type" or target.value.is_result:
            kind = "f32"
        elif cast.result.dtype == found.q.value.dtype:
            target = Seen(cast.result, target.axes)
        else:
            kind = "f32"
    size, width = size_of(found.depth), size_of(found.width)
    if not isinstance(size, int) or not isinstance(width, int) or max(size, width) > 256:
        return None
    wide = jnp.dtype(WIDE[kind])
    added = [mask for mask in found.masks if mask.added]
    hidden = [mask for mask in found.masks if not mask.added]
    for mask in added:  # rounding what is added would change the scores
        narrow = mask.seen.widened
        if kind != "f32" and narrow.value.dtype != wide:
            return None
    of_keys = not any(mask.dims() & {*found.queries} for mask in found.masks)
    if found.sinks is not None and kind != "f32" and found.sinks.value.dtype != wide:
        return None
    by_bools = bool(hidden) and not added and not of_keys
    makes_up = bool(hidden) and (found.causal or kind == "f16")
    form = ""
    if found.masks:
        form = "" if of_keys else "bool_masked_" if by_bools and makes_up else "masked_"
    return _kernel_place(found, target, kind, (size, width), form, makes_up)


def _kernel_place(
    found: _Attention,
    target: Seen,
    kind: str,
    sizes: tuple[int, int],
    form: str,
    makes_up: bool,
) -> Place | None:
    end = f"_{sizes[0]}" if sizes[0] == sizes[1] and sizes[0] in (32, 64, 128) else ""
    name = f"{form}attention_{kind}{end}"
    is_capped = bool(found.softcap) or found.sinks is not None
    if is_capped:
        name = f"{form}capped_attention_{kind}"
    by_position = f"attention_by_position_{kind}{end}"
    of_heads = (*found.heads, *found.groups)
    placed = [found.batch, found.queries, of_heads, found.width]
    is_by_position = (
        bool(end)
        and not (form or makes_up or is_capped)
        and exists(by_position)
        and any(each.atoms == flat(*placed) for each in _views(target))
    )
    name = by_position if is_by_position else name
    if not exists(name):
        return None
    result = placed if is_by_position else [found.batch, of_heads, found.queries, found.width]
    wide = jnp.dtype(WIDE[kind])
    masks = found.masks
    of_sinks = [] if found.sinks is None else [found.sinks]
    scale, causal = float(found.scale), found.causal
    of_mask: list[Dim] = [found.batch, (), found.queries, found.keys]
    if form == "":
        of_mask[2] = ()

    def build(q: Any, k: Any, v: Any, *others: Any) -> list[Any]:
        arrays, sinks = others[: len(masks)], others[len(masks) :]
        given = [
            arranged(array, seen.axes, dims).astype(wide)
            for array, seen, dims in (
                (q, found.q, [found.batch, of_heads, found.queries, found.depth]),
                (k, found.k, [found.batch, found.heads, found.keys, found.depth]),
                (v, found.v, [found.batch, found.heads, found.keys, found.width]),
            )
        ]
        pairs = list(zip(masks, arrays, strict=True))
        shown = None
        for mask, array in pairs:
            if not mask.added:
                one = as_bools(mask, array, of_mask)
                shown = one if shown is None else shown & one
        mask_array = shown
        if form != "bool_masked_" and pairs:
            unseen = -jnp.inf if makes_up else _UNSEEN
            mask_array = None if shown is None else jnp.where(shown, 0.0, unseen).astype(wide)
            for mask, array in pairs:
                if mask.added:
                    one = as_numbers(mask, array, of_mask, wide)
                    mask_array = one if mask_array is None else mask_array + one
        more = {} if mask_array is None else {"mask": mask_array}
        if is_capped:
            more["softcap"] = float(found.softcap)
        for array, seen in zip(sinks, of_sinks, strict=True):
            more["sinks"] = arranged(array, seen.axes, [of_heads]).astype(wide)
        done = call(name)(*given, scale=scale, causal=causal, **more)
        # A query that sees nothing gives its sink all the weight.
        if makes_up and shown is not None and not sinks:
            done = _made_up(done, shown, given[2], found)
        return [arranged(done, result, target.axes).astype(target.value.dtype)]

    operands = [each.value for each in (found.q, found.k, found.v)]
    operands += [mask.base.value for mask in masks]
    operands += [each.value for each in of_sinks]
    cap = {"softcap": float(found.softcap)} if is_capped else {}
    return place(name, [target.value], operands, build, scale=scale, causal=causal, **cap)


def _views(seen: Seen) -> Iterator[Seen]:
    """A value, and what is made of it alone by ordering its elements otherwise."""
    found: Seen | None = seen
    while found is not None:
        yield found
        user = only_user(found.value)
        axes = after(user, found.axes) if user is not None and user.name in VIEWS else None
        found = Seen(user.result, axes) if user is not None and axes is not None else None


def _made_up(done: Any, shown: Any, v: Any, found: _Attention) -> Any:
    """With what JAX gives a query that sees nothing: the mean of all values, or NaN."""
    if found.causal:
        count, keys = size_of(found.queries), size_of(found.keys)
        earlier = jnp.arange(keys)[None, :] <= jnp.arange(count)[:, None]
        shown = shown & earlier
    sees = jnp.any(shown, axis=-1, keepdims=True)  # [batch, 1, queries or 1, 1]
    fills = [mask.fill for mask in found.masks if not mask.added]
    if all(map(math.isfinite, fills)):
        mean = jnp.mean(v.astype(jnp.float32), axis=2, keepdims=True).astype(v.dtype)
        heads = (*found.heads, *found.groups)
        other = arranged(
            mean, [found.batch, found.heads, (), found.width], [found.batch, heads, (), found.width]
        )
    else:
        other = jnp.full((1, 1, 1, 1), numpy.nan, v.dtype)
    return jnp.where(sees, done, other)
