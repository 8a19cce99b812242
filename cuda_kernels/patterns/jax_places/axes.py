"""What the dims of values are, followed through transpositions, reshapes and broadcasts.

A dim is a product of atoms, the dims of a place that differ from 1; a dim of 1 has none. A reshape
that takes a dim apart takes its atom apart, wherever else that is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from cuda_kernels.patterns.jax_places.graph import (
    Node,
    Value,
    made_by,
    without_casts,
    without_widening,
)


@dataclass(eq=False, slots=True)
class Atom:
    """A dim, or a part of one."""

    size: Any
    parts: tuple[Atom, ...] = ()
    """What it was taken apart into, the slowest first."""


Dim = tuple[Atom, ...]
Axes = tuple[Dim, ...]
_VIEWS = ("transpose", "broadcast_in_dim", "reshape", "squeeze", "tile")


def is_one(size: Any) -> bool:
    """Whether a size is known to be 1."""
    return isinstance(size, int) and size == 1


def axes_of(shape: Sequence[Any]) -> Axes:
    """New atoms for the dims of a shape."""
    return tuple(() if is_one(size) else (Atom(size),) for size in shape)


def flat(*dims: Dim) -> Dim:
    """The parts of dims that are not taken apart any further."""
    found: list[Atom] = []
    for dim in dims:
        for atom in dim:
            found += flat(atom.parts) if atom.parts else (atom,)
    return tuple(found)


def size_of(dim: Dim) -> Any:
    """The product of a dim's atoms."""
    return math.prod(atom.size for atom in flat(dim))


def same_axes(one: Sequence[Dim], other: Sequence[Dim]) -> bool:
    """Whether two values have the same dims."""
    return len(one) == len(other) and all(
        flat(a) == flat(b) for a, b in zip(one, other, strict=True)
    )


def regrouped(axes: Axes, shape: Sequence[Any]) -> Axes | None:
    """The dims of a reshaped value; None where they are no products of the atoms."""
    pending = list(flat(*axes))
    found: list[Dim] = []
    for size in shape:
        dim: list[Atom] = []
        product: Any = 1
        if not is_one(size):
            while product != size:
                if not pending:
                    return None
                atom = pending.pop(0)
                missing = _quotient(size, product)
                if missing is None:
                    return None
                if atom.size == missing or _quotient(missing, atom.size) is not None:
                    dim.append(atom)
                    product = product * atom.size
                    continue
                rest = _quotient(atom.size, missing)
                if rest is None:
                    return None
                atom.parts = (Atom(missing), Atom(rest))
                pending[:0] = atom.parts
        found.append(tuple(dim))
    return None if pending else tuple(found)


def _quotient(size: Any, by: Any) -> Any:
    """A size by another, where that is known to be whole."""
    try:
        if isinstance(size, int) and not isinstance(by, int):
            return None
        return size // by if (size % by) == 0 else None
    except (jax.errors.JAXTypeError, ValueError, TypeError, ZeroDivisionError):
        return None  # symbols of which JAX cannot tell


def through(node: Node, axes: Axes) -> Axes | None:
    """The dims of what a view is of, by those of the view; None for another operation."""
    given = node.operands[0]
    match node.name:
        case "transpose":
            order = node.params["permutation"]
            return tuple(axes[list(order).index(dim)] for dim in range(len(order)))
        case "broadcast_in_dim":
            where = [int(dim) for dim in node.params["broadcast_dimensions"]]
            return on(given, tuple(axes[dim] for dim in where))
        case "reshape" | "squeeze" | "expand_dims":
            if len(node.operands) > 1:
                return None
            return regrouped(axes, given.shape)
        case "tile":  # of dims of 1, as of masks
            repeated = zip(node.params["reps"], given.shape, axes, strict=True)
            if all(count == 1 or is_one(size) for count, size, _ in repeated):
                return on(given, axes)
    return None


def after(node: Node, axes: Axes) -> Axes | None:
    """The dims of a view that repeats nothing, by those of what it is of; None for another."""
    result = node.results[0]
    match node.name:
        case "transpose":
            return tuple(axes[dim] for dim in node.params["permutation"])
        case "reshape" | "squeeze" | "expand_dims":
            return regrouped(axes, result.shape) if len(node.operands) == 1 else None
        case "broadcast_in_dim":
            if math.prod(result.shape) == math.prod(node.operands[0].shape):
                return regrouped(axes, result.shape)
    return None


