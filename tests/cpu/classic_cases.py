"""Launches of the corpus's `classics.cu`."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch
from expected import Expected

F32 = np.float32


def classics() -> list[Expected]:
    """`classics.cu`."""
    rng = np.random.default_rng(21)
    rows, columns = 50, 90
    matrix = rng.standard_normal((rows, columns), F32) * (rng.random((rows, columns)) < 0.2)
    matrix[7] = 0
    where = [np.flatnonzero(row) for row in matrix]
    offsets = np.concatenate([[0], np.cumsum([len(w) for w in where])]).astype(np.int32)
    x = rng.standard_normal(columns, F32)
    keys = rng.integers(-1000, 1000, 101, dtype=np.int32)
    image, filter_ = rng.standard_normal((37, 45), F32), rng.standard_normal((5, 5), F32)
    padded = np.pad(image, 2, "edge").astype(float)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5, 5))
    scanned = rng.integers(-9, 10, (3, 256)).astype(F32)
    bodies = rng.standard_normal((100, 4), F32)
    apart = bodies[None, :, :3].astype(float) - bodies[:, None, :3]
    strength = bodies[:, 3] / ((apart**2).sum(2) + 1e-3) ** 1.5
    distance = rng.integers(1, 100, (30, 30), dtype=np.int32)
    through = distance[:, 4:5] + distance[4:5, :]
    a, b = rng.standard_normal((512, 48), F32), rng.standard_normal((48, 128), F32)
    return [
        Expected(
            Launch(
                "spmv_csr",
                [
                    offsets,
                    np.concatenate(where).astype(np.int32),
                    matrix[matrix != 0],
                    x,
                    np.zeros(rows, F32),
                ],
                [4],
                [rows],
                (128, 1, 1),
                (13, 1, 1),
            ),
            [matrix.astype(float) @ x],
            atol=1e-4,
        ),
        Expected(
            Launch("odd_even_sort", [keys], [0], [101], (64, 1, 1), dynamic_shared_memory=101 * 4),
            [np.sort(keys)],
        ),
        Expected(
            Launch(
                "convolve_2d",
                [image, filter_, np.zeros_like(image)],
                [2],
                [45, 37],
                (16, 16, 1),
                (3, 3, 1),
            ),
            [np.einsum("ijkl,kl->ij", windows, filter_.astype(float))],
            atol=1e-4,
        ),
        Expected(
            Launch(
                "scan_blelloch",
                [scanned, np.zeros_like(scanned)],
                [1],
                [256],
                (128, 1, 1),
                (3, 1, 1),
                dynamic_shared_memory=4 * (256 + 8),
            ),
            [np.cumsum(scanned, 1) - scanned],
        ),
        Expected(
            Launch(
                "n_body",
                [bodies, np.zeros((100, 3), F32)],
                [1],
                [100],
                (32, 1, 1),
                (4, 1, 1),
                dynamic_shared_memory=512,
            ),
            [np.einsum("ij,ijk->ik", strength, apart)],
            rtol=1e-3,
            atol=1e-2,
        ),
        Expected(
            Launch("monte_carlo", [np.zeros(1, np.uint32)], [0], [7], (128, 1, 1), (16, 1, 1)),
            [_inside(2048, 7)],
        ),
        Expected(
            Launch(
                "floyd_warshall_step",
                [distance.copy()],
                [0],
                [30, 4],
                (16, 16, 1),
                (2, 2, 1),
            ),
            [np.minimum(distance, through)],
        ),
        Expected(
            Launch(
                "matmul_large_block",
                [a, b, np.zeros((512, 128), F32)],
                [2],
                [512, 128, 48],
                (1024, 1, 1),
                (1, 2, 1),
                dynamic_shared_memory=2 * 4 * (256 * 16 + 16 * 128),
            ),
            [a.astype(float) @ b],
            atol=1e-4,
        ),
    ]


def _inside(count: int, seed: int) -> np.ndarray:
    """Philox 4x32-10 (Salmon and others, 2011), in Python's integers."""
    found, low = 0, (1 << 32) - 1
    for i in range(count):
        counter, key = [i, 0, 0, 0], [seed, 0]
        for _ in range(10):
            first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
            counter = [
                second >> 32 ^ counter[1] ^ key[0],
                second & low,
                first >> 32 ^ counter[3] ^ key[1],
                first & low,
            ]
            key = [(key[0] + 0x9E3779B9) & low, (key[1] + 0xBB67AE85) & low]
        x, y = (F32(np.float64(c)) * F32(2.3283064e-10) for c in counter[:2])
        found += bool(x * x + y * y < 1)
    return np.array([found], np.uint32)
