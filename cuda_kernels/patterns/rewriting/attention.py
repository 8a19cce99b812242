"""Attention that a model writes out, as `scaled_dot_product_attention`, or as an operator of ours.

It is two products around a softmax over the last axis. What stands between the first product and
the softmax may come in any order: scales, before the product too; masks that are added, filled in
or chosen by `where`; conversions; heads taken apart from the batch or put into it. Keys and values
that are repeated for several heads of queries are taken as they were before. Where scores have a
soft cap or stand beside sinks, `attention_operator.py` says what is written.

The kernels add, normalise and multiply in f32, so that no step is less exact than the model's.
Numbers that hide a key may be any from -1e4 down: all of them give weights of 0. Where every key
is hidden so, the mean of all values comes out as in the model; where all are -inf, zeros do where
the model has NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.attention_operator import CAPPED_ATTENTION
from cuda_kernels.patterns.rewriting.einsum import write_einsum
from cuda_kernels.patterns.rewriting.exponentials import write_exponentials
from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    constants_of,
    dtype_of,
    is_call,
    is_wider,
    keeps_results,
    named,
    number_of,
    only_user,
    put,
    same,
    scaled,
    shape_of,
)
from cuda_kernels.patterns.rewriting.heads import (
    before_widening,
    is_rounded,
    once,
    outer_of,
    with_heads,
    without_scale,
)
from cuda_kernels.patterns.rewriting.masks import (
    CAUSAL,
    HIDES,
    LOWEST,
    Added,
    Hidden,
    as_operand,
    meaning_of,
    of_four_dims,
)
from cuda_kernels.patterns.rewriting.products import is_zero
from cuda_kernels.patterns.rewriting.sinks import (
    Sinks,
    before_softmax,
    dropped_by,
    with_one_batch,
    without_sinks,
)
from cuda_kernels.patterns.rewriting.sinks import as_operand as sinks_as_operand

ATTENTION = aten.scaled_dot_product_attention.default
_SOFTMAX = (aten.softmax.int, aten._softmax.default)
_PRODUCTS = (aten.matmul.default, aten.bmm.default)
MOST_DIM = 256
"""The largest heads that there are kernels for."""


@dataclass
class _Scores:
    """What a softmax is of: a product times a factor, with masks."""

    factor: float = 1.0
    masks: list[Added | Hidden] = field(default_factory=list)
    outer: tuple[Any, ...] = ()
    """Batch and heads, where scores are reshaped between these and both in one."""
    of_queries: list[tuple[Node, tuple[Any, ...]]] = field(default_factory=list)
    """Tensors of a number a head or query that scores are multiplied by, and the scores' sizes."""
    softcap: float | None = None
    """What a tanh of scores is multiplied by. `factor` is then that of what the tanh is of."""
    sinks: Sinks | None = None
    product: tuple[Node, Node] | None = None
    """The factors of the product; the second as it is multiplied, [..., dim, keys]."""


@keeps_results
def write_attention(program: torch.export.ExportedProgram) -> None:
    """Write every attention that is spelled out as one call."""
    write_einsum(program)
    write_exponentials(program)
    constants = constants_of(program)
    for view in reversed(calls(program.graph, aten.reshape.default)):
        _add_after(view)
    program.graph.eliminate_dead_code()  # which would use the product as well
    for softmax in calls(program.graph, *_SOFTMAX):
        _write(softmax, constants)
    for call in calls(program.graph, ATTENTION):
        _bring(call, constants)


