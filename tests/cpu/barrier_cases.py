"""Launches of the corpus's `barriers.cu`."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch
from expected import Expected, float_bits


def barriers() -> list[Expected]:
    """`barriers.cu`."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((7, 300), np.float32)
    w = rng.standard_normal(300, np.float32)
    norm = x * w / np.sqrt((x.astype(float) ** 2).mean(1, keepdims=True) + 1e-5)
    m, n, k = 70, 90, 50
    a = rng.standard_normal((m, k), np.float32)
    b = rng.standard_normal((k, n), np.float32)
    t = rng.standard_normal((75, 50), np.float32)
    h = rng.integers(0, 1000, 5000, dtype=np.int32)
    d = rng.standard_normal((3, 48), np.float32)
    e = rng.standard_normal(64, np.float32)
    la = rng.integers(0, 100, 32, dtype=np.int32)
    c = rng.integers(-60, 60, 500, dtype=np.int32)
    padded = np.pad(c, (0, 12)).reshape(4, 128)
    counts = 4 * (padded > 0).sum(1) + 2 * (padded > -50).all(1) + (padded > 49).any(1)
    nb = rng.standard_normal(128, np.float32)
    groups = np.concatenate([nb[:64][::-1], nb[64:][::-1]])
    for i in range(3):
        groups[64:] = np.roll(groups[64:] + np.float32(i), -1)
    pc = rng.integers(0, 1000, (9, 32), dtype=np.int32)
    sc = rng.integers(-99, 99, (3, 200), dtype=np.int32)
    keys = rng.integers(0, 1 << 32, 512, dtype=np.uint32)
    image = rng.standard_normal((40, 50), np.float32)
    around = np.pad(image, 1).astype(float)
    laplacian = 4 * around[1:-1, 1:-1] - around[1:-1, :-2] - around[1:-1, 2:]
    laplacian -= around[:-2, 1:-1] + around[2:, 1:-1]
    signal = rng.standard_normal(300, np.float32)
    taps = rng.standard_normal(9, np.float32)
    convolved = np.convolve(np.pad(signal, 4).astype(float), taps[::-1], "valid")
    b3 = np.zeros((2, 4, 4, 4), np.int32)
    for (block, z, j, i), _ in np.ndenumerate(b3):
        b3[block, z, j, i] = j + 10 * z + 100 * i + 1000 * block
    return [
        Expected(
            Launch(
                "rms_norm_tree",
                [x, w, np.zeros_like(x)],
                [2],
                [300, float_bits(1e-5)],
                (128, 1, 1),
                (7, 1, 1),
            ),
            [norm],
            rtol=1e-5,
        ),
        Expected(
            Launch(
                "matmul_tiled",
                [a, b, np.zeros((m, n), np.float32)],
                [2],
                [m, n, k],
                (16, 16, 1),
                (6, 5, 1),
            ),
            [a.astype(float) @ b],
            atol=1e-4,
        ),
        Expected(
            Launch(
                "transpose",
                [t, np.zeros((50, 75), np.float32)],
                [1],
                [50, 75],
                (32, 8, 1),
                (2, 3, 1),
            ),
            [t.T],
        ),
        Expected(
            Launch("histogram", [h, np.zeros(64, np.int32)], [1], [5000], (128, 1, 1), (7, 1, 1)),
            [np.bincount(h & 63, minlength=64)],
        ),
        Expected(
            Launch(
                "reverse_dynamic",
                [d, np.zeros_like(d)],
                [1],
                [48],
                (48, 1, 1),
                (3, 1, 1),
                dynamic_shared_memory=48 * 4,
            ),
            [d[:, ::-1]],
        ),
        Expected(
            Launch("early_exit", [e, np.zeros_like(e)], [1], [60], (96, 1, 1)),
            [np.where(np.arange(64) < 60, e, 0)[::-1]],
        ),
        Expected(
            Launch("local_across_barrier", [la, np.zeros_like(la)], [1], [], (32, 1, 1)),
            [_local_across_barrier([int(v) for v in la])],
        ),
        Expected(Launch("block_3d", [np.zeros_like(b3)], [0], [], (4, 4, 4), (1, 2, 1)), [b3]),
        Expected(
            Launch("counted", [c, np.zeros_like(c)], [1], [500], (128, 1, 1), (4, 1, 1)),
            [np.repeat(counts, 128)[:500]],
        ),
        Expected(Launch("named", [nb, np.zeros_like(nb)], [1], [], (128, 1, 1)), [groups]),
        Expected(
            Launch("producer_consumer", [pc, np.zeros_like(pc)], [1], [9], (64, 1, 1)),
            [pc[:, ::-1] + np.arange(9)[:, None]],
        ),
        Expected(
            Launch("scan_hillis", [sc, np.zeros_like(sc)], [1], [200], (256, 1, 1), (3, 1, 1)),
            [np.cumsum(sc, 1)],
        ),
        Expected(Launch("bitonic_sort", [keys], [0], [], (256, 1, 1)), [np.sort(keys)]),
        Expected(
            Launch(
                "stencil_5", [image, np.zeros_like(image)], [1], [50, 40], (16, 16, 1), (4, 3, 1)
            ),
            [laplacian],
            atol=1e-5,
        ),
        Expected(
            Launch(
                "convolve_1d",
                [signal, taps, np.zeros(300, np.float32)],
                [2],
                [300],
                (128, 1, 1),
                (3, 1, 1),
            ),
            [convolved],
            atol=1e-5,
        ),
    ]


def _local_across_barrier(x: list[int]) -> np.ndarray:
    values = []
    for t in range(32):
        a = [x[i] * t for i in range(8)]
        choices = [a[x[1] & 7], 5, a[3] * 7, -1, a[x[5] & 7] ^ 3, 99 // (x[2] | 1), 1 << t, t]
        values.append(choices[x[t] & 7])
    return np.array(values, np.int64).astype(np.int32)
