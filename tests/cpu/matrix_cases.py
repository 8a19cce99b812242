"""Launches of the corpus's `tensor_cores.cu`."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch
from expected import Expected


def tensor_cores() -> list[Expected]:
    """`tensor_cores.cu`."""
    rng = np.random.default_rng(5)

    def numbers(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape).astype(np.float16)

    a, b = numbers(16, 16), numbers(8, 16)
    exact = a.astype(float) @ b.T.astype(float)
    bf_a, bf_b = ((v.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16) for v in (a, b))
    bf = [(v.astype(np.uint32) << 16).view(np.float32).astype(float) for v in (bf_a, bf_b)]
    tf_a, tf_b = rng.standard_normal((16, 8), np.float32), rng.standard_normal((8, 8), np.float32)
    tf = [(v.view(np.uint32) & 0xFFFFE000).view(np.float32).astype(float) for v in (tf_a, tf_b)]
    s_a = rng.integers(-128, 128, (16, 32)).astype(np.int8)
    s_b = rng.integers(-128, 128, (8, 32)).astype(np.int8)
    x, y = numbers(64, 48), numbers(48, 40)
    q, k, v = numbers(32, 16), numbers(80, 16), numbers(80, 16)
    scores = q.astype(float) @ k.T.astype(float) / 4
    weights = np.exp(scores - scores.max(1, keepdims=True))
    attended = weights / weights.sum(1, keepdims=True) @ v.astype(float)
    lanes = np.arange(32)
    leaders = lanes & 8
    square = np.arange(64, dtype=np.uint16).reshape(8, 8)
    f32 = np.float32
    warp = (32, 1, 1)
    return [
        Expected(
            Launch("mma_f16", [a, b, np.zeros((16, 8), f32)], [2], [], warp), [exact], atol=1e-4
        ),
        Expected(
            Launch("mma_f16_sums", [a, b, np.zeros((16, 8), np.float16)], [2], [], warp),
            [exact + 1],
            atol=2e-2,
        ),
        Expected(
            Launch("mma_bf16", [bf_a, bf_b, np.zeros((16, 8), f32)], [2], [], warp),
            [bf[0] @ bf[1].T],
            atol=1e-4,
        ),
        Expected(
            Launch("mma_tf32", [tf_a, tf_b, np.zeros((16, 8), f32)], [2], [], warp),
            [tf[0] @ tf[1].T],
            atol=1e-4,
        ),
        Expected(
            Launch("mma_s8", [s_a, s_b, np.zeros((16, 8), np.int32)], [2], [], warp),
            [s_a.astype(np.int32) @ s_b.T.astype(np.int32)],
        ),
        Expected(
            Launch(
                "matmul_tensor",
                [x, y, np.zeros((64, 40), f32)],
                [2],
                [64, 40, 48],
                (32, 4, 1),
                (5, 1, 1),
            ),
            [x.astype(float) @ y.astype(float)],
            atol=1e-3,
        ),
        Expected(
            Launch(
                "attention", [q, k, v, np.zeros((32, 16), f32)], [3], [80], (16, 1, 1), (2, 1, 1)
            ),
            [attended],
            atol=1e-4,
        ),
        Expected(Launch("transposed", [square, np.zeros_like(square)], [1], [], warp), [square.T]),
        Expected(
            Launch("stored_transposed", [square, np.zeros_like(square)], [1], [], warp),
            [square.T],
        ),
        Expected(
            Launch("elected", [np.zeros(32, np.int32)], [0], [], warp),
            [leaders * 2 + (leaders == lanes)],
        ),
    ]