def _add_after(view: Node) -> None:
    """Add what scores taken apart into more axes are added to, after they are put together again.

    Biases of images have numbers for rows and for columns (Segment Anything, MViT).
    """
    shape, terms, total = shape_of(view), [], view.args[0]
    inside = shape_of(total)
    while is_call(total, aten.add.Tensor) and only_user(total) is not None:
        if named(total)["alpha"] != 1:
            return
        one, other = total.args[:2]
        if not (isinstance(one, Node) and same(shape_of(one), inside)):
            one, other = other, one
        if not (isinstance(other, Node) and isinstance(one, Node)):
            return
        terms.append(other)
        total = one
    is_again = is_call(total, aten.reshape.default) and same(shape_of(total.args[0]), shape)
    if not terms or not is_again or len(inside) <= len(shape) or not same(shape_of(total), inside):
        return
    write, found = Writer(view), total.args[0]
    for term in reversed(terms):
        if not same(shape_of(term), inside):
            term = write.call(aten.expand.default, term, write.sizes(total, inside))
        found = write.call(aten.add.Tensor, found, write.reshape(term, shape, view.args[0]))
    put(view, found)


def _write(softmax: Node, constants: Mapping[str, torch.Tensor]) -> None:
    rank = len(shape_of(softmax))
    if rank not in (3, 4) or named(softmax)["dim"] != rank - 1:
        return
    weighted = _weighted(softmax)
    source = before_softmax(softmax)
    if weighted is None or source is None:
        return
    last, values, dropped = weighted
    sinks = None
    if dropped is not None:
        found = without_sinks(source, dropped, constants)
        if found is None:
            return
        source, sinks = found
    scores = _scores(source, constants)
    if scores is None or scores.product is None:
        return
    scores.sinks = sinks
    _put(last, values, scores, constants)


def _weighted(softmax: Node) -> tuple[Node, Node, str | None] | None:
    """The product of weights and values, the values, and which weight of a row is dropped."""
    node, dropped = softmax, None
    while True:
        user = only_user(node)
        if user is None:
            return None
        if is_call(user, *_PRODUCTS):
            left, right = user.args[:2]
            is_weights = left is node and isinstance(right, Node)
            return (user, right, dropped) if is_weights else None
        if dropped is None and dropped_by(user) is not None:
            node, dropped = user, dropped_by(user)
            continue
        is_between = is_call(user, aten.to.dtype) or (
            is_call(user, aten.reshape.default) and same(shape_of(user)[-2:], shape_of(node)[-2:])
        )
        if not is_between:
            return None
        node = user


def _scores(node: Node, constants: Mapping[str, torch.Tensor]) -> _Scores | None:
    """What scores are made of, backwards; None where that is something else."""
    found = _Scores()
    shape = shape_of(node)
    start = node
    while True:
        if node is not start and only_user(node) is None:
            return None
        step = _step(node, found, constants, shape)
        if step is None:
            return None
        if found.product is not None:
            return found
        is_view = is_call(node, aten.reshape.default)
        if not is_view and not same(shape_of(step), shape):
            return None  # what broadcasts the scores makes more of them
        node, shape = step, shape_of(step)


def _step(
    node: Node, found: _Scores, constants: Mapping[str, torch.Tensor], shape: tuple[Any, ...]
) -> Node | None:
    """Take one operation into account; return what it is of."""
    if is_call(node, *_PRODUCTS):
        left, right = node.args[:2]
        if isinstance(left, Node) and isinstance(right, Node):
            found.product = left, right
        return node if found.product else None
    if is_call(node, aten.baddbmm.default):
        given = named(node)
        mask, left, right = (given[name] for name in ("self", "batch1", "batch2"))
        if given["beta"] != 0 and not is_zero(mask):
            if found.softcap is not None:
                return None
            found.masks.append(Added(mask, found.factor * given["beta"], shape))
        found.factor *= given["alpha"]
        found.product = left, right
        return node
    if is_call(node, aten.to.dtype):
        source = node.args[0]
        return source if is_wider(node) or dtype_of(source) == torch.float32 else None
    if is_call(node, aten.reshape.default):
        return _reshaped(node, found)
    multiplied = scaled(node, constants)
    if multiplied is not None:
        found.factor *= multiplied[1]
        return multiplied[0]
    if is_call(node, aten.mul.Tensor):
        return _multiplied(node, found, shape)
    if found.softcap is not None:
        return None  # a cap is of scores alone
    if is_call(node, aten.tanh.default):
        return _capped(node, found)
    if is_call(node, aten.add.Tensor, aten.sub.Tensor):
        return _added(node, found, constants, shape)
    return _hidden(node, found, constants, shape)


