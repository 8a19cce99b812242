"""Random values for what a kernel or a function takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy

from custom_dispatch.kernel.dtypes import ElementType
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.operand import Operand, Scalar, Struct

_DRAWN = 1_048_573
"""A prime, so that rows and columns of matrices are not the same again."""


def random_value(
    operand: Operand, dims: Mapping[str, int], generator: numpy.random.Generator
) -> Any:
    """A value for an input: an array, a number, or a mapping for a struct."""
    if isinstance(operand, Scalar):
        return some_number(operand.dtype)
    if isinstance(operand, Struct):
        return {
            field.name: some_number(field.dtype)
            if field.count is None
            else [some_number(field.dtype)] * field.count
            for field in operand.fields
        }
    shape = tuple(evaluate(size, dims) for size in operand.shape)
    return random_array(operand.dtype, shape, generator)


def random_array(
    kind: ElementType, shape: tuple[int, ...], generator: numpy.random.Generator
) -> numpy.ndarray[Any, Any]:
    """Normally distributed floats, integers from 0 to 99, or truth values.

    After `_DRAWN` elements they come again in the same order.
    """
    size = math.prod(shape)
    if size > _DRAWN:
        return numpy.resize(random_array(kind, (_DRAWN,), generator), shape)
    dtype = kind.to_numpy()
    if kind.is_float:
        if kind.name == "f32":
            return generator.standard_normal(shape, numpy.float32)
        return generator.standard_normal(shape).astype(dtype)
    return generator.integers(0, 2 if kind.name == "bool" else 100, shape).astype(dtype)


def some_number(kind: ElementType) -> float | int:
    """A number that every type of its kind holds."""
    if kind.is_float:
        return 1.5
    return 1 if kind.name == "bool" else 3
