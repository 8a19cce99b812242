"""The activations that may follow a convolution, in the order of `include/activations.cuh`."""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import Any

import numpy

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

ACTIVATIONS = (
    *("", "relu", "silu", "gelu_erf", "gelu_tanh"),
    *("relu6", "hardswish", "hardsigmoid", "sigmoid", "leaky_relu"),
)
"""A kernel's scalar `activation` is the position of one of these."""


def activated(which: int, x: Array, slope: float) -> Array:
    """What a kernel computes, in f64."""
    between = numpy.where(x + 3.0 < 0.0, 0.0, numpy.where(x + 3.0 > 6.0, 6.0, x + 3.0))
    result: Array = x
    with numpy.errstate(over="ignore", invalid="ignore"):
        match ACTIVATIONS[which]:
            case "relu":
                result = numpy.where(x < 0.0, 0.0, x)
            case "silu":
                result = x / (1.0 + numpy.exp(-x))
            case "gelu_erf":
                result = 0.5 * x * (1.0 + numpy.vectorize(erf, otypes=[numpy.float64])(x / sqrt(2)))
            case "gelu_tanh":
                result = 0.5 * x * (1.0 + numpy.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3)))
            case "relu6":
                result = numpy.where(x < 0.0, 0.0, numpy.where(x > 6.0, 6.0, x))
            case "hardswish":
                result = x * between / 6.0
            case "hardsigmoid":
                result = between / 6.0
            case "sigmoid":
                result = 1.0 / (1.0 + numpy.exp(-x))
            case "leaky_relu":
                result = numpy.where(x < 0.0, x * slope, x)
    return result
