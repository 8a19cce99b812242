"""Reductions of JAX's along some dims of a value, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass

from cuda_kernels.patterns.jax_places.axes import Atom, Dim, Seen, flat, new
from cuda_kernels.patterns.jax_places.graph import (
    made_by,
)


@dataclass(frozen=True, slots=True)
class Reduced:
    """A reduction along some dims: its operand, and what it reduces."""

    operand: Seen
    over: Dim


def reduction(seen: Seen, name: str) -> Reduced | None:
    """The reduction that a value is a view of."""
    found = seen.base
    node = made_by(found.value, name)
    if node is None:
        return None
    given = node.operands[0]
    rest, axes, over = iter(found.axes), [], Dim()
    for dim, atoms in enumerate(new(given).axes):
        if dim in [int(axis) for axis in node.params["axes"]]:
            axes.append(atoms)
            over += atoms
        else:
            axes.append(next(rest))
    return Reduced(Seen(given, tuple(axes)), over)


def along(total: Reduced, of: Seen) -> Dim | None:
    """What a reduction is along, as dims of the value that it is of; None if it is of another."""
    one, two = total.operand.base, of.base
    if one.value is not two.value or len(one.axes) != len(two.axes):
        return None
    over = flat(total.over)
    found: list[Atom] = []
    for mine, its in zip(map(flat, one.axes), map(flat, two.axes), strict=True):
        if [atom.size for atom in mine] != [atom.size for atom in its]:
            return None
        for atom, other in zip(mine, its, strict=True):
            if atom in over:
                found.append(other)
            elif atom is not other:
                return None
    return tuple(found) or None


def rows_of(seen: Seen, over: Dim) -> list[Dim]:
    """The dims of a value that are not normalised, as leading dims of a kernel's operand."""
    dims = (tuple(atom for atom in flat(dim) if atom not in over) for dim in seen.axes)
    return [dim for dim in dims if dim]
