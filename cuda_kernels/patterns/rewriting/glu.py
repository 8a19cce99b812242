"""Gated linear units of the halves of one tensor, as the operator that a kernel computes.

Models compute both halves by one product and then chunk, split or slice it: Phi-3 and GLM with
silu, ModernBERT and diffusers with GELU, `torch.nn.GLU` with sigmoid. Their slices would be copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.fx import Node
from torch.nn import functional

from cuda_kernels.patterns.rewriting.graph import (
    Writer,
    aten,
    calls,
    dtype_of,
    is_call,
    keeps_results,
    named,
    put,
    same,
    shape_of,
)
from cuda_kernels.patterns.rewriting.parts import HIGH, LOW, part_of

_ACTIVATIONS: tuple[Callable[[Tensor], Tensor], ...] = (
    functional.silu,
    functional.gelu,
    partial(functional.gelu, approximate="tanh"),
    torch.sigmoid,
    torch.relu,
)
"""In the order of the kernel's numbers."""
SILU, GELU, GELU_TANH, SIGMOID, RELU = range(len(_ACTIVATIONS))


def _of_halves(x: Tensor, activation: int, gate_is_second: int) -> Tensor:
    first, second = x.chunk(2, dim=-1)
    gate, up = (second, first) if gate_is_second else (first, second)
    return _ACTIVATIONS[activation](gate) * up


def _like_half(x: Tensor, activation: int, gate_is_second: int) -> Tensor:
    del activation, gate_is_second
    return x.new_empty((*x.shape[:-1], x.shape[-1] // 2))


torch.library.custom_op(
    "custom_dispatch_forms::glu_of_halves",
    _of_halves,
    mutates_args=(),
    schema="(Tensor x, int activation, int gate_is_second) -> Tensor",
).register_fake(_like_half)
GLU_OF_HALVES = torch.ops.custom_dispatch_forms.glu_of_halves.default


def write_glu(program: torch.export.ExportedProgram, dtype: torch.dtype) -> None:
    """Write the units of tensors of a type as calls of the operator."""
    for node in calls(program.graph, aten.mul.Tensor, aten.glu.default):
        found = _glu(node)
        if found is not None and dtype_of(found[0]) == dtype_of(node) == dtype:
            x, activation, gate_is_second = found
            write = Writer(node)
            if not same(
                shape_of(node)[:-1], shape_of(x)[:-1]
            ):  # halves of all that follows an axis
                at = named(node)["dim"]
                rows = (*shape_of(x)[:at], math.prod(shape_of(x)[at:]))
                x = write.reshape(x, rows)
            unit = write.call(GLU_OF_HALVES, x, activation, int(gate_is_second))
            put(node, write.reshape(unit, shape_of(node), x))


_RULES = {
    name: keeps_results(partial(write_glu, dtype=dtype))
    for name, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16))
}


def rule_for(dtype: str) -> Callable[[torch.export.ExportedProgram], None]:
    """The rule for an element type; the same one each time."""
    return _RULES[dtype]


def _glu(node: Node) -> tuple[Node, int, bool] | None:
    """What a unit is of, its activation, and whether the second half is the gate."""
    if is_call(node, aten.glu.default):
        given = named(node)
        x = given["self"]
        shape = shape_of(x)
        is_known = all(isinstance(size, int) for size in shape[given["dim"] :])
        return (x, SIGMOID, True) if is_known else None
    for gated, up in (node.args[:2], node.args[1::-1]):
        gate, activation = _activated(gated)
        of_gate, of_up = part_of(gate), part_of(up)
        if of_gate is None or of_up is None or of_gate.base is not of_up.base:
            continue
        if (of_gate.which, of_up.which) in ((LOW, HIGH), (HIGH, LOW)):
            return of_gate.base, activation, of_gate.which == HIGH
    return None


def _activated(node: Any) -> tuple[Any, int]:
    """What an activation is of, and which one it is."""
    if is_call(node, aten.gelu.default):
        is_tanh = named(node)["approximate"] == "tanh"
        return node.args[0], GELU_TANH if is_tanh else GELU
    for target, which in ((aten.silu, SILU), (aten.sigmoid, SIGMOID), (aten.relu, RELU)):
        if is_call(node, target.default):
            return node.args[0], which
    if is_call(node, aten.mul.Tensor):
        for x, gate in (node.args[:2], node.args[1::-1]):
            if is_call(gate, aten.sigmoid.default) and gate.args[0] is x:
                return x, SILU
    return None, -1
