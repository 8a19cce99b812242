"""Kernels in the places of an ONNX model that compute what they do.

Every pattern is compared with every place; `patterns/choosing.py` says which are taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy
import onnx

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.frontends.onnx.dtypes import onnx_type, type_name
from custom_dispatch.frontends.onnx.matching import GraphView, Key, Match, Matcher, Miss
from custom_dispatch.frontends.onnx.node import (
    TensorType,
    attribute_type,
    buffers_of,
    scalars_of,
    tensor_type,
)
from custom_dispatch.frontends.onnx.pattern import Example, Pattern
from custom_dispatch.frontends.onnx.sizes import Shape, certain_shapes
from custom_dispatch.kernel.choice import kernels_of
from custom_dispatch.kernel.names import shown
from custom_dispatch.kernel.operand import Scalar
from custom_dispatch.match.choosing import Found, chosen
from custom_dispatch.match.near import NearMisses
from custom_dispatch.match.pattern import as_list, check_found, of_each
from custom_dispatch.replaced import NearMiss, Place, Replaced, Replacement

DOMAIN = "custom_dispatch.replaced"
"""Of the nodes that take places."""


def patterns_of(items: Any) -> list[Pattern]:
    """`replace=` as a list of patterns.

    Raises
    ------
    DeclarationError
        An item is not a pattern.
    """
    found = as_list(items)
    for item in found:
        if not isinstance(item, Pattern):
            raise DeclarationError(
                f"replace has {shown(item)} in it.",
                expected="a cd.onnx.Pattern",
                next_step='write replace=[cd.onnx.Pattern(kernel, "LayerNormalization")].',
            )
    return found


def replace_places(model: onnx.ModelProto, patterns: Sequence[Pattern]) -> Replaced:
    """Put nodes of kernels, of the domain `DOMAIN`, into a model.

    Parameters
    ----------
    model
        The model with the types of all that it computes; it is changed.

    Raises
    ------
    DeclarationError
        A pattern is written for another version of ONNX.
    LinkError
        A pattern that is required is found nowhere; the message lists what nearly is.
    """
    work = _Work(model)
    found = [
        item
        for order, pattern in enumerate(patterns)
        for one in of_each(pattern)
        for item in work.find(order, one)
    ]
    report = work.put(chosen(found, work.note))
    check_found(patterns, report, "cd.onnx.Pattern(kernel, ..., required=False)")
    return report


class _Work:
    """One model into which kernels are put."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self._model = model
        self._view = GraphView(model)
        graph = model.graph
        types = {item.name: item.type for item in [*graph.value_info, *graph.output, *graph.input]}
        self._types = {name: tensor_type(kind) for name, kind in types.items()}
        for item in graph.initializer:
            self._types[item.name] = TensorType(item.data_type, tuple(item.dims))
        self._misses = NearMisses()

    # -- finding

    def find(self, order: int, pattern: Pattern) -> Iterator[Found[Match]]:
        """Every place that computes a pattern."""
        for example in pattern.examples:
            self._check_version(pattern, example)
            producer = example.producer(example.outputs[0])
            if pattern.required:
                there = {node.op_type for node in self._view.nodes}
                wanted = {node.op_type for node in example.nodes}
                self._misses.compare(pattern.item.name, wanted, there)
            for key, node in enumerate(self._view.nodes):
                if producer is None or node.op_type != producer.op_type:
                    continue
                result = Matcher(self._view, pattern, example).match(key)
                if isinstance(result, Match):
                    problem = self._problem(result)
                    if not problem:
                        name, nodes = pattern.item.name, result.nodes
                        yield Found(result, name, order, key, key, len(nodes), nodes)
                        continue
                    result = Miss(problem, 1.0)
                self._note(pattern, key, result)

    def _check_version(self, pattern: Pattern, example: Example) -> None:
        version = self._view.version
        if example.version in (None, version) or version is None:
            return
        for node in example.nodes:
            if _form(node, version) != _form(node, example.version):
                raise DeclarationError(
                    f"The pattern of kernel `{pattern.kernel.name}` is written for version "
                    f"{example.version} of ONNX, and the model for version {version}, which has "
                    f"another {node.op_type}.",
                    expected="one version",
                    next_step="convert the pattern: "
                    f"onnx.version_converter.convert_version(pattern, {version}).",
                )

    def _note(self, pattern: Pattern, key: Key, miss: Miss) -> None:
        name = pattern.item.name
        self._misses.note(
            (name, key), key, (miss.share,), lambda: NearMiss(name, self._place(key), miss.reason)
        )

    def _place(self, key: Key) -> Place:
        return Place(self._view.nodes[key].name, "")

    def _problem(self, match: Match) -> str:
        """Why the kernel cannot stand in a place that computes the same; empty where it can."""
        kernel = match.pattern.kernel
        shapes: dict[str, Shape] = {}
        for operand in buffers_of(kernel):
            name = match.operands.get(operand.name)
            if name is None:
                continue
            kind = self._types.get(name)
            if kind is None or kind.shape is None:
                return f"the type of `{name}` is not known"
            if kind.element != onnx_type(operand.dtype):
                return (
                    f"`{name}` is {type_name(kind.element)}, and `{operand.name}` {operand.dtype}"
                )
            shapes[operand.name] = kind.shape
            order = self._order(match, operand.name)
            if order is not None:
                if len(kind.shape) != len(order):
                    return f"`{name}` has rank {len(kind.shape)}, and `{operand.name}` {len(order)}"
                shapes[operand.name] = tuple(kind.shape[axis] for axis in order)
        try:
            results = certain_shapes(kernel, shapes)
        except (CallError, DeclarationError) as error:
            return error.found.removesuffix(".")
        for operand, name in zip(kernel.outputs, match.outputs, strict=True):
            kind = self._types.get(name)
            if kind is None or kind.shape is None or kind.element != onnx_type(operand.dtype):
                return f"the result `{name}` is no tensor of {operand.dtype}"
            if kind.shape != results[operand.name]:
                return (
                    f"the result `{name}` has the shape {_shape(kind.shape)}, and the kernel's is "
                    f"{_shape(results[operand.name])}"
                )
        for name, scalar in scalars_of(kernel).items():
            value = self._scalar(match, name)
            if not _holds(scalar, value):
                return f"`{name}` is {value}, which an attribute for {scalar.dtype} does not hold"
        last = max(self._view.producers[name] for name in match.outputs)
        for name in match.outputs:
            users = [user for user in self._view.users.get(name, []) if user is not None]
            if any(user < last and user not in match.nodes for user in users):
                return f"`{name}` is used before all that the kernel computes is there"
        return ""

    def _scalar(self, match: Match, name: str) -> Any:
        return match.pattern.fixed.get(name, match.scalars.get(name))

    def note(self, match: Match, reason: str) -> None:
        """Note that a place is not replaced although it computes the same."""
        self._note(match.pattern, match.root, Miss(reason, 1.0))

    # -- replacing

    def put(self, chosen: Sequence[Found[Match]]) -> Replaced:
        """Put kernels in places, and say what was done."""
        nodes = self._view.nodes
        new: dict[Key, list[onnx.NodeProto]] = {}
        replacements = []
        for item in sorted(chosen, key=lambda item: item.match.root):
            match = item.match
            new[max(self._view.producers[name] for name in match.outputs)] = self._nodes(match)
            name = match.pattern.item.name
            operations = tuple(nodes[key].op_type for key in sorted(match.nodes))
            scalars = {
                scalar: self._scalar(match, scalar) for scalar in scalars_of(match.pattern.kernel)
            }
            place = self._place(match.root)
            replacements.append(Replacement(name, place, operations, scalars))
        gone = {key for item in chosen for key in item.match.nodes}
        graph = self._model.graph
        kept = [
            node
            for key, original in enumerate(nodes)
            if key in new or key not in gone
            for node in new.get(key, [original])
        ]
        copies = [onnx.NodeProto() for _ in kept]
        for copy, node in zip(copies, kept, strict=True):
            copy.CopyFrom(node)
        del graph.node[:]
        graph.node.extend(copies)
        if chosen:
            self._model.opset_import.add(domain=DOMAIN, version=1)
        roots = {item.match.root: item.match.pattern.item.name for item in chosen}
        misses = self._misses.told(roots, roots.values())
        return Replaced(tuple(replacements), misses)

    def _order(self, match: Match, operand: str) -> tuple[int, ...] | None:
        """What puts an operand's axes into the kernel's order; None for nothing."""
        axes = match.pattern.axes.get(operand)
        return None if axes is None else tuple(map(axes.index, range(len(axes))))

    def _nodes(self, match: Match) -> list[onnx.NodeProto]:
        operands, transposed = dict(match.operands), []
        for name in match.pattern.axes.keys() & operands.keys():
            source, order = operands[name], self._order(match, name)
            operands[name] = f"{match.outputs[0]}/{name}"
            kind = self._types[source]
            if kind is None or kind.shape is None or order is None:  # pragma: no cover
                raise AssertionError(f"`{name}` was compared before")
            node = onnx.helper.make_node("Transpose", [source], [operands[name]], perm=order)
            transposed.append(node)
            sizes = [kind.shape[axis] for axis in order]
            self._model.graph.value_info.append(
                onnx.helper.make_tensor_value_info(operands[name], kind.element, sizes)
            )
        return [*transposed, self._node(match, operands)]

    def _node(self, match: Match, operands: Mapping[str, str]) -> onnx.NodeProto:
        # Of a choice's kernels, the first says the operator's attributes.
        kernel = kernels_of(match.pattern.item)[0]
        attributes = {
            name: float(self._scalar(match, name))
            if attribute_type(scalar) == onnx.AttributeProto.FLOAT
            else int(self._scalar(match, name))
            for name, scalar in scalars_of(kernel).items()
        }
        return onnx.helper.make_node(
            match.pattern.item.name,
            [operands.get(operand.name, "") for operand in buffers_of(kernel)],
            match.outputs,
            self._view.nodes[match.root].name,
            domain=DOMAIN,
            **attributes,
        )


def _holds(scalar: Scalar, value: Any) -> bool:
    """Whether a scalar can have a number that is an attribute of ONNX."""
    if not isinstance(value, bool | int | float):
        return False
    if scalar.dtype.is_float:
        # ONNX's attributes have 32 bits, which round like any scalar but a wider one.
        with numpy.errstate(over="ignore"):
            held = float(numpy.float32(value))
        return held == value or (scalar.dtype.name != "f64" and math.isfinite(held))
    if not math.isfinite(value) or value != int(value):
        return False
    low = -scalar.dtype.largest - 1 if scalar.dtype.name.startswith("i") else 0
    return low <= value <= min(scalar.dtype.largest, _LARGEST)


_LARGEST = 2**63 - 1
"""Of an attribute."""


def _form(node: onnx.NodeProto, version: int) -> Any:
    """What a node of an operator may look like in a version; new ones often only add types."""
    try:
        schema = onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return None
    attributes = {
        name: item.default_value.SerializeToString() for name, item in schema.attributes.items()
    }
    return attributes, schema.min_input, schema.max_input, schema.max_output


def _shape(shape: Shape) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
