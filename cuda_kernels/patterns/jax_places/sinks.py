"""The weights of attention: a softmax of scores, which a sink may take a part of."""

from __future__ import annotations

from dataclasses import dataclass

from cuda_kernels.patterns.jax_places.axes import Atom, Dim, Seen, flat
from cuda_kernels.patterns.jax_places.graph import made_by
from cuda_kernels.patterns.jax_places.reductions import along, reduction
from cuda_kernels.patterns.jax_places.softmax import softmax_of


@dataclass(frozen=True, slots=True)
class Weights:
    """A softmax of scores and of a sink, without what the sink gets."""

    scores: Seen
    over: Dim
    """The dims of keys."""
    sinks: Seen | None = None


def weights_of(seen: Seen) -> Weights | None:
    """What weights are computed of."""
    softmax = softmax_of(seen)
    if softmax is not None:
        return Weights(softmax.scores, softmax.over)
    found = seen.base
    return _cut(found) or _summed(found)


def _cut(found: Seen) -> Weights | None:
    """A softmax of scores joined with one more, without that one."""
    node = made_by(found.value, "slice")
    if node is None or any(step != 1 for step in node.params["strides"] or ()):
        return None
    given = node.operands[0]
    sizes = list(zip(given.shape, found.value.shape, strict=True))
    cut = [axis for axis, (whole, part) in enumerate(sizes) if whole != part]
    if len(cut) != 1 or sizes[cut[0]][0] != sizes[cut[0]][1] + 1:
        return None
    axis = cut[0]
    is_last = node.params["start_indices"][axis] == 0
    keys, every = found.axes[axis], (Atom(given.shape[axis]),)
    softmax = softmax_of(Seen(given, (*found.axes[:axis], every, *found.axes[axis + 1 :])))
    if softmax is None or flat(softmax.over) != every:
        return None
    both = softmax.scores.base
    joined = made_by(both.value, "concatenate")
    if joined is None or len(joined.operands) != 2:
        return None
    where = joined.params["dimension"]
    scores, sink = joined.operands if is_last else joined.operands[::-1]
    if flat(both.axes[where]) != every or sink.shape[where] != 1:
        return None
    before, behind = both.axes[:where], both.axes[where + 1 :]
    return Weights(Seen(scores, (*before, keys, *behind)), keys, Seen(sink, (*before, (), *behind)))


def _summed(found: Seen) -> Weights | None:
    """Exponentials by their sum and that of a sink, all less the same number, if any."""
    if made_by(found.value, "div") is None:
        return None
    above, below = found.operand(0).base, found.operand(1).base
    if made_by(above.value, "exp") is None or made_by(below.value, "add") is None:
        return None
    for index in (0, 1):
        total, sink = reduction(below.operand(index), "reduce_sum"), below.operand(1 - index).base
        over = None if total is None else along(total, above)
        if over is None or made_by(sink.value, "exp") is None:
            continue
        one, other = above.operand(0).base, sink.operand(0).base
        largest = [made_by(each.value, "sub") is not None for each in (one, other)]
        if largest == [False, False]:
            return Weights(one, over, other)
        if largest != [True, True] or not one.operand(1).is_same(other.operand(1)):
            continue
        if not {*flat(over)} & {*one.operand(1).base.atoms}:
            return Weights(one.operand(0), over, other.operand(0))
    return None
