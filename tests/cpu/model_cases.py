"""Launches of the corpus's `models.cu`."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch
from expected import Expected, float_bits

F32 = np.float32


def models() -> list[Expected]:
    """`models.cu`."""
    return [
        *_embeddings_and_norms(),
        *_quantised(),
        *_choices(),
        *_products(),
    ]


def _embeddings_and_norms() -> list[Expected]:
    rng = np.random.default_rng(11)
    x = rng.standard_normal((5, 3, 64), F32)
    positions = np.array([0, 1, 7, 100, 2047], np.int32)
    angles = positions[:, None] * 10000.0 ** (-2 * np.arange(32) / 64)
    sine, cosine = np.sin(angles)[:, None, :], np.cos(angles)[:, None, :]
    a, b = x[..., :32].astype(float), x[..., 32:].astype(float)
    turned = np.concatenate([a * cosine - b * sine, b * cosine + a * sine], -1)
    half = rng.standard_normal((6, 200)).astype(np.float16)
    w = rng.standard_normal(200).astype(np.float16)
    wide = half.astype(float)
    norm = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5) * w.astype(float)
    gates = rng.standard_normal((4, 2, 150), F32) * 3
    g = gates[:, 0].astype(float)
    return [
        Expected(
            Launch(
                "rope",
                [x, positions],
                [0],
                [3, 64, float_bits(10000.0)],
                (32, 1, 1),
                (5, 3, 1),
            ),
            [turned],
            atol=1e-3,
        ),
        Expected(
            Launch(
                "rms_norm_half",
                [half, w, np.zeros_like(half)],
                [2],
                [100, float_bits(1e-5)],
                (128, 1, 1),
                (6, 1, 1),
            ),
            [norm],
            rtol=3e-3,
            atol=1e-4,
        ),
        Expected(
            Launch(
                "silu_and_mul",
                [gates, np.zeros((4, 150), F32)],
                [1],
                [150],
                (64, 1, 1),
                (4, 1, 1),
            ),
            [g / (1 + np.exp(-g)) * gates[:, 1]],
            rtol=1e-5,
            atol=1e-6,
        ),
    ]


def _quantised() -> list[Expected]:
    rng = np.random.default_rng(12)
    x = rng.standard_normal((5, 300), F32)
    x[3] = 0
    scales = np.abs(x).max(1) / F32(127)
    inverse = np.divide(F32(1), scales, out=np.zeros_like(scales), where=scales > 0)
    q = np.clip(np.rint(x * inverse[:, None]), -127, 127).astype(np.int8)
    weights = rng.integers(0, 16, (12, 256))
    packed = np.zeros((12, 32), np.uint32)
    for i in range(8):
        packed |= weights[:, i::8].astype(np.uint32) << np.uint32(4 * i)
    group_scales = rng.uniform(0.01, 0.1, (12, 8)).astype(np.float16)
    zeros = rng.integers(6, 10, (12, 8)).astype(np.uint8)
    v = rng.standard_normal(256, F32)
    real = (weights.reshape(12, 8, 32) - zeros[..., None]) * group_scales[..., None].astype(float)
    w8, x8 = rng.integers(-128, 128, (7, 400)).astype(np.int8), rng.integers(-128, 128, 400)
    return [
        Expected(
            Launch(
                "quantise_rows",
                [x, np.zeros_like(q), np.zeros(5, F32)],
                [1, 2],
                [300],
                (128, 1, 1),
                (5, 1, 1),
            ),
            [q, scales],
        ),
        Expected(
            Launch(
                "dequantise_rows",
                [q, scales, np.zeros((5, 300), F32)],
                [2],
                [75],
                (96, 1, 1),
                (5, 1, 1),
            ),
            [q * scales[:, None]],
        ),
        Expected(
            Launch(
                "gemv_4bit",
                [packed, group_scales, zeros, v, np.zeros(12, F32)],
                [4],
                [256],
                (32, 4, 1),
                (3, 1, 1),
            ),
            [real.reshape(12, 256) @ v.astype(float)],
            atol=1e-4,
        ),
        Expected(
            Launch(
                "gemv_int8",
                [w8, x8.astype(np.int8), np.zeros(7, np.int32)],
                [2],
                [100],
                (32, 1, 1),
                (7, 1, 1),
            ),
            [w8.astype(np.int32) @ x8.astype(np.int32)],
        ),
    ]


def _choices() -> list[Expected]:
    rng = np.random.default_rng(13)
    x = rng.standard_normal((3, 500), F32)
    x[1, 40:60] = x[1, 39]  # equal numbers: the first of them wins
    best = np.argsort(-x, 1, kind="stable")[:, :6]
    logits = rng.standard_normal((4, 300), F32) * 4
    labels = np.array([0, 299, 17, 128], np.int32)
    wide = logits.astype(float)
    high = wide.max(1, keepdims=True)
    losses = np.log(np.exp(wide - high).sum(1)) + high[:, 0] - wide[np.arange(4), labels]
    return [
        Expected(
            Launch(
                "top_k",
                [x, np.zeros((3, 6), np.int32), np.zeros((3, 6), F32)],
                [1, 2],
                [500, 6],
                (128, 1, 1),
                (3, 1, 1),
                dynamic_shared_memory=2000,
            ),
            [best, np.take_along_axis(x, best, 1)],
        ),
        Expected(
            Launch(
                "cross_entropy",
                [logits, labels, np.zeros(4, F32)],
                [2],
                [300],
                (128, 1, 1),
                (4, 1, 1),
            ),
            [losses],
            rtol=1e-5,
        ),
    ]


def _products() -> list[Expected]:
    rng = np.random.default_rng(14)
    m, n, k = 40, 50, 130
    a, b = rng.standard_normal((m, k), F32), rng.standard_normal((k, n), F32)
    c = rng.standard_normal((m, n), F32)
    q, keys, v = (rng.standard_normal((size, 32)).astype(np.float16) for size in (64, 48, 48))
    scores = q.astype(float) @ keys.T.astype(float) / np.sqrt(32)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    attended = weights / weights.sum(1, keepdims=True) @ v.astype(float)
    return [
        Expected(
            Launch(
                "matmul_split_k",
                [a, b, c],
                [2],
                [m, n, k, 48],
                (16, 16, 1),
                (4, 3, 3),
                rounding=1e-5,
            ),
            [c + a.astype(float) @ b],
            atol=1e-4,
        ),
        Expected(
            Launch(
                "flash_attention",
                [q, keys, v, np.zeros((64, 32), F32)],
                [3],
                [48, float_bits(1 / np.sqrt(32))],
                (64, 1, 1),
                (2, 1, 1),
            ),
            [attended],
            atol=2e-3,
        ),
    ]
