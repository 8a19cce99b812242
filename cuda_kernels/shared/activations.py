"""Activations in f64: what the references of kernels compute. Declarations name them as here."""

from __future__ import annotations

from math import erf, pi, sqrt
from typing import Any

import numpy

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]


def activated(name: str, x: Array, slope: float = 0.0) -> Array:
    """An activation of numbers in f64; the numbers themselves for no name.

    Parameters
    ----------
    slope
        What leaky_relu multiplies numbers below zero by.
    """
    result: Array = x
    with numpy.errstate(over="ignore", invalid="ignore"):  # exp of large numbers is inf
        between = numpy.where(x + 3.0 < 0.0, 0.0, numpy.where(x + 3.0 > 6.0, 6.0, x + 3.0))
        match name:
            case "relu":
                result = numpy.where(x < 0.0, 0.0, x)
            case "silu":
                result = x / (1.0 + numpy.exp(-x))
            case "gelu_erf":
                below = numpy.vectorize(erf, otypes=[numpy.float64])(x / sqrt(2.0))
                result = 0.5 * x * (1.0 + below)
            case "gelu_tanh":
                result = 0.5 * x * (1.0 + numpy.tanh(sqrt(2.0 / pi) * (x + 0.044715 * x**3)))
            case "quick_gelu":
                result = x / (1.0 + numpy.exp(-1.702 * x))
            case "squared_relu":
                result = numpy.where(x < 0.0, 0.0, x * x)
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
