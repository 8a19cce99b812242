"""What a kernel computes, as nodes of ONNX: what is looked for in a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import onnx

from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.onnx.node import buffers_of, graphs_of, scalars_of
from custom_dispatch.frontends.onnx.one_form import MAIN_DOMAINS, bring_into_one_form
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.match.pattern import (
    check_axes,
    check_fixed,
    check_kernel,
    wrong,
)

if TYPE_CHECKING:
    from custom_dispatch.match.replace import Examples
    from custom_dispatch.match.searched import Searched

Computes: TypeAlias = str | onnx.NodeProto | onnx.GraphProto | onnx.ModelProto


@dataclass(frozen=True, slots=True)
class Computed:
    """A graph that computes what the kernel does."""

    graph: onnx.GraphProto = field(hash=False)
    """Its inputs are named after the kernel's arguments, and have no types."""
    captured: frozenset[str]
    """Scalars of the kernel that are attributes of a node, of the same name."""
    version: int | None
    """ONNX's version that it is written for; None for that of the model."""


@dataclass(frozen=True, init=False)
class Pattern:
    """A kernel, and what it computes in ONNX's words.

    Parameters
    ----------
    kernel
        The kernel that takes the places that are found; or a choice, of which each place takes the
        first kernel that it fits.
    computes
        An operator of ONNX ("LayerNormalization"), whose inputs and outputs are those of the
        kernel, in order; a node or a graph, or a model of one, with inputs named after the kernel's
        operands, and its outputs in the kernel's order; or a list of these. Value-less scalars are
        inputs of the graph, which stand for constants of one number; or attributes that have their
        names, and are not given. Other attributes that are not given have ONNX's defaults. Optional
        operands may be left out.
    fixed
        Scalars with a value that the graph holds for: {"causal": True}.
    axes
        Of operands and results that the graph has with their axes in another order, that order as
        of `numpy.transpose`: {"k": (0, 1, 3, 2)}. They are transposed where a kernel is put.
    required
        Whether it is an error that no place is found.

    Raises
    ------
    DeclarationError
        An argument has the wrong type, or the graph's inputs and outputs are not the kernel's.
    """

    item: Kernel | Choice
    kernel: Kernel
    computes: tuple[Computed, ...]
    fixed: Mapping[str, Any] = field(hash=False)
    axes: Mapping[str, tuple[int, ...]] = field(hash=False)
    required: bool

    def __init__(
        self,
        kernel: Kernel | Choice,
        computes: Computes | Sequence[Computes],
        *,
        fixed: Mapping[str, Any] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        required: bool = True,
    ) -> None:
        item, kernel = kernel, check_kernel(kernel)
        object.__setattr__(self, "item", item)
        object.__setattr__(self, "kernel", kernel)
        object.__setattr__(self, "fixed", check_fixed(kernel, fixed))
        object.__setattr__(self, "axes", check_axes(kernel, axes))
        object.__setattr__(self, "required", bool(required))
        several: Iterable[Any] = computes if is_list(computes) else (computes,)
        found = tuple(_computed(kernel, one, self.fixed) for one in several)
        if not found:
            raise wrong(kernel, "has nothing that the kernel computes", "a node or a graph of ONNX")
        object.__setattr__(self, "computes", found)

    def examples(self, model: Searched) -> Examples:
        """What imports its graphs into the context of a model."""
        from custom_dispatch.frontends.onnx.example import graph_examples

        return graph_examples(self, model)


