"""What means the same in ONNX, written in the same way: models and patterns are compared later."""

from __future__ import annotations

import numpy
import onnx

from custom_dispatch.frontends.onnx.node import graphs_of, nodes_of

MAIN_DOMAINS = ("", "ai.onnx")
"""Names of the domain that most operators of ONNX are in."""


def bring_into_one_form(graph: onnx.GraphProto) -> None:
    """Write what means the same in the same way.

    Inputs and outputs that are left out are not named at the end, outputs that nobody uses are
    left out where ONNX allows it, and constants are tensors.
    """
    nodes = list(nodes_of(graph))
    graphs = [graph, *(inner for node in nodes for inner in graphs_of(node))]
    used = {name for node in nodes for name in node.input}
    used |= {item.name for each in graphs for item in each.output}
    for node in nodes:
        while node.input and not node.input[-1]:
            del node.input[-1]
        while node.output and node.output[-1] not in used and _is_optional(node):
            del node.output[-1]
        _give_value(node)


def _is_optional(node: onnx.NodeProto) -> bool:
    """Whether a node's last output may be left out."""
    if node.domain not in MAIN_DOMAINS or not onnx.defs.has(node.op_type):
        return False
    outputs = onnx.defs.get_schema(node.op_type).outputs
    optional = onnx.defs.OpSchema.FormalParameterOption.Optional
    return len(node.output) <= len(outputs) and outputs[len(node.output) - 1].option == optional


_NUMBERS = {
    "value_float": numpy.float32,
    "value_floats": numpy.float32,
    "value_int": numpy.int64,
    "value_ints": numpy.int64,
}


def _give_value(node: onnx.NodeProto) -> None:
    """Let a constant that is a number, or a list of some, hold a tensor."""
    if node.op_type != "Constant" or node.domain not in MAIN_DOMAINS or len(node.attribute) != 1:
        return
    (attribute,) = node.attribute
    if attribute.name in _NUMBERS:
        numbers = numpy.asarray(
            onnx.helper.get_attribute_value(attribute), _NUMBERS[attribute.name]
        )
        tensor = onnx.numpy_helper.from_array(numbers)
        attribute.CopyFrom(onnx.helper.make_attribute("value", tensor))
