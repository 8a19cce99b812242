"""One node of an ONNX graph that stands for a kernel: compared with the declaration."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import onnx

from custom_dispatch.errors import CallError, DeclarationError, LinkError
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import first_fitting
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, ElementType
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.kernel.shapes import KnownShapes
from custom_dispatch.link.arguments import arguments_by_name


@dataclass(frozen=True, slots=True)
class TensorType:
    """A tensor's type as ONNX knows it."""

    element: int
    """A `TensorProto.DataType`."""
    shape: Shape | None
    """None where not even the rank is known."""


def tensor_type(kind: onnx.TypeProto | None) -> TensorType | None:
    """A tensor's type; None for what is no tensor, or of which nothing is known."""
    if kind is None or not kind.HasField("tensor_type") or not kind.tensor_type.elem_type:
        return None
    tensor = kind.tensor_type
    if not tensor.HasField("shape"):
        return TensorType(tensor.elem_type, None)
    sizes = (
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
        for dim in tensor.shape.dim
    )
    return TensorType(tensor.elem_type, tuple(sizes))


def scalars_of(kernel: Kernel) -> dict[str, Scalar]:
    """The attributes of a kernel's node: its value-less scalars, by name."""
    arguments = arguments_by_name(kernel).items()
    return {name: item for name, item in arguments if isinstance(item, Scalar)}


def attribute_type(scalar: Scalar) -> int:
    """The type of a scalar's attribute."""
    number = onnx.AttributeProto.FLOAT if scalar.dtype.is_float else onnx.AttributeProto.INT
    return int(number)


def label_of(node: onnx.NodeProto) -> str:
    """What errors call a node: "Node `norm` (mine::scale)"."""
    name = node.name or next((f"-> {item}" for item in node.output if item), "")
    return label(name, node.domain, node.op_type)


def label(name: str, domain: str, operator: str) -> str:
    """What errors call a node of a name that may be empty."""
    return f"Node `{name}` ({domain}::{operator})" if domain else f"Node `{name}` ({operator})"


def infer_results(
    item: Kernel | Choice, label: str, types: Sequence[TensorType | None]
) -> list[TensorType]:
    """The types of a node's results: as the first kernel gives them that the inputs fit.

    - `label`: what errors call the node.
    - `types`: the types of its inputs; None for one that is absent, or of which nothing is known.
    """
    return first_fitting(
        item,
        lambda kernel: _results(kernel, label if kernel is item else f"`{kernel.name}`", types),
        f"{label} fits no kernel of choice `{item.name}`.",
    )


def _results(kernel: Kernel, label: str, types: Sequence[TensorType | None]) -> list[TensorType]:
    shapes: dict[str, Shape] = {}
    complete = True
    for operand, kind in zip(kernel.buffers, types, strict=False):
        if kind is None:
            complete = complete and operand.optional
            continue
        if kind.element != onnx_type(operand.dtype):
            raise _refusal(
                f"{label}: its input `{operand.name}` has elements of type "
                f"{type_name(kind.element)}.",
                f"{type_name(onnx_type(operand.dtype))}, for the kernel's {operand.dtype}",
                "insert a Cast, or give a kernel of that type.",
            )
        if kind.shape is None:
            complete = False
            continue
        shapes[operand.name] = kind.shape
    elements = [onnx_type(operand.dtype) for operand in kernel.outputs]
    if not complete:
        return [TensorType(element, None) for element in elements]
    try:
        found = KnownShapes(kernel).of(shapes)
    except (CallError, DeclarationError) as error:
        step = "correct the model, or the kernel's declaration."
        raise error.saying(f"{label} does not fit: {error.found}", step, kind=LinkError) from None
    return [
        TensorType(element, found[operand.name])
        for element, operand in zip(elements, kernel.outputs, strict=True)
    ]


def _refusal(found: str, expected: str, next_step: str = "") -> LinkError:
    return LinkError(
        found,
        expected=expected,
        next_step=next_step or "correct the model, or the kernel's declaration.",
    )


def nodes_of(graph: onnx.GraphProto | onnx.FunctionProto) -> Iterator[onnx.NodeProto]:
    """Every node of a graph or function, and of the graphs within."""
    for node in graph.node:
        yield node
        for inner in graphs_of(node):
            yield from nodes_of(inner)


def graphs_of(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs within a node: branches and bodies of loops."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        elif attribute.type == onnx.AttributeProto.GRAPHS:
            yield from attribute.graphs


Size = int | str | None
Shape = tuple[Size, ...]


def onnx_type(kind: ElementType) -> int:
    """An element type's number: a `TensorProto.DataType`."""
    return int(onnx.helper.np_dtype_to_tensor_dtype(kind.to_numpy()))


def type_string(kind: ElementType) -> str:
    """An element type as schemas of operators write it: "tensor(float)"."""
    return f"tensor({type_name(onnx_type(kind))})"


def type_name(number: int) -> str:
    """What ONNX calls an element type: "float", "int4", "complex64"."""
    try:
        return str(onnx.TensorProto.DataType.Name(number)).lower()
    except ValueError:
        return f"type {number}"


def element_type_of(number: int) -> ElementType | None:
    """The element type of ONNX's number; None for one that kernels do not take."""
    return next((kind for kind in ELEMENT_TYPES.values() if onnx_type(kind) == number), None)


def numpy_type(number: int) -> numpy.dtype[Any] | None:
    """The dtype of an element; None for strings, and types of which several share a byte."""
    name = type_name(number)
    if name == "string" or any(name.startswith(packed) for packed in _PACKED):
        return None
    try:
        found: numpy.dtype[Any] = numpy.dtype(onnx.helper.tensor_dtype_to_np_dtype(number))
        return found
    except (KeyError, ValueError, TypeError):
        return None


_PACKED = ("int4", "uint4", "int2", "uint2", "float4")
