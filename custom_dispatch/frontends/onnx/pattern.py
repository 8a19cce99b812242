"""What a kernel computes, as nodes of ONNX: what is looked for in a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy
import onnx

from custom_dispatch.errors import DeclarationError
from custom_dispatch.frontends.onnx.damage import array_of
from custom_dispatch.frontends.onnx.node import buffers_of, graphs_of, scalars_of
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.match.pattern import (
    check_axes,
    check_fixed,
    check_kernel,
    wrong,
)

Computes: TypeAlias = str | onnx.NodeProto | onnx.GraphProto | onnx.ModelProto
Array = numpy.ndarray[Any, numpy.dtype[Any]]
OWN = ("", "ai.onnx")


@dataclass(frozen=True, slots=True)
class Example:
    """One graph that computes what the kernel does."""

    nodes: tuple[onnx.NodeProto, ...]
    constants: Mapping[str, Array]
    inputs: frozenset[str]
    """Operands and scalars of the kernel, by name."""
    outputs: tuple[str, ...]
    """In the order of the kernel's results."""
    captured: frozenset[str]
    """Scalars of the kernel that are attributes of a node, of the same name."""
    version: int | None
    """ONNX's version that it is written for; None for that of the model."""

    def producer(self, name: str) -> onnx.NodeProto | None:
        """The node that gives a value."""
        return next((node for node in self.nodes if name in node.output), None)


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
        Of operands that the graph has with their axes in another order, that order in terms of the
        kernel's, as `numpy.transpose` takes it: {"k": (0, 1, 3, 2)}. They are transposed for it.
    required
        Whether it is an error that no place is found.

    Raises
    ------
    DeclarationError
        An argument has the wrong type, or the graph's inputs and outputs are not the kernel's.
    """

    item: Kernel | Choice
    kernel: Kernel
    examples: tuple[Example, ...]
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
        object.__setattr__(self, "axes", _axes(kernel, axes))
        object.__setattr__(self, "required", bool(required))
        several: Iterable[Any] = computes if is_list(computes) else (computes,)
        examples = tuple(_example(kernel, one, self.fixed) for one in several)
        if not examples:
            raise wrong(kernel, "has nothing that the kernel computes", "a node or a graph of ONNX")
        object.__setattr__(self, "examples", examples)


def _axes(kernel: Kernel, axes: Mapping[str, Sequence[int]] | None) -> dict[str, tuple[int, ...]]:
    found = check_axes(kernel, axes)
    for operand in kernel.outputs:
        if operand.name in found:
            raise wrong(
                kernel,
                f"has axes of its result `{operand.name}`",
                "those of operands",
                "put a Transpose behind the graph's result.",
            )
    return found


def _example(kernel: Kernel, item: Any, fixed: Mapping[str, Any]) -> Example:
    if isinstance(item, str):
        item = _node(kernel, item)
    version = None
    if isinstance(item, onnx.ModelProto):
        version = next((v.version for v in item.opset_import if v.domain in OWN), None)
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
    nodes = tuple(node for node in graph.node if constant_of(node) is None)
    if any(True for node in nodes for _ in graphs_of(node)):
        raise wrong(kernel, "has a node with a graph in it", "nodes without branches and loops")
    captured = {
        name
        for name in scalars_of(kernel)
        if name not in inputs
        and name not in fixed
        and any(name in defaults_of(node, None) and not _gives(node, name) for node in nodes)
    }
    _check(kernel, fixed, inputs, outputs, captured)
    made = {name for node in nodes for name in node.output}
    if not nodes or not set(outputs) <= made:
        raise wrong(kernel, "has a result that no node of it gives", "a graph that computes all")
    return Example(
        nodes,
        constants_of(graph),
        frozenset(inputs),
        tuple(outputs),
        frozenset(captured),
        version,
    )


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


def _gives(node: onnx.NodeProto, name: str) -> bool:
    return any(item.name == name for item in node.attribute)


# -- nodes as data


def defaults_of(node: onnx.NodeProto, version: int | None) -> dict[str, Any]:
    """The attributes of a node's operator, with ONNX's defaults; None for those without one.

    Parameters
    ----------
    version
        ONNX's version; None for the latest.
    """
    if node.domain not in OWN or not onnx.defs.has(node.op_type):
        return {}
    try:
        schema = (
            onnx.defs.get_schema(node.op_type)
            if version is None
            else onnx.defs.get_schema(node.op_type, version)
        )
    except onnx.defs.SchemaError:
        return {}
    return {
        name: onnx.helper.get_attribute_value(attribute.default_value)
        if attribute.default_value.name
        else None
        for name, attribute in schema.attributes.items()
    }


def attributes_of(node: onnx.NodeProto, version: int | None) -> dict[str, Any]:
    """A node's attributes, with ONNX's defaults for those that it does not give."""
    found = defaults_of(node, version)
    for item in node.attribute:
        value = onnx.helper.get_attribute_value(item)
        if isinstance(value, onnx.TensorProto):
            value = array_of(value).tolist()
        found[item.name] = list(value) if isinstance(value, list | tuple) else value
    return found


def constants_of(graph: onnx.GraphProto) -> dict[str, Array]:
    """A graph's constants, by name."""
    found = {item.name: array_of(item) for item in graph.initializer}
    for node in graph.node:
        value = constant_of(node)
        if value is not None:
            found[node.output[0]] = value
    return found


def constant_of(node: onnx.NodeProto) -> Array | None:
    """What a node that is a constant holds; None for any other."""
    if node.op_type != "Constant" or node.domain not in OWN or not node.attribute:
        return None
    value = onnx.helper.get_attribute_value(node.attribute[0])
    if isinstance(value, onnx.TensorProto):
        return array_of(value)
    if node.attribute[0].name in ("value_float", "value_floats"):
        return numpy.asarray(value, numpy.float32)
    if node.attribute[0].name in ("value_int", "value_ints"):
        return numpy.asarray(value, numpy.int64)
    return None


def is_buffer(kernel: Kernel, name: str) -> bool:
    """Whether a name is that of an operand, and not of a scalar."""
    return any(isinstance(item, Buffer) and item.name == name for item in kernel.arguments)