def _reshaped(node: Node, found: _Scores) -> Node | None:
    source = node.args[0]
    before, after = shape_of(source), shape_of(node)
    if not isinstance(source, Node) or not same(before[-2:], after[-2:]):
        return None
    larger = max(before, after, key=len)
    if len(larger) == 4:
        found.outer = tuple(larger[:2])
    return source if {len(before), len(after)} <= {3, 4, 5} else None


def _capped(node: Node, found: _Scores) -> Node | None:
    if found.of_queries or not found.factor:
        return None
    found.softcap, found.factor = found.factor, 1.0
    source = node.args[0]
    return source if isinstance(source, Node) else None


def _multiplied(node: Node, found: _Scores, shape: tuple[Any, ...]) -> Node | None:
    for scores, factor in (node.args[:2], node.args[1::-1]):
        if not isinstance(scores, Node) or not isinstance(factor, Node):
            return None
        sizes = shape_of(factor)
        if not sizes or (same(sizes[-1], 1) and same(shape_of(scores), shape)):
            found.of_queries.append((factor, shape))
            return scores
    return None


def _added(
    node: Node, found: _Scores, constants: Mapping[str, torch.Tensor], shape: tuple[Any, ...]
) -> Node | None:
    if named(node)["alpha"] != 1:
        return None
    one, other = node.args[:2]
    is_sum = node.target is aten.add.Tensor
    if isinstance(one, Node) and number_of(other, constants) is not None:
        return one  # all scores alike, which a softmax is the same for
    if found.of_queries:
        return None
    ways = [(one, other)] + ([(other, one)] if is_sum else [])
    for scores, mask in ways:
        if not isinstance(scores, Node) or not isinstance(mask, Node):
            continue
        if same(shape_of(scores)[-2:], shape[-2:]) and _leads_to_product(scores, constants):
            factor = found.factor if is_sum else -found.factor
            found.masks.append(Added(mask, factor, shape))
            return scores
    return None


def _leads_to_product(node: Node, constants: Mapping[str, torch.Tensor]) -> bool:
    scores = _scores(node, constants)
    return scores is not None and scores.product is not None


def _hidden(
    node: Node, found: _Scores, constants: Mapping[str, torch.Tensor], shape: tuple[Any, ...]
) -> Node | None:
    """A mask that is filled in, or a smallest number."""
    scores: Any
    if is_call(node, aten.masked_fill.Scalar, aten.masked_fill.Tensor):
        scores, condition, value = node.args[:3]
        hides = True
    elif is_call(node, aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf):
        condition, one, other = node.args[:3]
        hides = number_of(other, constants) is None
        scores, value = (other, one) if hides else (one, other)
    elif is_call(
        node, aten.maximum.default, aten.max.other, aten.clamp_min.default, aten.clamp.default
    ):
        scores, value = node.args[:2]
        number = number_of(value, constants)
        is_lowest = number is not None and number <= HIDES
        is_lowest = is_lowest and all(each is None for each in node.args[2:])
        return scores if is_lowest and isinstance(scores, Node) else None
    else:
        return None
    number = number_of(value, constants)
    if number is None or not isinstance(scores, Node) or found.of_queries:
        return None
    if found.factor <= 0 or max(number, number * found.factor) > HIDES:
        return None
    found.masks.append(Hidden(condition, hides, number, shape))
    return scores


