"""What a graph computes of positions: integers and conditions at one element, as expressions.

A mask is made in many ways: comparisons of `arange`, rows of a table of bools, `tril`, with axes
put in and broadcast. What counts is its value, so that is worked out: an integer at an element is a
sum of the element's indices, of sizes and of elements of other tensors, about which nothing is
known; a bool is a set of inequalities, all of which have to hold. What is computed otherwise is an
element of which nothing is known, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
import torch

from custom_dispatch.frontends.torch.graph import arguments_of, resolved, tensor_of

aten = torch.ops.aten
Truth = frozenset[sympy.Expr]
"""Where a bool is true: where all of these are 0 or more."""
INTEGERS = (torch.int32, torch.int64)
"""Types in which positions do not overflow."""
_AXES = tuple(sympy.Symbol(f"i{n}", integer=True, nonnegative=True) for n in range(16))
_ORDERS = {
    getattr(getattr(aten, name), kind): (name[0] == "g", int(name[1] == "t"))
    for name in ("ge", "gt", "le", "lt")
    for kind in ("Tensor", "Scalar")
}
"""By operation, whether its first argument is the larger one, and by how much at least."""
_BOTH = {aten.bitwise_and.Tensor, aten.logical_and.default, aten.__and__.Tensor}
_NOT = {aten.bitwise_not.default, aten.logical_not.default}
_SUMS = {aten.add.Tensor: 1, aten.add.Scalar: 1, aten.sub.Tensor: -1, aten.sub.Scalar: -1}
_RESHAPES = {aten.view.default, aten.reshape.default, aten._unsafe_view.default}
_SQUEEZES = {aten.squeeze.default, aten.squeeze.dim, aten.squeeze.dims}
_CASTS = {
    aten.to.dtype,
    aten.to.dtype_layout,
    aten.to.device,
    aten.to.other,
    aten.type_as.default,
    aten._to_copy.default,
}
_FILLED = {
    aten.full.default: "fill_value",
    aten.full_like.default: "fill_value",
    aten.new_full.default: "fill_value",
    aten.ones.default: 1,
    aten.ones_like.default: 1,
    aten.new_ones.default: 1,
    aten.zeros.default: 0,
    aten.zeros_like.default: 0,
    aten.new_zeros.default: 0,
}


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A position that counts from the end where it is negative."""

    position: sympy.Expr
    size: sympy.Expr


@dataclass(frozen=True, slots=True)
class Element:
    """An element of which nothing is known."""

    source: torch.fx.Node | Wrapped
    at: tuple[sympy.Expr, ...]


def axes_of(sizes: Sequence[Any]) -> tuple[sympy.Expr, ...]:
    """The indices of any element of a tensor; 0 where a size is 1."""
    return tuple(
        sympy.Integer(0) if expression(size) == 1 else axis
        for axis, size in zip(_AXES, sizes, strict=False)
    )


def expression(value: Any) -> Any:
    """A number or a size as an expression; None for what is neither."""
    if isinstance(value, torch.fx.Node):
        value = value.meta.get("val")
    if isinstance(value, torch.SymInt):
        return sympy.sympify(value.node.expr)
    if isinstance(value, int) and not isinstance(value, bool):
        return sympy.Integer(value)
    return value if isinstance(value, sympy.Expr) else None


