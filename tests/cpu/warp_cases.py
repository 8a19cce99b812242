"""Launches of the corpus's `warps.cu` and `cub_blocks.cu`."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch
from expected import Expected


def warps() -> list[Expected]:
    """`warps.cu`."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((5, 1000), np.float32) * 3
    e = np.exp(x.astype(float) - x.max(1, keepdims=True))
    w = rng.standard_normal(1000, np.float32)
    bias = rng.standard_normal(1000, np.float32)
    wide = x.astype(float)
    norm = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5)
    v = rng.integers(-60, 60, 512, dtype=np.int32)
    positive = (v > 0).reshape(-1, 32)
    before = (np.cumsum(positive, 1) - positive).reshape(-1)
    p = rng.integers(0, 1000, 48, dtype=np.int32)
    partial = np.concatenate(
        [np.maximum.accumulate(p[:32]) + 32, np.maximum.accumulate(p[32:]) + 16]
    )
    s = rng.integers(-1000, 1000, 64, dtype=np.int32)
    u = s.view(np.uint32).reshape(2, 32)
    signed = s.reshape(2, 32)
    reduced = np.stack(
        [
            signed.sum(1),
            signed.min(1),
            signed.max(1),
            np.bitwise_and.reduce(signed, axis=1),
            np.bitwise_or.reduce(signed, axis=1),
            np.bitwise_xor.reduce(signed, axis=1),
            u.min(1).view(np.int32),
            u.max(1).view(np.int32),
        ],
        1,
    )
    keys = rng.integers(0, 5, 96, dtype=np.int32)
    match = [sum(1 << j for j in range(32) if keys[i // 32 * 32 + j] == keys[i]) for i in range(96)]
    modes = np.zeros((7, 32), np.int32)
    lanes = np.arange(32)
    modes[0] = np.where(lanes >= 3, lanes - 3, lanes)
    modes[1] = np.where(lanes % 8 + 2 < 8, lanes + 2, lanes)
    modes[2] = lanes ^ 5
    modes[3] = lanes // 4 * 4 + 1
    modes[4] = (lanes + 7) % 32
    modes[5] = lanes < 29
    modes[6] = np.where(lanes % 16 >= 1, lanes - 1, lanes)
    filtered = rng.integers(-9, 9, 700, dtype=np.int32)
    q = rng.standard_normal((3, 100), np.float32)
    top = np.sort(q, 1)[:, ::-1][:, :4]
    return [
        Expected(
            Launch("softmax", [x, np.zeros_like(x)], [1], [1000], (256, 1, 1), (5, 1, 1)),
            [e / e.sum(1, keepdims=True)],
            rtol=1e-4,
            atol=1e-7,
        ),
        Expected(
            Launch(
                "layer_norm", [x, w, bias, np.zeros_like(x)], [3], [1000], (32, 4, 1), (2, 1, 1)
            ),
            [norm * w + bias],
            atol=1e-4,
        ),
        Expected(
            Launch("compact_ranks", [v, np.zeros_like(v)], [1], [], (128, 1, 1), (4, 1, 1)),
            [before * 4 + np.repeat(2 * positive.any(1) + positive.all(1), 32)],
        ),
        Expected(Launch("partial_warp", [p, np.zeros_like(p)], [1], [], (48, 1, 1)), [partial]),
        Expected(
            Launch("reduce_all", [s, np.zeros((2, 8), np.int32)], [1], [], (64, 1, 1)), [reduced]
        ),
        Expected(
            Launch("match_keys", [keys, np.zeros(96, np.uint32)], [1], [], (96, 1, 1)),
            [np.array(match, np.uint32)],
        ),
        Expected(Launch("shuffle_modes", [np.zeros_like(modes)], [0], [], (32, 1, 1)), [modes]),
        Expected(
            Launch(
                "filter_aggregated",
                [filtered, np.zeros(1, np.int32), np.zeros(700, np.int32)],
                [1],
                [700],
                (64, 1, 1),
                (11, 1, 1),
            ),
            [np.array([(filtered > 0).sum()])],
        ),
        Expected(
            Launch("divergent", [np.zeros(64, np.int32)], [0], [], (64, 1, 1)),
            [np.repeat(np.arange(4), 16) % 2 * 100 + np.tile([120, 376], 2).repeat(16)],
        ),
        Expected(
            Launch("top_4", [q, np.zeros((3, 4), np.float32)], [1], [100], (32, 1, 1), (3, 1, 1)),
            [top],
        ),
    ]


def cub_blocks() -> list[Expected]:
    """`cub_blocks.cu`."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal((5, 1000), np.float32)
    scanned = rng.integers(-50, 50, (3, 128), dtype=np.int32)
    keys = rng.integers(-(2**31), 2**31 - 1, 128, dtype=np.int32)
    w = rng.integers(0, 20, 64, dtype=np.int32)
    rows = w.reshape(2, 32)
    warps_ = rows.sum(1, keepdims=True) * 1000 + np.cumsum(rows, 1) - rows
    flat = rng.standard_normal(1000, np.float32)
    odd = (rows & 1).astype(bool)
    first = np.array([row[keep][0] for row, keep in zip(rows, odd, strict=True)])[:, None]
    ranks = np.cumsum(odd, 1) - 1
    coalesced = np.where(odd, odd.sum(1, keepdims=True) * 100 + ranks + first * 10000, 0)
    return [
        Expected(
            Launch(
                "cub_row_sum", [x, np.zeros(5, np.float32)], [1], [1000], (128, 1, 1), (5, 1, 1)
            ),
            [x.astype(float).sum(1)],
            atol=1e-3,
        ),
        Expected(
            Launch("cub_scan", [scanned, np.zeros_like(scanned)], [1], [], (128, 1, 1), (3, 1, 1)),
            [np.cumsum(scanned, 1)],
        ),
        Expected(
            Launch("cub_sort", [keys, np.zeros_like(keys)], [1], [], (64, 1, 1)), [np.sort(keys)]
        ),
        Expected(
            Launch("cub_warps", [w, np.zeros_like(w)], [1], [], (64, 1, 1)), [warps_.reshape(-1)]
        ),
        Expected(
            Launch("groups", [flat, np.zeros(8, np.float32)], [1], [1000], (128, 1, 1), (8, 1, 1)),
            [np.pad(flat.astype(float), (0, 24)).reshape(8, 128).sum(1)],
            atol=1e-3,
        ),
        Expected(
            Launch("coalesced", [w, np.zeros_like(w)], [1], [], (64, 1, 1)),
            [coalesced.reshape(-1)],
        ),
    ]
