"""What a model computes of positions: integers and conditions at one element, as polynomials.

A mask is made in many ways: comparisons of `arange`, rows of a table of bools, `tril`, with axes
put in and broadcast. What counts is its value, so that is worked out: an integer at an element is a
polynomial of the element's indices, of sizes and of elements of other tensors, about which nothing
is known; a bool is a set of inequalities, all of which have to hold. What is computed otherwise is
an element of which nothing is known, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.link.constants import element_of, number_of, owner_of
from custom_dispatch.link.dialects.torch_types import element_type
from custom_dispatch.link.operations import kind_of
from custom_dispatch.match.known_operations import known_operations
from custom_dispatch.match.polynomial import Atom, Polynomial
from custom_dispatch.match.sizes import extents_of, size_of

Truth = frozenset[Polynomial]
"""Where a bool is true: where all of these are 0 or more."""
At = Sequence[Polynomial]
INTEGERS = ("si32", "si64")
"""Types in which positions do not overflow."""
BOOL = "i1"
_MOST_AXES = 16
AXES = tuple(Polynomial.of(Atom(("axis", n), f"i{n}", 0)) for n in range(_MOST_AXES))
_ORDERS = {">=": (True, 0), ">": (True, 1), "<=": (False, 0), "<": (False, 1)}
"""Whether the first operand is the larger one, and by how much at least."""
_SIGNS = {"+": 1, "-": -1}
_AFTER_RANGE = 4
"""Operands of `arange` behind its numbers."""


def _computes(op: ir.Operation) -> str:
    """What an operation computes of positions: a word of the table; empty for any other."""
    return str(known_operations()["of_positions"].get(kind_of(op), ""))


def axes_of(sizes: Sequence[Any]) -> tuple[Polynomial, ...]:
    """The indices of any element of a tensor; 0 where a size is 1."""
    return tuple(_ZERO if size == 1 else axis for axis, size in zip(AXES, sizes, strict=False))


_ZERO = Polynomial.of(0)


class Positions:
    """Polynomials of the elements of one model's tensors, or of one example's."""

    def __init__(self, held: Held) -> None:
        self._held = held

    # -- integers

    def number(self, value: ir.Value, at: At) -> Polynomial:
        """An integer at an element."""
        known = _known(value)
        if known is not None:
            return known
        op = owner_of(value)
        array = self._held.array(value)
        found = None
        if array is not None:
            found = _progression(array, at)
        elif op is not None and element_type(value) in INTEGERS:
            found = self._computed(op, at)
        if found is not None:
            return found
        moved = None if op is None else self._moved(op, at)
        return _element(value, at) if moved is None else self.number(*moved)

    def _computed(self, op: ir.Operation, at: At) -> Polynomial | None:
        kind = _computes(op)
        if kind == "range":
            given = [_known(value) for value in list(op.operands)[:-_AFTER_RANGE]]
            start = _ZERO if len(given) == 1 else given[0]
            step = given[2] if len(given) == 3 else Polynomial.of(1)
            return None if start is None or step is None else start + step * at[0]
        if kind == "filled":
            filled = _filling(op)
            return _known(filled) if isinstance(filled, ir.Value) else Polynomial.of(filled)
        if kind in _SIGNS:
            first, second, factor = op.operands
            alpha = _known(factor)
            if alpha is None or not all(map(_is_integer, (first, second))):
                return None
            return self._given(first, at) + alpha * self._given(second, at) * _SIGNS[kind]
        return None

    def _given(self, value: ir.Value, at: At) -> Polynomial:
        """An operand that is broadcast to the result."""
        return self.number(value, broadcast(value, at))

    # -- bools

    def truth(self, value: ir.Value, at: At) -> Truth:
        """Where a bool is true."""
        found = self._condition(value, at)
        if found is None:
            op = owner_of(value)
            moved = None if op is None else self._moved(op, at)
            if moved is not None:
                return self.truth(*moved)
            found = frozenset({_element(value, at) - 1})
        return frozenset(each for each in found if each.least is None or each.least < 0)

    def _condition(self, value: ir.Value, at: At) -> Truth | None:
        array = self._held.array(value)
        if array is not None:
            return _table(array, at)
        op = owner_of(value)
        if op is None:
            return None
        kind, operands = _computes(op), list(op.operands)
        if kind in _ORDERS and all(map(_is_integer, operands[:2])):
            is_larger, least = _ORDERS[kind]
            first, second = (self._given(operand, at) for operand in operands[:2])
            return frozenset({(first - second if is_larger else second - first) - least})
        if kind == "and" and all(map(_is_bool, operands)):
            sides = (self.truth(side, broadcast(side, at)) for side in operands)
            return frozenset[Polynomial]().union(*sides)
        if kind == "not" and _is_bool(operands[0]):
            inner = self.truth(operands[0], at)
            return frozenset({-1 - each for each in inner}) if len(inner) == 1 else None
        if kind == "cast" and _is_bool(value):
            op = owner_of(operands[0])  # of one number all over, whatever its type
            kind = "" if op is None else _computes(op)
        if op is not None and kind == "filled":
            filled = _filling(op)
            if isinstance(filled, ir.Value):
                element = element_of(filled)
                filled = None if element is None else number_of(element)
            return None if filled is None else _always(bool(filled))
        if kind in ("tril", "triu") and _is_bool(operands[0]):
            diagonal = _known(operands[1])
            if diagonal is None:
                return None
            below = at[-2] - at[-1] + diagonal
            return self.truth(operands[0], at) | {below if kind == "tril" else -below}
        return None

    # -- what gives elements of another tensor

    def _moved(self, op: ir.Operation, at: At) -> tuple[ir.Value, At] | None:
        """The tensor whose element it is, and which; None where it is computed otherwise."""
        kind, operands = _computes(op), list(op.operands)
        if kind == "copy":
            source = operands[1]
            same = element_type(source) == element_type(op.results[0])
            return (source, broadcast(source, at)) if same else None
        if not operands or not element_type(operands[0]) or not op.results:
            return None
        source, result = operands[0], op.results[0]
        if kind == "cast":
            # What has fewer bits is the same in more.
            widens = (element_type(source), element_type(result)) == INTEGERS
            return (source, at) if widens else None
        if kind == "index":
            return self._indexed(source, operands[1], at)
        found = _source(kind, operands[1:], source, result, list(at))
        if found is None or any(each is None for each in found):
            return None
        sizes = extents_of(source)
        return source, [
            _ZERO if size == 1 else each for each, size in zip(found, sizes, strict=True)
        ]

    def _indexed(self, source: ir.Value, indices: ir.Value, at: At) -> tuple[ir.Value, At] | None:
        """`x[:, positions]`: the axes of the positions stand where they are in x."""
        listed = owner_of(indices)
        given = list(listed.operands) if listed is not None else []
        places = [axis for axis, each in enumerate(given) if element_type(each)]
        if not places or places != list(range(places[0], places[-1] + 1)):
            return None
        if any(element_type(given[axis]) not in INTEGERS for axis in places):
            return None
        first, rank = places[0], max(len(extents_of(given[axis])) for axis in places)
        inner = at[first : first + rank]
        found = []
        for axis in places:
            size = extents_of(source)[axis]
            position = self._given(given[axis], inner)
            if position.least is None or position.least < 0:
                position = Polynomial.of(
                    Atom(("wrapped", position, size), f"({position} of {size})")
                )
            found.append(position)
        return source, [*at[:first], *found, *at[first + rank :]]


def _filling(op: ir.Operation) -> Any:
    """What a tensor is filled with: a number, or a value."""
    index = known_operations()["filling_operands"].get(kind_of(op))
    return int("ones" in kind_of(op)) if index is None else op.operands[index]


def _element(value: ir.Value, at: At) -> Polynomial:
    where = f"[{', '.join(map(str, at))}]" if at else ""
    return Polynomial.of(Atom(("element", value, tuple(at)), f"an element{where}"))


def _known(value: ir.Value) -> Polynomial | None:
    """A number or a size; None for what is neither."""
    if str(value.type) not in ("!torch.int", "!torch.bool"):
        return None
    found = size_of(value)
    return found if isinstance(found, Polynomial) else None


def _numbers(value: ir.Value) -> list[int] | None:
    listed = owner_of(value)
    found = [_known(item) for item in listed.operands] if listed is not None else [None]
    numbers = [None if item is None else item.number for item in found]
    return None if None in numbers else [number for number in numbers if number is not None]


def _source(
    kind: str, given: list[ir.Value], source: ir.Value, result: ir.Value, at: list[Any]
) -> list[Any] | None:
    """The indices in a tensor of an element of the result of an operation that moves elements."""
    sizes = extents_of(source)
    if kind == "expand":
        return at[len(at) - len(sizes) :]
    if kind == "permute":
        dims = _numbers(given[0])
        return None if dims is None else [at[dims.index(axis)] for axis in range(len(sizes))]
    if kind == "reshape":
        return _reshaped(sizes, extents_of(result), at)
    if kind not in ("unsqueeze", "select", "slice"):
        return None
    known = _known(given[0])
    dim = None if known is None else known.number
    if dim is None:
        return None
    if kind == "unsqueeze":
        return at[:dim] + at[dim + 1 :]
    start = _from_start(_known(given[1]), sizes[dim])
    if kind == "select":
        return [*at[:dim], start, *at[dim:]]
    step = _known(given[3])
    if start is None or step is None:
        return None
    at[dim] = start + step * at[dim]
    return at


def _reshaped(before: Sequence[Any], after: Sequence[Any], at: At) -> list[Any] | None:
    """As `_source`, where only sizes of 1 are put in or left out."""
    old = [axis for axis, size in enumerate(before) if size != 1]
    new = [axis for axis, size in enumerate(after) if size != 1]
    if [before[axis] for axis in old] != [after[axis] for axis in new]:
        return None
    found = [_ZERO] * len(before)
    for mine, its in zip(old, new, strict=True):
        found[mine] = at[its]
    return found


def _from_start(index: Polynomial | None, size: Polynomial) -> Polynomial | None:
    """An index that counts from the front; None where nobody knows from where it counts."""
    if index is None or (index.least is not None and index.least >= 0):
        return index
    return index + size if index.number is not None else None


def _always(holds: bool) -> Truth:
    return frozenset() if holds else frozenset({Polynomial.of(-1)})


def _table(table: Array, at: At) -> Truth | None:
    """The truth of a constant of bools, where that is one of the usual ones."""
    if table.dtype != numpy.bool_ or table.ndim == 0:
        return None
    if table.all() or not table.any():
        return _always(bool(table.all()))
    if table.ndim > 1 and numpy.array_equal(table, numpy.tril(numpy.ones_like(table))):
        return frozenset({at[-2] - at[-1]})
    return None


def _progression(table: Array, at: At) -> Polynomial | None:
    """A constant of integers that grow by as much from each index to the next."""
    if table.dtype not in (numpy.int32, numpy.int64) or not table.size:
        return None
    wide = table.astype(numpy.int64)
    start = int(wide.flat[0])
    expected, found = numpy.array(start), Polynomial.of(start)
    for axis, size in enumerate(wide.shape):
        step = int(numpy.take(wide, min(1, size - 1), axis).flat[0]) - start
        expected = expected[..., None] + numpy.arange(size) * step
        found += step * at[axis]
    return found if numpy.array_equal(wide, expected) else None


def broadcast(value: ir.Value, at: At) -> list[Polynomial]:
    """The indices in an operand that is broadcast to a result."""
    sizes = extents_of(value)
    kept = list(at[len(at) - len(sizes) :]) if sizes else []
    return [_ZERO if size == 1 else each for each, size in zip(kept, sizes, strict=True)]


def _is_integer(value: ir.Value) -> bool:
    element = element_type(value)
    return element in INTEGERS if element else _known(value) is not None


def _is_bool(value: ir.Value) -> bool:
    return element_type(value) == BOOL


Array = numpy.ndarray[Any, numpy.dtype[Any]]
_LITERAL = "torch.vtensor.literal"


class Held:
    """Constants by value.

    `constants`: what reads those that the module does not have as attributes.
    """

    def __init__(self, constants: Mapping[ir.Value, Callable[[], Array]] | None = None) -> None:
        self._constants = constants or {}
        self._known: dict[ir.Value, Array | None] = {}

    def array(self, value: ir.Value) -> Array | None:
        """A constant's elements; None for what is computed, or of a type that numpy lacks."""
        if value not in self._known:
            read = self._constants.get(value)
            self._known[value] = _literal(value) if read is None else read()
        return self._known[value]

    def is_equal(self, value: ir.Value, wanted: Array) -> bool:
        """Whether a value is a constant of the same type, sizes and elements."""
        found = self.array(value)
        return (
            found is not None
            and (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
            and bool(numpy.array_equal(found, wanted))
        )


def _literal(value: ir.Value) -> Array | None:
    op = owner_of(value)
    if op is None or op.name != _LITERAL:
        return None
    try:
        return numpy.array(ir.DenseElementsAttr(op.attributes["value"]))
    except (TypeError, ValueError, RuntimeError):
        return None


NOTHING = Held()
"""For what has all of its constants as attributes."""
