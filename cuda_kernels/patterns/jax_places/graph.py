"""A traced function of JAX as a graph of values, in one form whoever wrote it.

Calls of functions (`jax.jit`, `jax.custom_jvp`, `jax.checkpoint`, ...) are their bodies, what is
computed twice is one value, numbers that follow from numbers are numbers, and what changes nothing
is not there. Sizes may be symbols: a graph is the same for all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy
from jax._src import source_info_util  # no public module says where an equation comes from
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from cuda_kernels.patterns.jax_places.numbers import ELEMENTWISE, folded

_CALLS = {
    **dict.fromkeys(("jit", "pjit", "closed_call", "core_call", "remat", "remat2"), "jaxpr"),
    **dict.fromkeys(("checkpoint", "custom_vjp_call_jaxpr"), "jaxpr"),
    **dict.fromkeys(("custom_jvp_call", "custom_vjp_call"), "call_jaxpr"),
}
"""What calls a function, and the name of the parameter that holds it."""
_IDENTITIES = ("stop_gradient", "copy", "copy_p")
_NOT_TOLD = ("sharding", "out_sharding", "weak_type", "name")
"""Parameters that change nothing that is computed."""


@dataclass(eq=False, repr=False, slots=True)
class Value:
    """What a node gives, an argument, a constant, or a number."""

    shape: tuple[Any, ...]
    dtype: Any
    node: Node | None = None
    index: int = 0
    number: Any = None
    """Its number, of a rank-0 constant."""
    array: Any = None
    """What a constant holds."""
    users: list[Node] = field(default_factory=list)
    is_result: bool = False
    """Whether it is a result of the function."""

    @property
    def is_constant(self) -> bool:
        """Whether it depends on no argument."""
        if self.node is not None:
            return self.node.is_constant
        return self.number is not None or self.array is not None

    @property
    def rank(self) -> int:
        """How many dims it has."""
        return len(self.shape)


@dataclass(eq=False, repr=False, slots=True)
class Node:
    """One operation."""

    primitive: Any
    params: Mapping[str, Any]
    operands: tuple[Value, ...]
    source: Any
    """JAX's `SourceInfo`, with the names of all scopes around it."""
    effects: bool
    is_constant: bool
    """Whether it depends on no argument."""
    results: tuple[Value, ...] = ()

    @property
    def name(self) -> str:
        """The primitive's."""
        return str(self.primitive.name)

    @property
    def result(self) -> Value:
        """The one result."""
        return self.results[0]


@dataclass(eq=False, repr=False, slots=True)
class Graph:
    """A function's values."""

    arguments: list[Value] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    """In the order in which they are computed."""
    _known: dict[Any, Node] = field(default_factory=dict)

    def add(self, equation: Any, operands: Sequence[Value], scope: Any) -> tuple[Value, ...]:
        """What an equation gives; its own operands may be known under other values."""
        name, params = equation.primitive.name, equation.params
        outs = [each.aval for each in equation.outvars]
        if name in _IDENTITIES or _changes_nothing(name, operands, outs):
            return (operands[0],)
        if name == "select_n" and operands[0].number is not None:
            return (operands[1 + int(operands[0].number)],)
        if len(outs) == 1 and not outs[0].shape:
            number = folded(name, params, [each.number for each in operands], outs[0].dtype)
            if number is not None:
                return (Value((), outs[0].dtype, number=number),)
        key = None if equation.effects else _key(name, params, operands)
        if key is not None and key in self._known:
            return self._known[key].results
        source = equation.source_info.replace(name_stack=scope + equation.source_info.name_stack)
        effects = bool(equation.effects)
        constant = not effects and all(each.is_constant for each in operands)
        node = Node(equation.primitive, params, tuple(operands), source, effects, constant)
        node.results = tuple(
            Value(tuple(getattr(aval, "shape", ())), getattr(aval, "dtype", None), node, index)
            for index, aval in enumerate(outs)
        )
        for value in dict.fromkeys(operands):
            value.users.append(node)
        self.nodes.append(node)
        if key is not None:
            self._known[key] = node
        return node.results


def read(closed: ClosedJaxpr) -> Graph:
    """The graph of a traced function."""
    graph = Graph()
    values: dict[Any, Value] = {}
    for variable in closed.jaxpr.invars:
        values[variable] = Value(tuple(variable.aval.shape), variable.aval.dtype)
        graph.arguments.append(values[variable])
    constants = [_constant(each) for each in closed.consts]
    values |= zip(closed.jaxpr.constvars, constants, strict=True)
    graph.results = _read(graph, closed.jaxpr, values, source_info_util.new_name_stack())
    for value in graph.results:
        value.is_result = True
    _drop_unused(graph)
    return graph


def _read(graph: Graph, jaxpr: Jaxpr, values: dict[Any, Value], scope: Any) -> list[Value]:
    def value_of(atom: Any) -> Value:
        if isinstance(atom, Literal):
            return Value(tuple(atom.aval.shape), atom.aval.dtype, number=atom.val)
        return values[atom]

    for equation in jaxpr.eqns:
        operands = [value_of(atom) for atom in equation.invars]
        inner = equation.params.get(_CALLS.get(equation.primitive.name, ""))
        if inner is not None:
            body = inner.jaxpr if isinstance(inner, ClosedJaxpr) else inner
            consts = inner.consts if isinstance(inner, ClosedJaxpr) else []
            own = dict(zip(body.invars, operands, strict=True))
            own |= zip(body.constvars, map(_constant, consts), strict=True)
            results: Sequence[Value] = _read(
                graph, body, own, scope + equation.source_info.name_stack
            )
        else:
            results = graph.add(equation, operands, scope)
        values |= zip(equation.outvars, results, strict=True)
    return [value_of(atom) for atom in jaxpr.outvars]


