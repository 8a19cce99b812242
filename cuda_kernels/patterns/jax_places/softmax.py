"""Softmax along some dims, whoever wrote it out and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cuda_kernels.patterns.jax_places.axes import Dim, Seen, arranged, flat, new
from cuda_kernels.patterns.jax_places.graph import (
    Graph,
    Node,
    made_by,
    number_of,
    only_user,
)
from cuda_kernels.patterns.jax_places.place import WIDE, Place, call, kind_of, place
from cuda_kernels.patterns.jax_places.reductions import Reduced, along, reduction, rows_of


@dataclass(frozen=True, slots=True)
class Softmax:
    """The softmax of scores along some dims."""

    scores: Seen
    over: Dim
    """As dims of the result."""


def softmax_of(seen: Seen) -> Softmax | None:
    """The softmax that a value is: exponentials of scores, by their sum.

    What is taken from all scores of a row before that, such as their largest, changes nothing.
    """
    found = seen.base
    node = made_by(found.value, "div", "mul", "exp")
    if node is None:
        return None
    if node.name == "exp":
        return _of_logarithm(found)
    for index in (0, 1) if node.name == "mul" else (0,):
        above, below = found.operand(index), found.operand(1 - index).base
        if node.name == "mul":
            inverse = made_by(below.value, "div", "integer_pow", "pow")
            if inverse is None or not _is_inverse(inverse):
                continue
            below = below.operand(1 if inverse.name == "div" else 0)
        total = reduction(below, "reduce_sum")
        of = above.base
        if total is None or made_by(of.value, "exp") is None:
            continue
        over = along(total, of)
        if over is not None:
            return Softmax(_relative(of.operand(0), over), over)
    return None


def _is_inverse(node: Node) -> bool:
    if node.name == "div":
        return number_of(node.operands[0]) == 1.0
    power = node.params["y"] if node.name == "integer_pow" else number_of(node.operands[1])
    return power == -1


def _of_logarithm(found: Seen) -> Softmax | None:
    """exp(x - log(sum(exp(x)))), as of `jax.nn.log_softmax`."""
    inner = found.operand(0).base
    if made_by(inner.value, "sub") is None:
        return None
    logarithm = inner.operand(1).base
    if made_by(logarithm.value, "log") is None:
        return None
    total = reduction(logarithm.operand(0), "reduce_sum")
    if total is None:
        return None
    of, scores = total.operand.base, inner.operand(0)
    if made_by(of.value, "exp") is None or of.operand(0).base.value is not scores.base.value:
        return None
    over = along(Reduced(of.operand(0), total.over), scores)
    return None if over is None else Softmax(_relative(scores, over), over)


def _relative(scores: Seen, over: Dim) -> Seen:
    """Scores without what is the same for all of a row."""
    found = scores.base
    if made_by(found.value, "sub") is None or set(found.operand(1).base.atoms) & set(flat(over)):
        return scores
    return _relative(found.operand(0), over)


def softmaxes(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """Softmax along any dim."""
    for node in graph.nodes:
        if "softmax" in groups and node.name in ("div", "mul", "exp"):
            result = new(node.result)
            found = softmax_of(result)
            made = None if found is None else _softmax_place(found, result)
            if made is not None:
                yield made


def _softmax_place(found: Softmax, result: Seen) -> Place | None:
    scores, over = found.scores.widened, flat(found.over)
    cast = only_user(result.value)
    is_cast = cast is not None and cast.name == "convert_element_type"
    if is_cast and cast is not None and cast.result.dtype == scores.value.dtype:
        result = Seen(cast.result, result.axes)
    kind = kind_of(scores.value) if scores.value.dtype == result.value.dtype else "f32"
    if not kind_of(scores.value) or set(scores.atoms) != set(result.atoms):
        return None
    rows = rows_of(scores, over)

    def build(array: Any) -> list[Any]:
        given = arranged(array, scores.axes, [*rows, over]).astype(WIDE[kind])
        done = arranged(call(f"softmax_{kind}")(given), [*rows, over], result.axes)
        return [done.astype(result.value.dtype)]

    return place(f"softmax_{kind}", [result.value], [scores.value], build)
