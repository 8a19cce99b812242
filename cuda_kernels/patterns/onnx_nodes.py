"""Nodes and graphs of ONNX that patterns are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy
from onnx import GraphProto, NodeProto, helper, numpy_helper

import custom_dispatch as cd

Patterns = tuple["cd.onnx.Pattern", ...]
TYPES = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}
HEADS = (32, 64, 128)


def make_node(operator: str, inputs: str, outputs: str, **attributes: Any) -> NodeProto:
    """A node; names are separated by blanks."""
    return helper.make_node(operator, inputs.split(), outputs.split(), **attributes)


def make_graph(
    nodes: Sequence[NodeProto], inputs: str, outputs: str, **constants: Any
) -> GraphProto:
    """Several nodes; the types of what goes in and out are the kernel's."""
    return GraphProto(
        name="pattern",
        node=nodes,
        input=[helper.make_empty_tensor_value_info(name) for name in inputs.split()],
        output=[helper.make_empty_tensor_value_info(name) for name in outputs.split()],
        initializer=[
            numpy_helper.from_array(numpy.asarray(value), name) for name, value in constants.items()
        ],
    )


def each_type(module: Any, name: str, *computes: Any) -> Patterns:
    """A pattern for each element type, of what is the same for all of them."""
    return tuple(
        cd.onnx.Pattern(getattr(module, f"{name}_{dtype}"), list(computes), required=False)
        for dtype in TYPES
    )


def rewritten(module: Any, name: str, graphs: Sequence[GraphProto], first: NodeProto) -> Patterns:
    """A pattern whose places are written as its first node."""
    return (cd.onnx.Pattern(getattr(module, name), graphs, first=first, required=False),)
