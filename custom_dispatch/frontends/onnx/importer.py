"""ONNX models as MLIR: read, checked and completed by ONNX, imported by what comes with IREE."""

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

import onnx
from iree.compiler import ir

from custom_dispatch.errors import CustomDispatchError, LinkError, ModelError, excerpt
from custom_dispatch.frontends.onnx import importing
from custom_dispatch.frontends.onnx.damage import check_computed
from custom_dispatch.frontends.onnx.model import Graph
from custom_dispatch.frontends.onnx.node import (
    TensorType,
    element_type_of,
    graphs_of,
    label_of,
    nodes_of,
    tensor_type,
    type_name,
)
from custom_dispatch.frontends.onnx.operator import (
    OWN_DOMAINS,
    check_node,
    known_operators,
    registered_kernel,
)
from custom_dispatch.frontends.onnx.sizes import infer_sizes
from custom_dispatch.frontends.outside_weights import OutsideWeights, describe
from custom_dispatch.kernel.choice import Choice
from custom_dispatch.kernel.declared import Names
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.model import new_context
from custom_dispatch.link.operations import functions_of, name_of, operations_of

_KERNEL = "custom_dispatch."
"""Before the operator of a kernel's node while it is imported: the importer drops domains."""


Nodes: TypeAlias = Mapping[tuple[str, str], Kernel | Choice]
"""The kernels that nodes of a model stand for, by domain and operator."""


def kernel_of(
    domain: str, operator: str, given: Mapping[str, Kernel | Choice] | None
) -> Kernel | Choice | None:
    """The kernel that an operator stands for, which none of ONNX's own does.

    `given`: the kernels, of any domain; None for those that are registered.
    """
    if domain in OWN_DOMAINS:
        return None
    return registered_kernel(domain, operator) if given is None else given.get(operator)


def find_kernels(graph: Graph, given: Mapping[str, Kernel | Choice] | None) -> Nodes:
    """The nodes that stand for kernels.

    Raises `LinkError`: a node does not fit its kernel, or is of a domain that IREE does not know
    and of no kernel; or a kernel has the name of an operator of ONNX.
    Raises `DeclarationError`: two kernels, of different domains, have one name.
    """
    found: dict[tuple[str, str], Kernel | Choice] = {}
    for node in nodes_of(graph.model.graph):
        kernel = kernel_of(node.domain, node.op_type, given)
        if kernel is None:
            if node.domain not in OWN_DOMAINS:
                _check_foreign(node, given)
            continue
        check_node(kernel, node)
        found[node.domain, node.op_type] = kernel
    _check_names(found)
    return found


def _check_names(found: Nodes) -> None:
    for domain, name in found:
        if onnx.defs.has(name):
            raise LinkError(
                f"Kernel `{name}`, of the domain {domain}, has the name of an operator of ONNX.",
                expected="a name of its own: IREE's importer drops domains",
                next_step='rename it: kernel.with_launch(name="another").',
            )
    Names(found.values())


def _check_foreign(node: onnx.NodeProto, given: Mapping[str, Kernel | Choice] | None) -> None:
    """Refuse what IREE's importer would take for another operator, as it drops domains."""
    known = "those that cd.onnx.register was called for"
    if given is not None:
        known = ", ".join(sorted(given)) or "none"
    if onnx.defs.has(node.op_type):
        raise LinkError(
            f"{label_of(node)} is of a domain that IREE's importer drops: it would be taken for "
            f"ONNX's own {node.op_type}.",
            expected="an operator of ONNX, or of a kernel with another name",
            next_step="rename the operator, or write the model without it.",
        )
    if node.domain not in _IMPORTED_DOMAINS:
        raise LinkError(
            f"{label_of(node)} is an operator of no kernel.",
            expected=f"an operator of ONNX, or one of the kernels: {known}",
            next_step="give the kernel too, or correct the name.",
        )


_IMPORTED_DOMAINS = ("com.microsoft",)
"""IREE's conversion of ONNX knows some of its operators."""


def infer_types(graph: Graph, nodes: Nodes) -> Graph:
    """The model with the types of all that it computes."""
    model = _inferred(graph.model, nodes)
    _check_types(model.graph)
    check_computed(model)
    return Graph(model, graph.weights)


def import_graph(
    graph: Graph,
    nodes: Nodes,
    name: str,
    kept: Collection[str] = (),
    context: ir.Context | None = None,
    outside: OutsideWeights | None = None,
) -> ir.Module:
    """A model as a module of the torch dialect, with one public function.

    - `graph`: the model, with all types; it is changed.
    - `nodes`: the nodes that stand for kernels.
    - `kept`: operators of ONNX that patterns are looked for with.
    - `context`, `outside`: of the module that it is to be merged into, if there is one.
    """
    model = graph.model
    importing.bring_into_one_form(model.graph)
    for node in nodes_of(model.graph):
        if (node.domain, node.op_type) in nodes:
            node.op_type = f"{_KERNEL}{node.op_type}"
    module = _import(model, kept, context or new_context())
    outside = outside or OutsideWeights()
    outside.declared.clear()
    with module.context, ir.Location.unknown():
        for op in operations_of(module, "torch.operator"):
            called = str(ir.StringAttr(op.attributes["name"]).value)
            prefix, _, kernel_name = called.partition(_KERNEL)
            if prefix == "onnx." and kernel_name:
                op.attributes["name"] = ir.StringAttr.get(f"onnx.{kernel_name}")
        function = next(op for op in functions_of(module) if name_of(op) == name)
        names = [item.name for item in model.graph.input]
        inside = {item.name for item in model.graph.initializer}
        names = [item for item in names if item not in inside]
        outside.load_arguments(
            module.operation,
            function,
            {at: graph.weights[each] for at, each in enumerate(names) if each in graph.weights},
        )
    describe(module, name, list(_result_types(model.graph)))
    return module


