"""Products of an ONNX model with the operations that follow them, each pair as one kernel.

`everything` has products with the activations that they ship with. What else follows a product, and
works on single elements, becomes a function here, which the product calls before it stores; so do
functions of the user's that are operators (`cd.onnx.register`):

    replace=onnx_epilogues.everything_in("model.onnx")
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy
import onnx
from onnx import NodeProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import custom_dispatch as cd
from cuda_kernels.patterns import onnx as of_onnx
from cuda_kernels.patterns.epilogues import (
    POINTS,
    Chain,
    with_activation,
)
from cuda_kernels.patterns.onnx_operations import attribute_of
from cuda_kernels.patterns.onnx_products import Computed, Product, chains_of
from cuda_kernels.patterns.profitable import product_on_cpus
from custom_dispatch.frontends.functions import asked_for
from custom_dispatch.frontends.onnx import importer
from custom_dispatch.frontends.onnx.importing import bring_into_one_form
from custom_dispatch.frontends.onnx.model import read_model
from custom_dispatch.frontends.outside_weights import INLINE_BYTES
from custom_dispatch.toolchain.plan import check_callees

Patterns = tuple[cd.onnx.Pattern, ...]
_SHIP = ("Add", "Relu", "Gelu", "Swish")
"""Operators of which there are patterns together with a product."""


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
            bring_into_one_form(typed.graph)
        for chain in chains_of(typed, called):
            keyed = _pattern_of(chain, typed)
            if keyed is not None:
                found.setdefault(*keyed)
    return tuple(found.values())


def _pattern_of(chain: Chain, model: onnx.ModelProto) -> tuple[object, cd.onnx.Pattern] | None:
    """What puts a kernel there, and what tells it from others; None where another pattern does."""
    graph = _graph_of(chain)
    if graph is None:
        return None
    if not chain.words or (chain.is_one and any(_ships(e.source.node) for e in chain.operations)):
        return None
    chain, product = (
        with_activation(chain, partial(_on_points, model), chain.dtype),
        chain.product.source,
    )
    kernel = chain.kernel(product.layout)
    made = helper.make_model(graph, opset_imports=model.opset_import)
    pattern = cd.onnx.Pattern(kernel, made, required=False)
    if chain.product.kind == "f32":
        pattern = pattern.profitable_where(cpu=product_on_cpus(product.layout))
    kinds = tuple(each.kind for each in (chain.product, *chain.operations))
    return (kernel.name, kinds, graph.SerializeToString(deterministic=True)), pattern


def _ships(node: NodeProto) -> bool:
    return node.op_type in _SHIP and (node.op_type != "Swish" or attribute_of(node, "alpha") == 1)


def _graph_of(chain: Chain) -> onnx.GraphProto | None:
    """The product and the operations as a graph of the kernel's operands.

    None where a number has the type of something else.
    """
    product: Product = chain.product.source
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
    # In the model's names, for what numbers are converted to the type of.
    known = {multiplied.output[0]: "product", product.nodes[-1].output[0]: nodes[-1].output[0]}
    for index, value in enumerate(chain.operations):
        names[value] = f"y{index}"
        computed: Computed = value.source
        known[computed.node.output[0]] = names[value]
        new, rest = _copied(computed.node, names[value]), iter(value.operands)
        for at, each in enumerate(new.input):
            number = computed.numbers.get(each)
            if number is None:
                new.input[at] = names[next(rest)] if each else ""
                continue
            new.input[at] = f"number_{len(numbers)}"
            numbers[new.input[at]] = number.array
            for conversion in number.conversions:
                nodes.append(_copied(conversion, f"{new.input[at]}_as"))
                others = [known.get(name) for name in conversion.input[1:]]
                if None in others:
                    return None
                nodes[-1].input[:] = [new.input[at], *map(str, others)]
                new.input[at] = nodes[-1].output[0]
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
    assert graph is not None  # noqa: S101 - that of a longer chain has been written
    kept = graph.node[len(chain.product.source.nodes) :]
    for node in kept:
        if node.op_type == "CastLike":
            node.op_type = "Identity"
            del node.input[1]
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
