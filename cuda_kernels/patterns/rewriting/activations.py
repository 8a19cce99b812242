"""Activations that a model writes out, as the operators that PyTorch has for them."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Node

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    constants_of,
    dtype_of,
    is_call,
    keeps_results,
    named,
    number_of,
    only_user,
    put,
    scaled,
)

_TYPES = (torch.float32, torch.float16, torch.bfloat16)


@keeps_results
def write_activations(program: torch.export.ExportedProgram) -> None:
    """Write `x * sigmoid(x)` and `x / (1 + exp(-x))` as `silu`, and `x.clamp(min=0)` as `relu`."""
    constants = constants_of(program)
    for node in calls(program.graph, aten.mul.Tensor, aten.div.Tensor):
        for x, gate in (node.args[:2], node.args[1::-1]):
            if dtype_of(x) not in _TYPES or dtype_of(x) != dtype_of(node):
                continue
            is_product = node.target is aten.mul.Tensor
            if _is_sigmoid(gate, x) if is_product else gate is node.args[1] and _is_over(gate, x):
                put(node, Writer(node).call(aten.silu.default, x))
                break
    for node in calls(program.graph, aten.clamp.default, aten.clamp_min.default):
        given = named(node)
        x, low = given["self"], number_of(given["min"], constants)
        if low == 0.0 and given.get("max") is None and dtype_of(x) in _TYPES:
            put(node, Writer(node).call(aten.relu.default, x))


def _is_sigmoid(gate: Any, x: Any) -> bool:
    if not isinstance(gate, Node) or only_user(gate) is None:
        return False
    over = scaled(gate, {})
    if over is not None and over[1] == 1.0:  # `1 / (1 + exp(-x))` is a reciprocal times 1
        gate = over[0]
    if is_call(gate, aten.reciprocal.default):
        return _is_over(gate.args[0], x)
    return is_call(gate, aten.sigmoid.default) and gate.args[0] is x


def _is_over(value: Any, x: Any) -> bool:
    """Whether a value is 1 + exp(-x)."""
    if not is_call(value, aten.add.Tensor, aten.add.Scalar) or named(value)["alpha"] != 1:
        return False
    power = next((each for each in value.args[:2] if is_call(each, aten.exp.default)), None)
    if power is None or not any(number_of(each, {}) == 1.0 for each in value.args[:2]):
        return False
    return is_call(power.args[0], aten.neg.default) and power.args[0].args[0] is x
