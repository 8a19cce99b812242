"""An exported graph in one form, in which models and patterns are compared.

What is the same computation is the same call then: arguments stand in their schema's order with
their defaults, dims count from the front, and of several operators that only reshape, permute or
convert there is one.
"""

import copy
import operator
from collections.abc import Callable
from typing import Any

import torch

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.graph import (
    ASSERTION,
    CONVERSIONS,
    NO_END,
    arguments_of,
    is_identity,
    tensor_of,
)

aten = torch.ops.aten
RESHAPES = (
    aten.view.default,
    aten.reshape.default,
    aten._unsafe_view.default,
    aten.flatten.using_ints,
    aten.unflatten.int,
    aten.view_as.default,
    aten.reshape_as.default,
)
PERMUTES: dict[Any, Callable[[dict[str, Any], int], list[int]]] = {
    aten.permute.default: lambda given, _: given["dims"],
    aten.transpose.int: lambda given, rank: _swapped(rank, given["dim0"], given["dim1"]),
    aten.t.default: lambda _, rank: _swapped(rank, 0, rank - 1),
    aten.numpy_T.default: lambda _, rank: list(reversed(range(rank))),
    aten.mT.default: lambda _, rank: _swapped(rank, rank - 2, rank - 1),
}
_PROMOTING = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)
"""What takes tensors of two types, and converts both to that of the result."""
_CONVOLUTIONS = ("aten::conv1d", "aten::conv2d", "aten::conv3d")
_WHERE = {"device", "layout", "pin_memory"}
"""They say where a tensor is, and not what it holds."""
VIEWS = {
    *(*RESHAPES, *PERMUTES, aten.expand.default, aten.select.int, aten.slice.Tensor),
    *(aten.squeeze.dim, aten.unsqueeze.default),
}


