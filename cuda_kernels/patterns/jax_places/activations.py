"""Activations, told by their values: of whatever operations they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import jax
import numpy

from cuda_kernels.patterns.jax_places.graph import (
    Graph,
    Node,
    Value,
    elementwise,
    is_float,
    number_of,
)
from cuda_kernels.patterns.jax_places.numbers import ELEMENTWISE, apply
from cuda_kernels.patterns.jax_places.place import Place, call, kind_of, place

_POINTS = numpy.concatenate(
    [numpy.linspace(-6, 6, 49) + 0.0137, [-1e3, -40.0, -9.0, -1e-3, 1e-3, 9.0, 40.0, 1e3, 1e5]]
)
"""Where functions are compared: both tails, what is near 0, and what overflows in a wrong one."""
_MOST_NODES = 48
_SQRT_HALF = 0.5**0.5
_SQRT_2_OVER_PI = (2.0 / numpy.pi) ** 0.5


def _gelu_erf(x: Any) -> Any:
    return 0.5 * x * (1.0 + ELEMENTWISE["erf"](x * _SQRT_HALF))


def _gelu_tanh(x: Any) -> Any:
    return 0.5 * x * (1.0 + numpy.tanh(_SQRT_2_OVER_PI * (x + 0.044715 * x**3)))


def _silu(x: Any) -> Any:
    return x / (1.0 + numpy.exp(-x))


_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "relu": lambda x: numpy.maximum(x, 0.0),
    "silu": _silu,
    "gelu_erf": _gelu_erf,
    "gelu_tanh": _gelu_tanh,
}


@cache
def _wanted() -> dict[str, Any]:
    with numpy.errstate(all="ignore"):
        return {name: function(_POINTS) for name, function in _FUNCTIONS.items()}


def named(found: Any, dtype: Any) -> str:
    """The activation that has these values; empty where there is none.

    A model rounds its constants to its type, which shows most in the tails.
    """
    if numpy.ndim(found) == 0 or not numpy.all(numpy.isfinite(found)):
        return ""
    epsilon = float(jax.numpy.finfo(dtype).eps)
    for name, wanted in _wanted().items():
        near = 4 * epsilon * (numpy.abs(wanted) + 1e-3 * numpy.minimum(numpy.abs(_POINTS), 4.0))
        if numpy.all(numpy.abs(found - wanted) <= near + 1e-12):
            return name
    return ""


def activation_after(value: Value, *, exclusive: bool) -> tuple[Value, str] | None:
    """The largest activation that is computed of a value, and its name.

    Parameters
    ----------
    exclusive
        Whether the value must be used by it alone.
    """
    if not is_float(value):
        return None
    held: dict[Value, Any] = {value: _POINTS}
    order: list[Value] = []
    pending = list(value.users)
    while pending and len(order) < _MOST_NODES:
        node = pending.pop(0)
        if not elementwise(node) or node.result in held:
            continue
        given = _given(node, value, held)
        if given is None:
            continue
        with numpy.errstate(all="ignore"):
            held[node.result] = apply(node.name, node.params, given)
        order.append(node.result)
        pending += node.result.users
    best: tuple[Value, str] | None = None
    for result in order:
        if result.dtype != value.dtype or not _is_closed(result, value, exclusive):
            continue
        name = named(held[result], value.dtype)
        if name:
            best = (result, name)
    return best


def _given(node: Node, value: Value, held: dict[Value, Any]) -> list[Any] | None:
    found = []
    for operand in node.operands:
        if operand in held:
            found.append(held[operand])
            continue
        number = number_of(operand)
        if number is None:
            return None
        found.append(numpy.float64(number))
    return found if node.result.shape == value.shape else None


def _is_closed(result: Value, value: Value, exclusive: bool) -> bool:
    """Whether nothing else uses what leads from one value to another."""
    inside: set[Node] = set()
    pending = [result]
    while pending:
        one = pending.pop()
        if one is value or one.node is None or one.node in inside or number_of(one) is not None:
            continue
        inside.add(one.node)
        pending += one.node.operands
    return all(
        not each.is_result and {*each.users} <= inside
        for node in inside
        for each in (*node.results, *((value,) if exclusive else ()))
        if each is not result
    )


def gelus(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """GELU with the error function, and with tanh."""
    for value, kind in _activated(graph, "gelu" in groups):
        found = activation_after(value, exclusive=False)
        if found is not None and found[1].startswith("gelu"):
            kernel = f"{found[1]}_{kind}"
            yield place(kernel, [found[0]], [value], partial(_as_rows, kernel))


_GATES = {
    "silu": ("swiglu", "swiglu"),
    "gelu_erf": ("gelu", "geglu_erf"),
    "gelu_tanh": ("gelu", "geglu_tanh"),
}
"""Groups and kernels of gated linear units, by their activations."""


def gated(graph: Graph, groups: frozenset[str]) -> Iterator[Place]:
    """An activation times something: `silu(gate) * up`, `gelu(gate) * up`."""
    for value, kind in _activated(graph, bool({"swiglu", "gelu"} & groups)):
        found = activation_after(value, exclusive=False)
        group, gate = _GATES.get(found[1], ("", "")) if found is not None else ("", "")
        if found is None or group not in groups:
            continue
        for user in found[0].users:
            up = next((each for each in user.operands if each is not found[0]), None)
            if user.name == "mul" and up is not None and up.shape == value.shape:
                kernel = f"{gate}_{kind}"
                yield place(kernel, [user.result], [value, up], partial(_as_rows, kernel))


def _activated(graph: Graph, is_wanted: bool) -> Iterator[tuple[Value, str]]:
    """Values of which something is computed element by element, and their types."""
    computed = (value for node in graph.nodes for value in node.results)
    for value in (*graph.arguments, *computed) if is_wanted else ():
        kind = kind_of(value)
        if kind and any(map(elementwise, value.users)):
            yield value, kind


def _as_rows(name: str, *arrays: Any) -> list[Any]:
    """A kernel's result for arrays of any rank."""
    kernel = call(name)
    if arrays[0].ndim:
        return [kernel(*arrays)]
    return [kernel(*(array.reshape(1) for array in arrays)).reshape(())]
