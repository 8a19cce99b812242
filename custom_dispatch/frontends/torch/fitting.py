"""Whether a kernel takes the sizes of a place that computes the same; and how alike places look."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.frontends.torch.graph import tensor_of
from custom_dispatch.frontends.torch.matching import Match
from custom_dispatch.frontends.torch.shapes import TracedShapes
from custom_dispatch.frontends.torch.traced import Traced
from custom_dispatch.kernel.expr import Where


def misfit(match: Match) -> str:
    """Why the operands' sizes are not those that the kernel declares; empty where they are.

    What is not known to hold is no match: the kernel's operator would make it an assumption.
    """
    kernel = match.traced.pattern.kernel
    shapes = {}
    for name, node in match.operands.items():
        tensor = tensor_of(node)
        assert tensor is not None  # noqa: S101 - only tensors are bound to buffers
        shapes[name] = tensor.shape
    known = _KnownShapes(kernel)
    try:
        known.bind(shapes)
    except (CallError, DeclarationError) as error:
        return error.found.removeprefix(f"Kernel `{kernel.name}`: ").removesuffix(".")
    for condition in kernel.requires:
        if not statically_known_true(known.holds(condition)):
            return f"the kernel requires {condition}, which is not known to hold"
    return ""


class _KnownShapes(TracedShapes):
    """As when the kernel's operator is traced, but that nothing may be noted of a model."""

    def note(self, condition: Any, problem: str) -> None:
        if not statically_known_true(condition):
            raise CallError(f"{problem}, as far as is known.")

    def chosen(self, expr: Where) -> Any:
        if not isinstance(self.holds(expr.condition), bool):
            raise CallError(f"{expr} is not known.")
        return super().chosen(expr)


def likeness(traced: Traced, node: torch.fx.Node) -> float:
    """How many of a pattern's operations are in what a value is computed from, from 0 to 1."""
    there: Counter[Any] = Counter()
    seen, edge = {node}, [node]
    for _ in range(traced.depth + 1):
        there.update(item.target for item in edge if item.op == "call_function")
        edge = [item for item in {i for n in edge for i in n.all_input_nodes} if item not in seen]
        seen.update(edge)
    return (traced.targets & there).total() / traced.targets.total()