def _put(
    last: Node,
    values: Node,
    scores: _Scores,
    constants: Mapping[str, torch.Tensor],
) -> None:
    """Write the call in the place of the last product, if there are kernels for it."""
    assert scores.product is not None  # noqa: S101 - `_write` has seen to it
    left, right = scores.product
    write = Writer(last)
    rank = len(shape_of(left))
    if rank not in (3, 4) or len(shape_of(right)) != rank or len(shape_of(values)) != rank:
        return
    dtype = dtype_of(values)
    if is_wider(values) and is_rounded(last, dtype_of(values.args[0])):
        values = values.args[0]
        dtype = dtype_of(values)
    q, of_q = without_scale(left, write, constants)
    k, of_k = without_scale(right, write, constants)
    # What was made f32 for the first product alone was of 16 bits.
    q, k = (before_widening(each, dtype, write) for each in (q, k))
    if not (dtype in LOWEST and dtype_of(q) == dtype_of(k) == dtype):
        return
    k = write.permute(k, [*range(rank - 2), rank - 1, rank - 2])
    outer = scores.outer or outer_of((left, right, values))
    q, k, v = (with_heads(each, outer, write) for each in (q, k, values))
    shape = shape_of(q)
    dims = shape[3], shape_of(v)[3]
    if not all(isinstance(dim, int) and dim <= MOST_DIM for dim in dims):
        return
    k, v, is_grouped = once(k, v, shape[1], write)
    leading = [shape_of(each)[: 1 if is_grouped else 2] for each in (q, k, v)]
    if not (same(leading[0], leading[1]) and same(leading[0], leading[2])):
        return
    sizes = (*shape[:3], shape_of(k)[2])
    for tensor, of_scores in scores.of_queries:
        if len(of_scores) != 4 or rank != 4 or len(shape_of(tensor)) > 4:
            return
        q = write.call(aten.mul.Tensor, q, write.cast(tensor, dtype))
    sinks = None
    try:
        mask = as_operand(scores.masks, sizes, (q, k), write, constants)
        if scores.sinks is not None:
            sinks = sinks_as_operand(scores.sinks, shape[:2], q, write)
    except ValueError:  # no mask or sinks of the kernels'
        return
    factor = scores.factor * of_q * of_k
    if sinks is None and scores.softcap is None:
        result = write.call(
            ATTENTION, q, k, v, mask, 0.0, False, scale=factor, enable_gqa=is_grouped
        )
    else:
        known = None if mask is None else meaning_of(mask, constants)
        mask, softcap = mask if known is None else None, scores.softcap or 0.0
        if sinks is not None and not same(shape_of(sinks)[0], shape[1]):
            (q, k, v), mask = with_one_batch((q, k, v), mask, shape[:2], write)
        result = write.call(
            CAPPED_ATTENTION,
            *(q, k, v, mask, sinks, factor * (softcap or 1.0), softcap, known == CAUSAL),
        )
        result = write.reshape(result, (*shape[:3], shape_of(v)[3]), left)
    for user in list(last.users) if rank == 3 else ():
        if is_call(user, aten.reshape.default) and same(shape_of(user), shape_of(result)):
            put(user, result)  # heads are taken apart from the batch again
    if rank == 3:
        result = write.reshape(result, shape_of(last), values, left)
    put(last, write.cast(result, dtype_of(last)))


def _bring(call: Node, constants: Mapping[str, torch.Tensor]) -> None:
    """Take keys and values as they were before they were repeated, and give a mask four dims.

    A mask that follows from no input may say nothing, or that queries are causal.
    """
    given = named(call)
    q, k, v, mask = (given[name] for name in ("query", "key", "value", "attn_mask"))
    if not len(shape_of(q)) == len(shape_of(k)) == len(shape_of(v)) == 4:
        return
    write = Writer(call)
    if not given["enable_gqa"]:
        k, v, is_grouped = once(k, v, shape_of(q)[1], write)
        call.args = (q, k, v, *call.args[3:])
        call.kwargs = {**call.kwargs, "enable_gqa": is_grouped}
    known = None if mask is None else meaning_of(mask, constants)
    if known is not None and not (known == CAUSAL and call.args[5]):
        call.update_arg(3, None)
        call.update_arg(5, known == CAUSAL or call.args[5])
    elif mask is not None and len(shape_of(mask)) <= 4:
        sizes = (*shape_of(q)[:3], shape_of(k)[2])
        call.update_arg(3, of_four_dims(mask, sizes, (q, k), write))