def _constant(array: Any) -> Value:
    shape, dtype = tuple(numpy.shape(array)), getattr(array, "dtype", None)
    is_plain = shape == () and isinstance(dtype, numpy.dtype)
    number = numpy.asarray(array)[()] if is_plain else None
    return Value(shape, dtype, number=number, array=array)


def _changes_nothing(name: str, operands: Sequence[Value], outs: Sequence[Any]) -> bool:
    if not operands or len(outs) != 1:
        return False
    same = operands[0].shape == tuple(outs[0].shape) and operands[0].dtype == outs[0].dtype
    if name in ("convert_element_type", "reshape", "broadcast_in_dim", "squeeze"):
        return same and len(operands) == 1
    if len(operands) != 2 or not same:
        return False
    idle = {"mul": 1.0, "div": 1.0, "sub": 0.0, "add": 0.0}
    return name in idle and number_of(operands[1]) == idle[name]


def _key(name: str, params: Mapping[str, Any], operands: Sequence[Value]) -> Any:
    """What two equations have in common that compute the same; None where that is not told."""
    told = {key: each for key, each in params.items() if key not in _NOT_TOLD}
    if any(isinstance(each, ClosedJaxpr | Jaxpr) or callable(each) for each in told.values()):
        return None
    named = tuple((key, str(each)) for key, each in sorted(told.items()))
    given = tuple(
        each if each.number is None else (str(each.dtype), each.shape, str(each.number))
        for each in operands
    )
    return name, named, given


def _drop_unused(graph: Graph) -> None:
    """Forget users that lead to no result."""
    kept: set[Node] = set()
    for node in reversed(graph.nodes):
        used = any(each.is_result or kept & {*each.users} for each in node.results)
        if used or node.effects:
            kept.add(node)
    graph.nodes = [node for node in graph.nodes if node in kept]
    for node in graph.nodes:
        for value in (*node.operands, *node.results):
            value.users = [user for user in value.users if user in kept]


# -- looking through what computes nothing

VIEWS = ("reshape", "transpose", "broadcast_in_dim", "squeeze", "expand_dims", "tile")


def made_by(value: Value, *names: str) -> Node | None:
    """The node that gives a value, if it is one of some."""
    return value.node if value.node is not None and value.node.name in names else None


def without_casts(value: Value) -> Value:
    """A value before it was converted from floats to floats."""
    while (node := made_by(value, "convert_element_type")) is not None:
        if not (is_float(value) and is_float(node.operands[0])):
            break
        value = node.operands[0]
    return value


def without_widening(value: Value) -> Value:
    """A value before it was converted to a type that holds all of it."""
    node = made_by(value, "convert_element_type")
    if node is not None and is_float(value) and is_float(node.operands[0]):
        given = node.operands[0]
        if jax.numpy.finfo(given.dtype).bits < jax.numpy.finfo(value.dtype).bits:
            return given
    return value


def is_float(value: Value) -> bool:
    """Whether it holds floats."""
    return value.dtype is not None and jax.dtypes.issubdtype(value.dtype, numpy.floating)


def number_of(value: Value) -> float | None:
    """The number that every element of a value is; None where that is not known, or where it was
    made an integer or a bool on the way.
    """
    while value.number is None:
        node = made_by(value, *VIEWS, "convert_element_type")
        if node is None or len(node.operands) != 1:
            return None if value.array is None else _uniform(value.array)
        given = node.operands[0]
        if is_float(given) and not is_float(value):
            return None
        value = given
    return None if numpy.iscomplexobj(value.number) else float(value.number)


def _uniform(array: Any) -> float | None:
    if not 0 < numpy.size(array) <= _LARGEST_UNIFORM or not hasattr(array, "dtype"):
        return None
    if not isinstance(array.dtype, numpy.dtype) or array.dtype.kind == "c":
        return None
    held = numpy.asarray(array)
    return float(held.flat[0]) if bool((held == held.flat[0]).all()) else None


_LARGEST_UNIFORM = 4096


def nodes_between(result: Value, *operands: Value) -> frozenset[Node]:
    """The nodes that a value is computed with from others; those do not count."""
    found: set[Node] = set()
    pending = [result]
    while pending:
        value = pending.pop()
        if value in operands or value.node is None or value.node in found:
            continue
        found.add(value.node)
        pending += value.node.operands
    return frozenset(found)


def only_user(value: Value) -> Node | None:
    """The one node that uses a value; None where it is a result or has several users."""
    return value.users[0] if len(value.users) == 1 and not value.is_result else None


def elementwise(node: Node) -> bool:
    """Whether a node computes each element of that of its operands."""
    return node.name in ELEMENTWISE


def needed_values(graph: Graph) -> Iterator[Value]:
    """The values that have to be computed, whatever else is not."""
    yield from graph.results
    for node in graph.nodes:
        if node.effects:
            yield node.results[0] if node.results else Value((), None, node)


Build = Callable[..., Sequence[Any]]
