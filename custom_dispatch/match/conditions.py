"""Conditions on positions that are compared by value, and operands that follow from them.

A pattern's function makes a mask of one of its operands, say `arange(keys) < lengths`. A model has
no such operand, but a mask that is true where `j <= position`: then `lengths` is `position + 1`,
and is computed for the kernel.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from iree.compiler import ir

from custom_dispatch.link.dialects.torch_types import builtin_type, element_type
from custom_dispatch.link.operations import name_in_text
from custom_dispatch.match.polynomial import Atom, Polynomial
from custom_dispatch.match.positions import AXES, BOOL, INTEGERS, Positions, Truth, axes_of
from custom_dispatch.match.sizes import Size, extents_of


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """Where a bool of a pattern's function is true."""

    truth: Truth
    sizes: tuple[Size, ...]
    """Its own, in terms of the function's."""
    operands: Mapping[Atom, tuple[str, tuple[Polynomial, ...]]]
    """Which operand's elements its atoms are, and which elements."""


@dataclass(frozen=True, slots=True)
class Solved:
    """What an operand has to be, as a polynomial of its indices and of a model's values."""

    value: Polynomial
    axes: tuple[Polynomial, ...]


def said(truth: Iterable[Polynomial], names: Mapping[ir.Value, str] | None = None) -> str:
    """A condition in words."""

    def name_of(atom: Atom) -> str:
        if atom.of[0] != "element":
            return atom.name
        _, value, at = atom.of
        name = f"`{names[value]}`" if names and value in names else name_in_text(value)
        return f"{name}[{', '.join(map(str, at))}]" if at else name

    return " and ".join(sorted(f"{each.words(name_of)} >= 0" for each in truth)) or "true"


def condition_of(
    value: ir.Value, positions: Positions, operands: Mapping[ir.Value, str]
) -> Condition | None:
    """A bool that a pattern's function computes of positions; None for any other.

    `operands`: the function's parameters.
    """
    if element_type(value) != BOOL:
        return None
    sizes = extents_of(value)
    axes = axes_of(sizes)
    truth = positions.truth(value, axes)
    found: dict[Atom, tuple[str, tuple[Polynomial, ...]]] = {}
    for each in truth:
        for atom in each.atoms:
            if atom.of[0] == "wrapped":
                return None
            if atom.of[0] != "element":
                continue
            _, source, at = atom.of
            is_plain = len(set(at)) == len(at) and set(at) <= set(axes)
            if source not in operands or element_type(source) not in INTEGERS or not is_plain:
                return None
            if each.factor_of(atom) not in (1, -1):
                return None
            found[atom] = (operands[source], at)
    if not found or len({name for name, _ in found.values()}) < len(found):
        return None
    return Condition(truth, sizes, found)


def solve(
    wanted: Condition,
    found: ir.Value,
    positions: Positions,
    in_model: Callable[[Size], Size],
    names: Mapping[ir.Value, str],
) -> dict[str, Solved] | str:
    """What operands have to be for a model's bool to be a pattern's condition, or why it is not.

    - `in_model`: a size of the pattern's function as it is in the model.
    - `names`: the operands of the pattern's function.
    """
    kind = builtin_type(found.type)
    if element_type(found) != BOOL or not isinstance(kind, ir.RankedTensorType):
        return "is no mask of bools"
    if kind.rank > len(wanted.sizes):
        return "is no mask of bools with as many dims"
    sizes = [in_model(size) for size in wanted.sizes]
    its_sizes = extents_of(found)
    missing = len(sizes) - len(its_sizes)
    at = [
        Polynomial.of(0) if size == 1 else axis
        for size, axis in zip(its_sizes, AXES[missing:], strict=False)
    ]
    for size, its in zip(sizes[missing:], its_sizes, strict=True):
        if its not in (1, size) and size != 1:
            return f"has {its} where the pattern has {size}"
    ones = {
        axis.atom: 0
        for axis, size in zip(AXES, sizes, strict=False)
        if size == 1 and axis.atom is not None
    }
    conditions = [in_model(each).replaced(ones) for each in wanted.truth]
    truth = positions.truth(found, at)
    if len(truth) == len(conditions):
        for order in itertools.permutations(truth):
            solution = _solution(wanted, ones, zip(conditions, order, strict=True))
            if solution is not None:
                return solution
    return f"is true where {said(truth)}, and in the pattern where {said(conditions, names)}"


def _solution(
    wanted: Condition, ones: Mapping[Atom, int], pairs: Iterable[tuple[Polynomial, Polynomial]]
) -> dict[str, Solved] | None:
    found: dict[str, Solved] = {}
    for mine, its in pairs:
        atom = next((each for each in mine.atoms if each in wanted.operands), None)
        if atom is None:
            if mine != its:
                return None
            continue
        name, at = wanted.operands[atom]
        factor = mine.factor_of(atom) or 0
        value = (its - (mine - Polynomial.of(atom) * factor)) * factor
        axes = tuple(axis.replaced(ones) for axis in at)
        free = {Polynomial.of(each) for each in value.atoms if each.of[0] == "axis"}
        if not free <= set(axes) or name in found:
            return None
        found[name] = Solved(value, axes)
    return found
