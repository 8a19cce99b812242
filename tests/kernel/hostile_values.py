"""Values that no declaration expects, for every place that takes something of a user."""

from __future__ import annotations

import math
from pathlib import Path

import numpy


class Unprintable:
    """Its `repr` fails."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


NOT_INTEGERS = [
    None,
    True,
    1.0,
    math.nan,
    "64",
    b"64",
    {64: 1},
    {64},
    numpy.array([64, 64]),
    numpy.float32(1),
    Path("x"),
    object(),
    Unprintable(),
    lambda: 64,
]
HUGE = {"5000 digits": 10**5000, "-5000 digits": -(10**5000), "65 bits": 2**64, "-1": -1}
NOT_TEXT = [None, 1, 1.5, b"x", ["x"], {"x": 1}, ("x",), object(), Unprintable(), numpy.float32]
