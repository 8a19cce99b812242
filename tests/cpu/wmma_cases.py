"""Launches of the corpus's `wmma.cu`."""

from __future__ import annotations

import ml_dtypes
import numpy as np
from cpu_harness import Launch
from expected import Expected

_TYPES = {"f16": np.float16, "bf16": np.uint16, "tf32": np.float32, "s8": np.int8, "u8": np.uint8}
_SIZES = {"square": (16, 16), "tall": (32, 8), "flat": (8, 32)}
_ORDERS = {
    "f16_square": "RCR",
    "f16_square_columns": "CRC",
    "f16_sums": "RRR",
    "bf16_tall": "CCR",
    "u8_tall": "RCC",
    "s8_flat": "CRR",
    "tf32_columns": "CCC",
}
"""By the kernel: whether A, B and the sums lie in rows or columns."""


def wmma() -> list[Expected]:
    """`wmma.cu`. All numbers are small integers, so that every sum is exact."""
    rng = np.random.default_rng(31)
    found = []
    for name, orders in _ORDERS.items():
        kind, _, form = name.partition("_")
        m, n = _SIZES.get(form, (16, 16))
        k = 8 if kind == "tf32" else 16
        integer = kind in ("s8", "u8")
        sums = np.int32 if integer else np.float16 if name == "f16_sums" else np.float32
        a, b, c = (
            rng.integers(0 if kind == "u8" else -7, 8, size) for size in ((m, k), (k, n), (m, n))
        )
        stored = [
            _stored(a, orders[0], _TYPES[kind]),
            _stored(b, orders[1], _TYPES[kind]),
            _stored(c, orders[2], sums),
        ]
        want = ((a @ b + c) * 2).astype(sums)
        out = np.zeros_like(stored[2])
        found.append(
            Expected(
                Launch(name, [*stored, out], [3], [], (32, 1, 1)),
                [want.T if orders[2] == "C" else want],
            )
        )
    x, y = (rng.standard_normal(size).astype(np.float16) for size in ((64, 48), (48, 96)))
    found.append(
        Expected(
            Launch(
                "matmul_wmma",
                [x, y, np.zeros((64, 96), np.float32)],
                [2],
                [64, 96, 48],
                (128, 1, 1),
                (3, 2, 1),
            ),
            [x.astype(float) @ y.astype(float)],
            atol=1e-3,
        )
    )
    return found


def _stored(matrix: np.ndarray, order: str, dtype: type) -> np.ndarray:
    """The matrix in memory; bf16 as its bits."""
    placed = np.ascontiguousarray(matrix.T if order == "C" else matrix)
    if dtype is np.uint16:
        return placed.astype(ml_dtypes.bfloat16).view(np.uint16)
    return placed.astype(dtype)
