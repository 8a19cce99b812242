"""What each kernel of `tests/cpu/corpus` is run with, and what it must give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cpu_harness import Launch

CORPUS = Path(__file__).parent / "corpus"


@dataclass(frozen=True)
class Expected:
    """A launch, and what its outputs must be."""

    launch: Launch
    want: list[np.ndarray]
    rtol: float = 0.0
    atol: float = 0.0


def float_bits(value: float) -> int:
    """A float's bits, as a kernel takes it."""
    return int(np.float32(value).view(np.uint32))


def check(case: Expected, got: list[np.ndarray]) -> None:
    """Compare a launch's outputs."""
    for found, want in zip(got, case.want, strict=True):
        np.testing.assert_allclose(
            found.astype(np.float64) if case.rtol or case.atol else found,
            want,
            rtol=case.rtol,
            atol=case.atol,
            err_msg=case.launch.entry,
        )


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


FILES: dict[str, Callable[[], list[Expected]]] = {
    "barriers": barriers,
    "warps": warps,
    "functions": functions,
    "atomics": atomics,
    "tensor_cores": tensor_cores,
    "cub_blocks": cub_blocks,
}
"""By the file's name: its kernels' launches."""
