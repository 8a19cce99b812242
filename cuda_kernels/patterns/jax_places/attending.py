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
    made_by,
    number_of,
    only_user,
)
from cuda_kernels.patterns.jax_places.masks import (
    HIDDEN,
    Mask,
    as_bools,
    as_numbers,
    constant_mask,
    parts_of,
)
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, exists, kind_of, place
from cuda_kernels.patterns.jax_places.rows import softmax_of

_UNSEEN = -1e30
"""What is added to a score that a bool hides, where a type holds it. Of any score that makes this
number, so that where everything is hidden all keys weigh the same, as in JAX."""
_MOST_STEPS = 40


@dataclass(frozen=True, slots=True)
class _Scores:
    """What scores are made of."""

    product: Seen
    scale: float = 1.0
    masks: tuple[Mask, ...] = ()


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
        softmax = softmax_of(weights)
        if softmax is None or flat(softmax.over) != flat(summed):
            continue
        scores = _scores(softmax.scores)
        if scores is None:
            continue
        found = _operands(scores, values, result, flat(summed))
        if found is not None:
            yield found


# -- scores


def _scores(seen: Seen, steps: int = 0) -> _Scores | None:
    """The product that scores are of, and what is done to it."""
    found = seen.base
    node = found.value.node
    if node is None or steps > _MOST_STEPS:
        return None
    steps += 1
    match node.name:
        case "dot_general":
            return _Scores(found)
        case "mul" | "div":
            for index in (0, 1) if node.name == "mul" else (0,):
                number = number_of(node.operands[1 - index])
                inner = None if not number else _scores(found.operand(index), steps)
                if inner is not None and number:
                    factor = number if node.name == "mul" else 1.0 / number
                    return _scaled(inner, factor)
        case "add" | "sub":
            for index in (0, 1) if node.name == "add" else (0,):
                inner = _scores(found.operand(index), steps)
                if inner is not None:
                    factor = 1.0 if node.name == "add" else -1.0
                    mask = Mask(found.operand(1 - index), True, factor=factor)
                    return replace(inner, masks=(*inner.masks, mask))
        case "select_n" if len(node.operands) == 3:
            for shown, hidden in ((2, 1), (1, 2)):
                fill = number_of(node.operands[hidden])
                if fill is None or fill > HIDDEN:
                    continue
                inner = _scores(found.operand(shown), steps)
                if inner is not None:
                    mask = Mask(found.operand(0), False, shown == 1, fill)
                    return replace(inner, masks=(*inner.masks, mask))
    return None


def _scaled(scores: _Scores, factor: float) -> _Scores | None:
    if any(not mask.added for mask in scores.masks) and factor <= 0:
        return None
    masks = tuple(
        replace(mask, factor=mask.factor * factor)
        if mask.added
        else replace(mask, fill=mask.fill * factor)
        for mask in scores.masks
    )
    return replace(scores, scale=scores.scale * factor, masks=masks)


def _factored(seen: Seen) -> tuple[Seen, float]:
    """An operand without the number that it is multiplied by, and that number."""
    found, factor = seen.widened, 1.0
    while (node := made_by(found.value, "mul", "div")) is not None:
        numbers = [number_of(each) for each in node.operands]
        if numbers[1] is not None and numbers[1] != 0.0:
            index = 0
        elif numbers[0] is not None and node.name == "mul":
            index = 1
        else:
            break
        number = numbers[1 - index]
        if not number or not math.isfinite(number):
            break
        factor *= number if node.name == "mul" else 1.0 / number
        found = found.operand(index).widened
    return found, factor


# -- operands


def _operands(scores: _Scores, values: Seen, result: Seen, keys: Dim) -> _Attention | None:
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
    (q, by_q), (k, by_k) = _factored(left), _factored(right)
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
        *(q, k, v, result, scores.scale * by_q * by_k, keys, depth, width), queries=rows
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
    if choice is None:
        choice = _queries(rows, varied)
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
    by_position = f"attention_by_position_{kind}{end}"
    of_heads = (*found.heads, *found.groups)
    placed = [found.batch, found.queries, of_heads, found.width]
    is_by_position = (
        bool(end)
        and not (form or makes_up)
        and exists(by_position)
        and any(each.atoms == flat(*placed) for each in _views(target))
    )
    name = by_position if is_by_position else name
    if not exists(name):
        return None
    result = placed if is_by_position else [found.batch, of_heads, found.queries, found.width]
    wide = jnp.dtype(WIDE[kind])
    masks = found.masks
    scale, causal = float(found.scale), found.causal
    of_mask: list[Dim] = [found.batch, (), found.queries, found.keys]
    if form == "":
        of_mask[2] = ()

    def build(q: Any, k: Any, v: Any, *arrays: Any) -> list[Any]:
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
        done = call(name)(*given, scale=scale, causal=causal, **more)
        if makes_up and shown is not None:
            done = _made_up(done, shown, given[2], found)
        return [arranged(done, result, target.axes).astype(target.value.dtype)]

    operands = [each.value for each in (found.q, found.k, found.v)]
    operands += [mask.base.value for mask in masks]
    return place(name, [target.value], operands, build, scale=scale, causal=causal)


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
