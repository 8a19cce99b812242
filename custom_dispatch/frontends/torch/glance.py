"""Whether a graph has the operations of a pattern at all: a glance, before PyTorch exports it.

An export takes tenths of a second, and the kernels that ship have dozens of patterns, most of which
a model has nothing of. The operations alone are seen ten times as fast.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from custom_dispatch.frontends.patterns.function import Computes
from custom_dispatch.frontends.patterns.pattern import first_alike
from custom_dispatch.frontends.torch.graph import may_be_identity, tensor_of
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.frontends.torch.tracing import example_values


def share_of_operations(
    pattern: Pattern, function: Computes, names: tuple[str, ...], nodes: Iterable[torch.fx.Node]
) -> float:
    """How many of a function's operations are among those of a graph, from 0 to 1.

    1 where that is not known, and of required patterns: what is wrong with these is to be said.
    """
    wanted = None if pattern.required else _operations(first_alike(pattern), function, names)
    if not wanted:
        return 1.0
    there = Counter(node.target for node in nodes if node.op == "call_function")
    return (wanted & there).total() / wanted.total()


@functools.lru_cache(maxsize=1024)
def _operations(
    pattern: Pattern, function: Computes, names: tuple[str, ...]
) -> Counter[Any] | None:
    """A function's operations, but for those that may be none; None where PyTorch cannot say."""
    values = example_values(pattern, names)
    try:
        with torch.no_grad():
            module = make_fx(
                lambda *given: function(**dict(zip(names, given, strict=True))), pre_dispatch=True
            )(*values)
    except Exception:  # noqa: BLE001 - any code of the pattern's runs here; tracing it says what is wrong
        return None
    return Counter(
        node.target
        for node in module.graph.nodes
        if isinstance(node.target, torch._ops.OpOverload)
        and not may_be_identity(node.target)
        and _is_of_floats(node)
    )


def _is_of_floats(node: torch.fx.Node) -> bool:
    """Conditions on positions are compared by value, with whatever operations they are made."""
    tensor = tensor_of(node)
    return tensor is None or tensor.dtype.is_floating_point
