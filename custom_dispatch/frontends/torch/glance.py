"""Whether a graph has the operations of a pattern at all: a glance, before PyTorch exports it.

An export takes tenths of a second, and the kernels that ship have dozens of patterns, most of which
a model has nothing of. The operations alone are seen ten times as fast.
"""

from __future__ import annotations

import copy
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx

from custom_dispatch.frontends.torch.dtypes import torch_dtype
from custom_dispatch.frontends.torch.forms import CASTS, PERMUTES, RESHAPES
from custom_dispatch.frontends.torch.graph import arguments_of, may_be_identity, tensor_of
from custom_dispatch.frontends.torch.pattern import Pattern
from custom_dispatch.frontends.torch.tracing import example_values, variants
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.expr import dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.match.function import Computes
from custom_dispatch.match.near import NEAR

aten = torch.ops.aten
Form = tuple[Any, tuple[tuple[str, bool], ...]]
"""An operation, and the tensors that it is given but need not be: their names, whether of bools."""
_VIEWS = {
    *(*RESHAPES, *PERMUTES, *CASTS, aten.expand.default, aten.select.int, aten.slice.Tensor),
    *(aten.squeeze.dim, aten.unsqueeze.default, aten.square.default, aten.pow.Tensor_Scalar),
}
"""What models and patterns may write in several ways, or leave out."""


def glanced(patterns: Sequence[Pattern], program: torch.export.ExportedProgram) -> list[Pattern]:
    """The patterns that a model may have, each with those functions of it that it may have.

    What is wrong with required patterns is to be said: they stay as they are.
    """
    forms = forms_of(program.graph.nodes)
    tensors = [tensor for node in program.graph.nodes if (tensor := tensor_of(node)) is not None]
    found = []
    for pattern in patterns:
        looked_at = None
        if not pattern.required:
            if not _may_give(tensors, pattern.kernel):
                continue
            looked_at = [each for each in variants(pattern) if _may_have(forms, pattern, *each)]
        if looked_at is None or looked_at:
            one = copy.copy(pattern)
            object.__setattr__(one, "looked_at", looked_at)
            found.append(one)
    return found


def _may_give(tensors: Iterable[torch.Tensor], kernel: Kernel) -> bool:
    """Whether any tensor of the model can be a result of the kernel: tracing takes time."""
    wanted = kernel.outputs[0]
    dtype = torch_dtype(wanted.dtype)
    tail = wanted.shape[int(wanted.batched) :]
    return any(
        tensor.dtype == dtype
        and wanted.has_rank(tensor.dim())
        and all(
            isinstance(size, torch.SymInt) or dims_of(expr) or evaluate(expr, {}) == size
            for expr, size in zip(reversed(tail), reversed(tensor.shape), strict=False)
        )
        for tensor in tensors
    )


def _may_have(
    forms: Counter[Form], pattern: Pattern, function: Computes, names: tuple[str, ...]
) -> bool:
    """Whether a model has most of the operations of a function."""
    wanted = operations_of(pattern, function, names)
    return not wanted or (wanted & forms).total() >= NEAR * wanted.total()


def forms_of(nodes: Iterable[torch.fx.Node]) -> Counter[Form]:
    """The operations of a graph but for views, each as often as it has it."""
    return Counter(
        (node.target, _given(node))
        for node in nodes
        if isinstance(node.target, torch._ops.OpOverload) and node.target not in _VIEWS
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
