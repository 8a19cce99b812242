"""Batches of products, as kernels take them."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    dtype_of,
    is_call,
    keeps_results,
    named,
    number_of,
    put,
    same,
    shape_of,
)


@keeps_results
def write_products(program: torch.export.ExportedProgram) -> None:
    """Write batches of products as kernels take them.

    Those that are added to a tensor become products and sums. Matrices that several products share
    are given to each of them, or are one matrix where all share it.
    """
    for node in calls(program.graph, aten.matmul.default):
        _share(node)
    for node in calls(program.graph, aten.baddbmm.default):
        given = named(node)
        write = Writer(node)
        found = write.call(aten.bmm.default, given["batch1"], given["batch2"])
        if given["alpha"] != 1:
            found = write.call(aten.mul.Tensor, found, given["alpha"])
        if given["beta"] != 0 and not is_zero(given["self"]):
            bias = given["self"]
            if given["beta"] != 1:
                bias = write.call(aten.mul.Tensor, bias, given["beta"])
            found = write.call(aten.add.Tensor, found, bias)
        if dtype_of(found) == dtype_of(node):
            put(node, found)


def is_zero(value: Any) -> bool:
    """Whether a tensor is made of zeros alone."""
    while is_call(value, aten.expand.default, aten.reshape.default, aten.to.dtype):
        value = value.args[0]
    if is_call(value, aten.zeros.default, aten.zeros_like.default, aten.new_zeros.default):
        return True
    is_full = is_call(value, aten.full.default, aten.full_like.default)
    return is_full and isinstance(value, Node) and number_of(value.args[1], {}) == 0.0


def _share(node: Node) -> None:
    """Write out that leading sizes of 1 broadcast."""
    factors = node.args[:2]
    shapes = [shape_of(each) for each in factors]
    known = all(isinstance(size, int) for shape in shapes for size in shape)
    leading = [shape[:-2] for shape in shapes]
    if not known or min(map(len, shapes)) < 3 or leading[0] == leading[1]:
        return
    write = Writer(node)
    left, right = factors
    if set(leading[1]) == {1} and len(leading[1]) <= len(leading[0]):
        node.args = (left, write.reshape(right, shapes[1][-2:]))
        return
    whole = shape_of(node)[:-2]
    node.args = tuple(_expanded(each, whole, write) for each in (left, right))


def _expanded(value: Node, leading: tuple[int, ...], write: Writer) -> Node:
    """A tensor with all leading sizes; a transposed one stays that last."""
    shape = shape_of(value)
    if same(shape[:-2], leading):
        return value
    rank = len(leading) + 2
    turned = [*range(rank - 2), rank - 1, rank - 2]
    is_turned = is_call(value, aten.permute.default) and list(value.args[1]) == turned
    source = value.args[0] if is_turned else value
    found = write.call(aten.expand.default, source, [*leading, *shape_of(source)[-2:]])
    return write.permute(found, turned) if is_turned else found