def _computed(kernel: Kernel, item: Any, fixed: Mapping[str, Any]) -> Computed:
    if isinstance(item, str):
        item = _node(kernel, item)
    version = None
    if isinstance(item, onnx.ModelProto):
        version = next((v.version for v in item.opset_import if v.domain in MAIN_DOMAINS), None)
        item = item.graph
    if isinstance(item, onnx.NodeProto):
        graph = onnx.GraphProto(node=[item])
        inputs = list(dict.fromkeys(name for name in item.input if name))
        outputs = [name for name in item.output if name]
    elif isinstance(item, onnx.GraphProto):
        graph = item
        stored = {tensor.name for tensor in graph.initializer}
        inputs = [value.name for value in graph.input if value.name not in stored]
        outputs = [value.name for value in graph.output]
    else:
        raise DeclarationError(
            f"The pattern of kernel `{kernel.name}` is {shown(item)}.",
            expected="the name of an operator of ONNX, or a NodeProto, GraphProto or ModelProto",
            next_step='write cd.onnx.Pattern(kernel, "LayerNormalization").',
        )
    made = onnx.GraphProto(
        name="pattern",
        node=graph.node,
        initializer=graph.initializer,
        input=map(onnx.helper.make_empty_tensor_value_info, inputs),
        output=map(onnx.helper.make_empty_tensor_value_info, outputs),
    )
    bring_into_one_form(made)
    nodes = [node for node in made.node if node.op_type != "Constant"]
    if any(True for node in nodes for _ in graphs_of(node)):
        raise wrong(kernel, "has a node with a graph in it", "nodes without branches and loops")
    for node in nodes:
        if node.domain not in MAIN_DOMAINS and onnx.defs.has(node.op_type):
            raise wrong(
                kernel,
                f"has the operator {node.op_type} of the domain {node.domain}",
                f"one with another name: IREE's importer drops domains, and ONNX has a "
                f"{node.op_type} of its own",
            )
    captured = {
        name
        for name in scalars_of(kernel)
        if name not in inputs
        and name not in fixed
        and any(_may_capture(node, name) for node in nodes)
    }
    _check(kernel, fixed, inputs, outputs, captured)
    if not set(outputs) <= {name for node in nodes for name in node.output}:
        raise wrong(kernel, "has a result that no node of it gives", "a graph that computes all")
    return Computed(made, frozenset(captured), version)


def _node(kernel: Kernel, operator: str) -> onnx.NodeProto:
    """An operator's node, with the kernel's operands."""
    if not operator.isascii() or not onnx.defs.has(operator):
        raise wrong(
            kernel,
            f"names the operator {shown(operator)}",
            "an operator of ONNX",
            "correct the name, or give a node or a graph.",
        )
    most = onnx.defs.get_schema(operator).max_input
    names = [item.name for item in buffers_of(kernel)][:most]
    return onnx.helper.make_node(operator, names, [item.name for item in kernel.outputs])


def _check(
    kernel: Kernel,
    fixed: Mapping[str, Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    captured: set[str],
) -> None:
    """Require the kernel's operands, scalars and results."""
    scalars = scalars_of(kernel)
    buffers = {item.name: item for item in buffers_of(kernel)}
    names = [*buffers, *scalars]
    for name in inputs:
        if name not in names or name in fixed:
            raise wrong(
                kernel,
                f"has an input `{name}`" + (", which is fixed" if name in fixed else ""),
                f"those of the kernel: {', '.join(names)}",
            )
    for name, operand in buffers.items():
        if name not in inputs and not operand.optional:
            raise wrong(kernel, f"has no input `{name}`", f"the kernel's: {', '.join(names)}")
    for name in scalars:
        if name not in inputs and name not in captured and name not in fixed:
            raise wrong(
                kernel,
                f"says nothing of `{name}`",
                "an input of the graph, or an attribute of that name which is not given",
                f'make it one, or fix the scalar: fixed={{"{name}": ...}}.',
            )
    if len(outputs) != len(kernel.outputs):
        raise wrong(
            kernel,
            f"has {len(outputs)} results",
            f"those of the kernel: {', '.join(item.name for item in kernel.outputs)}",
        )


def _may_capture(node: onnx.NodeProto, name: str) -> bool:
    """Whether a node may have an attribute, and does not give it."""
    if node.domain not in MAIN_DOMAINS or not onnx.defs.has(node.op_type):
        return False
    gives = any(item.name == name for item in node.attribute)
    return not gives and name in onnx.defs.get_schema(node.op_type).attributes