def in_one_form(program: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """A program that computes the same, whose calls are written in one form."""
    graph, signature = copy.deepcopy(program.graph), copy.deepcopy(program.graph_signature)
    for old, new in zip(program.graph.nodes, graph.nodes, strict=True):
        new.name = old.name  # a copy renames what is called like a function of Python: `input`
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target == ASSERTION:
            graph.erase_node(node)
        elif is_identity(node):
            source = node.args[0]
            if source.op == "placeholder":  # a result stays one, and is no argument itself
                node.replace_all_uses_with(source, lambda user: user.op != "output")
            else:
                node.replace_all_uses_with(source)
                signature.replace_all_uses(node.name, source.name)
            if not node.users:
                graph.erase_node(node)
        elif isinstance(node.target, torch._ops.OpOverload) and node.target.namespace == "aten":
            if node.target in _PROMOTING:
                _convert_operands(node)
            _bring(node)
    graph.eliminate_dead_code()
    return program._update(torch.fx.GraphModule(program.graph_module, graph), signature)


def _convert_operands(node: torch.fx.Node) -> None:
    """Say which operands of an arithmetic operation PyTorch converts to the type of the result."""
    result = tensor_of(node)
    for operand in node.args[:2]:
        tensor = tensor_of(operand)
        if result is None or tensor is None or tensor.dtype == result.dtype or tensor.dim() == 0:
            continue
        if not (tensor.is_floating_point() and result.is_floating_point()):
            continue
        with node.graph.inserting_before(node):
            converted = node.graph.call_function(aten.to.dtype, (operand, result.dtype))
        converted.meta = {**node.meta, "val": tensor.to(result.dtype), "tensor_meta": None}
        node.replace_input_with(operand, converted)


def _bring(node: torch.fx.Node) -> None:
    given = arguments_of(node)
    if node.target._schema.name in _CONVOLUTIONS:
        _bring_convolution(node, given)
        return
    if given.get("use_input_stats") or (given.get("training") and given["running_mean"] is None):
        x, tensor = given["input"], tensor_of(given["input"])
        is_of_each = tensor is not None and ("use_input_stats" in given or tensor.shape[0] == 1)
        if tensor is not None and is_of_each and isinstance(tensor.shape[1], int):
            affine = given["weight"], given["bias"], given["eps"]
            _call(node, aten.group_norm.default, x, tensor.shape[1], *affine, False)
            return
    source, tensor = tensor_of(given.get("self")), tensor_of(node)
    if source is not None and tensor is not None:
        if node.target in RESHAPES:
            sizes = _sizes(node, tensor)
            if sizes.count(-1) <= 1:
                _call(node, aten.reshape.default, given["self"], sizes)
            return
        if node.target in PERMUTES:
            dims = PERMUTES[node.target](given, source.dim())
            _call(node, aten.permute.default, given["self"], dims)
            return
        is_cast = node.target in CONVERSIONS and source.device == tensor.device
        if is_cast and source.dtype != tensor.dtype:
            _call(node, aten.to.dtype, given["self"], tensor.dtype)
            return
        is_square = node.target is aten.pow.Tensor_Scalar and given["exponent"] == 2
        if is_square and source.dtype == tensor.dtype:
            _call(node, aten.square.default, given["self"])
            return
        if node.target is aten.slice.Tensor and _ends(given["end"], source, given["dim"]):
            given["end"] = NO_END
    declared = node.target._schema.arguments
    for argument in declared:
        if argument.name in _WHERE and "Optional" in str(argument.type):
            given[argument.name] = None
    if given.keys() == {argument.name for argument in declared}:
        node.args = tuple(given[each.name] for each in declared if not each.kwarg_only)
        node.kwargs = {each.name: given[each.name] for each in declared if each.kwarg_only}


def _bring_convolution(node: torch.fx.Node, given: dict[str, Any]) -> None:
    """Write a convolution as the one of any number of axes, with a number for each of them."""
    source, weight = tensor_of(given["input"]), tensor_of(given["weight"])
    if source is None or weight is None or source.dim() != weight.dim():
        return
    axes = weight.dim() - 2
    both = [0] * axes
    stride, padding, dilation = (
        [*given[name]] * (axes // len(given[name])) for name in ("stride", "padding", "dilation")
    )
    if isinstance(given["padding"], str):
        if given["padding"] == "same":
            both = [by * (size - 1) for by, size in zip(dilation, weight.shape[2:], strict=True)]
        padding = [each // 2 for each in both]
    if any(each % 2 for each in both):  # one more at the end, which IREE gets wrong
        more = [end for each in reversed(both) for end in (0, each % 2)]
        with node.graph.inserting_before(node):
            pad = aten.constant_pad_nd.default
            padded = node.graph.call_function(pad, (given["input"], more, 0.0))
        padded.meta = {**node.meta, "val": torch.nn.functional.pad(source, more)}
        padded.meta.pop("tensor_meta", None)
        given["input"] = padded
    first = (given[name] for name in ("input", "weight", "bias"))
    numbers = (stride, padding, dilation, False, [0] * axes, given["groups"])
    _call(node, aten.convolution.default, *first, *numbers)


def _call(node: torch.fx.Node, target: Any, *arguments: Any) -> None:
    node.target, node.args, node.kwargs = target, arguments, {}


def _swapped(rank: int, one: int, other: int) -> list[int]:
    dims = list(range(rank))
    if rank:
        dims[one], dims[other] = dims[other], dims[one]
    return dims


def _sizes(node: torch.fx.Node, tensor: torch.Tensor) -> list[Any]:
    """The sizes of what a reshape gives: numbers, nodes, and -1 for those that are open."""
    given = next((arg for arg in node.args[1:] if isinstance(arg, list | tuple)), ())
    sizes: list[Any] = list(tensor.shape)
    if len(given) != len(sizes):
        given = [-1] * len(sizes)
    pairs = zip(sizes, given, strict=True)
    return [size if isinstance(size, int) else other for size, other in pairs]


def _ends(end: Any, source: torch.Tensor, dim: int) -> bool:
    """Whether a slice goes to the end of its axis."""
    if isinstance(end, torch.fx.Node):
        end = end.meta.get("val")
    if isinstance(end, torch.SymInt):
        size = source.shape[dim]
        return isinstance(size, torch.SymInt) and bool(end.node.expr == size.node.expr)
    size = source.shape[dim]
    return end is None or (isinstance(end, int) and isinstance(size, int) and end >= size)


_GRAPHS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}
"""Which of their arguments is the graph; those behind it are the graph's own."""
_CASTS_ENABLED = 2


def inline_regions(program: torch.export.ExportedProgram) -> None:
    """Put such graphs in place of their calls.

    What a model does under `torch.no_grad()`, or with automatic casts turned off, is exported as a
    graph of its own under an operator that takes a graph (`torch.export`, "higher order
    operators"). Neither matters to a compiled model, which has no gradients and casts what the
    graph says.
    """
    graph = program.graph
    for node in graph.nodes:  # PyTorch 2.13 loses some where it makes these graphs
        for source in node.all_input_nodes:
            source.users.setdefault(node)
    if not any(_index_of(node) for node in graph.nodes):
        return
    while True:
        found = next((node for node in graph.nodes if _index_of(node)), None)
        if found is None:
            break
        _inline(program, found)
    graph.eliminate_dead_code()
    graph.lint()
    program.graph_module.recompile()


def _index_of(node: torch.fx.Node) -> int:
    if not isinstance(node.target, torch._ops.HigherOrderOperator):
        return 0
    return _GRAPHS.get(node.target.name(), 0)


def _inline(program: torch.export.ExportedProgram, call: torch.fx.Node) -> None:
    module, index = program.graph_module, _index_of(call)
    if index == _GRAPHS["wrap_with_autocast"] and call.args[_CASTS_ENABLED]:
        raise ModelError(
            "The model turns automatic casts on (torch.autocast).",
            expected="a model that says its types itself",
            next_step="convert it: model.to(torch.bfloat16), and call it without torch.autocast.",
        )
    inner: Any = getattr(module, str(call.args[index].target))
    names = [node for node in inner.graph.nodes if node.op == "placeholder"]
    values = dict(zip(names, call.args[index + 1 :], strict=True))
    for node in inner.graph.nodes:
        if node.op == "get_attr":
            # A graph in the graph: under a name of this module, to be found there next.
            name = f"{call.name}_{node.target}".replace(".", "_")
            module.add_submodule(name, getattr(inner, str(node.target)))
            with module.graph.inserting_before(call):
                values[node] = module.graph.get_attr(name)
    with module.graph.inserting_before(call):
        results: Any = module.graph.graph_copy(inner.graph, values)
    for use in list(call.users):
        if use.target is not operator.getitem:  # pragma: no cover - PyTorch uses them so alone
            raise TypeError(f"{call} is used by {use}")
        result = results[use.args[1]]
        use.replace_all_uses_with(result)
        program.graph_signature.replace_all_uses(use.name, result.name)
        module.graph.erase_node(use)
    module.graph.erase_node(call)
