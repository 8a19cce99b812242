"""Launches of the corpus's `functions.cu`."""

from __future__ import annotations

import math

import numpy as np
from cpu_harness import Launch
from expected import Expected


def functions() -> list[Expected]:
    """`functions.cu`."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((4, 150), np.float32)
    wide = x.astype(float)
    mean = wide.mean(1, keepdims=True)
    statistics = np.concatenate([mean, np.abs(wide - mean).mean(1, keepdims=True)], 1)
    t = np.arange(64)
    f = rng.standard_normal(64, np.float32)
    i = rng.integers(-5, 20, 64, dtype=np.int32)
    totals = np.repeat(i.reshape(2, 32).sum(1), 32)
    early = [_early(int(v)) for v in i]
    tables = np.array([[0.5, 1.5], [20, 30]])
    names = np.array([[ord("a"), ord("b")], [ord("x"), ord("y")]])
    odd = t & 1
    looked_up = tables[i & 1, odd] + (t & 3) + 1 + np.array([7, 9])[odd] + names[odd, i & 1]
    z = rng.random(32) * 5 + 0.5
    return [
        Expected(
            Launch(
                "row_mean_deviation",
                [x, np.zeros((4, 2), np.float32)],
                [1],
                [150],
                (64, 1, 1),
                (4, 1, 1),
            ),
            [statistics],
            atol=1e-5,
        ),
        Expected(
            Launch("structs", [f, np.zeros_like(f)], [1], [], (64, 1, 1)),
            [f + 7.5 + t - 4 - 3 * (t - 40.0)],
            atol=1e-5,
        ),
        Expected(
            Launch("mixed", [i, np.zeros_like(i)], [1], [], (64, 1, 1)),
            [totals * 1000 + early + i * (t & 7)],
        ),
        Expected(
            Launch("module_variables", [i, np.zeros(64, np.float32)], [1], [], (64, 1, 1)),
            [looked_up],
            rtol=1e-6,
        ),
        Expected(
            Launch("asserts", [np.abs(i), np.zeros_like(i)], [1], [], (64, 1, 1)), [abs(i) + 1]
        ),
        Expected(
            Launch("powers", [z, np.zeros_like(z)], [1], [], (32, 1, 1)),
            [z**0.3 + np.array([math.gamma(v) for v in z])],
            rtol=1e-12,
        ),
    ]


def _early(v: int) -> int:
    if v < 0:
        return -1
    return sum(range(8)) if v > 8 else sum(range(v)) * 2
