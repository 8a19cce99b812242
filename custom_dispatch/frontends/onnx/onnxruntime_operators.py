"""onnxruntime's own operators in ONNX's words, as `onnxruntime_operators.txt` has them.

A node becomes a call of a function, of which ONNX puts the nodes in its place.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import onnx
from onnx import inliner, version_converter

from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.onnx.importing import MAIN_DOMAINS
from custom_dispatch.frontends.onnx.node import label_of, nodes_of

_DOMAIN, _FUNCTIONS = "com.microsoft", "onnxruntime"
"""That of the operators, and that of their functions."""
_SIMPLIFIED = "SimplifiedLayerNormalization"
"""One that is in ONNX's own domain."""
_CORRECTED = ("DepthToSpace", "GridSample", "QLinearConv", "QLinearMatMul")
"""Operators of ONNX that IREE 3.13 computes wrongly, at least in the form that a function has."""
_IN_NAMES = {"activation": {}, "mode": {"GridSample": "linear"}}
_IN_NAMES |= {"padding_mode": {"GridSample": "zeros"}}
"""Attributes whose words are in the functions' names, and by operator what they are by default."""
_VERSION = 23
"""The first version of ONNX that has all operators of the functions."""
_ASKS = "OptionalHasElement"


def written_out(
    model: onnx.ModelProto, is_kept: Callable[[str, str], bool], least: int
) -> onnx.ModelProto:
    """A model with ONNX's nodes in the place of onnxruntime's.

    - `is_kept`: whether a node stays as it is, by its domain and operator.
    - `least`: the version of ONNX that it is to have at least; a model that ONNX cannot convert
      keeps its own.
    """
    every = list(nodes_of(model.graph))
    nodes = [n for n in every if n.domain == _DOMAIN or n.op_type == _SIMPLIFIED]
    least = max(least, _VERSION) if nodes else least
    nodes += [n for n in every if n.domain in MAIN_DOMAINS and n.op_type in _CORRECTED]
    if not nodes:
        return _converted(model, least)
    text = Path(__file__).with_suffix(".txt").read_text()
    functions = {item.name: item for item in onnx.parser.parse_model(text).functions}
    for node in nodes:
        said = {item.name: item.s.decode() for item in node.attribute if item.name in _IN_NAMES}
        words = (said.get(name, of.get(node.op_type, "")) for name, of in _IN_NAMES.items())
        function = functions.get(node.op_type + "".join(words))
        if function is None or is_kept(node.domain, node.op_type):
            continue
        for problem in _problems(node, function):
            raise problem
        given = {item.name for item in node.attribute}
        node.attribute.extend(item for item in function.attribute_proto if item.name not in given)
        node.domain, node.op_type = _FUNCTIONS, function.name
    model.opset_import.append(onnx.helper.make_opsetid(_FUNCTIONS, 1))
    model = _converted(model, least)
    version = next(item.version for item in model.opset_import if item.domain in MAIN_DOMAINS)
    for function in functions.values():
        function.opset_import[0].version = version
    model.functions.extend(functions.values())
    model = inliner.inline_local_functions(model)
    for node in nodes_of(model.graph):
        if node.op_type == _ASKS:  # whether an input of a function is there
            has = onnx.helper.make_tensor("", onnx.TensorProto.BOOL, [], [bool(node.input.pop())])
            node.op_type = "Constant"
            node.attribute.append(onnx.helper.make_attribute("value", has))
    return model


def _converted(model: onnx.ModelProto, least: int) -> onnx.ModelProto:
    versions = [item.version for item in model.opset_import if item.domain in MAIN_DOMAINS]
    if not versions or max(versions) >= least:
        return model
    try:
        return version_converter.convert_version(model, least)
    except Exception:  # noqa: BLE001 - C++ raises whatever it finds
        return model


def _problems(node: onnx.NodeProto, function: onnx.FunctionProto) -> Iterator[ModelError]:
    """What a function does not know of a node."""
    inner = list(nodes_of(function))
    used = {name for item in inner for name in item.input}
    asked = {item.input[0] for item in inner if item.op_type == _ASKS}
    gives = {name for item in function.node for name in item.output}
    read = {item.ref_attr_name for each in inner for item in each.attribute}
    formals = [*function.input, *map(str, range(len(function.input), len(node.input)))]
    actual: Mapping[str, str] = dict(zip(formals, node.input, strict=False))
    for formal in formals:
        if actual.get(formal) and formal not in used:
            yield _refusal(node, f"an input `{formal}`", "none")
        if not actual.get(formal) and formal in used - asked:
            yield _refusal(node, f"no input `{formal}`", "one")
    for formal, name in zip(function.output, node.output, strict=False):
        if name and formal not in gives:
            yield _refusal(node, f"a result `{formal}`", "none that is used")
    values = onnx.helper.get_attribute_value
    defaults = {item.name: values(item) for item in function.attribute_proto}
    for item in node.attribute:
        if item.name not in read and defaults.get(item.name) != values(item):
            wanted = str(defaults.get(item.name, "none"))
            yield _refusal(node, f"the attribute `{item.name}` of {values(item)}", wanted)


def _refusal(node: onnx.NodeProto, found: str, expected: str) -> ModelError:
    return ModelError(
        f"{label_of(node)} of onnxruntime has {found}, which this package does not write in "
        "ONNX's words.",
        expected=expected,
        next_step="export or optimise the model in another way, or replace the node with a "
        "kernel: cd.onnx.Pattern.",
    )
