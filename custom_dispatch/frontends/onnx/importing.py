"""ONNX graphs as functions of the torch dialect, by the importer that comes with IREE.

Each node becomes one `torch.operator`, of a model as of a pattern's graph.
"""

import ast
import math
import re
import warnings
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy
import onnx
from iree.compiler import ir, passmanager
from iree.compiler.extras import onnx_importer

from custom_dispatch.frontends.onnx.damage import array_of
from custom_dispatch.frontends.onnx.node import graphs_of, nodes_of, numpy_type, tensor_type
from custom_dispatch.link.constants import owner_of
from custom_dispatch.link.dialects.torch_dialect import DEFINITION, OPERATOR
from custom_dispatch.link.operations import kind_of, operations_of
from custom_dispatch.match.sizes import bind_shape, name_size

_DEFINED = {"": {"Attention", "CausalConvWithState", "MeanVarianceNormalization", "Softsign"}}
"""Operators that IREE does not know, and with what ONNX defines them it does."""
_MOST_COMPARED = 2**20
"""Bytes of a constant that IREE compares by value; those of larger ones it knows by a name."""


def import_function(
    model: onnx.ModelProto, module: ir.Module, *, any_rank: bool = False
) -> Mapping[str, ir.Value]:
    """Put a function for a model's graph into a module; return its values by their names.

    `any_rank`: whether tensors are to be of any rank, of what types of elements the model says.
    """
    config = onnx_importer.Config(
        function_expansion_allowlists_by_domain={} if any_rank else _DEFINED
    )
    info = onnx_importer.ModelInfo(model, config=config)
    types = (_OfAnyRank if any_rank else Types)(module.context)
    importer = onnx_importer.NodeImporter.define_function(
        info.main_graph, module.operation, types, _Definitions(module.operation, types)
    )
    with warnings.catch_warnings():
        # Of results that nobody uses, as the importer of models makes sure.
        warnings.filterwarnings("ignore", "Found a node without a valid type")
        importer.import_all()
    values: Mapping[str, ir.Value] = importer._nv_map
    return values


_IN_TORCHS_WORDS = {
    *("BatchNormalization", "Conv", "GroupNormalization", "InstanceNormalization", "LeakyRelu")
}
"""Operators of which patterns are written in PyTorch's words: those have numbers for all of `pads`,
`auto_pad`, `group` and what else ONNX has as attributes, which are left out or come in two ways."""
_LEFT = "custom_dispatch_left."


def write_in_torchs_words(module: ir.Module, kept: Collection[str]) -> None:
    """Have IREE convert some operators of ONNX to PyTorch's, but for some, before all others."""
    converted = {f"onnx.{name}" for name in _IN_TORCHS_WORDS if name not in kept}
    every = [op for op in operations_of(module, OPERATOR) if kind_of(op).startswith("onnx.")]
    others = [op for op in every if kind_of(op) not in converted]
    if len(others) == len(every):
        return
    for op in others:  # the pass refuses what it does not know
        op.attributes["name"] = ir.StringAttr.get(f"{_LEFT}{kind_of(op)}")
    passmanager.PassManager.parse(_TO_TORCHS_WORDS).run(module.operation)
    for op in operations_of(module, OPERATOR):
        op.attributes["name"] = ir.StringAttr.get(kind_of(op).removeprefix(_LEFT))


_TO_TORCHS_WORDS = "builtin.module(func.func(convert-torch-onnx-to-torch))"


def attribute_of(attribute: onnx.AttributeProto) -> ir.Attribute:
    """A node's attribute as the importer makes it."""
    make = onnx_importer.ATTRIBUTE_TYPE_HANDLERS[attribute.type]
    found: ir.Attribute = make(attribute, Types(ir.Context.current))
    return found


class Types(onnx_importer.ContextCache):  # type: ignore[misc] # IREE's has no types
    """Types and constants as the importer makes them, but for constants: these have values."""

    def tensor_proto_to_attr(self, tensor: onnx.TensorProto) -> ir.Attribute:
        """A constant's attribute."""
        dtype = numpy_type(tensor.data_type)
        if dtype is None or dtype.kind == "c":
            return super().tensor_proto_to_attr(tensor)
        array = numpy.ascontiguousarray(array_of(tensor)).reshape(tuple(tensor.dims))
        if array.nbytes > _MOST_COMPARED:
            return super().tensor_proto_to_attr(tensor)
        bits = array if dtype.kind == "b" else array.view(f"u{dtype.itemsize}")
        return ir.DenseElementsAttr.get(bits, type=self.tensor_proto_to_builtin_type(tensor))


class _OfAnyRank(Types):
    """Types of tensors of any rank, and of any elements where the model does not say them."""

    def type_proto_to_type(self, kind: onnx.TypeProto) -> ir.Type:
        """A value's type."""
        element = kind.tensor_type.elem_type if kind else 0
        text = f"<*,{self.tensor_element_type(element)}>" if element else ""
        return ir.Type.parse(f"!torch.vtensor{text}", context=self._c)