def on(value: Value, axes: Axes) -> Axes:
    """The dims of an operand of an operation on elements that has these."""
    if not value.shape:
        return ()
    return tuple(() if is_one(size) else dim for size, dim in zip(value.shape, axes, strict=True))


@dataclass(frozen=True, slots=True)
class Seen:
    """A value with its dims."""

    value: Value
    axes: Axes

    @property
    def base(self) -> Seen:
        """What it is a view of, before conversions between floats."""
        value, axes = self.value, self.axes
        while True:
            narrow = without_casts(value)
            node = made_by(narrow, *_VIEWS)
            source = None if node is None else through(node, axes)
            if node is None or source is None:
                return Seen(narrow, axes)
            value, axes = node.operands[0], source

    @property
    def source(self) -> Seen:
        """What it is a view of."""
        return self._through(*_VIEWS)

    @property
    def unrepeated(self) -> Seen:
        """What has the same elements in another order."""
        return self._through("transpose", "reshape", "squeeze")

    def _through(self, *views: str) -> Seen:
        value, axes = self.value, self.axes
        while True:
            node = made_by(value, *views)
            found = None if node is None else through(node, axes)
            if node is None or found is None:
                return Seen(value, axes)
            value, axes = node.operands[0], found

    @property
    def widened(self) -> Seen:
        """What it is a view of, before conversions to wider floats."""
        found = self.source
        while (narrow := without_widening(found.value)) is not found.value:
            found = Seen(narrow, found.axes).source
        return found

    def is_same(self, other: Seen) -> bool:
        """Whether both are views of one value, with the same dims."""
        one, two = self.base, other.base
        return one.value is two.value and same_axes(one.axes, two.axes)

    def operand(self, index: int) -> Seen:
        """An operand of the operation on elements that gives it."""
        assert self.value.node is not None  # noqa: S101 - the caller has looked at it
        given = self.value.node.operands[index]
        return Seen(given, on(given, self.axes))

    @property
    def atoms(self) -> Dim:
        """All its atoms, in order."""
        return flat(*self.axes)


def new(value: Value) -> Seen:
    """A value with dims of its own."""
    return Seen(value, axes_of(value.shape))


def product_operands(node: Node, axes: Axes) -> tuple[Seen, Seen, Dim]:
    """The operands of a `dot_general` by the dims of its result, and what it sums over."""
    (of_left, of_right), batches = node.params["dimension_numbers"]
    left, right = node.operands
    dims: tuple[dict[int, Dim], dict[int, Dim]] = ({}, {})
    summed: list[Atom] = []
    for one, other in zip(of_left, of_right, strict=True):
        dim = () if is_one(left.shape[one]) else (Atom(left.shape[one]),)
        dims[0][int(one)] = dims[1][int(other)] = dim
        summed += dim
    rest = iter(axes)
    for one, other in zip(*batches, strict=True):
        dims[0][int(one)] = dims[1][int(other)] = next(rest)
    for found, value in zip(dims, (left, right), strict=True):
        for index in range(value.rank):
            if index not in found:
                found[index] = next(rest)
    one, other = (
        Seen(value, tuple(found[index] for index in range(value.rank)))
        for found, value in zip(dims, (left, right), strict=True)
    )
    return one, other, tuple(summed)


def arranged(array: Any, have: Iterable[Dim], want: Sequence[Dim]) -> Any:
    """An array with other dims of the same atoms, repeated along those that it lacks."""
    given, wanted = list(map(flat, have)), [flat(dim) for dim in want]
    shape = tuple(size_of(dim) for dim in wanted)
    atoms, order = flat(*given), flat(*wanted)
    if atoms == order:
        return array if tuple(array.shape) == shape else jnp.reshape(array, shape)
    array = jnp.reshape(array, tuple(atom.size for atom in atoms))
    there = [atom for atom in order if atom in atoms]
    array = jnp.transpose(array, [atoms.index(atom) for atom in there])
    if len(there) < len(order):
        at = [index for index, atom in enumerate(order) if atom in atoms]
        array = jax.lax.broadcast_in_dim(array, [atom.size for atom in order], at)
    return array if tuple(array.shape) == shape else jnp.reshape(array, shape)
