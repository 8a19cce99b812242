"""The arrays that a function and its module are run with, to compare what they give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy

from custom_dispatch.errors import ModelError
from custom_dispatch.kernel.names import shown


def arrays_of(values: Sequence[Any]) -> list[numpy.ndarray[Any, Any]]:
    """What is in containers, in the order of a module's arguments and results."""
    given = jax.tree.leaves(tuple(values))
    for item in given:
        if isinstance(item, jax.ShapeDtypeStruct):
            raise ModelError(
                f"verify is given, and an argument is {shown(item)}, which holds no numbers.",
                expected="arrays, with which the function and its module are run",
                next_step="pass arrays of such sizes, or leave verify out.",
            )
    return [numpy.asarray(jax.numpy.asarray(item)) for item in given]
