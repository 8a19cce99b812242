"""What a kernel computes, as nodes of ONNX: what is looked for in a model."""

import copy
import dataclasses
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import onnx
from iree.compiler import ir

from custom_dispatch.errors import DeclarationError, excerpt
from custom_dispatch.frontends.onnx import importing
from custom_dispatch.frontends.onnx.node import graphs_of, onnx_type, scalars_of
from custom_dispatch.kernel.declared import Declared
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.link.arguments import arguments_by_name
from custom_dispatch.link.corrections.open_sizes import is_from_onnx
from custom_dispatch.link.operations import functions_of
from custom_dispatch.match.example import Example, read_example
from custom_dispatch.match.pattern import Replaceable, wrong
from custom_dispatch.match.text import Examples, Searched

Computes: TypeAlias = str | onnx.NodeProto | onnx.GraphProto | onnx.ModelProto


@dataclass(frozen=True, slots=True)
class Computed:
    """A graph that computes what the kernel does."""

    graph: onnx.GraphProto = field(hash=False)
    """Its inputs are named after the kernel's arguments, and have no types."""
    captured: frozenset[str]
    """Scalars of the kernel that are attributes of a node, of the same name."""
    version: int | None
    """ONNX's version that it is written for; None for that of the model."""
    text: str = ""
    """MLIR in its place; the graph has the operators of ONNX that are in it, and no more."""


@dataclass(frozen=True, init=False)
class Pattern(Replaceable):
    """A kernel, and what it computes, in ONNX's operators.

    - `computes`: an operator of ONNX ("LayerNormalization"), whose inputs and outputs are those of
      the kernel, in order; a node or a graph, or a model of one, with inputs named after the
      kernel's operands, and its outputs in the kernel's order; or a list of these. Value-less
      scalars are inputs of the graph, which stand for constants with one number; or attributes of
      their names that the graph leaves out. Other attributes that are left out have ONNX's
      defaults. Optional operands may be left out.
    - `fixed`: scalars that have this value in the graph: {"causal": True}. A value may be a
      function of dims, and of numbers that are inputs of the graph: {"scale": lambda divisor: 1 /
      divisor}.
    - `first`: a node, or an operator's name, that computes the same: places are written as that
      before kernels are put, for other patterns to find.
    - `kernel, axes, required`: as for `cd.Pattern`.

    Raises `DeclarationError`: an argument has the wrong type, or the graph's inputs and outputs are
    not the kernel's.
    """

    computes: tuple[Computed, ...]
    first: Computed | None

    def __init__(
        self,
        kernel: Declared,
        computes: Computes | Sequence[Computes],
        *,
        fixed: Mapping[str, Any] | None = None,
        axes: Mapping[str, Sequence[int]] | None = None,
        first: str | onnx.NodeProto | None = None,
        required: bool = True,
    ) -> None:
        several = list(computes if is_list(computes) else (computes,))
        graphs = [item.graph if isinstance(item, onnx.ModelProto) else item for item in several]
        numbers = {v.name for g in graphs if isinstance(g, onnx.GraphProto) for v in g.input}
        self._set(kernel, required, fixed, axes=axes, numbers=numbers)
        found = tuple(_computed(self.kernel, one, self.fixed) for one in several)
        if not found:
            raise wrong(
                self.kernel, "has nothing that the kernel computes", "a node or a graph of ONNX"
            )
        self._keep(computes=found, first=None if first is None else self._first(first, found))

    def _first(self, item: str | onnx.NodeProto, others: Sequence[Computed]) -> Computed:
        node = _node(self.kernel, item) if isinstance(item, str) else item
        fixed = {name: v for name, v in self.fixed.items() if not _may_capture(node, name)}
        found = _computed(self.kernel, node, fixed)
        inputs = {item.name for item in found.graph.input}
        if any(not inputs <= {item.name for item in other.graph.input} for other in others):
            raise wrong(self.kernel, "has a first node with other inputs", "those of each graph")
        return found

    def examples(self, model: Searched) -> Examples:
        """What imports its graphs into the context of a model.

        One that need not be found is not looked at where the model lacks its operators or types.
        """
        if not is_from_onnx(model.module):
            raise wrong(
                self.kernel,
                "is one of ONNX, and the model is not",
                "a cd.Pattern, or one of the model's own framework",
            )
        computes = self.computes
        if not self.required:
            computes = tuple(
                item
                for item in computes
                if model.names.issuperset(map(_kind_of, item.graph.node)) and model.may_hold(self)
                if not item.text or model.may_hold_text(item.text)
            )
        found = [_example(self, item, model) for item in computes]
        first = self.first
        if first is not None and (found or _kind_of(first.graph.node[0]) in model.names):
            alone = copy.copy(self)
            fixed = {name: v for name, v in self.fixed.items() if name not in first.captured}
            alone._keep(axes={}, fixed=fixed)
            written = _example(alone, first, model)
            found = [written, *(dataclasses.replace(item, first=written) for item in found)]
        return Examples(self, found)


