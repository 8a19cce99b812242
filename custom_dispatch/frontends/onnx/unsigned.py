"""Operators that IREE 3.13 converts as if unsigned integers were signed ones.

Found by running: 200 / 100 of uint8 gives 0, and 225.0 becomes 127 on CPUs of some kinds. Other
operators (Add, Max, Less, casts from unsigned integers, ...) give what ONNX says.
"""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.onnx.dtypes import numpy_type, type_name
from custom_dispatch.frontends.onnx.node import graphs_of, label_of, tensor_type

_WRONG = (
    "Abs", "Clip", "Div", "MaxPool", "Mod", "Neg", "Pow", "PRelu", "ReduceL1", "TopK",
)  # fmt: skip
_TWO_OPERANDS = 2
"""Of MatMulInteger, which is right with zero points."""


def check_unsigned(model: onnx.ModelProto) -> None:
    """Refuse nodes whose results would be wrong.

    Parameters
    ----------
    model
        The model with the types of all that it computes.

    Raises
    ------
    ModelError
        The model has such a node.
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
        gives = elements.get(node.output[0], 0)
        bare = node.op_type == "MatMulInteger" and len(node.input) == _TWO_OPERANDS
        if (node.op_type in _WRONG or bare) and _kind(given) == "u":
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
