"""Softmax that converts as it goes, as a conversion and a softmax; and `baddbmm` as its parts."""

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
)


@keeps_results
def write_softmax(program: torch.export.ExportedProgram) -> None:
    """Write softmax of another type as that of a tensor converted before."""
    for node in calls(program.graph, aten.softmax.int):
        given = named(node)
        if given["dtype"] is not None:
            write = Writer(node)
            wide = write.cast(given["self"], given["dtype"])
            put(node, write.call(aten.softmax.int, wide, given["dim"], None))


@keeps_results
def write_baddbmm(program: torch.export.ExportedProgram) -> None:
    """Write products that are added to a tensor as products and sums."""
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
