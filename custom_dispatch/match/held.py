"""What constants and weights of a model hold, wherever they are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy
from iree.compiler import ir

from custom_dispatch.link.constants import owner_of

Array = numpy.ndarray[Any, numpy.dtype[Any]]
_LITERAL = "torch.vtensor.literal"


class Held:
    """Constants by value.

    Parameters
    ----------
    constants
        What reads those that the module does not have as attributes.
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
