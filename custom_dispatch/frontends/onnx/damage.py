"""What ONNX's own checker lets through: damaged models, and what IREE would compute wrongly."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import onnx

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.onnx.node import (
    graphs_of,
    label_of,
    nodes_of,
    numpy_type,
    tensor_type,
    type_name,
)

_AXES = ("axis", "axes")
_LARGEST_AXIS = 2**31


def check_undamaged(graph: onnx.GraphProto) -> None:
    """Require names that are text, and axes that can be.

    Protobuf gives bytes for what is no UTF-8. ONNX's inference takes the lower 32 bits of an axis,
    and IREE 3.13 was not done with one of -2^62 after two minutes.
    """
    tensors = [*graph.input, *graph.output, *graph.initializer]
    names: list[Any] = [tensor.name for tensor in tensors]
    for node in nodes_of(graph):
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    for name in names:
        if not isinstance(name, str):
            raise ModelError(
                f"The ONNX model has the name {name!r} in it, which is no text in UTF-8.",
                expected="names of letters, digits and the like",
                next_step="export the model again.",
            )
    for node in nodes_of(graph):
        for attribute in node.attribute:
            axes = (attribute.i, *attribute.ints) if attribute.name in _AXES else ()
            for axis in axes:
                if -_LARGEST_AXIS <= axis < _LARGEST_AXIS:
                    continue
                raise ModelError(
                    f"{label_of(node)}: its attribute `{attribute.name}` is {axis}.",
                    expected="one of the tensor's axes, counted from 0 on, or from -1 down",
                    next_step="correct the attribute.",
                )


def array_of(tensor: onnx.TensorProto) -> numpy.ndarray[Any, Any]:
    """A tensor that is in the model."""
    try:
        found: numpy.ndarray[Any, Any] = onnx.numpy_helper.to_array(tensor)
        return found
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"The tensor `{tensor.name}` of the ONNX model cannot be read: {error}.",
            expected=f"elements of {type_name(tensor.data_type)} for the shape {list(tensor.dims)}",
            next_step="export the model again.",
        ) from error


_TWO_OPERANDS = 2
"""Of MatMulInteger, which is right with zero points."""


@functools.cache
def _wrong() -> dict[str, Any]:
    """What IREE 3.13 computes wrongly."""
    return tomllib.loads(Path(__file__).with_name("wrong_operators.toml").read_text())


def _check_ignored(node: onnx.NodeProto) -> None:
    """Refuse a node of which IREE ignores something."""
    for index, what in _wrong()["ignored_inputs"].get(node.op_type, {}).items():
        given = dict(enumerate(node.input)).get(int(index))
        if given:
            raise ModelError(
                f"{label_of(node)} has {what}, `{given}`, with which IREE computes wrongly.",
                expected="a node without that input",
                next_step="export the model without it, such as for sequences of one length.",
            )
    wrong = _wrong()["values"].get(node.op_type)
    if wrong is None:
        return
    said = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
    said = {
        name: v.decode("utf-8", "replace") if isinstance(v, bytes) else v
        for name, v in said.items()
    }
    if said | wrong["attributes"] == said:
        listed = " and ".join(f"`{name}` of {v}" for name, v in wrong["attributes"].items())
        raise ModelError(
            f"{label_of(node)} has {listed}, which IREE computes wrongly.",
            expected="another value",
            next_step=f"{wrong['next_step']}.",
        )


def check_computed(model: onnx.ModelProto) -> None:
    """Refuse nodes whose results would be wrong.

    Found by running: lengths of sequences are ignored, 200 / 100 of uint8 gives 0, and 225.0
    becomes 127 on CPUs of some kinds. Other operators (Add, Max, Less, casts from unsigned
    integers, ...) give what ONNX says.

    `model`: the model with the types of all that it computes.
    """
    _check(model.graph, {})


def _check(graph: onnx.GraphProto, outer: Mapping[str, int]) -> None:
    elements = dict(outer) | {item.name: item.data_type for item in graph.initializer}
    for item in [*graph.input, *graph.value_info, *graph.output]:
        kind = tensor_type(item.type)
        if kind is not None:
            elements[item.name] = kind.element
    for node in graph.node:
        for inner in graphs_of(node):
            _check(inner, elements)
        if node.domain or not node.input or not node.output:
            continue
        given = elements.get(node.input[0], 0)
        _check_ignored(node)
        gives = elements.get(node.output[0], 0)
        bare = node.op_type == "MatMulInteger" and len(node.input) == _TWO_OPERANDS
        if (node.op_type in _wrong()["unsigned"] or bare) and _kind(given) == "u":
            raise ModelError(
                f"{label_of(node)} is on {type_name(given)}, which IREE treats as signed numbers.",
                expected="signed integers, or floats",
                next_step="insert a Cast to INT64 before it, and one back.",
            )
        if node.op_type == "Cast" and _kind(given) == "f" and _kind(gives) == "u":
            raise ModelError(
                f"{label_of(node)} makes {type_name(gives)} of {type_name(given)}, which IREE does "
                "as if it were signed.",
                expected="a Cast of signed integers",
                next_step="insert a Cast to INT32 before it.",
            )


def _kind(element: int) -> str:
    """Numpy's letter for a kind of elements; bfloat16's and the small floats' is not "f"."""
    dtype = numpy_type(element)
    if dtype is None:
        return ""
    return "f" if dtype.kind == "V" else dtype.kind