def _computed(kernel: Kernel, item: Any, fixed: Mapping[str, Any]) -> Computed:
    if isinstance(item, str) and "func.func" in item:
        operators = dict.fromkeys(_OPERATOR.findall(item))
        nodes = [onnx.helper.make_node(name, [], []) for name in operators]
        return Computed(onnx.GraphProto(node=nodes), frozenset(), None, item)
    if isinstance(item, str):
        item = _node(kernel, item)
    version = None
    if isinstance(item, onnx.ModelProto):
        version = next(
            (v.version for v in item.opset_import if v.domain in importing.MAIN_DOMAINS), None
        )
        item = item.graph
    if isinstance(item, onnx.NodeProto):
        graph = onnx.GraphProto(node=[item])
        inputs = list(dict.fromkeys(name for name in item.input if name))
        outputs = [name for name in item.output if name]
    elif isinstance(item, onnx.GraphProto):
        graph = item
        stored = {tensor.name for tensor in graph.initializer}
        inputs = [value.name for value in graph.input if value.name not in stored]
        outputs = [value.name for value in graph.output]
    else:
        raise DeclarationError(
            f"The pattern of kernel `{kernel.name}` is {shown(item)}.",
            expected="the name of an operator of ONNX, or a NodeProto, GraphProto or ModelProto",
            next_step='write cd.onnx.Pattern(kernel, "LayerNormalization").',
        )
    made = onnx.GraphProto(
        name="pattern",
        node=graph.node,
        initializer=graph.initializer,
        input=map(onnx.helper.make_empty_tensor_value_info, inputs),
        output=map(onnx.helper.make_empty_tensor_value_info, outputs),
    )
    importing.bring_into_one_form(made)
    nodes = [node for node in made.node if node.op_type != "Constant"]
    if any(True for node in nodes for _ in graphs_of(node)):
        raise wrong(kernel, "has a node with a graph in it", "nodes without branches and loops")
    for node in nodes:
        if node.domain not in importing.MAIN_DOMAINS and onnx.defs.has(node.op_type):
            raise wrong(
                kernel,
                f"has the operator {node.op_type} of the domain {node.domain}",
                f"one with another name: IREE's importer drops domains, and ONNX has a "
                f"{node.op_type} of its own",
            )
    captured = {
        name
        for name in scalars_of(kernel)
        if name not in inputs
        and name not in fixed
        and any(_may_capture(node, name) for node in nodes)
    }
    _check(kernel, fixed, inputs, outputs, captured)
    if not set(outputs) <= {name for node in nodes for name in node.output}:
        raise wrong(kernel, "has a result that no node of it gives", "a graph that computes all")
    return Computed(made, frozenset(captured), version)


def _node(kernel: Kernel, operator: str) -> onnx.NodeProto:
    """An operator's node, with the kernel's operands."""
    if not operator.isascii() or not onnx.defs.has(operator):
        raise wrong(
            kernel,
            f"names the operator {shown(operator)}",
            "an operator of ONNX",
            "correct the name, or give a node or a graph.",
        )
    most = onnx.defs.get_schema(operator).max_input
    names = [item.name for item in kernel.buffers][:most]
    return onnx.helper.make_node(operator, names, [item.name for item in kernel.outputs])


def _check(
    kernel: Kernel,
    fixed: Mapping[str, Any],
    inputs: Sequence[str],
    outputs: Sequence[str],
    captured: set[str],
) -> None:
    """Require the kernel's operands, scalars and results."""
    scalars = scalars_of(kernel)
    buffers = {item.name: item for item in kernel.buffers}
    functions = [value for value in fixed.values() if callable(value)]
    numbers = [name for item in functions for name in inspect.signature(item).parameters]
    names = [*buffers, *scalars, *numbers]
    for name in inputs:
        if name not in names or name in fixed:
            raise wrong(
                kernel,
                f"has an input `{name}`" + (", which is fixed" if name in fixed else ""),
                f"those of the kernel: {', '.join(names)}",
            )
    for name, operand in buffers.items():
        if name not in inputs and not operand.optional:
            raise wrong(kernel, f"has no input `{name}`", f"the kernel's: {', '.join(names)}")
    for name in scalars:
        if name not in inputs and name not in captured and name not in fixed:
            raise wrong(
                kernel,
                f"says nothing of `{name}`",
                "an input of the graph, or an attribute of that name which is not given",
                f'make it one, or fix the scalar: fixed={{"{name}": ...}}.',
            )
    if len(outputs) != len(kernel.outputs):
        raise wrong(
            kernel,
            f"has {len(outputs)} results",
            f"those of the kernel: {', '.join(item.name for item in kernel.outputs)}",
        )


