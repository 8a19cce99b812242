"""What calls in the graph of an exported PyTorch model write into."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from custom_dispatch.frontends.torch.graph import ASSERTION
from custom_dispatch.frontends.torch.operator import registered_kernel

aten = torch.ops.aten
CASTS = (aten.to.device, aten.to.dtype, aten.to.dtype_layout, aten.to.other)
"""They give the very tensor that they take, where they convert nothing."""


def changes_a_value(node: torch.fx.Node) -> bool:
    """Whether a call writes into one of its arguments."""
    return isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable


def written_by(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The values of which a call writes into one, or into a view."""
    if not changes_a_value(node):
        return
    declared = node.target._schema.arguments
    for index, argument in enumerate(declared):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        value = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
        while isinstance(value, torch.fx.Node) and value.op == "call_function":
            if not (may_be_a_view(value) or changes_a_value(value)) or not value.args:
                break
            value = value.args[0]
        if isinstance(value, torch.fx.Node) and value.op == "placeholder":
            yield value


def may_be_a_view(node: torch.fx.Node) -> bool:
    """Whether a call's result may share its argument's memory."""
    if node.target in (
        ASSERTION,
        aten.lift_fresh_copy.default,
        aten.sym_size.int,
    ) or registered_kernel(node.target):
        return False
    if not isinstance(node.target, torch._ops.OpOverload):
        return True
    if node.target in CASTS:
        return bool(node.meta["val"].dtype == node.args[0].meta["val"].dtype)
    # Of others than the core's, such as dropout, the schema does not tell.
    return torch.Tag.core not in node.target.tags or any(
        result.alias_info is not None for result in node.target._schema.returns
    )
