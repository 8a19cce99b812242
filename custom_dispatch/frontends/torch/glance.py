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

from custom_dispatch.frontends.torch.graph import arguments_of, may_be_identity, tensor_of
from custom_dispatch.frontends.torch.matching import VIEWS
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.frontends.torch.tracing import example_values
from custom_dispatch.match.function import Computes

Form = tuple[Any, tuple[tuple[str, bool], ...]]
"""An operation, and the tensors that it is given but need not be: their names, whether of bools."""


def forms_of(nodes: Iterable[torch.fx.Node]) -> Counter[Form]:
    """The operations of a graph but for views, each as often as it has it."""
    return Counter(
        (node.target, _given(node))
        for node in nodes
        if isinstance(node.target, torch._ops.OpOverload) and node.target not in VIEWS
    )


@functools.lru_cache(maxsize=1024)
def operations_of(
    pattern: Pattern, function: Computes, names: tuple[str, ...]
) -> Counter[Form] | None:
    """A function's operations, but for those that may be none; None where PyTorch cannot say."""
    values = example_values(pattern, names)
    try:
        with torch.no_grad():
            module = make_fx(
                lambda *given: function(**dict(zip(names, given, strict=True))), pre_dispatch=True
            )(*values)
    except Exception:  # noqa: BLE001 - any code of the pattern's runs here; tracing it says what is wrong
        return None
    return forms_of(
        node
        for node in module.graph.nodes
        if not may_be_identity(node.target) and _is_of_floats(node)
    )


def _given(node: torch.fx.Node) -> tuple[tuple[str, bool], ...]:
    values = arguments_of(node)
    tensors = (
        (argument.name, tensor_of(values.get(argument.name)))
        for argument in node.target._schema.arguments
        if str(argument.type) == "Optional[Tensor]"
    )
    return tuple((name, item.dtype == torch.bool) for name, item in tensors if item is not None)


def _is_of_floats(node: torch.fx.Node) -> bool:
    """Conditions on positions are compared by value, with whatever operations they are made."""
    tensor = tensor_of(node)
    return tensor is None or tensor.dtype.is_floating_point