def _may_capture(node: onnx.NodeProto, name: str) -> bool:
    """Whether a node may have an attribute, and does not give it."""
    gives = any(item.name == name for item in node.attribute)
    schema = importing.schema_of(node)
    return not gives and schema is not None and name in schema.attributes


_OPERATOR = re.compile(r'"onnx\.(\w+)"')
_ATTRIBUTE = "torch.onnx."
_NEWEST = onnx.defs.onnx_opset_version()
_VERSION = "torch.onnx_meta.opset_version"


def _example(pattern: Pattern, computed: Computed, searched: Searched) -> Example:
    """A graph as an example, in the context of a model."""
    kernel, model = pattern.kernel, searched.module
    said = _version_of(model)
    if computed.text:
        with model.context, ir.Location.unknown():
            example = read_example(pattern, searched.parsed(pattern, computed.text))
            defaults = {_kind_of(n): _defaults(n, said or _NEWEST) for n in computed.graph.node}
        return dataclasses.replace(example, defaults=defaults)
    _check_version(kernel, computed, said)
    arguments = {name: item.name for name, item in arguments_by_name(kernel).items()}
    graph, version = _typed(kernel, computed.graph), said or _NEWEST
    domains = {"" if node.domain in importing.MAIN_DOMAINS else node.domain for node in graph.node}
    versions = [onnx.helper.make_opsetid(name, 1 if name else version) for name in domains]
    with model.context, ir.Location.unknown():
        module = ir.Module.create()
        made = onnx.helper.make_model(graph, opset_imports=versions)
        try:
            importing.import_function(made, module, any_rank=True)
        except Exception as error:  # the importer raises whatever its assumptions end in
            raise wrong(
                kernel,
                "has a graph that IREE's importer does not take",
                "nodes whose inputs are given before, with attributes that are not graphs",
                "write the graph without what it names:",
                log=excerpt(f"{type(error).__name__}: {error}"),
            ) from error
        names = [arguments.get(item.name, item.name) for item in graph.input]
        example = read_example(pattern, module, names)
        defaults = {_kind_of(node): _defaults(node, version) for node in graph.node}
    scalars = {*example.operands.values()} - {item.name for item in kernel.buffers}
    return dataclasses.replace(
        example,
        operands={v: name for v, name in example.operands.items() if name not in scalars},
        holes={v: name for v, name in example.operands.items() if name in scalars},
        captured={f"{_ATTRIBUTE}{name}": arguments[name] for name in computed.captured},
        defaults=defaults,
    )


def _typed(kernel: Kernel, graph: onnx.GraphProto) -> onnx.GraphProto:
    """A graph whose inputs and outputs have the element types of the kernel's operands."""
    typed = onnx.GraphProto()
    typed.CopyFrom(graph)
    operands = {item.name: item for item in kernel.buffers}
    pairs = [(value, operands.get(value.name)) for value in typed.input]
    for value, operand in [*pairs, *zip(typed.output, kernel.outputs, strict=True)]:
        if operand is not None:
            value.type.tensor_type.elem_type = onnx_type(operand.dtype)
    return typed


def _check_version(kernel: Kernel, computed: Computed, version: int | None) -> None:
    if computed.version is None or version in (None, computed.version):
        return
    for node in computed.graph.node:
        if _form(node, version) != _form(node, computed.version):
            raise DeclarationError(
                f"The pattern of kernel `{kernel.name}` is written for version "
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


def _defaults(node: onnx.NodeProto, version: int) -> dict[str, ir.Attribute | None]:
    """What an operator's attributes are where a node does not give them.

    One of a later version than the model's may have been written there for another pattern.
    """
    schema = importing.schema_of(node, version) or importing.schema_of(node)
    return {
        f"{_ATTRIBUTE}{name}": importing.attribute_of(item.default_value)
        if item.default_value.name
        else None
        for name, item in (schema.attributes.items() if schema else ())
    }


def _form(node: onnx.NodeProto, version: int) -> Any:
    """What a node of an operator may look like in a version; new ones often only add types."""
    schema = importing.schema_of(node, version)
    if schema is None:
        return None
    attributes = {
        name: item.default_value.SerializeToString() for name, item in schema.attributes.items()
    }
    return attributes, schema.min_input, schema.max_input, schema.max_output
