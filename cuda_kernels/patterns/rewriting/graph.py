"""Reading and writing the nodes of an exported graph in one form, for rules."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from torch.fx import Node

from custom_dispatch.frontends.torch.graph import CHANGES, arguments_of, tensor_of

aten = torch.ops.aten
SCALARS = (aten.mul.Tensor, aten.mul.Scalar, aten.div.Tensor, aten.div.Scalar)
_VIEWS = (
    *(aten.reshape.default, aten.permute.default, aten.expand.default, aten.unsqueeze.default),
    *(aten.squeeze.dim, aten.slice.Tensor, aten.select.int),
)
_FOLDED = (
    *(aten.sqrt.default, aten.rsqrt.default, aten.reciprocal.default, aten.neg.default),
    *(aten.mul.Tensor, aten.div.Tensor, aten.add.Tensor, aten.sub.Tensor, aten.to.dtype),
    *(aten.pow.Tensor_Scalar, aten.full.default, aten.scalar_tensor.default, aten.exp.default),
    *(aten.square.default, aten.reshape.default, aten.lift_fresh_copy.default),
)


def calls(graph: torch.fx.Graph, *targets: Any) -> list[Node]:
    """The calls of operators, in order."""
    return [node for node in graph.nodes if node.op == "call_function" and node.target in targets]


def is_call(value: Any, *targets: Any) -> bool:
    """Whether a value is the result of a call of one of the operators."""
    return isinstance(value, Node) and value.op == "call_function" and value.target in targets


def shape_of(value: Any) -> tuple[Any, ...]:
    """The sizes of a tensor; () of what is none."""
    tensor = tensor_of(value)
    return () if tensor is None else tuple(tensor.shape)


def dtype_of(value: Any) -> torch.dtype | None:
    """The element type of a tensor; None of what is none."""
    tensor = tensor_of(value)
    return None if tensor is None else tensor.dtype


def same(one: Any, other: Any) -> bool:
    """Whether two sizes, or tuples of sizes, are the same for all that PyTorch knows."""
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, int) and isinstance(other, int):
        return one == other
    first, second = (size if isinstance(size, int) else size.node.expr for size in (one, other))
    return bool(first == second)


_PLACE = ("nn_module_stack", "stack_trace")


class Writer:
    """Writes calls in front of a node, as parts of what the node computes."""

    def __init__(self, point: Node) -> None:
        self._point, self._graph = point, point.graph
        self._mode: Any = getattr(tensor_of(point), "fake_mode", None) or nullcontext()

    def call(self, target: Any, *given: Any, **named: Any) -> Node:
        """A call of an operator."""
        with self._graph.inserting_before(self._point):
            node = self._graph.call_function(target, given, named)
        node.meta = {key: self._point.meta[key] for key in _PLACE if key in self._point.meta}
        held = torch.fx.node.map_arg((given, named), lambda each: each.meta["val"])
        with self._mode:
            node.meta["val"] = target(*held[0], **held[1])
        return node

    def item(self, results: Node, index: int) -> Node:
        """One of the results of a call."""
        with self._graph.inserting_before(self._point):
            node = self._graph.call_function(operator.getitem, (results, index))
        node.meta = {**results.meta, "val": results.meta["val"][index]}
        return node

    def get(self, name: str, tensor: torch.Tensor) -> Node:
        """A tensor that the graph's module holds."""
        with self._graph.inserting_before(self._point):
            node = self._graph.get_attr(name)
        with self._mode:
            node.meta["val"] = torch.empty(tensor.shape, dtype=tensor.dtype)
        return node

    def sizes(self, like: Any, sizes: Sequence[Any]) -> list[Any]:
        """Sizes as arguments: those that are open are read from the tensors that have them."""
        tensors = like if isinstance(like, list | tuple) else (like,)
        return [size if isinstance(size, int) else self._size(tensors, size) for size in sizes]

    def _size(self, tensors: Sequence[Node], size: Any) -> Node:
        for node in tensors:
            for axis, other in enumerate(shape_of(node)):
                if not isinstance(other, int) and same(size, other):
                    return self.call(aten.sym_size.int, node, axis)
        return -1  # which reshaping finds out

    def reshape(self, node: Node, sizes: Sequence[Any], *like: Node) -> Node:
        """A tensor of other sizes."""
        if same(shape_of(node), tuple(sizes)):
            return node
        return self.call(aten.reshape.default, node, self.sizes((node, *like), sizes))

    def permute(self, node: Node, order: Sequence[int]) -> Node:
        """A tensor with its axes in another order; orders on orders are one."""
        if is_call(node, aten.permute.default):
            node, order = node.args[0], [node.args[1][axis] for axis in order]
        if list(order) == list(range(len(order))):
            return node
        return self.call(aten.permute.default, node, list(order))

    def cast(self, node: Node, dtype: torch.dtype | None) -> Node:
        """A tensor of another element type."""
        return node if dtype_of(node) == dtype else self.call(aten.to.dtype, node, dtype)

    def on(self, views: Sequence[Node], source: Node) -> Node:
        """The same views of another tensor, the last one first."""
        for view in reversed(views):
            source = self.call(view.target, source, *view.args[1:], **view.kwargs)
        return source


