"""Launches of the corpus's `atomics.cu`."""

from __future__ import annotations

import numpy as np
from cpu_harness import Launch
from expected import Expected


def atomics() -> list[Expected]:
    """`atomics.cu`."""
    rng = np.random.default_rng(4)
    x = rng.integers(-1000, 1000, 256, dtype=np.int32)
    u = x.view(np.uint32)
    start = np.array([0, -(2**31), 2**31 - 1, 7, -1, 0, 0, 0, 0, 5], np.int32)
    want = [
        x.sum(),
        x.max(),
        x.min(),
        np.bitwise_or.reduce(x) | 7,
        np.bitwise_and.reduce(x),
        np.bitwise_xor.reduce(x),
        256 % 101,
        (-256) % 101,
        u.max().view(np.int32),
        0,
    ]
    found = np.array(want, np.int64).astype(np.int32)
    wide = np.array([x.sum() * 2**33, x.max()], np.int64)
    halves = rng.integers(-8, 8, 128).astype(np.float16)
    pairs = rng.integers(-8, 8, (64, 2)).astype(np.float16)
    lines = rng.standard_normal((2, 64, 4), np.float32)
    bytes_ = np.arange(96, dtype=np.uint8)
    cut = np.where(np.arange(96) % 16 < 10, bytes_, 0)
    eighths = rng.standard_normal(64, np.float32) * 100
    eighths[:6] = [500, -1e6, 0.001, 0.0156, -0.0, 447]
    return [
        Expected(
            Launch("every_atomic", [x, start.copy()], [1], [], (64, 1, 1), (4, 1, 1)), [found]
        ),
        Expected(
            Launch("shared_atomics", [x, start.copy()], [1], [], (256, 1, 1), (1, 1, 1)), [found]
        ),
        Expected(
            Launch("wide_atomics", [x, np.array([0, -(2**40)])], [1], [], (256, 1, 1)), [wide]
        ),
        Expected(
            Launch(
                "half_atomics",
                [halves, pairs, np.zeros(1, np.float16), np.zeros(2, np.float16)],
                [2, 3],
                [],
                (64, 1, 1),
            ),
            [halves.sum(keepdims=True), pairs.sum(0)],
        ),
        Expected(
            Launch("locked", [x, np.zeros(2, np.int32)], [1], [], (32, 1, 1), (8, 1, 1)),
            [np.array([x.max(), 256])],
        ),
        Expected(
            Launch("pipelined", [lines, np.zeros((2, 64, 4), np.float32)], [1], [], (64, 1, 1)),
            [lines[:, ::-1] * 2],
        ),
        Expected(Launch("cut_copy", [bytes_, np.zeros(96, np.uint8)], [1], [], (6, 1, 1)), [cut]),
        Expected(
            Launch(
                "fp8",
                [eighths, np.zeros((2, 64), np.uint8), np.zeros((2, 64), np.float32)],
                [1, 2],
                [],
                (32, 1, 1),
            ),
            _fp8(eighths),
        ),
        Expected(
            Launch("spaces", [np.zeros(32, np.int32)], [0], [], (32, 1, 1)),
            [np.full(32, 1 + 4 + 8 + 32)],
        ),
        Expected(
            Launch(
                "permutes",
                [np.array([0x03020100, 0x07060504], np.uint32), np.zeros((6, 4), np.uint32)],
                [1],
                [],
                (1, 1, 1),
            ),
            [_permutes()],
        ),
    ]


def _permutes() -> np.ndarray:
    picked = [
        [0x03020100, 0x04030201, 0x05040302, 0x06050403],
        [0x05060700, 0x06070001, 0x07000102, 0x00010203],
        [0x00000000, 0x01010101, 0x02020202, 0x03030303],
        [0x03020100, 0x03020101, 0x03020202, 0x03030303],
        [0x00000000, 0x01010100, 0x02020100, 0x03020100],
        [0x01000100, 0x03020302, 0x01000100, 0x03020302],
    ]
    return np.array(picked, np.uint32)


def _fp8(values: np.ndarray) -> list[np.ndarray]:
    """The nearest of all numbers of a format, ties to the even code, and its value."""
    codes, numbers = [], []
    for digits, bias, count in ((3, 7, 0x7F), (2, 15, 0x7C)):
        code = np.arange(count)
        exponent, fraction = code >> digits, code & ((1 << digits) - 1)
        scale = 2.0 ** (np.maximum(exponent, 1) - bias - digits)
        table = (fraction + ((exponent > 0) << digits)) * scale
        distance = np.abs(np.abs(values.astype(float))[:, None] - table)
        closest = distance == distance.min(1, keepdims=True)
        even = np.argmax(closest & (code % 2 == 0), 1)
        chosen = np.where((closest & (code % 2 == 0)).any(1), even, closest.argmax(1))
        codes.append(chosen | np.signbit(values) << 7)
        numbers.append(np.copysign(table[chosen], values))
    return [np.stack(codes).astype(np.uint8), np.stack(numbers).astype(np.float32)]