class _Definitions(onnx_importer.ModuleCache):  # type: ignore[misc] # IREE's has no types
    """ONNX's own definitions of operators that IREE does not know, for the nodes no kernel takes.

    Such a node stays one operation, which patterns may look for, and names the function that
    defines it. A call of that takes its place when the model is converted.
    """

    def get_operator_function(self, *arguments: Any) -> None:
        """Write the definition of a node's operator, if it is needed."""
        *of, node, config = arguments
        plain = onnx.NodeProto(op_type=node.op_type, attribute=node.attribute)
        plain.input.extend(f"input{i}" if name else "" for i, name in enumerate(node.input))
        plain.output.extend(f"output{i}" if name else "" for i, name in enumerate(node.output))
        function = super().get_operator_function(*of, plain, config)
        if function is not None:
            function.attributes[DEFINITION] = ir.UnitAttr.get()
            name = str(function.attributes["sym_name"].value)
            node.attribute.append(onnx.helper.make_attribute(DEFINITION, name))


_OPEN = re.compile(r"!torch\.vtensor<\[[^]]*\?")


def bind_sizes(graph: onnx.GraphProto, values: Mapping[str, ir.Value]) -> None:
    """Say the sizes of values whose types leave some open.

    `torch.symbolic_int` names a size, and `torch.bind_symbolic_shape` says which a value has. They
    are for whoever looks for patterns, and compute nothing.

    `values`: those of the function that it was imported as, by name.
    """
    symbols: dict[str, ir.Value] = {}
    types = {
        item.name: tensor_type(item.type)
        for item in [*graph.input, *graph.output, *graph.value_info]
    }
    some = next(iter(values.values()))
    owner = owner_of(some)
    start = ir.InsertionPoint.at_block_begin(some.owner if owner is None else owner.block)
    own: list[ir.Value] = []

    def symbol(name: str) -> ir.AffineExpr:
        if name not in symbols:
            symbols[name] = name_size(name, 0, start)
        if symbols[name] not in own:
            own.append(symbols[name])
        return ir.AffineSymbolExpr.get(own.index(symbols[name]))

    for of, kind in types.items():
        value = values.get(of)
        if value is None or kind is None or not _OPEN.match(str(value.type)):
            continue
        own.clear()
        sizes = []
        for axis, size in enumerate(kind.shape or ()):
            if isinstance(size, int):
                sizes.append(ir.AffineConstantExpr.get(size))
                continue
            sizes.append(_affine(size or f"{of}.shape[{axis}]", symbol))
        owner = owner_of(value)
        bind_shape(value, own, sizes, start if owner is None else ir.InsertionPoint.after(owner))


def _affine(size: str, symbol: Callable[[str], ir.AffineExpr]) -> ir.AffineExpr:
    """A size that is said as a name, or computed of some: "floor(height/2 - 1/2) + 1".

    What is no sum, multiple or floor of a quotient counts as a name.
    """

    def of(node: ast.expr) -> tuple[ir.AffineExpr, int]:
        """A size multiplied by a number, and that number."""
        match node:
            case ast.Constant(int() as number):
                return ir.AffineConstantExpr.get(number), 1
            case ast.UnaryOp(ast.USub(), value):
                expr, by = of(value)
                return expr * -1, by
            case ast.BinOp(left, ast.Add() | ast.Sub() as operator, right):
                (one, by), (other, times) = of(left), of(right)
                sign, both = (1 if isinstance(operator, ast.Add) else -1), math.lcm(by, times)
                return one * (both // by) + other * (sign * both // times), both
            case ast.BinOp(ast.Constant(int() as number), ast.Mult(), value):
                expr, by = of(value)
                return expr * number, by
            case ast.BinOp(value, ast.Div(), ast.Constant(int() as number)) if number > 0:
                expr, by = of(value)
                return expr, by * number
            case ast.Call(ast.Name("floor"), [value]):
                expr, by = of(value)
                return ir.AffineExpr.get_floor_div(expr, by), 1
        return symbol(ast.unparse(node)), 1

    try:
        found, by = of(ast.parse(size, mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a name may be anything
        by = 0
    return found if by == 1 else symbol(size)


MAIN_DOMAINS = ("", "ai.onnx")
"""Names of the domain that most operators of ONNX are in."""


def bring_into_one_form(graph: onnx.GraphProto) -> None:
    """Write what means the same in the same way.

    Inputs and outputs that are left out are not named at the end, outputs that nobody uses are
    left out where ONNX allows it, and constants are tensors. Norms by known statistics do not say
    how these would be updated.
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
        if node.op_type == "BatchNormalization" and len(node.output) == 1:
            said = [item for item in node.attribute if item.name != "momentum"]
            del node.attribute[:]
            node.attribute.extend(said)
        _give_value(node)


def schema_of(node: onnx.NodeProto, *version: int) -> onnx.defs.OpSchema | None:
    """What ONNX says of a node's operator, in its newest version or another; None for a foreign."""
    try:
        known = node.domain in MAIN_DOMAINS and onnx.defs.get_schema(node.op_type, *version)
    except onnx.defs.SchemaError:
        return None
    return known or None


def _is_optional(node: onnx.NodeProto) -> bool:
    """Whether a node's last output may be left out."""
    schema = schema_of(node)
    outputs = schema.outputs if schema else ()
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
