"""Whether a place in an ONNX graph computes what a pattern's graph does, and if not, why not.

What has to agree: every node with its operator, attributes and inputs. Constants are equal by
value; scalars of the kernel stand for any number; the inputs of commutative operators may be
swapped. An operand is the same value wherever the pattern has it, and intermediate values are used
nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
import onnx

from custom_dispatch.frontends.onnx.node import nodes_of
from custom_dispatch.frontends.onnx.pattern import (
    OWN,
    Array,
    Example,
    Pattern,
    attributes_of,
    constant_of,
    constants_of,
    is_buffer,
)

_COMMUTATIVE = {"Add", "And", "Equal", "Max", "Min", "Mul", "Or", "Sum", "Xor"}
_PAIR = 2
_MOST_STEPS = 20_000
Key = int
"""A node's place among those of its graph."""


@dataclass(frozen=True, slots=True)
class Match:
    """A place that computes a pattern."""

    pattern: Pattern
    example: Example
    nodes: frozenset[Key]
    operands: Mapping[str, str]
    """The model's values, by the names of the kernel's operands."""
    scalars: Mapping[str, Any]
    outputs: tuple[str, ...]
    """The model's values that are the results."""
    root: Key


@dataclass(frozen=True, slots=True)
class Miss:
    """A place that does not."""

    reason: str
    share: float
    """How many of the pattern's nodes were there before, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class _State:
    """What is known of a place so far."""

    nodes: Mapping[int, Key] = field(default_factory=dict)
    """The model's node of each of the example's."""
    values: Mapping[str, str] = field(default_factory=dict)
    """The model's value of each of the example's inputs."""
    scalars: Mapping[str, Any] = field(default_factory=dict)


class GraphView:
    """A model's graph, as matching asks it.

    Parameters
    ----------
    model
        The model, which is not changed as long as this is used.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        graph = model.graph
        self.nodes = list(graph.node)
        self.version = next((v.version for v in model.opset_import if v.domain in OWN), None)
        self.constants = constants_of(graph)
        self.producers: dict[str, Key] = {}
        self.users: dict[str, list[Key | None]] = {}
        """None for the graph itself."""
        for key, node in enumerate(self.nodes):
            if constant_of(node) is None:
                self.producers |= {name: key for name in node.output if name}
            inner = onnx.GraphProto(node=[node])
            for name in {name for item in nodes_of(inner) for name in item.input}:
                self.users.setdefault(name, []).append(key)
            for item in nodes_of(inner):
                for attribute in item.attribute:
                    for output in attribute.g.output:  # a branch may give what is outside of it
                        self.users.setdefault(output.name, []).append(key)
        for output in graph.output:
            self.users.setdefault(output.name, []).append(None)


