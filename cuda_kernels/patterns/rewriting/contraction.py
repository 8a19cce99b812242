"""Sums of products over one axis, in any spelling: what a model reads from its state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch.fx import Node

from cuda_kernels.patterns.rewriting.factors import (
    Factor,
    Label,
    Labels,
    broadcast,
    factors_of,
    without_casts,
)
from cuda_kernels.patterns.rewriting.graph import aten, is_call, named, same, shape_of


@dataclass(frozen=True, slots=True)
class Contraction:
    """Factors, the axis that their product is summed over, and the labels of the result."""

    factors: list[Factor]
    summed: Label
    labels: Labels


def contraction_of(node: Node) -> Contraction | None:
    """What a node is a sum of; None where it is none of products over one axis."""
    node = without_casts(node)
    if is_call(node, aten.matmul.default, aten.bmm.default):
        return _of_matmul(node)
    if is_call(node, aten.einsum.default):
        return _of_einsum(node)
    if is_call(node, aten.sum.dim_IntList):
        return _of_sum(node)
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    given, rank = named(node), len(shape_of(node))
    is_one = is_call(node, aten.select.int) and same(shape_of(node.args[0])[given["dim"]], 1)
    if not is_one and not is_call(
        node,
        aten.squeeze.dim,
        aten.unsqueeze.default,
        aten.permute.default,
        aten.reshape.default,
    ):
        return None
    split = _of_split_batch(node)
    if split is not None:
        return split
    inner = contraction_of(node.args[0])
    if inner is None:
        return None
    labels = list(inner.labels)
    if is_one or is_call(node, aten.squeeze.dim):
        if len(labels) > rank:
            del labels[given["dim"]]
    elif is_call(node, aten.unsqueeze.default):
        labels.insert(given["dim"], None)
    elif is_call(node, aten.permute.default):
        labels = [labels[axis] for axis in node.args[1]]
    else:
        found = _reshaped(shape_of(node.args[0]), labels, shape_of(node))
        if found is None:
            return None
        labels = found
    return Contraction(inner.factors, inner.summed, tuple(labels))


def _reshaped(
    before: tuple[int, ...], labels: list[Label], after: tuple[int, ...]
) -> list[Label] | None:
    kept = [(s, each) for s, each in zip(before, labels, strict=True) if not same(s, 1)]
    if not same([size for size, _ in kept], [size for size in after if not same(size, 1)]):
        return None
    left = iter(kept)
    return [None if same(size, 1) else next(left)[1] for size in after]


def _of_matmul(node: Node) -> Contraction | None:
    one, other = node.args[:2]
    if not isinstance(one, Node) or not isinstance(other, Node):
        return None
    ranks = len(shape_of(one)), len(shape_of(other))
    if ranks[1] == 1 and ranks[0] >= 2:
        batch = tuple(("batch", index) for index in range(ranks[0] - 2))
        found = broadcast(node, (*batch, "left"))
        return _of([(one, (*batch, "left", "summed")), (other, ("summed",))], "summed", found)
    if min(ranks) < 2:
        return None
    batch = tuple(("batch", index) for index in range(max(ranks) - 2))
    first: Labels = (*batch[len(batch) - ranks[0] + 2 :], "left", "summed")
    second: Labels = (*batch[len(batch) - ranks[1] + 2 :], "summed", "right")
    labels = broadcast(node, (*batch, "left", "right"))
    return _of([(one, first), (other, second)], "summed", labels)


def _of_split_batch(node: Node) -> Contraction | None:
    """A product whose batch was merged of two axes before, and is taken apart again."""
    product, shape = node.args[0], shape_of(node)
    if not is_call(node, aten.reshape.default) or len(shape) < 2:
        return None
    if not is_call(product, aten.matmul.default, aten.bmm.default):
        return None
    of_product = shape_of(product)
    if len(of_product) != 3 or same(of_product[0], shape[0]):
        return None
    pairs: list[tuple[Node, Labels]] = []
    for operand, names in zip(
        product.args[:2], (("left", "summed"), ("summed", "right")), strict=True
    ):
        if not is_call(operand, aten.reshape.default):
            return None
        source = operand.args[0]
        before, after = shape_of(source), shape_of(operand)
        if len(after) != 3 or not same(before[:2], shape[:2]):
            return None
        kept = [(s, name) for s, name in zip(after[1:], names, strict=True) if not same(s, 1)]
        if not same([each for each in before[2:] if not same(each, 1)], [s for s, _ in kept]):
            return None
        left = iter(kept)
        rest = tuple(None if same(size, 1) else next(left)[1] for size in before[2:])
        pairs.append((source, (("batch", 0), ("batch", 1), *rest)))
    whole = [size for size in of_product[1:] if not same(size, 1)]
    if not same([size for size in shape[2:] if not same(size, 1)], whole):
        return None
    ends = zip(of_product[1:], ("left", "right"), strict=True)
    names_left = iter([name for size, name in ends if not same(size, 1)])
    of_result = tuple(None if same(size, 1) else next(names_left) for size in shape[2:])
    labels = broadcast(node, (("batch", 0), ("batch", 1), *of_result))
    return _of(pairs, "summed", labels)


def _of_einsum(node: Node) -> Contraction | None:
    terms, arrow, result = str(node.args[0]).replace(" ", "").partition("->")
    parts, tensors = terms.split(","), node.args[1]
    if not arrow or "." in terms or not isinstance(tensors, list | tuple):
        return None
    summed = set("".join(parts)) - set(result)
    if len(summed) != 1 or any(len(set(part)) != len(part) for part in (*parts, result)):
        return None
    pairs = [(tensor, tuple(part)) for tensor, part in zip(tensors, parts, strict=True)]
    return _of(pairs, summed.pop(), broadcast(node, tuple(result)))


def _of_sum(node: Node) -> Contraction | None:
    given, source = named(node), node.args[0]
    if not isinstance(source, Node) or not given["dim"] or len(given["dim"]) != 1:
        return None
    labels: Labels = tuple(range(len(shape_of(source))))
    axis = given["dim"][0]
    result = (*labels[:axis], *([None] if given["keepdim"] else []), *labels[axis + 1 :])
    return _of([(source, labels)], axis, broadcast(node, result))


def _of(pairs: Sequence[tuple[Node, Labels]], summed: Label, labels: Labels) -> Contraction:
    factors = [
        factor
        for node, of_node in pairs
        for factor in factors_of(Factor(node, broadcast(node, of_node)))
    ]
    return Contraction(factors, summed, labels)
