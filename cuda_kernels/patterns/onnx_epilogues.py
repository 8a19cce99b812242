"""Products of an ONNX model with the operations that follow them, each pair as one kernel.

`everything` has products with the activations that they ship with. What else follows a product, and
works on single elements, becomes a function here, which the product calls before it stores; so do
functions of the user's that are operators (`cd.onnx.register`):

    replace=onnx_epilogues.everything_in("model.onnx")
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy
import onnx
from onnx import NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import custom_dispatch as cd
from cuda_kernels.patterns import onnx as of_onnx
from cuda_kernels.patterns import statements
from cuda_kernels.patterns.epilogues import (
    KINDS,
    POINTS,
    Chain,
    Statement,
    Value,
    connected,
    longest_chains,
    with_activation,
)
from cuda_kernels.patterns.onnx_operations import attribute_of, expression_of
from cuda_kernels.patterns.profitable import product_on_cpus
from custom_dispatch.frontends.functions import asked_for
from custom_dispatch.frontends.onnx import importer
from custom_dispatch.frontends.onnx.importing import MAIN_DOMAINS
from custom_dispatch.frontends.onnx.model import read_model
from custom_dispatch.frontends.onnx.node import element_type_of, graphs_of, nodes_of, tensor_type
from custom_dispatch.frontends.outside_weights import INLINE_BYTES
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.toolchain.plan import check_callees

Patterns = tuple[cd.onnx.Pattern, ...]
_SHIP = ("Add", "Relu", "Gelu", "Swish")
"""Operators of which there are patterns together with a product."""
_MOST_UNIFORM = 4096
"""Elements of a constant that is looked at for being one number."""
_NONE: importer.Nodes = {}


def everything_in(model: Any, *, kernels: Any = None) -> Patterns:
    """`patterns.onnx.everything`, and products with what follows them in this model.

    Parameters
    ----------
    model, kernels
        As of `cd.onnx.compile`: the model is read, and its types worked out, once more for this.
    """
    patterns = of_onnx.everything
    # Sums go with norms rather than with products, and activations with products.
    names = [pattern.item.name for pattern in patterns]
    at = next(index for index, name in enumerate(names) if name.startswith("gelu"))
    return (*patterns[:at], *epilogues_in(model, kernels=kernels), *patterns[at:])


def epilogues_in(model: Any, *, kernels: Any = None) -> Patterns:
    """Those of products with what follows them alone; parameters as of `everything_in`."""
    given = None if kernels is None else {item.name: item for item in check_callees(kernels)}
    found: dict[object, cd.onnx.Pattern] = {}

    def is_kernel(domain: str, operator: str) -> bool:
        return importer.kernel_of(domain, operator, given) is not None

    for one in asked_for("main", model):
        with one.named_in_errors():
            loaded = read_model(one.model, one.name, INLINE_BYTES, is_kernel)
            called = importer.find_kernels(loaded, given)
            typed = importer.infer_types(loaded, called).model
        for chain in chains_of(typed, called):
            keyed = _pattern_of(chain, typed)
            if keyed is not None:
                found.setdefault(*keyed)
    return tuple(found.values())


@dataclass(frozen=True, eq=False)
class _Product:
    """A product with its bias."""

    nodes: tuple[NodeProto, ...]
    layout: str
    """Of the kernel."""
    operands: tuple[str, ...]
    """What it multiplies, and its bias if it has one."""


@dataclass(frozen=True, eq=False)
class _Computed:
    """An operation on elements."""

    node: NodeProto
    numbers: Mapping[str, Any]
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
    arrays = {name: _number(item) for name, item in constants.items()}
    numbers = {name: array for name, array in arrays.items() if array is not None}
    known = dict.fromkeys([*types, *constants])
    values = {name: _typed(types.get(name), constants.get(name)) for name in known}
    computed = {name for node in graph.node for name in node.output}
    order = [value for name, value in values.items() if name not in computed]
    # Patterns of convolutions have it in PyTorch's words, in which then all of a model are.
    left = ("LeakyRelu",) if any(node.op_type == "Conv" for node in nodes_of(graph)) else ()
    for node in graph.node:
        for name in filter(None, node.output):
            order.append(values.setdefault(name, Value(None, "", ())))
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


def _number(tensor: onnx.TensorProto) -> Any:
    """A constant that is one number, or, of several dims, the same one everywhere; else None."""
    size = math.prod(tensor.dims)
    if size != 1 and not (len(tensor.dims) > 1 and 1 < size <= _MOST_UNIFORM):
        return None
    array = numpy_helper.to_array(tensor)
    is_number = array.dtype.kind in "iuf" or array.dtype.name == "bfloat16"
    same = is_number and bool((array == array.flat[0]).all())  # NaN is not
    return array if same else None


def _read(
    node: NodeProto,
    values: Mapping[str, Value],
    numbers: Mapping[str, Any],
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
    value.source = _Computed(node, {each: numbers[each] for each in node.input if each in numbers})


def _called(function: cd.Function, name: str, given: Sequence[str | None]) -> str:
    return statements.called(function, name, [f"{each}" for each in given])


def _statement(node: NodeProto, numbers: Mapping[str, Any], write: Any) -> Statement:
    def statement(name: str, given: Sequence[str]) -> str:
        rest = iter(given)
        texts = [
            None
            if not each
            else statements.literal(float(numbers[each].flat[0]))
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
            added = reader.source.node if isinstance(reader.source, _Computed) else None
            others = [each for each in reader.operands if each is not value]
            if added is not None and added.op_type == "Add" and len(others) == 1:
                bias = others[0]
                if bias.kind == value.kind and bias.shape == value.shape[-1:]:
                    operands = (*product.operands, names[bias])
                    product = _Product((node, added), product.layout, operands)
                    value = reader
        value.source = product
        yield value


def _product_of(node: NodeProto, values: Mapping[str, Value]) -> _Product | None:
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
        return _Product((node,), "linear" if turned else "matmul", operands)
    if len(b) == 2 and len(a) > 1:
        return _Product((node,), "matmul", operands)
    if len(b) > 2 and a[:-2] == b[:-2]:
        return _Product((node,), "batch_matmul", operands)
    return None


# -- patterns


def _pattern_of(chain: Chain, model: onnx.ModelProto) -> tuple[object, cd.onnx.Pattern] | None:
    """What puts a kernel there, and what tells it from others; None where another pattern does."""
    if not chain.words or (chain.is_one and any(_ships(e.source.node) for e in chain.operations)):
        return None
    chain, product = (
        with_activation(chain, partial(_on_points, model), chain.dtype),
        chain.product.source,
    )
    kernel = chain.kernel(product.layout)
    graph = _graph_of(chain)
    made = helper.make_model(graph, opset_imports=model.opset_import)
    pattern = cd.onnx.Pattern(kernel, made, required=False)
    if chain.product.kind == "f32":
        pattern = pattern.profitable_where(cpu=product_on_cpus(product.layout))
    kinds = tuple(each.kind for each in (chain.product, *chain.operations))
    return (kernel.name, kinds, graph.SerializeToString(deterministic=True)), pattern


def _ships(node: NodeProto) -> bool:
    return node.op_type in _SHIP and (node.op_type != "Swish" or attribute_of(node, "alpha") == 1)


def _graph_of(chain: Chain) -> onnx.GraphProto:
    """The product and the operations as a graph of the kernel's operands."""
    product: _Product = chain.product.source
    operands = ["a", "b", "bias"][: len(product.operands)]
    multiplied, *added = product.nodes
    nodes, numbers = [_copied(multiplied, "product")], dict[str, Any]()
    nodes[0].input[:] = operands[: len(multiplied.input)]
    for node in added:
        nodes.append(_copied(node, "sum"))
        nodes[1].input[:] = [
            "product" if name == multiplied.output[0] else "bias" for name in node.input
        ]
    names = {chain.product: nodes[-1].output[0]}
    names |= zip(chain.taken, chain.names, strict=True)
    for index, value in enumerate(chain.operations):
        names[value] = f"y{index}"
        computed: _Computed = value.source
        new, rest = _copied(computed.node, f"y{index}"), iter(value.operands)
        for at, each in enumerate(new.input):
            if each in computed.numbers:
                numbers[f"number_{len(numbers)}"] = computed.numbers[each]
                new.input[at] = f"number_{len(numbers) - 1}"
            elif each:
                new.input[at] = names[next(rest)]
        nodes.append(new)
    return onnx.GraphProto(
        name="pattern",
        node=nodes,
        input=map(helper.make_empty_tensor_value_info, [*operands, *chain.names]),
        output=[helper.make_empty_tensor_value_info(names[chain.result])],
        initializer=[numpy_helper.from_array(array, name) for name, array in numbers.items()],
    )


