"""Products of tensors taken apart into their factors, with a label for each of their axes.

A factor of a recurrence may be without some of its axes: a rate has channels and states, a step's
size batch and channels. Labels say which axes those are, whatever views stand in between.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    dtype_of,
    is_call,
    named,
    same,
    shape_of,
)

Label = Hashable
Labels = tuple[Label, ...]
_FLOATS = (torch.float16, torch.bfloat16, torch.float32)


@dataclass(frozen=True, slots=True)
class Factor:
    """A tensor, and what its axes are; None is one of size 1 that is broadcast."""

    node: Node
    labels: Labels

    @property
    def axes(self) -> frozenset[Label]:
        """The axes that it has."""
        return frozenset(self.labels) - {None}


def without_casts(node: Any) -> Any:
    """A value before conversions between floating-point types."""
    while is_call(node, aten.to.dtype) and {dtype_of(node), dtype_of(node.args[0])} <= {*_FLOATS}:
        node = node.args[0]
    return node


def through(factor: Factor) -> Factor:
    """What a factor is a view or a conversion of."""
    while True:
        inner = _view(factor)
        if inner is None:
            return factor
        factor = inner


def _view(factor: Factor) -> Factor | None:
    node, labels = factor.node, factor.labels
    if without_casts(node) is not node:
        return Factor(without_casts(node), labels)
    if node.op != "call_function" or not node.args or not isinstance(node.args[0], Node):
        return None
    source = node.args[0]
    if is_call(node, aten.unsqueeze.default):
        axis = named(node)["dim"]
        return Factor(source, (*labels[:axis], *labels[axis + 1 :]))
    if is_call(node, aten.permute.default):
        found = dict(zip(node.args[1], labels, strict=True))
        return Factor(source, tuple(found[axis] for axis in range(len(labels))))
    if is_call(node, aten.expand.default):
        rank = len(shape_of(source))
        return Factor(source, broadcast(source, labels[len(labels) - rank :]))
    if is_call(node, aten.squeeze.dim, aten.reshape.default):
        return _of_more_axes(factor, source)
    return None


def _of_more_axes(factor: Factor, source: Node) -> Factor | None:
    """Through a reshape that only adds or takes away axes of size 1."""
    kept = [
        (size, label)
        for size, label in zip(shape_of(factor.node), factor.labels, strict=True)
        if not same(size, 1)
    ]
    shape = shape_of(source)
    if not same([each for each in shape if not same(each, 1)], [size for size, _ in kept]):
        return None
    left = iter(kept)
    return Factor(source, tuple(None if same(size, 1) else next(left)[1] for size in shape))


def broadcast(node: Node, labels: Labels) -> Labels:
    """The labels of an operand: what it has one of stands for all."""
    return tuple(
        None if same(size, 1) else label for size, label in zip(shape_of(node), labels, strict=True)
    )


def operands(node: Node, labels: Labels) -> list[Factor] | None:
    """The tensors that an elementwise operation is of; None if one of both is a number."""
    found = []
    for each in node.args[:2]:
        if not isinstance(each, Node):
            return None
        rank = len(shape_of(each))
        found.append(Factor(each, broadcast(each, labels[len(labels) - rank :])))
    return found


def factors_of(factor: Factor) -> list[Factor]:
    """What it is the product of."""
    factor = through(factor)
    parts = None
    if is_call(factor.node, aten.mul.Tensor):
        parts = operands(factor.node, factor.labels)
    elif is_call(factor.node, aten.einsum.default):
        parts = _of_einsum(factor)
    if parts is None:
        return [factor]
    return [each for part in parts for each in factors_of(part)]


def _of_einsum(factor: Factor) -> list[Factor] | None:
    """The operands of an Einstein sum that sums nothing."""
    terms, arrow, result = str(factor.node.args[0]).replace(" ", "").partition("->")
    parts, tensors = terms.split(","), factor.node.args[1]
    if not arrow or "." in terms or set("".join(parts)) - set(result):
        return None
    if any(len(set(part)) != len(part) for part in (*parts, result)):
        return None
    found = dict(zip(result, factor.labels, strict=True))
    return [
        Factor(tensor, broadcast(tensor, tuple(found[letter] for letter in part)))
        for part, tensor in zip(parts, tensors, strict=True)
    ]


def product(
    write: Writer,
    factors: Sequence[Factor],
    order: Sequence[Sequence[Label]],
    sizes: Mapping[Label, Any],
    dtype: torch.dtype,
) -> Node:
    """The product of factors, with its axes in an order, those of each part as one.

    Parameters
    ----------
    sizes
        Of all axes: a factor that lacks one is repeated along it.
    """
    axes = [label for part in order for label in part]
    result: Node | None = None
    for factor in factors:
        # Products are made in f32, as what they are factors of was.
        each = _spread(write, factor, axes, dtype if len(factors) == 1 else torch.float32)
        result = each if result is None else write.call(aten.mul.Tensor, result, each)
    wanted, like = [sizes[label] for label in axes], [factor.node for factor in factors]
    if result is None:
        return write.call(aten.ones.default, _merged(wanted, order), dtype=dtype)
    if not same(shape_of(result), tuple(wanted)):
        result = write.call(aten.expand.default, result, write.sizes(like, wanted))
    return write.cast(write.reshape(result, _merged(wanted, order), *like), dtype)


def _merged(sizes: Sequence[Any], order: Sequence[Sequence[Label]]) -> list[Any]:
    left = iter(sizes)
    return [math.prod(next(left) for _ in part) for part in order]


def _spread(write: Writer, factor: Factor, axes: Sequence[Label], dtype: torch.dtype) -> Node:
    """A factor with one axis for each of those there are, in order."""
    node, labels = factor.node, factor.labels
    has = [label for label in labels if label is not None]
    node = write.reshape(
        node,
        [size for size, label in zip(shape_of(node), labels, strict=True) if label is not None],
    )
    order = [label for label in axes if label in has]
    node = write.permute(node, [has.index(label) for label in order])
    found = dict(zip(order, shape_of(node), strict=True))
    return write.cast(write.reshape(node, [found.get(label, 1) for label in axes]), dtype)