class Indices:
    """Expressions of the elements of one graph's tensors.

    Parameters
    ----------
    constants
        The model's own tensors, by their nodes.
    names
        Those of a pattern's operands, by their nodes.
    """

    def __init__(
        self,
        constants: Mapping[torch.fx.Node, torch.Tensor] | None = None,
        names: Mapping[torch.fx.Node, str] | None = None,
    ) -> None:
        self._constants = constants or {}
        self._names = {} if names is None else names
        self.elements: dict[sympy.Symbol, Element] = {}
        """What the symbols of expressions stand for that are no sizes and no indices."""

    def _element(self, element: Element) -> sympy.Symbol:
        source = element.source
        if isinstance(source, Wrapped):
            name = f"{source.position} of {source.size}"
        else:  # no value of a model has a name in quotes
            name = f"`{self._names[source]}`" if source in self._names else source.name
        if element.at:
            name += f"[{', '.join(map(str, element.at))}]"
        symbol = sympy.Symbol(name, integer=True)
        self.elements[symbol] = element
        return symbol

    # -- integers

    def number(self, value: Any, at: Sequence[sympy.Expr]) -> sympy.Expr:
        """An integer at an element."""
        value = resolved(value)
        known = expression(value)
        if known is not None:
            return known
        found = None
        if value in self._constants:
            found = _progression(self._constants[value], at)
        elif value.op == "call_function":
            found = self._computed(value, at)
        if found is not None:
            return sympy.expand(found)
        moved = self._moved(value, at)
        if moved is not None:
            return self.number(*moved)
        return self._element(Element(value, tuple(at)))

    def _computed(self, node: torch.fx.Node, at: Sequence[sympy.Expr]) -> sympy.Expr | None:
        tensor = tensor_of(node)
        if tensor is None or tensor.dtype not in INTEGERS:
            return None
        given, target = arguments_of(node), node.target
        if target in (aten.arange.default, aten.arange.start, aten.arange.start_step):
            start, step = (expression(given.get(name, other)) for name, other in _RANGE.items())
            return None if start is None or step is None else start + step * at[0]
        if target in _FILLED:
            return expression(given.get(str(_FILLED[target]), _FILLED[target]))
        if target in _SUMS:
            if not all(map(_is_integer, (given["self"], given["other"], given["alpha"]))):
                return None
            factor = _SUMS[target] * expression(given["alpha"])
            return self._given(given["self"], at) + factor * self._given(given["other"], at)
        return None

    def _given(self, value: Any, at: Sequence[sympy.Expr]) -> sympy.Expr:
        """An argument that is broadcast to the result."""
        return self.number(value, _broadcast(value, at))

    # -- bools

    def truth(self, value: Any, at: Sequence[sympy.Expr]) -> Truth:
        """Where a bool is true."""
        if isinstance(value, bool):
            return frozenset() if value else frozenset({sympy.Integer(-1)})
        value = resolved(value)
        found = self._condition(value, at)
        if found is None:
            moved = self._moved(value, at)
            if moved is not None:
                return self.truth(*moved)
            found = frozenset({self._element(Element(value, tuple(at))) - 1})
        return frozenset(each for each in map(sympy.expand, found) if not each.is_nonnegative)

    def _condition(self, node: torch.fx.Node, at: Sequence[sympy.Expr]) -> Truth | None:
        if node in self._constants:
            return _table(self._constants[node], at)
        if node.op != "call_function":
            return None
        given, target = arguments_of(node), node.target
        if target in _ORDERS and _is_integer(given["self"]) and _is_integer(given["other"]):
            is_larger, least = _ORDERS[target]
            first, second = (self._given(given[name], at) for name in ("self", "other"))
            return frozenset({(first - second if is_larger else second - first) - least})
        if target in _BOTH and _is_bool(given["self"]) and _is_bool(given["other"]):
            sides = (self.truth(x, _broadcast(x, at)) for x in (given["self"], given["other"]))
            return frozenset().union(*sides)
        if target in _NOT and _is_bool(given["self"]):
            inner = self.truth(given["self"], at)
            return frozenset({-1 - each for each in inner}) if len(inner) == 1 else None
        if target in _CASTS and _is_bool(node):
            node = resolved(given["self"])  # of one number all over, whatever its type
            target = node.target
            given = arguments_of(node) if target in _FILLED else {}
        if target in _FILLED:
            filled = given.get(str(_FILLED[target]), _FILLED[target])
            is_number = isinstance(filled, bool | int | float)
            return self.truth(bool(filled), at) if is_number else None
        if target in (aten.tril.default, aten.triu.default) and _is_bool(given["self"]):
            below = at[-2] - at[-1] + expression(given["diagonal"])
            side = below if target == aten.tril.default else -below
            return self.truth(given["self"], at) | {side}
        return None

    # -- what gives elements of another tensor

    def _moved(self, node: torch.fx.Node, at: Sequence[sympy.Expr]) -> Any:
        """The tensor whose element it is, and which; None where it is computed otherwise."""
        if node.op != "call_function":
            return None
        given, target = arguments_of(node), node.target
        if target == aten.copy.default:
            source = given["src"]
            return (source, _broadcast(source, at)) if _same_type(source, node) else None
        x = given.get("self")
        tensor, result = tensor_of(x), tensor_of(node)
        if tensor is None or result is None:
            return None
        if target in _CASTS:
            # What has fewer bits is the same in more.
            widens = tensor.dtype == torch.int32 and result.dtype == torch.int64
            return (x, at) if widens or tensor.dtype == result.dtype else None
        if target == aten.index.Tensor:
            return self._indexed(x, given["indices"], at)
        found = _source(target, given, tensor, result, list(at))
        if found is None or any(each is None for each in found):
            return None
        return x, [
            sympy.Integer(0) if expression(size) == 1 else each
            for each, size in zip(found, tensor.shape, strict=True)
        ]

    def _indexed(self, x: Any, indices: Sequence[Any], at: Sequence[sympy.Expr]) -> Any:
        """`x[:, positions]`: the axes of the positions stand where they are in x."""
        places = [axis for axis, each in enumerate(indices) if each is not None]
        if not places or places != list(range(places[0], places[-1] + 1)):
            return None
        tensors = [tensor_of(indices[axis]) for axis in places]
        if any(each is None or each.dtype not in INTEGERS for each in tensors):
            return None
        first, rank = places[0], max(each.dim() for each in tensors if each is not None)
        inner = at[first : first + rank]
        found = []
        for axis in places:
            size = expression(tensor_of(x).shape[axis])  # type: ignore[union-attr]
            position = self._given(indices[axis], inner)
            if not position.is_nonnegative:
                position = self._element(Element(Wrapped(position, size), ()))
            found.append(position)
        return x, [*at[:first], *found, *at[first + rank :]]


