"""Products in other words, as `linear` or `matmul`: Einstein sums, and weights on the left.

`bsd,hd->bsh` is `linear`, `bqhd,bkhd->bhqk` a product of permuted tensors. Weights of several axes
for heads, `bsd,dhk->bshk`, are taken as matrices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    is_call,
    keeps_results,
    put,
    same,
    shape_of,
)

_LETTERS = "".join(map(chr, range(0x391, 0x391 + 24)))
"""What stands for the axes of an ellipsis: no equation has Greek letters."""


@dataclass(frozen=True, slots=True)
class _Axes:
    """The letters of a sum of two tensors, by what they are."""

    batch: str
    left: str
    right: str
    summed: str


@keeps_results
def write_einsum(program: torch.export.ExportedProgram) -> None:
    """Write sums of two tensors as products."""
    for node in calls(program.graph, aten.einsum.default):
        tensors = node.args[1]
        if isinstance(tensors, list | tuple) and len(tensors) == 2:
            _write(node, *tensors)
    for node in calls(program.graph, aten.matmul.default):
        _write_weights_first(node)


def _write_weights_first(node: Node) -> None:
    """`weight @ x.transpose(1, 2)`, as Mamba has it, which is `linear` transposed."""
    weight, other = node.args[:2]
    rank = len(shape_of(other))
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    if len(shape_of(weight)) != 2 or rank < 3 or not is_call(other, aten.permute.default):
        return
    if list(other.args[1]) == swapped:
        write = Writer(node)
        put(node, write.permute(write.call(aten.linear.default, other.args[0], weight), swapped))


def _write(node: Node, one: Any, other: Any) -> None:
    letters = _letters(str(node.args[0]), len(shape_of(one)), len(shape_of(other)))
    if letters is None:
        return
    first, second, result = letters
    axes = _axes(first, second, result)
    sizes = dict(zip(first, shape_of(one), strict=True))
    for letter, size in zip(second, shape_of(other), strict=True):
        if not same(sizes.setdefault(letter, size), size):
            return  # one of them is broadcast
    if axes is None or any(
        sum(not isinstance(sizes[each], int) for each in part) > 1
        for part in (axes.left, axes.right, axes.summed)
    ):
        return
    write = Writer(node)
    is_linear = not axes.batch and second == axes.right + axes.summed
    order = axes.right + axes.summed if is_linear else axes.summed + axes.right
    parts = (axes.right, axes.summed) if is_linear else (axes.summed, axes.right)
    of_batch = [*axes.batch]
    right = _arranged(write, other, second, axes.batch + order, [*of_batch, *parts], sizes)
    rows = [axes.left] if axes.batch else [*axes.left]
    order = axes.batch + axes.left + axes.summed
    left = _arranged(write, one, first, order, [*of_batch, *rows, axes.summed], sizes)
    product = aten.linear.default if is_linear else aten.matmul.default
    found = write.call(product, left, right)
    has = axes.batch + axes.left + axes.right
    found = write.reshape(found, [sizes[each] for each in has], one, other)
    put(node, write.permute(found, [has.index(each) for each in result]))


def _letters(equation: str, first: int, second: int) -> tuple[str, str, str] | None:
    """The letters of both tensors and of the result, those of an ellipsis among them."""
    terms, arrow, result = equation.replace(" ", "").partition("->")
    parts = terms.split(",")
    if not arrow or len(parts) != 2:
        return None
    counts = [
        rank - len(part.replace("...", ""))
        for part, rank in zip(parts, (first, second), strict=True)
    ]
    most = max(counts)
    if most > len(_LETTERS) or min(counts) < 0:
        return None
    names = [
        part.replace("...", _LETTERS[most - n : most])
        for part, n in zip(parts, counts, strict=True)
    ]
    found = (*names, result.replace("...", _LETTERS[:most]))
    return found if all(len(set(each)) == len(each) for each in found) else None  # type: ignore


def _axes(first: str, second: str, result: str) -> _Axes | None:
    both = [each for each in first if each in second]
    if {*first, *second} - {*both} - {*result}:
        return None  # something is summed of one tensor alone
    axes = _Axes(
        "".join(each for each in result if each in both),
        "".join(each for each in first if each not in both),
        "".join(each for each in second if each not in both),
        "".join(each for each in both if each not in result),
    )
    return axes if axes.left and axes.right and axes.summed else None


def _arranged(
    write: Writer,
    node: Node,
    letters: str,
    order: str,
    parts: Sequence[str],
    sizes: dict[str, Any],
) -> Node:
    """A tensor with its axes in an order, and each part of them as one axis."""
    node = write.permute(node, [letters.index(each) for each in order])
    return write.reshape(node, [math.prod(sizes[each] for each in part) for part in parts], node)
