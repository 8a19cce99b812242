"""A softmax that a model writes out, as the operator: exponentials divided by their sum.

With a sink in the sum, which is one more exponential, it is the softmax of scores and sinks without
the weights of these.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    is_call,
    keeps_results,
    named,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.sinks import maximum_of


@keeps_results
def write_exponentials(program: torch.export.ExportedProgram) -> None:
    """Write every softmax over the last axis that is spelled out as a call."""
    for division in calls(program.graph, aten.div.Tensor):
        weights, total = division.args[:2]
        if is_call(weights, aten.exp.default) and isinstance(total, Node):
            _write(division, weights, total)


def _write(division: Node, weights: Node, total: Node) -> None:
    rows, base = _shifted(weights.args[0])
    others = None
    if not _is_sum(total, weights):
        if not is_call(total, aten.add.Tensor) or named(total)["alpha"] != 1:
            return
        one, other = total.args[:2]
        total, others = (one, other) if _is_sum(one, weights) else (other, one)
        if not _is_sum(total, weights) or not is_call(others, aten.exp.default):
            return
    sinks, of_sinks = (None, base) if others is None else _shifted(others.args[0])
    if of_sinks is not base or not isinstance(rows, Node):
        return
    if base is not None and not _is_base(base, rows, sinks):
        return
    shape = shape_of(rows)
    write = Writer(division)
    axis = len(shape) - 1
    if sinks is None:
        put(division, write.call(aten.softmax.int, rows, axis))
        return
    if not 0 < len(shape_of(sinks)) <= len(shape) or not same(shape_of(sinks)[-1], 1):
        return
    sizes = write.sizes((rows,), (*shape[:-1], 1))
    column = write.call(aten.expand.default, sinks, sizes)
    both = write.call(aten.cat.default, [rows, column], -1)
    soft = write.call(aten.softmax.int, both, axis)
    (count,) = write.sizes((rows,), shape[-1:])
    put(division, write.call(aten.slice.Tensor, soft, axis, 0, count))


def _shifted(node: Any) -> tuple[Any, Any]:
    """What numbers are without what is subtracted from all of a row; None where nothing is."""
    if is_call(node, aten.sub.Tensor) and named(node)["alpha"] == 1:
        return node.args[0], node.args[1]
    return node, None


def _is_sum(node: Any, weights: Node) -> bool:
    if not is_call(node, aten.sum.dim_IntList):
        return False
    given = named(node)
    is_last = list(given["dim"] or ()) in ([-1], [len(shape_of(weights)) - 1])
    return bool(given["self"] is weights and is_last and given["keepdim"]) and not given["dtype"]


def _is_base(base: Any, rows: Node, sinks: Any) -> bool:
    """Whether it is a maximum of each row, which makes exponentials finite."""
    if maximum_of(rows, base) is not None:
        return True
    if not is_call(base, aten.maximum.default, aten.max.other):
        return False
    one, other = base.args[:2]
    ways = ((one, other), (other, one))
    return any(maximum_of(rows, of_rows) is not None and rest is sinks for of_rows, rest in ways)