class Matcher:
    """Compares one place with one example.

    Parameters
    ----------
    view
        The model's graph.
    """

    def __init__(self, view: GraphView, pattern: Pattern, example: Example) -> None:
        self._view = view
        self._pattern = pattern
        self._example = example
        self._steps = 0
        self._best = Miss("", -1.0)

    def match(self, root: Key) -> Match | Miss:
        """Compare the node that gives the first result."""
        example = self._example
        wanted = example.producer(example.outputs[0])
        assert wanted is not None  # noqa: S101 - checked where the example is made
        for state in self._node(wanted, root, _State()):
            for complete in self._others(example.outputs[1:], state):
                found = self._finished(complete, root)
                if found is not None:
                    return found
        return self._best

    def _others(self, outputs: Sequence[str], state: _State) -> Iterator[_State]:
        """Find the nodes of further results."""
        if not outputs:
            yield state
            return
        wanted = self._example.producer(outputs[0])
        assert wanted is not None  # noqa: S101 - checked where the example is made
        known = state.nodes.get(self._index(wanted))
        keys = range(len(self._view.nodes)) if known is None else (known,)
        for key in keys:
            if self._view.nodes[key].op_type == wanted.op_type:
                for following in self._node(wanted, key, state):
                    yield from self._others(outputs[1:], following)

    def _index(self, node: onnx.NodeProto) -> int:
        return next(i for i, item in enumerate(self._example.nodes) if item is node)

    def _miss(self, state: _State, reason: str) -> None:
        share = len(state.nodes) / len(self._example.nodes)
        if share > self._best.share:
            self._best = Miss(reason, share)

    def _node(self, wanted: onnx.NodeProto, key: Key, state: _State) -> Iterator[_State]:
        """The ways in which a node of the model is one of the example."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            return
        index, found = self._index(wanted), self._view.nodes[key]
        if index in state.nodes:
            if state.nodes[index] == key:
                yield state
            else:
                self._miss(state, f"`{found.name}` is another {found.op_type} than before")
            return
        if (wanted.op_type, _domain(wanted)) != (found.op_type, _domain(found)):
            self._miss(state, f"`{found.name}` is {found.op_type}, not {wanted.op_type}")
            return
        state = _State({**state.nodes, index: key}, state.values, state.scalars)
        scalars = self._attributes(wanted, found, state)
        if scalars is None:
            return
        state = _State(state.nodes, state.values, scalars)
        first, second = _inputs(wanted), _inputs(found)
        if len(first) != len(second):
            self._miss(state, f"`{found.name}` has {len(second)} inputs, not {len(first)}")
            return
        orders = [second]
        if len(second) == _PAIR and wanted.op_type in _COMMUTATIVE and second[0] != second[1]:
            orders.append(second[::-1])
        for order in orders:
            yield from self._values(list(zip(first, order, strict=True)), found, state)

    def _values(
        self, pairs: list[tuple[str, str]], node: onnx.NodeProto, state: _State
    ) -> Iterator[_State]:
        if not pairs:
            yield state
            return
        for following in self._value(*pairs[0], node, state):
            yield from self._values(pairs[1:], node, following)

    def _value(
        self, wanted: str, found: str, node: onnx.NodeProto, state: _State
    ) -> Iterator[_State]:
        """The ways in which an input of the model's node is a value of the example."""
        example, view = self._example, self._view
        if not wanted or not found:
            if wanted == found:
                yield state
            else:
                what = f"`{wanted}` is missing" if wanted else f"`{found}` is one more input"
                self._miss(state, f"at `{node.name}`, {what}")
        elif wanted in example.inputs and is_buffer(self._pattern.kernel, wanted):
            if state.values.get(wanted, found) == found:
                yield _State(state.nodes, {**state.values, wanted: found}, state.scalars)
            else:
                self._miss(
                    state,
                    f"at `{node.name}`, `{wanted}` is `{found}`, and before "
                    f"`{state.values[wanted]}`",
                )
        elif wanted in example.inputs:
            number = _number(view.constants.get(found))
            if number is not None and state.scalars.get(wanted, number) == number:
                yield _State(state.nodes, state.values, {**state.scalars, wanted: number})
            else:
                self._miss(state, f"at `{node.name}`, `{found}` is not one number for `{wanted}`")
        elif wanted in example.constants:
            constant = view.constants.get(found)
            if constant is not None and _are_equal(example.constants[wanted], constant):
                yield state
            else:
                said = "computed" if constant is None else _shown(constant)
                self._miss(
                    state,
                    f"at `{node.name}`, `{found}` is {said}, not "
                    f"{_shown(example.constants[wanted])}",
                )
        else:
            yield from self._computed(wanted, found, node, state)

    def _computed(
        self, wanted: str, found: str, node: onnx.NodeProto, state: _State
    ) -> Iterator[_State]:
        producer, key = self._example.producer(wanted), self._view.producers.get(found)
        if producer is None or key is None:
            kind = producer.op_type if producer is not None else "something that is computed"
            self._miss(state, f"at `{node.name}`, `{found}` is not computed by {kind}")
            return
        if list(producer.output).index(wanted) != list(self._view.nodes[key].output).index(found):
            self._miss(state, f"`{found}` is another result")
            return
        yield from self._node(producer, key, state)

    def _attributes(
        self, wanted: onnx.NodeProto, found: onnx.NodeProto, state: _State
    ) -> Mapping[str, Any] | None:
        """The scalars, with those that are attributes here; None where others differ."""
        version = self._view.version
        mine, its = attributes_of(wanted, version), attributes_of(found, version)
        given = {item.name for item in wanted.attribute}
        scalars = dict(state.scalars)
        for name in sorted(mine.keys() | its.keys()):
            if name in self._example.captured and name not in given:
                if scalars.setdefault(name, its.get(name)) != its.get(name):
                    self._miss(state, f"`{found.name}` has another {name} than before")
                    return None
            elif mine.get(name) != its.get(name):
                self._miss(
                    state,
                    f"`{found.name}` has {name}={_said(its.get(name))}, not "
                    f"{_said(mine.get(name))}",
                )
                return None
        return scalars

    def _finished(self, state: _State, root: Key) -> Match | None:
        """The match, if nobody else uses what is computed on the way."""
        example, view = self._example, self._view
        keys = frozenset(state.nodes.values())
        outputs = tuple(self._output(name, state) for name in example.outputs)
        for operand, name in state.values.items():
            if view.producers.get(name) in keys:
                self._miss(state, f"`{operand}` is `{name}`, which the place itself computes")
                return None
        for key in sorted(keys):
            for name in view.nodes[key].output:
                others = [user for user in view.users.get(name, []) if user not in keys]
                if name and name not in outputs and others:
                    who = "the model" if others[0] is None else f"`{view.nodes[others[0]].name}`"
                    self._miss(state, f"the intermediate value `{name}` is used by {who}, too")
                    return None
        return Match(self._pattern, example, keys, state.values, state.scalars, outputs, root)

    def _output(self, name: str, state: _State) -> str:
        producer = self._example.producer(name)
        assert producer is not None  # noqa: S101 - checked where the example is made
        key = state.nodes[self._index(producer)]
        return str(self._view.nodes[key].output[list(producer.output).index(name)])


def _domain(node: onnx.NodeProto) -> str:
    return "" if node.domain in OWN else str(node.domain)


def _inputs(node: onnx.NodeProto) -> list[str]:
    """A node's inputs without those at the end that are left out."""
    names = list(node.input)
    while names and not names[-1]:
        names.pop()
    return names


def _number(constant: Array | None) -> Any:
    return constant.item() if constant is not None and constant.size == 1 else None


def _are_equal(wanted: Array, found: Array) -> bool:
    """Whether constants are the same: in every element, or as the one number that both are."""
    if wanted.dtype != found.dtype:
        return False
    if wanted.size == found.size == 1:
        # One of more dims would give what it is added to more dims.
        return found.ndim <= max(1, wanted.ndim) and bool(wanted.item() == found.item())
    return wanted.shape == found.shape and bool(numpy.array_equal(wanted, found))


def _shown(constant: Array) -> str:
    if constant.size != 1:
        return f"a constant of shape {list(constant.shape)}"
    return _said(constant.item())


def _said(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return f"{value:.9g}" if isinstance(value, float) else str(value)
