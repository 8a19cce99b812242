"""Where the lanes' parts of memory lie together.

Lanes at known distances from each other load from a few stretches of memory, each of which is
loaded as a whole and whose elements are then put where they belong.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.warps.lane_values import LANES, Value

_MOST_PARTS: Final = 8
"""Stretches beyond which lanes take turns."""
_MOST_ELEMENTS: Final = 64
"""Elements of a stretch; lanes that are two elements apart still share one."""


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of memory."""

    first: int
    """The lane whose element is the first."""
    width: int
    """How many elements it has."""
    elements: tuple[int, ...]
    """Each lane's element, or -1 for a lane that has none in it."""

    def lanes(self) -> tuple[int, ...]:
        """For each element, the last of the lanes that share it."""
        last = {element: lane for lane, element in enumerate(self.elements)}
        return tuple(last[element] for element in range(self.width))


def load_parts(place: Value, size: int) -> list[Part]:
    """The stretches that hold what lanes load; none where they are too many.

    A gap of one element is loaded too: both its neighbours are there, so it can be read.
    """
    return _parts(place, size, 2 * size)


def store_parts(place: Value, size: int) -> list[Part]:
    """The stretches that lanes fill, without gaps; none where they are too many."""
    return _parts(place, size, size)


def _parts(place: Value, size: int, most: int) -> list[Part]:
    factors = place.factors or (0,) * LANES
    if not place.distances:
        return []
    found: list[Part] = []
    for factor in dict.fromkeys(factors):
        lanes = [lane for lane in range(LANES) if factors[lane] == factor]
        for stretch in _stretches((place.distances[lane] for lane in lanes), size, most):
            elements = [-1] * LANES
            for lane in lanes:
                if place.distances[lane] in stretch:
                    elements[lane] = (place.distances[lane] - stretch[0]) // size
            width = (stretch[-1] - stretch[0]) // size + 1
            found.append(Part(elements.index(0), width, tuple(elements)))
            if len(found) > _MOST_PARTS:
                return []
    return found


def _stretches(distances: Iterable[int], size: int, most: int) -> list[list[int]]:
    """Distances in order, split where neighbours are too far apart."""
    found: list[list[int]] = []
    for distance in sorted(set(distances)):
        last = found[-1] if found else [distance]
        near = distance - last[-1] in range(size, most + 1, size)
        if found and near and distance - last[0] < _MOST_ELEMENTS * size:
            last.append(distance)
        else:
            found.append([distance])
    return found
