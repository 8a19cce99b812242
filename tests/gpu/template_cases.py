"""The cases of `sample_kernels/templates.cu`: kernels that have C++ names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _halves(rng: np.random.Generator) -> list[Array]:
    """Small whole numbers: their sums are exact."""
    return [rng.integers(-8, 8, (9, 300)).astype(np.float16)]


def _sums(x: Array) -> Array:
    return x.astype(np.float64).sum(axis=1).astype(np.float32)


TEMPLATES: dict[str, tuple[Callable[[np.random.Generator], list[Any]], Callable[..., Array]]] = {
    "row_sums_f32": (lambda rng: [rng.integers(-99, 99, (7, 333)).astype(np.float32)], _sums),
    "row_sums_f16": (_halves, _sums),
    "twice": (lambda rng: [rng.standard_normal(1000)], lambda x: x + x),
    "square": (lambda rng: [rng.integers(-99, 99, 1000, np.int32)], lambda x: x * x),
    "add_floats": (
        lambda rng: [rng.standard_normal(1000, np.float32), 1.5],
        lambda x, amount: x + np.float32(amount),
    ),
    "add_ints": (
        lambda rng: [rng.integers(-99, 99, 1000, np.int32), -7],
        lambda x, amount: x + np.int32(amount),
    ),
    "negate": (lambda rng: [rng.standard_normal(1000, np.float32)], lambda x: -x),
}