_RANGE = {"start": 0, "step": 1}


def _source(
    target: Any, given: Mapping[str, Any], x: torch.Tensor, result: torch.Tensor, at: list[Any]
) -> list[Any] | None:
    """The indices in x of an element of the result of an operation that computes nothing."""
    if target == aten.expand.default:
        return at[len(at) - x.dim() :]
    if target == aten.unsqueeze.default:
        return at[: given["dim"]] + at[given["dim"] + 1 :]
    if target == aten.transpose.int:
        first, second = given["dim0"], given["dim1"]
        at[first], at[second] = at[second], at[first]
        return at
    if target == aten.permute.default:
        return [at[given["dims"].index(axis)] for axis in range(x.dim())]
    if target == aten.select.int:
        index = _from_start(given["index"], x.shape[given["dim"]])
        return [*at[: given["dim"]], index, *at[given["dim"] :]]
    if target == aten.slice.Tensor:
        start, step = _from_start(given["start"], x.shape[given["dim"]]), expression(given["step"])
        if start is None or step is None:
            return None
        at[given["dim"]] = start + step * at[given["dim"]]
        return at
    if target in _RESHAPES or target in _SQUEEZES:
        old = [axis for axis, size in enumerate(x.shape) if expression(size) != 1]
        new = [axis for axis, size in enumerate(result.shape) if expression(size) != 1]
        if [expression(x.shape[axis]) for axis in old] != [
            expression(result.shape[axis]) for axis in new
        ]:
            return None
        found = [sympy.Integer(0)] * x.dim()
        for before, after in zip(old, new, strict=True):
            found[before] = at[after]
        return found
    return None


def _from_start(index: Any, size: Any) -> sympy.Expr | None:
    """An index that counts from the front; None where nobody knows from where it counts."""
    found = expression(index)
    if found is None or found.is_nonnegative:
        return found
    return found + expression(size) if found.is_negative else None


def _table(table: torch.Tensor, at: Sequence[sympy.Expr]) -> Truth | None:
    """The truth of a constant of bools, where that is one of the usual ones."""
    if table.dtype != torch.bool or table.is_meta or table.dim() < 2:
        return None
    ones = torch.ones_like(table)
    if torch.equal(table, ones.tril()):
        return frozenset({at[-2] - at[-1]})
    return frozenset() if torch.equal(table, ones) else None


def _progression(table: torch.Tensor, at: Sequence[sympy.Expr]) -> sympy.Expr | None:
    """A constant of integers that grow by as much from each index to the next."""
    if table.dtype not in INTEGERS or table.is_meta or not table.numel():
        return None
    start = table.flatten()[0]
    expected, found = start.clone(), sympy.Integer(int(start))
    for axis, size in enumerate(table.shape):
        after = table.select(axis, min(1, size - 1)).flatten()[0]
        steps = torch.arange(size, device=table.device) * (after - start)
        expected = expected.unsqueeze(-1) + steps
        found += int(after - start) * at[axis]
    return found if torch.equal(table.long(), expected.long()) else None


def _broadcast(value: Any, at: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """The indices in an argument that is broadcast to a result."""
    tensor = tensor_of(value)
    if tensor is None:
        return []
    kept = list(at[len(at) - tensor.dim() :])
    return [
        sympy.Integer(0) if expression(size) == 1 else each
        for each, size in zip(kept, tensor.shape, strict=True)
    ]


def _is_integer(value: Any) -> bool:
    tensor = tensor_of(value)
    return expression(value) is not None if tensor is None else tensor.dtype in INTEGERS


def _is_bool(value: Any) -> bool:
    tensor = tensor_of(value)
    return tensor is not None and tensor.dtype == torch.bool


def _same_type(value: Any, other: Any) -> bool:
    first, second = tensor_of(value), tensor_of(other)
    return first is not None and second is not None and first.dtype == second.dtype
