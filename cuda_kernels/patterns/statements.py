"""Statements of CUDA, in f32, for operations on single elements, whatever framework they are of.

NaN stays NaN. What is rounded to 16 bits between two operations of a model is not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy

import custom_dispatch as cd

CALLS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos"),
    *("tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *("erf", "erfc", "ceil", "floor", "trunc"),
)
"""What CUDA has by the same names, with an f behind."""
MINIMUM = "{0} != {0} || {0} < {1} ? {0} : {1}"
MAXIMUM = "{0} != {0} || {0} > {1} ? {0} : {1}"
"""NaN where either is."""
RELU = "{0} < 0.0f ? 0.0f : {0}"
SIGMOID = "1.0f / (1.0f + expf(-{0}))"
SOFTPLUS = "{0} > 20.0f ? {0} : log1pf(expf({0}))"
SIGN = "{0} > 0.0f ? 1.0f : {0} < 0.0f ? -1.0f : {0}"
SILU = "{0} / (1.0f + expf(-{0}))"
GELU_ERF = "0.5f * {0} * (1.0f + erff({0} * 0.70710678118654752f))"
GELU_TANH = "{0} / (1.0f + expf(-1.5957691216057308f * ({0} + 0.044715f * {0} * {0} * {0})))"
ACTIVATIONS = {"relu": RELU, "silu": SILU, "gelu_erf": GELU_ERF, "gelu_tanh": GELU_TANH}
"""Those that products ship with."""


def between(low: str, high: str, x: str = "{0}") -> str:
    """An operand clamped: below `low` that, and above `high` that, of which the last wins."""
    return f"({x} < {low} ? {low} : {x}) > {high} ? {high} : {x} < {low} ? {low} : {x}"


def declared(name: str, expression: str, kind: str = "float") -> str:
    """A variable that is what an expression says."""
    return f"const {kind} {name} = {expression};"


def called(function: cd.Function, name: str, given: Sequence[str]) -> str:
    """A variable that is what a function of the user's returns; the first of its results."""
    arguments = [
        f"static_cast<{item.dtype.c_name}>({value})"
        for item, value in zip(function.arguments, given, strict=True)
    ]
    result = f"{name}_result"
    return (
        f"{function.results[0].dtype.c_name} {result}; {function.call(arguments, [result])} "
        + declared(name, f"static_cast<float>({result})")
    )


def literal(value: float) -> str:
    """A number as f32."""
    with numpy.errstate(over="ignore"):
        number = float(numpy.float32(value))
    if math.isnan(number):
        return "__int_as_float(0x7fc00000)"
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}__int_as_float(0x7f800000)"
    return f"({number!r}f)" if number < 0 else f"{number!r}f"
