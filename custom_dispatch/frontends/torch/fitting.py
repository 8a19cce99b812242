"""Whether a kernel takes the sizes of a place that computes the same; and how alike places look."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from custom_dispatch.frontends.torch.graph import tensor_of
from custom_dispatch.frontends.torch.matching import Match
from custom_dispatch.frontends.torch.numbers import are_equal, size_of
from custom_dispatch.frontends.torch.shapes import holds
from custom_dispatch.frontends.torch.traced import Traced
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import Dim, batch, dims_of


def misfit(match: Match) -> str:
    """Why the operands' sizes are not those that the kernel declares; empty where they are.

    What is not known to hold is no match: the kernel's operator would make it an assumption.
    """
    known: dict[str, Any] = {}
    values: dict[str, Any] = {}
    leading: tuple[Any, ...] | None = None
    arguments = match.traced.pattern.arguments
    later = []
    for name, node in match.operands.items():
        operand, tensor = arguments[name], tensor_of(node)
        assert isinstance(operand, Buffer)  # noqa: S101 - only buffers are bound
        assert tensor is not None  # noqa: S101
        sizes = [size_of(size) for size in tensor.shape]
        shape = list(operand.shape)
        if operand.batched:
            count = len(sizes) - len(shape) + 1
            found, sizes, shape = tuple(sizes[:count]), sizes[count:], shape[1:]
            if leading is not None and not all(map(are_equal, leading, found)):
                return f"`{name}` has other leading dims than the operands before it"
            leading = found
            values[batch.name] = math.prod(tensor.shape[:count])
        given = tensor.shape[len(tensor.shape) - len(shape) :]
        for expr, size, value in zip(shape, sizes, given, strict=True):
            if not isinstance(expr, Dim):
                later.append((name, expr, size))
                continue
            values.setdefault(expr.name, value)
            if not are_equal(known.setdefault(expr.name, size), size):
                return f"`{name}` has {size} for dim {expr}, which is {known[expr.name]} elsewhere"
    for name, expr, size in later:
        dims = {dim.name for dim in dims_of(expr)}
        numbers = {name: int(known[name]) for name in dims if str(known.get(name)).isdecimal()}
        if len(numbers) < len(dims) or not are_equal(evaluate(expr, numbers), size):
            return f"`{name}` has {size} where the kernel declares {expr}"
    kernel = match.traced.pattern.kernel
    for condition in kernel.requires:
        if not statically_known_true(holds(kernel, condition, values)):
            return f"the kernel requires {condition}, which is not known to hold"
    return ""


def likeness(traced: Traced, node: torch.fx.Node) -> float:
    """How many of a pattern's operations are in what a value is computed from, from 0 to 1."""
    there: Counter[Any] = Counter()
    seen, edge = {node}, [node]
    for _ in range(traced.depth + 1):
        there.update(item.target for item in edge if item.op == "call_function")
        edge = [item for item in {i for n in edge for i in n.all_input_nodes} if item not in seen]
        seen.update(edge)
    return (traced.targets & there).total() / traced.targets.total()
