"""A graph of ONNX as the values in which chains behind products are looked for."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
import onnx
from onnx import NodeProto, numpy_helper

import custom_dispatch as cd
from cuda_kernels.patterns import statements
from cuda_kernels.patterns.epilogues import (
    KINDS,
    Chain,
    Statement,
    Value,
    connected,
    longest_chains,
)
from cuda_kernels.patterns.onnx_operations import attribute_of, expression_of
from custom_dispatch.frontends.onnx import importer
from custom_dispatch.frontends.onnx.importing import MAIN_DOMAINS
from custom_dispatch.frontends.onnx.node import element_type_of, graphs_of, nodes_of, tensor_type
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.kernel import Kernel

_MOST_UNIFORM = 4096
"""Elements of a constant that is looked at for being one number."""
_NONE: importer.Nodes = {}


@dataclass(frozen=True, eq=False)
class Product:
    """A product with its bias."""

    nodes: tuple[NodeProto, ...]
    layout: str
    """Of the kernel."""
    operands: tuple[str, ...]
    """What it multiplies, and its bias if it has one."""


@dataclass(frozen=True, eq=False)
class Number:
    """A constant that is the same number everywhere."""

    number: float
    array: Any
    """What the model holds."""
    conversions: tuple[NodeProto, ...] = ()
    """What gives it other types, in order; a CastLike takes nothing of what its other input holds.
    """


@dataclass(frozen=True, eq=False)
class Computed:
    """An operation on elements."""

    node: NodeProto
    numbers: Mapping[str, Number]
    """The constants that it takes, by name."""


def chains_of(model: onnx.ModelProto, kernels: importer.Nodes = _NONE) -> list[Chain]:
    """The longest chain of each product, of those that end in the same place the longest one.

    Parameters
    ----------
    model
        With the types of all that it computes.
    kernels
        What its nodes stand for that are kernels and functions of the user's.
    """
    return longest_chains(_products(model.graph, values_of(model.graph, kernels)))


def values_of(graph: onnx.GraphProto, kernels: importer.Nodes = _NONE) -> dict[str, Value]:
    """What a graph with types computes, by name; without what branches and loops compute inside."""
    types = {item.name: item.type for item in [*graph.input, *graph.value_info, *graph.output]}
    constants = {item.name: item for item in graph.initializer}
    constants |= {
        node.output[0]: item.t
        for node in graph.node
        for item in node.attribute
        if node.op_type == "Constant" and item.name == "value"
    }
    found = {name: _number(item) for name, item in constants.items()}
    numbers = {name: number for name, number in found.items() if number is not None}
    known = dict.fromkeys([*types, *constants])
    values = {name: _typed(types.get(name), constants.get(name)) for name in known}
    computed = {name for node in graph.node for name in node.output}
    order = [value for name, value in values.items() if name not in computed]
    # Patterns of convolutions have it in PyTorch's words, in which then all of a model are.
    left = ("LeakyRelu",) if any(node.op_type == "Conv" for node in nodes_of(graph)) else ()
    for node in graph.node:
        for name in filter(None, node.output):
            order.append(values.setdefault(name, Value(None, "", ())))
        if node.op_type in ("Cast", "CastLike") and node.input[0] in numbers:
            numbers |= _converted(node, values[node.output[0]].kind, numbers[node.input[0]])
        if node.output[0] not in numbers:
            _read(node, values, numbers, kernels)
        if node.op_type in left:
            values[node.output[0]].statement = None
    connected(order)
    for node in graph.node:
        for inner in graphs_of(node):
            outside = {name for each in nodes_of(inner) for name in each.input}
            outside |= {item.name for item in inner.output}
            for name in outside & values.keys():
                values[name].is_result = True
    for item in graph.output:
        values[item.name].is_result = True
    return values


def _typed(said: onnx.TypeProto | None, constant: onnx.TensorProto | None) -> Value:
    kind = tensor_type(said)
    element, sizes = (0, None) if kind is None else (kind.element, kind.shape)
    if constant is not None:
        element, sizes = constant.data_type, tuple(constant.dims)
    known = element_type_of(element)
    name = "" if known is None or known.name not in (*KINDS, "bool") else known.name
    # A size that is not known is like no other.
    shape = tuple(object() if size is None else size for size in sizes or ())
    return Value(None, "" if sizes is None else name, shape)


def _number(tensor: onnx.TensorProto) -> Number | None:
    """A constant that is one number, or, of several dims, the same one everywhere."""
    size = math.prod(tensor.dims)
    if size != 1 and not (len(tensor.dims) > 1 and 1 < size <= _MOST_UNIFORM):
        return None
    array = numpy_helper.to_array(tensor)
    is_number = array.dtype.kind in "iuf" or array.dtype.name == "bfloat16"
    same = is_number and bool((array == array.flat[0]).all())  # NaN is not
    return Number(float(array.flat[0]), array) if same else None


def _converted(node: NodeProto, kind: str, given: Number) -> dict[str, Number]:
    """What a conversion makes of a number of the model's."""
    if kind not in KINDS:
        return {}
    number = float(numpy.float64(given.number).astype(ELEMENT_TYPES[kind].to_numpy()))
    return {node.output[0]: Number(number, given.array, (*given.conversions, node))}