def _copied(node: NodeProto, result: str) -> NodeProto:
    new = NodeProto()
    new.CopyFrom(node)
    new.name = ""
    new.output[:] = [result]
    return new


def _on_points(model: onnx.ModelProto, chain: Chain) -> Any:
    """The operations of points in f64, in ONNX's own evaluator, which takes any type."""
    graph = _graph_of(chain)
    kept = graph.node[len(chain.product.source.nodes) :]
    for node in kept:
        for item in node.attribute:
            if node.op_type == "Cast" and item.i != onnx.TensorProto.BOOL:
                item.i = onnx.TensorProto.DOUBLE
    wide = [
        numpy_helper.from_array(numpy_helper.to_array(item).astype(numpy.float64), item.name)
        for item in graph.initializer
    ]
    first = graph.node[len(graph.node) - len(kept) - 1].output[0]
    shape = [POINTS.size]
    whole = helper.make_graph(
        kept,
        "chain",
        [helper.make_tensor_value_info(first, onnx.TensorProto.DOUBLE, shape)],
        [helper.make_tensor_value_info(kept[-1].output[0], onnx.TensorProto.DOUBLE, shape)],
        wide,
    )
    made = helper.make_model(whole, opset_imports=model.opset_import)
    with numpy.errstate(all="ignore"):
        return ReferenceEvaluator(made, new_ops=[_ERF]).run(None, {first: POINTS})[0]


def _erf(_: OpRun, x: Any) -> Any:
    """As exact as its operand; the evaluator's own is of f32."""
    return (numpy.vectorize(math.erf, otypes=[numpy.float64])(x),)


_ERF = type("Erf", (OpRun,), {"op_domain": "", "_run": _erf})
