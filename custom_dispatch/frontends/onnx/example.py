"""A pattern's graphs as examples: imported as models are, with types that leave the rank open."""

from __future__ import annotations

import dataclasses
from typing import Any

import onnx
from iree.compiler import ir

from custom_dispatch.errors import DeclarationError, excerpt
from custom_dispatch.frontends.onnx.dtypes import onnx_type
from custom_dispatch.frontends.onnx.importing import attribute_of, import_function
from custom_dispatch.frontends.onnx.node import buffers_of
from custom_dispatch.frontends.onnx.one_form import MAIN_DOMAINS
from custom_dispatch.frontends.onnx.pattern import Computed, Pattern
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.link.corrections.open_sizes import is_from_onnx
from custom_dispatch.link.symbols import functions_of
from custom_dispatch.match.example import Example, read_example
from custom_dispatch.match.pattern import wrong
from custom_dispatch.match.searched import Searched
from custom_dispatch.match.text import KnownExamples

_ATTRIBUTE = "torch.onnx."
_NEWEST = onnx.defs.onnx_opset_version()
_VERSION = "torch.onnx_meta.opset_version"


def graph_examples(pattern: Pattern, model: Searched) -> KnownExamples:
    """The examples of a pattern of ONNX.

    One that need not be found is not looked at where the model lacks its operators or types.

    Parameters
    ----------
    model
        The model, in whose context they are.

    Raises
    ------
    DeclarationError
        The model is not from ONNX, or a graph is written for another version of ONNX, or computes
        nothing that the kernel could stand for.
    """
    if not is_from_onnx(model.module):
        raise wrong(
            pattern.kernel,
            "is one of ONNX, and the model is not",
            "a cd.Pattern, or one of the model's own framework",
        )
    computes = pattern.computes
    if not pattern.required:
        computes = tuple(
            item
            for item in computes
            if model.names.issuperset(map(_kind_of, item.graph.node))
            and model.may_hold(pattern.kernel)
        )
    graphs = _Graphs(pattern, model.module)
    return KnownExamples(pattern, [graphs.example(item) for item in computes])


class _Graphs:
    """A pattern's graphs, imported into the context of a model."""

    def __init__(self, pattern: Pattern, module: ir.Module) -> None:
        self._pattern = pattern
        self._context = module.context
        self._version = _version_of(module)
        names = arguments_by_name(pattern.kernel)
        self._arguments = {name: item.name for name, item in names.items()}

    def example(self, computed: Computed) -> Example:
        """A graph as an example."""
        self._check_version(computed)
        graph, version = self._typed(computed.graph), self._version or _NEWEST
        domains = {"" if node.domain in MAIN_DOMAINS else node.domain for node in graph.node}
        versions = [onnx.helper.make_opsetid(name, 1 if name else version) for name in domains]
        with self._context, ir.Location.unknown():
            module = ir.Module.create()
            model = onnx.helper.make_model(graph, opset_imports=versions)
            try:
                import_function(model, module, any_rank=True)
            except Exception as error:  # the importer raises whatever its assumptions end in
                raise wrong(
                    self._pattern.kernel,
                    "has a graph that IREE's importer does not take",
                    "nodes whose inputs are given before, with attributes that are not graphs",
                    "write the graph without what it names:",
                    log=excerpt(f"{type(error).__name__}: {error}"),
                ) from error
            names = [self._arguments[item.name] for item in graph.input]
            example = read_example(self._pattern, module, names)
            defaults = {_kind_of(node): _defaults(node, version) for node in graph.node}
        scalars = {name for name in example.operands.values() if name in example.scalars}
        return dataclasses.replace(
            example,
            operands={v: name for v, name in example.operands.items() if name not in scalars},
            holes={v: name for v, name in example.operands.items() if name in scalars},
            captured={f"{_ATTRIBUTE}{name}": self._arguments[name] for name in computed.captured},
            defaults=defaults,
        )

    def _typed(self, graph: onnx.GraphProto) -> onnx.GraphProto:
        """A graph whose inputs and outputs have the element types of the kernel's operands."""
        kernel = self._pattern.kernel
        typed = onnx.GraphProto()
        typed.CopyFrom(graph)
        operands = {item.name: item for item in buffers_of(kernel)}
        pairs = [(value, operands.get(value.name)) for value in typed.input]
        for value, operand in [*pairs, *zip(typed.output, kernel.outputs, strict=True)]:
            if operand is not None:
                value.type.tensor_type.elem_type = onnx_type(operand.dtype)
        return typed

    def _check_version(self, computed: Computed) -> None:
        version = self._version
        if computed.version in (None, version) or version is None:
            return
        for node in computed.graph.node:
            if _form(node, version) != _form(node, computed.version):
                raise DeclarationError(
                    f"The pattern of kernel `{self._pattern.kernel.name}` is written for version "
                    f"{computed.version} of ONNX, and the model for version {version}, which has "
                    f"another {node.op_type}.",
                    expected="one version",
                    next_step="convert the pattern: "
                    f"onnx.version_converter.convert_version(pattern, {version}).",
                )


def _kind_of(node: onnx.NodeProto) -> str:
    return f"onnx.{node.op_type}"


def _version_of(module: ir.Module) -> int | None:
    """ONNX's version of a model; None for a model of something else."""
    found = (op.attributes.get(_VERSION) for op in functions_of(module))
    return next((int(ir.IntegerAttr(item).value) for item in found if item is not None), None)


def _schema(node: onnx.NodeProto, version: int | None) -> onnx.defs.OpSchema | None:
    """An operator's schema in a version of ONNX; None where it has none."""
    if node.domain not in MAIN_DOMAINS or version is None:
        return None
    try:
        return onnx.defs.get_schema(node.op_type, version)
    except onnx.defs.SchemaError:
        return None


def _defaults(node: onnx.NodeProto, version: int) -> dict[str, ir.Attribute | None]:
    """What an operator's attributes are where a node does not give them."""
    schema = _schema(node, version)
    return {
        f"{_ATTRIBUTE}{name}": attribute_of(item.default_value) if item.default_value.name else None
        for name, item in (schema.attributes.items() if schema else ())
    }


def _form(node: onnx.NodeProto, version: int | None) -> Any:
    """What a node of an operator may look like in a version; new ones often only add types."""
    schema = _schema(node, version)
    if schema is None:
        return None
    attributes = {
        name: item.default_value.SerializeToString() for name, item in schema.attributes.items()
    }
    return attributes, schema.min_input, schema.max_input, schema.max_output
