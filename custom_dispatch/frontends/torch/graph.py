"""Reading the graph of an exported PyTorch model: values, arguments, places, and writes."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from custom_dispatch.frontends.torch.operator import registered_kernel
from custom_dispatch.replaced import Place

aten = torch.ops.aten
ASSERTION = aten._assert_tensor_metadata.default
"""What an export notes of a tensor whose dtype is read. It computes nothing."""
CASTS = (aten.to.device, aten.to.dtype, aten.to.dtype_layout, aten.to.other)
"""They give the very tensor that they take, where they convert nothing."""
CHANGES = "custom_dispatch.changes"
"""In `meta` of a buffer that a model changes, also where the signature no longer says so."""
CONVERSIONS = (*CASTS, aten.type_as.default, aten._to_copy.default)
# These give the value that they take, where dtype and shape show that nothing is converted.
_IDENTITIES = {
    aten.alias.default,
    aten.clone.default,
    aten.contiguous.default,
    aten.detach.default,
    aten.lift_fresh_copy.default,
    *CONVERSIONS,
}
_ANEW = {
    *("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"),
    *("batch_norm", "group_norm", "instance_norm", "layer_norm", "linear", "matmul", "max_pool2d"),
}
"""They compute what they give, which operators outside of PyTorch's core need not say."""
_DIMS = {"dim", "dims", "dim0", "dim1", "start_dim", "end_dim"}
# One more than its argument's rank is what they count dims in.
_ONE_MORE = {aten.unsqueeze.default, aten.stack.default}
# They say how something is computed, or what training changes, and not what is computed.
_PASSED_OVER: dict[str, Any] = {"cudnn_enable": False, "cudnn_enabled": False, "momentum": 0.0}
NO_END = 2**63 - 1
"""What PyTorch writes for the end of a slice that goes to the end."""
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_TORCH = Path(torch.__file__).parent


def tensor_of(value: Any) -> torch.Tensor | None:
    """The fake tensor that a node stands for; None for what is no tensor."""
    found = value.meta.get("val") if isinstance(value, torch.fx.Node) else None
    return found if isinstance(found, torch.Tensor) else None


def may_be_identity(target: Any) -> bool:
    """Whether some of an operation's results are their first arguments."""
    return target == aten.dropout.default or target in _IDENTITIES


def is_identity(node: torch.fx.Node) -> bool:
    """Whether a node's result is its first argument."""
    if node.op != "call_function" or not node.args:
        return False
    if node.target == aten.dropout.default:
        return not arguments_of(node)["train"]
    if node.target not in _IDENTITIES:
        return False
    before, after = tensor_of(node.args[0]), tensor_of(node)
    return (
        before is not None
        and after is not None
        and before.dtype == after.dtype
        and before.device == after.device
        and before.dim() == after.dim()
    )


def arguments_of(node: torch.fx.Node) -> dict[str, Any]:
    """A call's arguments by name: none left out, dims counted from the front."""
    if not isinstance(node.target, torch._ops.OpOverload):
        return {str(index): value for index, value in enumerate(node.args)}
    declared = node.target._schema.arguments
    found: dict[str, Any] = {}
    for index, argument in enumerate(declared):
        if argument.name in _PASSED_OVER:
            value = _PASSED_OVER[argument.name]
        elif index < len(node.args):
            value = node.args[index]
        elif argument.name in node.kwargs:
            value = node.kwargs[argument.name]
        else:
            value = argument.default_value
        found[argument.name] = value
    rank = _rank(node, found)
    if rank is not None:
        for name in _DIMS & found.keys():
            found[name] = _from_the_front(found[name], rank)
        if node.target == aten.slice.Tensor and found["start"] is None:
            found["start"] = 0
    return found


def _rank(node: torch.fx.Node, arguments: dict[str, Any]) -> int | None:
    first = next(iter(arguments.values()), None)
    if isinstance(first, list | tuple) and first:
        first = first[0]
    tensor = tensor_of(first)
    return None if tensor is None else tensor.dim() + (node.target in _ONE_MORE)


def _from_the_front(value: Any, rank: int) -> Any:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value + rank if value < 0 else value
    if isinstance(value, list | tuple):
        return [_from_the_front(item, rank) for item in value]
    return value


def node_place(node: torch.fx.Node) -> Place:
    """Where a node comes from: the module's path, and the line of the user's source."""
    stack = node.meta.get("nn_module_stack") or {}
    path = next((str(item[0]) for item in reversed(list(stack.values()))), "")
    path = re.sub(r"^L\['self'\]\.?", "", path)
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    own = [frame for frame in frames if not Path(frame[0]).is_relative_to(_TORCH)]
    chosen: Sequence[str] = own[-1] if own else ()
    return Place(path, f"{chosen[0]}:{chosen[1]}" if chosen else "")


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
    return node.target._schema.name.removeprefix("aten::") not in _ANEW and (
        torch.Tag.core not in node.target.tags
        or any(result.alias_info is not None for result in node.target._schema.returns)
    )
