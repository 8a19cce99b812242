"""The cases of `sample_kernels/optional.cu`: buffers that may be absent, which have no elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Make = Callable[[np.random.Generator], list[Any]]

COUNT = 150


def _floats(rng: np.random.Generator, *, there: bool = True) -> Array:
    return rng.integers(-50, 50, COUNT if there else 0).astype(np.float32)


def _scale_bias(there: bool) -> Make:
    return lambda rng: [_floats(rng), _floats(rng, there=there)]


def _affine(weight: bool, bias: bool) -> Make:
    return lambda rng: [
        _floats(rng, there=weight),
        0.5,
        _floats(rng, there=bias),
        _floats(rng),
    ]


def _presence(a: bool, b: bool) -> Make:
    return lambda rng: [
        np.full(3, 8, np.float32),
        np.ones(4 * a, np.float32),
        np.ones((3 * b, 6 * b), np.float32),
    ]


def _scaled(x: Array, bias: Array) -> Array:
    return 2 * x + (bias if bias.size else np.float32(0))


def _moved(weight: Array, shift: float, bias: Array, x: Array) -> Array:
    value = x * weight if weight.size else x
    return (value + bias if bias.size else value) + np.float32(shift)


def _present(x: Array, a: Array, b: Array) -> Array:
    return np.full(4, (a.size > 0) + 2 * (b.size > 0) + int(x[0]), np.int32)


BOTH = (False, True)
OPTIONAL: list[tuple[str, Make, Callable[..., Array]]] = [
    *(("scale_bias", _scale_bias(there), _scaled) for there in BOTH),
    *(("affine", _affine(weight, bias), _moved) for weight in BOTH for bias in BOTH),
    *(("presence", _presence(a, b), _present) for a in BOTH for b in BOTH),
]
