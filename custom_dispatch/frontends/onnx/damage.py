"""What ONNX's own checker lets through of damaged models, found before anything trips over it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import onnx

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.onnx.dtypes import type_name
from custom_dispatch.frontends.onnx.node import label_of, nodes_of

_AXES = ("axis", "axes")
_LARGEST_AXIS = 2**31


def check_undamaged(graph: onnx.GraphProto) -> None:
    """Require names that are text, and axes that can be.

    Protobuf gives bytes for what is no UTF-8. ONNX's inference takes the lower 32 bits of an axis,
    and IREE 3.13 was not done with one of -2^62 after two minutes.

    Raises
    ------
    ModelError
        A name is not text, or an axis is out of range.
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
        for name, axis in _axes_of(node):
            if not -_LARGEST_AXIS <= axis < _LARGEST_AXIS:
                raise ModelError(
                    f"{label_of(node)}: its attribute `{name}` is {axis}.",
                    expected="one of the tensor's axes, counted from 0 on, or from -1 down",
                    next_step="correct the attribute.",
                )


def array_of(tensor: onnx.TensorProto) -> numpy.ndarray[Any, Any]:
    """A tensor that is in the model.

    Raises
    ------
    ModelError
        It has not as many elements as its shape says.
    """
    try:
        found: numpy.ndarray[Any, Any] = onnx.numpy_helper.to_array(tensor)
        return found
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"The tensor `{tensor.name}` of the ONNX model cannot be read: {error}.",
            expected=f"elements of {type_name(tensor.data_type)} for the shape {list(tensor.dims)}",
            next_step="export the model again.",
        ) from error


def _axes_of(node: onnx.NodeProto) -> Iterator[tuple[str, int]]:
    for attribute in node.attribute:
        if attribute.name in _AXES:
            for axis in (attribute.i, *attribute.ints):
                yield attribute.name, axis