def _read(
    node: NodeProto,
    values: Mapping[str, Value],
    numbers: Mapping[str, Number],
    kernels: importer.Nodes,
) -> None:
    """Say of what a node gives how it is computed."""
    results = [values[name] for name in node.output if name]
    taken = [name for name in node.input if name in values and name not in numbers]
    for value in results:
        value.operands = tuple(values[name] for name in taken)
    kinds = [values[name].kind if name in values else "" for name in node.input]
    if len(results) != 1 or not results[0].kind or any(not values[name].kind for name in taken):
        return
    value = results[0]
    kernel = kernels.get((node.domain, node.op_type))
    function = kernel.function if isinstance(kernel, Kernel) else None
    if function is not None and len(function.results) == 1:
        value.statement = _statement(node, numbers, partial(_called, function))
        value.function = function
    else:
        expression = expression_of(node, kinds, value.kind)
        if expression is None:
            return
        value.statement = _statement(
            node,
            numbers,
            lambda name, given: statements.declared(
                name, expression(given), "bool" if value.kind == "bool" else "float"
            ),
        )
    is_conversion = node.op_type in ("Identity", "Cast") and "bool" not in (*kinds, value.kind)
    value.word = "" if is_conversion else node.op_type.lower()
    value.source = Computed(node, {each: numbers[each] for each in node.input if each in numbers})


def _called(function: cd.Function, name: str, given: Sequence[str | None]) -> str:
    return statements.called(function, name, [f"{each}" for each in given])


def _statement(node: NodeProto, numbers: Mapping[str, Number], write: Any) -> Statement:
    def statement(name: str, given: Sequence[str]) -> str:
        rest = iter(given)
        texts = [
            None
            if not each
            else statements.literal(numbers[each].number)
            if each in numbers
            else next(rest)
            for each in node.input
        ]
        return str(write(name, texts))

    return statement


# -- products


def _products(graph: onnx.GraphProto, values: Mapping[str, Value]) -> Iterator[Value]:
    """What products give, with their biases."""
    names = {value: name for name, value in values.items()}
    for node in graph.node:
        product = _product_of(node, values)
        if product is None:
            continue
        value = values[node.output[0]]
        if len(product.operands) == 2 and len(value.readers) == 1 and not value.is_result:
            (reader,) = value.readers
            added = reader.source.node if isinstance(reader.source, Computed) else None
            others = [each for each in reader.operands if each is not value]
            if added is not None and added.op_type == "Add" and len(others) == 1:
                bias = others[0]
                if bias.kind == value.kind and bias.shape == value.shape[-1:]:
                    operands = (*product.operands, names[bias])
                    product = Product((node, added), product.layout, operands)
                    value = reader
        value.source = product
        yield value


def _product_of(node: NodeProto, values: Mapping[str, Value]) -> Product | None:
    if node.domain not in MAIN_DOMAINS or node.op_type not in ("MatMul", "Gemm"):
        return None
    operands = tuple(name for name in node.input if name)
    if any(name not in values for name in operands):
        return None
    a, b, *bias = (values[name].shape for name in operands)
    if node.op_type == "Gemm":
        factors = (attribute_of(node, "alpha"), attribute_of(node, "beta"))
        turned = bool(attribute_of(node, "transB"))
        columns = (b[0 if turned else 1],)
        if attribute_of(node, "transA") or factors != (1.0, 1.0) or bias not in ([], [columns]):
            return None
        return Product((node,), "linear" if turned else "matmul", operands)
    if len(b) == 2 and len(a) > 1:
        return Product((node,), "matmul", operands)
    if len(b) > 2 and a[:-2] == b[:-2]:
        return Product((node,), "batch_matmul", operands)
    return None