# -- what ONNX knows of a model


def _inferred(model: onnx.ModelProto, nodes: Nodes) -> onnx.ModelProto:
    with known_operators((domain, kernel) for (domain, _), kernel in nodes.items()):
        for item in model.graph.input:
            for axis, dim in enumerate(item.type.tensor_type.shape.dim):
                if dim.WhichOneof("value") is None:
                    # With a name it is known what else has this size.
                    dim.dim_param = f"{item.name}.shape[{axis}]"
        try:
            kinds = [tensor_type(item.type) for item in model.graph.output]
            if any(kind is not None and kind.shape is None for kind in kinds):
                # onnxruntime needs none.
                model = onnx.shape_inference.infer_shapes(model, data_prop=True)
            onnx.checker.check_model(model)
            infer_sizes(model)
            return onnx.shape_inference.infer_shapes(model, data_prop=True)
        except CustomDispatchError:
            raise
        except Exception as error:  # C++ raises several kinds
            raise ModelError(
                "The ONNX model is not valid.",
                next_step="correct what ONNX's own checks find:",
                log=excerpt(str(error)),
            ) from error


def _check_types(graph: onnx.GraphProto, known: Mapping[str, onnx.TypeProto] | None = None) -> None:
    """Require the rank and the element type of every tensor.

    Where the importer knows none, it takes a tensor for a single number, or for nothing.
    """
    types = dict(known or {})
    for item in [*graph.value_info, *graph.output, *graph.input]:
        types[item.name] = item.type
    for item in graph.input:
        kind = tensor_type(item.type)
        if item.type.HasField("tensor_type") and (kind is None or kind.shape is None):
            raise ModelError(
                f"The input `{item.name}` of the ONNX model has no rank.",
                expected="a shape, of sizes that may be names or unknown",
                next_step="give it one when the model is exported.",
            )
    for what, items in (("input", graph.input), ("output", graph.output)):
        for item in items:
            kind = tensor_type(item.type)
            if kind is not None:
                _check_interface(f"The {what} `{item.name}` of the ONNX model", kind)
    used = {name for node in graph.node for name in node.input}
    used |= {item.name for item in graph.output}
    for node in graph.node:
        for inner in graphs_of(node):
            used |= {name for item in nodes_of(inner) for name in item.input}
    for node in graph.node:
        for name in node.output:
            said = types.get(name)
            if name not in used or (said is not None and said.WhichOneof("value") not in _OPEN):
                continue
            kind = tensor_type(said)
            if kind is None or kind.shape is None:
                raise ModelError(
                    f"{label_of(node)}: the {'type' if kind is None else 'rank'} of its result "
                    f"`{name}` is not known.",
                    expected="a node whose results' types follow from its inputs'",
                    next_step="say the type in the model: graph.value_info.append("
                    f'onnx.helper.make_tensor_value_info("{name}", ...)).',
                )
        for inner in graphs_of(node):
            _check_types(inner, types)


_OPEN = (None, "tensor_type")
_NO_ARRAYS = ("string", "complex64", "complex128", "int4", "uint4", "int2", "uint2", "float4e2m1")


def _check_interface(what: str, kind: TensorType) -> None:
    if type_name(kind.element) in _NO_ARRAYS:
        raise ModelError(
            f"{what} is of type {type_name(kind.element)}.",
            expected="real numbers or bools, each of whole bytes",
            next_step="convert it outside of the model.",
        )


def _result_types(graph: onnx.GraphProto) -> Iterator[str]:
    for item in graph.output:
        kind = tensor_type(item.type)
        element = element_type_of(kind.element) if kind else None
        yield element.name if element else ""


# -- the module


def _import(model: onnx.ModelProto, kept: Collection[str], context: ir.Context) -> ir.Module:
    try:
        with context, ir.Location.unknown():
            module = ir.Module.create()
            importing.bind_sizes(model.graph, importing.import_function(model, module))
            importing.write_in_torchs_words(module, kept)
        module.operation.verify()
    except CustomDispatchError:
        raise
    except Exception as error:  # the importer raises whatever its assumptions end in
        raise ModelError(
            "IREE's importer does not take the ONNX model.",
            next_step="write the model without what it names:",
            log=excerpt(f"{type(error).__name__}: {error}"),
        ) from error
    return module