def put(old: Node, new: Node) -> None:
    """Let a node stand in the place of another."""
    old.replace_all_uses_with(new)
    old.graph.erase_node(old)  # what it reads may have one user by now


def number_of(value: Any, constants: Mapping[str, torch.Tensor]) -> float | None:
    """The number that a value is wherever the model is called; None where it may be others.

    Parameters
    ----------
    constants
        What tensors that are no weights hold, by the names of the nodes.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    tensor = tensor_of(value)
    if tensor is None or not all(size == 1 for size in tensor.shape if isinstance(size, int)):
        return None
    if not all(isinstance(size, int) for size in tensor.shape):
        return None
    found = _folded(value, constants)
    return None if found is None else float(found)


def _folded(value: Node, constants: Mapping[str, torch.Tensor]) -> torch.Tensor | None:
    if value.op == "placeholder":
        found = constants.get(value.name)
        return None if found is None or found.numel() != 1 else found.reshape(())
    if not is_call(value, *_FOLDED):
        return None
    nodes = value.all_input_nodes
    known = {node: _folded(node, constants) for node in nodes}
    if any(each is None for each in known.values()):
        return None
    given, named = torch.fx.node.map_arg((value.args, value.kwargs), known.__getitem__)
    if value.target is aten.reshape.default:
        return next(iter(known.values()))
    with torch.no_grad():
        result: torch.Tensor = value.target(*given, **named)
    return result.reshape(())


def scaled(node: Node, constants: Mapping[str, torch.Tensor]) -> tuple[Node, float] | None:
    """What is multiplied by a number or divided by one, and the factor."""
    if not is_call(node, *SCALARS):
        return None
    one, other = node.args[:2]
    is_product = node.target in (aten.mul.Tensor, aten.mul.Scalar)
    number = number_of(other, constants)
    if number is None and is_product and isinstance(other, Node):
        one, other, number = other, one, number_of(one, constants)
    if number is None or not isinstance(one, Node) or dtype_of(one) != dtype_of(node):
        return None
    if len(shape_of(one)) != len(shape_of(node)) or (not is_product and number == 0.0):
        return None
    factor = number if is_product else 1.0 / number
    return (one, factor) if math.isfinite(factor) else None


def is_wider(node: Any) -> bool:
    """Whether a value is one of 16 bits as f32."""
    if not is_call(node, aten.to.dtype):
        return False
    before = dtype_of(node.args[0])
    return dtype_of(node) == torch.float32 and before in (torch.float16, torch.bfloat16)


def narrow(node: Node) -> Node:
    """A value of 16 bits before it was made f32; any other as it is."""
    source = node.args[0] if is_wider(node) else node
    assert isinstance(source, Node)  # noqa: S101 - conversions are of tensors
    return source


def through_views(node: Node) -> tuple[list[Node], Node]:
    """The views that a value is, the last one first, and of what."""
    views = []
    while is_call(node, *_VIEWS) and isinstance(node.args[0], Node):
        views.append(node)
        node = node.args[0]
    return views, node


def alike(one: Any, other: Any) -> bool:
    """Whether two values are the same one, or the same views and conversions of it."""
    if not isinstance(one, Node) or not isinstance(other, Node) or one is other:
        return bool(one == other)
    if not is_call(one, *_VIEWS, aten.to.dtype) or one.target is not other.target:
        return False
    pairs = zip(one.args, other.args, strict=False)
    return len(one.args) == len(other.args) and all(alike(*pair) for pair in pairs)


def only_user(node: Node) -> Node | None:
    """What reads a value, where nothing else does."""
    users = list(node.users)
    return users[0] if len(users) == 1 else None


KINDS = torch.export.graph_signature.InputKind


def constants_of(
    program: torch.export.ExportedProgram,
    kinds: Collection[Any] = (KINDS.BUFFER, KINDS.CONSTANT_TENSOR),
) -> dict[str, torch.Tensor]:
    """What a program's tensors that are no weights and do not change hold, by names of nodes.

    Parameters
    ----------
    kinds
        Of tensors, if weights are wanted too.
    """
    held = {**program.constants, **program.state_dict}
    signature = program.graph_signature
    written = set(signature.buffers_to_mutate.values())
    changes = {node.name for node in program.graph.nodes if CHANGES in node.meta}
    return {
        spec.arg.name: held[spec.target].detach()
        for spec in signature.input_specs
        if spec.kind in kinds
        and spec.target not in written
        and spec.arg.name not in changes
        and isinstance(held.get(spec.target), torch.Tensor)
    }


named = arguments_of
Rule = Callable[[torch.export.ExportedProgram], None]


def keeps_results(rule: Rule) -> Rule:
    """A rule that takes away what nothing reads any more, and says what a program's results are."""

    @functools.wraps(getattr(rule, "func", rule))
    def run(program: torch.export.ExportedProgram) -> None:
        before = _results(program)
        rule(program)
        program.graph.eliminate_dead_code()
        for old, new in zip(before, _results(program), strict=True):
            if old != new:
                program.graph_signature.replace_all_uses(old, new)

    return run


def _results(program: torch.export.ExportedProgram) -> list[str]:
    return [getattr(value, "name", "") for value in program.graph.output_node().args[0]]
