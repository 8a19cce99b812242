"""The cases of `sample_kernels/signatures.cu`: kernels whose C signatures are not IREE's.

Arguments are those of a model's function: the numbers of a struct stand one by one. Arrays hold
small whole numbers where a result would otherwise depend on how a compiler contracts it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Values = list[Any]
Inputs = Callable[[np.random.Generator], Values]
Expected = Callable[..., Array | tuple[Array, ...]]

COUNT = 150
TABLE = [7, *(float(value) for value in range(10, 19)), 2**20 + 3]
OTHER = [4, *(float(-value) for value in range(9)), -5]


def _floats(rng: np.random.Generator) -> Array:
    return rng.integers(-50, 50, COUNT).astype(np.float32)


def _doubles(rng: np.random.Generator) -> Array:
    return rng.integers(-50, 50, COUNT).astype(np.float64)


def _ints(rng: np.random.Generator) -> Array:
    return rng.integers(0, 1000, COUNT).astype(np.int32)


def _with(make: Callable[[np.random.Generator], Array], *after: Any, before: Any = ()) -> Inputs:
    """One random array between numbers."""
    return lambda rng: [*before, make(rng), *after]


def _mixed(d: float, x: Array, w: int, a: float, b: int, c: int, flag: int) -> Array:
    return ((x * d + w).astype(np.float32) + np.float32(a * b + c)).astype(np.float32)


def _looked_up(x: Array, table: Values, step: int = 0) -> Array:
    values = np.array(table[1:10], np.float32)
    return values[(x + step) % table[0]]


def _changed_copy(x: Array, *table: Any) -> Array:
    values = np.array(table[1:10], np.float32)
    return values[x % 5] + (x % 9 == x % 5).astype(np.float32)


def _polynomial(*arguments: Any) -> Array:
    *coefficients, degree, x = arguments
    return np.polyval(coefficients[degree::-1], x)


def _two_structs(*arguments: Any) -> Array:
    low, high, x, a, b, c, again_low, again_high = arguments
    return (np.clip(x, low, high) * b + c + (again_low - again_high * a)).astype(np.float32)


def _two_tables(*arguments: Any) -> Array:
    x = arguments[11]
    first, second = list(arguments[:11]), list(arguments[12:])
    chosen = [_looked_up(x, table) + np.float32(table[10]) for table in (first, second)]
    return np.where(x % 2 == 1, *chosen).astype(np.float32)


def _hash(seed: int, x: Array) -> Array:
    value = (np.uint64(seed) ^ x.astype(np.uint64)) * np.uint64(6364136223846793005)
    return (value >> np.uint64(33)).astype(np.int32)


def _half_scalars(a: float, x: Array, low: float, high: float, b: float) -> Array:
    bits = np.float32(b).view(np.uint32)  # exact in bf16, as the case has it
    assert bits & 0xFFFF == 0
    pair = np.float32(np.float16(low)) * np.float32(np.float16(high))
    return x + np.float32(np.float16(a)) + pair + np.float32(b)


def _loaded_twice(x: Array, scale: float, shift: int) -> Array:
    v = np.where(x > scale, x - scale, x * scale + shift)
    return np.where(v < 0.0, v + shift, v - scale * shift)


# Function: (inputs, expected).
SIGNATURES: dict[str, tuple[Inputs, Expected]] = {
    "mixed": (
        lambda rng: [0.25, _floats(rng), 2**33, 1.5, -3, -7, 1],
        _mixed,
    ),
    "out_first": (_with(_floats), lambda x: 2 * x),
    "scalars_first": (_with(_floats, before=[-2.5]), lambda alpha, x: np.float32(alpha) * x),
    "size_count": (_with(_floats), lambda x: -x),
    "out_in_inout": (
        lambda rng: [_floats(rng), _floats(rng)],
        lambda x, total: (x - total, total + x),
    ),
    "axpby": (
        lambda rng: [0.125, _doubles(rng), 2.0**-40, 1024 * _doubles(rng)],
        lambda a, x, b, z: a * x - b * z,
    ),
    "padded_struct": (
        _with(_doubles, before=[-5, 0.125, -300, 70000, 250]),
        lambda tag, weight, shift, factor, last, x: (
            x * weight + (tag * 1000000 + shift * factor - last)
        ),
    ),
    "table_lookup": (
        _with(_ints, *TABLE),
        lambda x, *table: _looked_up(x, table) + np.float32(table[10]),
    ),
    "grid_constant": (
        _with(_ints, before=TABLE),
        lambda *table: _looked_up(table[11], table, 1) - np.float32(table[10]),
    ),
    "polynomial": (_with(_doubles, before=[1.0, -2.0, 3.0, 0.5, 9.0, 9.0, 3]), _polynomial),
    "two_structs": (
        lambda rng: [-8.0, 16.0, _floats(rng), 0.5, 3, -2, 100.0, 8.0],
        _two_structs,
    ),
    "vector4": (
        _with(_floats, before=[1.0, -2.0, 3.0, 4.0]),
        lambda a, b, c, d, x: ((a * x + b) * x + c) * x + d,
    ),
    "vectors": (
        _with(_doubles, 0.5, -3.25, 7, 2**31 + 5, 9, -4, 30000),
        lambda x, a, b, i, j, k, s, t: x * a + b + i + 10.0 * j + 100.0 * k + s * t,
    ),
    "bytes": (
        _with(_ints, before=[-100, 200, -30000, 60000, 77]),
        lambda a, b, c, d, e, x: (x + (a + 1000 * b + c - d + e)).astype(np.int32),
    ),
    "unused": (
        lambda rng: [1.5, _floats(rng), -1, 1, 2.0, 3, 4, 5],
        lambda nothing, x, *others: x + 1,
    ),
    "flags": (
        lambda rng: [1, _floats(rng), 0, 1],
        lambda negate, x, twice, shift: -x + 1,
    ),
    "strided": (
        lambda rng: [rng.standard_normal((5, 31), np.float32)],
        lambda x: np.ascontiguousarray(x.reshape(31, 5).T),
    ),
    "momentum_step": (
        lambda rng: [0.5, _floats(rng), _floats(rng), 0.25, _floats(rng)],
        lambda rate, weights, gradient, beta, momentum: (
            weights - np.float32(rate) * (np.float32(beta) * momentum + gradient),
            np.float32(beta) * momentum + gradient,
        ),
    ),
    "hash": (_with(_ints, before=[0x0123_4567_89AB_CDEF]), _hash),
    "gather_strided": (
        lambda rng: [rng.standard_normal(120, np.float32), 4, 5, 6, 1, 4, 20, 3, 0],
        lambda x, *info: np.ascontiguousarray(x.reshape(6, 5, 4).transpose(2, 1, 0)).ravel(),
    ),
    "odd_struct": (
        _with(_ints, before=[255, 128, 3]),
        lambda r, g, b, x: (x + (65536 * r + 256 * g + b)).astype(np.int32),
    ),
    "changed_copy": (_with(_ints, *TABLE), _changed_copy),
    "nested": (
        _with(_floats, before=[2.0, 0.5, 64.0, 1.5, -6, 12]),
        lambda w, low, high, factor, k, s, x: (x * w + low - high + factor * k + s).astype(
            np.float32
        ),
    ),
    "line_of_points": (
        lambda _: [-(2.0**30), 2.0**24 + 2.0**-8],
        lambda start, step: (start + np.arange(100) * step).astype(np.float32),
    ),
    "half_scalars": (
        lambda rng: [0.0999755859375, _floats(rng), 1.5, -(2.0**-15), 0.15625],
        _half_scalars,
    ),
    "two_tables": (
        lambda rng: [*TABLE, _ints(rng), *OTHER],
        _two_tables,
    ),
    "loaded_twice": (_with(_doubles, 8.0, -(2**40)), _loaded_twice),
    "generic_address": (
        _with(_ints, before=TABLE),
        lambda *table: _looked_up(table[11], table) + np.float32(table[10]),
    ),
}
