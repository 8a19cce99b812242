"""What attention adds to scores or hides of them, and what of that is a causal mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy

from cuda_kernels.patterns.jax_places.axes import Atom, Dim, Seen, arranged, flat
from cuda_kernels.patterns.jax_places.constants import held, sizes_to_try
from cuda_kernels.patterns.jax_places.graph import made_by, number_of

HIDDEN = -1e4
"""Scores from here on down are as good as none: no exponential is left of them."""


@dataclass(frozen=True, slots=True)
class Mask:
    """Which scores are seen, or what is added to them."""

    seen: Seen
    added: bool
    """Whether it is added; else it is true where a score is seen, or hidden."""
    hides: bool = False
    """Whether it is true where a score is hidden."""
    fill: float = -numpy.inf
    """What hidden scores are."""
    factor: float = 1.0
    """What it is multiplied by when it is added."""

    @property
    def base(self) -> Seen:
        """What it is a view of."""
        return self.seen.source

    def dims(self) -> set[Atom]:
        """The atoms that it depends on."""
        return {*self.base.atoms}


def parts_of(mask: Mask) -> list[Mask]:
    """The masks that one consists of, all of which have to be true."""
    if mask.added:
        return _as_bools(mask)
    found = mask.base
    node = found.value.node
    name = "" if node is None else node.name
    if name == "not":
        inner = Mask(found.operand(0), False, not mask.hides, mask.fill)
        return parts_of(inner)
    if (name == "and" and not mask.hides) or (name == "or" and mask.hides):
        return [
            each
            for index in (0, 1)
            for each in parts_of(Mask(found.operand(index), False, mask.hides, mask.fill))
        ]
    if node is not None and name in ("ne", "gt", "eq", "convert_element_type"):
        of_bool = _of_numbers(found, name)
        if of_bool is not None:
            hides = mask.hides != (name == "eq")
            return parts_of(Mask(of_bool, False, hides, mask.fill))
    if node is not None and name in ("mul", "min"):  # of ones and zeros
        return (
            parts_of(Mask(found.operand(0), False, mask.hides, mask.fill))
            + parts_of(Mask(found.operand(1), False, mask.hides, mask.fill))
            if not mask.hides
            else [mask]
        )
    return [mask]


def _of_numbers(found: Seen, name: str) -> Seen | None:
    """The bool that is compared with 0 as a number: as Flax has masks."""
    given = found.operand(0).base if name != "convert_element_type" else found.operand(0).source
    node = found.value.node
    if name in ("ne", "gt", "eq") and node is not None and number_of(node.operands[1]) != 0.0:
        return None
    if name == "convert_element_type" and str(found.value.dtype) != "bool":
        return given if str(given.value.dtype) == "bool" else None
    if str(given.value.dtype) == "bool":
        return given
    cast = made_by(given.value, "convert_element_type")
    if cast is not None and str(cast.operands[0].dtype) == "bool":
        return given.operand(0)
    both = made_by(given.value, "mul", "min", "and")
    if both is not None and all(_is_bool(given.operand(index)) for index in (0, 1)):
        return given
    return None


def _is_bool(seen: Seen) -> bool:
    """Whether a number is that of a bool."""
    found = seen.base
    cast = made_by(found.value, "convert_element_type")
    if cast is not None and str(cast.operands[0].dtype) == "bool":
        return True
    both = made_by(found.value, "mul", "min", "and")
    return both is not None and all(_is_bool(found.operand(index)) for index in (0, 1))


def _hides(seen: Seen) -> tuple[Seen, bool] | None:
    """The bool of which a value is the number, or 1 less that; and whether it is true there."""
    found = seen.base
    less = made_by(found.value, "sub")
    if less is not None and number_of(less.operands[0]) == 1.0 and _is_bool(found.operand(1)):
        return found.operand(1).base, False
    return (found, True) if _is_bool(found) else None


def _as_bools(mask: Mask) -> list[Mask]:
    """An added mask that is 0 or hides, as bools; others as they are."""
    found = mask.seen.base
    times = made_by(found.value, "mul")
    if times is not None:
        for index in (0, 1):
            fill = number_of(times.operands[index])
            hides = None if fill is None else _hides(found.operand(1 - index))
            if fill is not None and hides is not None and fill * mask.factor <= HIDDEN:
                return parts_of(Mask(hides[0], False, hides[1], fill * mask.factor))
    node = made_by(found.value, "select_n")
    if node is None or node.operands[0].shape == () or len(node.operands) != 3:
        return [mask]
    numbers = [number_of(each) for each in node.operands[1:]]
    for shown, hidden in ((0, 1), (1, 0)):
        fill = numbers[hidden]
        if numbers[shown] == 0.0 and fill is not None and fill * mask.factor <= HIDDEN:
            return parts_of(Mask(found.operand(0), False, hidden == 1, fill * mask.factor))
    return [mask]


def constant_mask(mask: Mask, queries: Dim, keys: Dim) -> str:
    """What a mask is by its values: "all" if it hides nothing, "causal", or empty for any other.

    A causal mask hides the keys behind a query's own position, counted from the first ones.
    """
    base = mask.base
    answers = set[str]()
    for sizes in sizes_to_try(base.value):
        array = held(base.value, sizes)
        if array is None:
            return ""
        shown = (array == 0) if mask.hides or mask.added else (array != 0)
        if mask.added and not bool((shown | (array * mask.factor <= HIDDEN)).all()):
            return ""
        answers.add(_name_of(shown, base, flat(queries), flat(keys)))
    return answers.pop() if len(answers) == 1 else ""


def _name_of(shown: Any, base: Seen, queries: Dim, keys: Dim) -> str:
    if bool(shown.all()):
        return "all"
    where = [index for index, size in enumerate(shown.shape) if size != 1]
    dims = [flat(base.axes[index]) for index in where]
    plain = shown.squeeze()
    if dims == [queries, keys]:
        rows = plain
    elif dims == [keys, queries]:
        rows = plain.T
    else:
        return ""
    wanted = numpy.arange(rows.shape[1]) <= numpy.arange(rows.shape[0])[:, None]
    return "causal" if rows.shape == wanted.shape and bool((rows == wanted).all()) else ""


def as_bools(mask: Mask, array: Any, dims: list[Dim]) -> Any:
    """A mask's array in some dims, true where scores are seen."""
    found = arranged(array, mask.base.axes, dims) != 0
    return ~found if mask.hides else found


def as_numbers(mask: Mask, array: Any, dims: list[Dim], dtype: Any) -> Any:
    """An added mask's array in some dims, in a type."""
    found = arranged(array, mask.base.axes, dims)
    found = found * mask.factor if mask.factor != 1.0 else found
    # What hides in f32 has to do so in 16 bits as well.
    least = float(jnp.finfo(dtype).min)
    return jnp.where(found < least, -jnp.inf, found).astype(dtype)
