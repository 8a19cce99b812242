"""Whole CUDA kernels, compiled by NVRTC, on both CPU drivers against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_harness import Launch, Runner, compile_cuda

SOURCE = r"""
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__constant__ int table[5] = {3, 1, 4, 1, 5};
__device__ float weights[2][3] = {{1.5f, 2.5f}, {-1.0f, 0.25f, 8.0f}};
extern "C" {
__global__ void simple_mul(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] * b[i];
}
__global__ void saxpy4(const float4* __restrict__ x, float4* __restrict__ y, float a, int n4) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) {
    float4 u = __ldg(x + i), v = y[i];
    v.x = fmaf(a, u.x, v.x); v.y = fmaf(a, u.y, v.y);
    v.z = fmaf(a, u.z, v.z); v.w = fmaf(a, u.w, v.w);
    y[i] = v;
  }
}
__global__ void functions(const float* a, float* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i];
  b[i] = expf(x) + tanhf(x) * erff(x) + sinf(x) * cosf(3.f * x) + logf(fabsf(x) + 1.f)
       + sqrtf(fabsf(x)) + rsqrtf(x * x + 1.f) + powf(fabsf(x), 1.3f) + floorf(x)
       + __fdividef(x, 3.f) + x / 7.f + (float)exp((double)x) + fmodf(x, 0.7f) + ldexpf(x, 3);
}
__global__ void sine(const float* a, float* b) { b[threadIdx.x] = sinf(a[threadIdx.x]); }
__global__ void bits(const int* a, int* b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int x = a[i]; unsigned u = x;
  long long y = (long long)x * 123456789;
  b[i] = __popc(u) + __clz(x) + (int)(__brev(u) % 1000) + x / 7 + (int)(u % 13) + (int)(y >> 7)
       + __ffs(x) + max(x, 3) + min(x, 100) + abs(x) + (x << (u & 7))
       + (int)__byte_perm(u, u * 3, 0x3254) + (int)__umulhi(u, u * 77u)
       + (int)__funnelshift_l(u, u * 5, 11) + (x > 4 ? x & 12 : x ^ 99);
}
__global__ void halves(const __half2* a, const __half2* b, __half2* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = __hmul2(__hadd2(a[i], b[i]), a[i]);
}
__global__ void bfloats(const __nv_bfloat16* a, float* b, __nv_bfloat16 scale, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = __bfloat162float(__float2bfloat16(__bfloat162float(a[i]) * 1.1f))
                  + __bfloat162float(scale);
}
__global__ void doubles(const double* a, double* b) {
  int i = threadIdx.x;
  b[i] = sqrt(a[i]) / 3.0 + exp(-a[i]) + log(a[i]);
}
__global__ void choose(const int* x, int* y) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  int r;
  switch (x[t] & 7) {
    case 0: r = x[t] * 3; break;
    case 1: r = 5 + t; break;
    case 2: r = x[t] * 7; break;
    case 3: r = t ^ 3; break;
    case 4: r = 99 / (x[t] | 1); break;
    case 5: r = 1 << (t & 15); break;
    default: r = -t;
  }
  y[t] = r;
}
__global__ void local_array(const int* x, int* y) {
  int t = threadIdx.x;
  int a[8];
  for (int i = 0; i < 8; i++) a[i] = x[t] + i * t;
  for (int i = 0; i < 8; i++) a[x[t] + i & 7] += a[i] * 3;
  int s = 0;
  for (int i = 0; i < 8; i++) s = s * 5 + a[(i * 3 + x[t]) & 7];
  y[t] = s;
}
__global__ void where(int* y, int width, int height) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
  int k = blockIdx.z * blockDim.z + threadIdx.z;
  if (i >= width || j >= height) return;
  y[(k * height + j) * width + i] = i + 100 * j + 10000 * k + 1000000 * (int)gridDim.x;
}
__global__ void in_place(float* y, int n) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = y[i] * 2.0f + 1.0f;
}
__global__ void tables(const int* x, float* y) {
  int t = threadIdx.x;
  y[t] = table[x[t] % 5] + weights[x[t] & 1][x[t] % 3];
}
__global__ void count(const int* x, int* y, float* s) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(y + (x[i] & 3), 1);
  atomicMax(y + 4, x[i]);
  atomicCAS(y + 5, 0, x[i] + 1);
  atomicAdd(s, 0.5f);
}
__global__ void small(const signed char* a, short* b, bool negate, float scale) {
  int i = threadIdx.x;
  b[i] = (short)((negate ? -a[i] : a[i]) * scale);
}
}
"""

RANDOM = np.random.default_rng(1)


@pytest.fixture(scope="module")
def ptx() -> str:
    return compile_cuda(SOURCE, options=["--std=c++17", "-default-device", *_includes()])


def _includes() -> list[str]:
    import nvidia.cu13

    return [f"-I{next(iter(nvidia.cu13.__path__))}/include"]


def float_bits(value: float) -> int:
    return int(np.float32(value).view(np.uint32))


def bits_reference(x: int) -> int:
    mask = 0xFFFFFFFF
    u = x & mask
    brev = int(f"{u:032b}"[::-1], 2)
    u3, u5, u77 = u * 3 & mask, u * 5 & mask, u * 77 & mask
    both = (u | u3 << 32).to_bytes(8, "little")
    perm = int.from_bytes(bytes(both[0x3254 >> 4 * k & 7] for k in range(4)), "little")
    total = u.bit_count() + 32 - u.bit_length() + brev % 1000 + int(x / 7) + u % 13
    total += (x * 123456789 >> 7) + (u & -u).bit_length() + max(x, 3) + min(x, 100) + abs(x)
    total += (x << (u & 7)) + perm + (u * u77 >> 32) + ((u5 << 32 | u) << 11 >> 32 & mask)
    total += x & 12 if x > 4 else x ^ 99
    return (total & mask) - ((total & 0x80000000) << 1)


def functions_reference(a: np.ndarray) -> np.ndarray:
    import math

    x = a.astype(np.float64)
    erf = np.vectorize(math.erf)
    value = np.exp(x) + np.tanh(x) * erf(x) + np.sin(x) * np.cos(3 * x) + np.log(np.abs(x) + 1)
    value += np.sqrt(np.abs(x)) + 1 / np.sqrt(x * x + 1) + np.abs(x) ** 1.3 + np.floor(x)
    return value + x / 3 + x / 7 + np.exp(x) + np.fmod(x, np.float64(np.float32(0.7))) + 8 * x


def choose_reference(x: np.ndarray) -> np.ndarray:
    def one(t: int, v: int) -> int:
        table = [v * 3, 5 + t, v * 7, t ^ 3, int(99 / (v | 1)), 1 << (t & 15)]
        return table[v & 7] if v & 7 < 6 else -t

    return np.array([one(t, int(v)) for t, v in enumerate(x)], np.int32)


def local_reference(x: np.ndarray) -> np.ndarray:
    out = []
    for t, v in enumerate(x.tolist()):
        a = [v + i * t for i in range(8)]
        for i in range(8):
            a[(v + i) & 7] += a[i] * 3
        s = 0
        for i in range(8):
            s = s * 5 + a[(i * 3 + v) & 7]
        out.append((s + 2**31) % 2**32 - 2**31)
    return np.array(out, np.int32)


def test_kernels_compute_what_numpy_does(run_ptx: Runner, ptx: str) -> None:
    n = 1000  # a partial last block
    a, b = RANDOM.standard_normal((2, n), dtype=np.float32)
    f4, i4 = np.zeros(n, np.float32), np.zeros(n, np.int32)
    x4, y4 = RANDOM.standard_normal((2, 4096), dtype=np.float32)
    ints = RANDOM.integers(-(10**6), 10**6, n, dtype=np.int32)
    small = RANDOM.integers(0, 100, 256, dtype=np.int32)
    h1, h2 = RANDOM.standard_normal((2, 2 * n)).astype(np.float16)
    brain = (RANDOM.standard_normal(n, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16)
    doubles = RANDOM.uniform(0.1, 9, 64)
    chars = RANDOM.integers(-128, 127, 64, dtype=np.int8)
    angles = np.array([1e5, -3e7, 2.5e10, 1e-3] * 16, np.float32)
    grid = (16, 1, 1)
    launches = {
        "simple_mul": Launch("simple_mul", [a, b, f4], [2], [n], grid=grid),
        "saxpy4": Launch("saxpy4", [x4, y4], [1], [float_bits(1.5), 1024], (128, 1, 1), (4, 1, 1)),
        "functions": Launch("functions", [a, f4], [1], [n], grid=grid),
        "sine": Launch("sine", [angles, np.zeros(64, np.float32)], [1]),
        "bits": Launch("bits", [ints, i4], [1], [n], grid=grid),
        "halves": Launch("halves", [h1, h2, np.zeros(2 * n, np.float16)], [2], [n], grid=grid),
        "bfloats": Launch("bfloats", [brain, f4], [1], [0x3F80, n], grid=grid),
        "doubles": Launch("doubles", [doubles, np.zeros(64)], [1]),
        "choose": Launch("choose", [small, np.zeros(256, np.int32)], [1], grid=(4, 1, 1)),
        "local_array": Launch(
            "local_array", [small, np.zeros(256, np.int32)], [1], [], (256, 1, 1)
        ),
        "where": Launch(
            "where", [np.zeros((4, 5, 13), np.int32)], [0], [13, 5], (8, 2, 2), (2, 3, 2)
        ),
        "in_place": Launch("in_place", [a], [0], [n], grid=grid),
        "tables": Launch("tables", [small, np.zeros(256, np.float32)], [1], [], (256, 1, 1)),
        "count": Launch(
            "count",
            [small, np.zeros(6, np.int32), np.zeros(1, np.float32)],
            [1, 2],
            grid=(4, 1, 1),
        ),
        "small": Launch("small", [chars, np.zeros(64, np.int16)], [1], [1, float_bits(2.5)]),
    }
    for arch in ("generic", "x86-64-v3"):
        outputs = dict(zip(launches, run_ptx(ptx, list(launches.values()), arch), strict=True))
        one = {name: values[0] for name, values in outputs.items()}
        np.testing.assert_array_equal(one["simple_mul"], a * b)
        np.testing.assert_allclose(one["saxpy4"], np.float32(1.5) * x4 + y4, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(one["functions"], functions_reference(a), rtol=3e-6, atol=3e-6)
        np.testing.assert_allclose(one["sine"], np.sin(angles.astype(np.float64)), atol=2e-7)
        np.testing.assert_array_equal(one["bits"], [bits_reference(int(x)) for x in ints])
        np.testing.assert_array_equal(one["halves"], (h1 + h2) * h1)
        scaled = bfloat(wide(brain) * np.float32(1.1)) + np.float32(1)
        np.testing.assert_array_equal(one["bfloats"], scaled)
        want = np.sqrt(doubles) / 3 + np.exp(-doubles) + np.log(doubles)
        np.testing.assert_allclose(one["doubles"], want, rtol=1e-15, atol=1e-15)
        np.testing.assert_array_equal(one["choose"], choose_reference(small))
        np.testing.assert_array_equal(one["local_array"], local_reference(small))
        k, j, i = np.indices((4, 5, 13))
        np.testing.assert_array_equal(one["where"], i + 100 * j + 10000 * k + 2000000)
        np.testing.assert_array_equal(one["in_place"], a * np.float32(2) + np.float32(1))
        constants, weights = np.array([3, 1, 4, 1, 5]), np.array([[1.5, 2.5, 0], [-1, 0.25, 8]])
        np.testing.assert_array_equal(
            one["tables"], constants[small % 5] + weights[small & 1, small % 3]
        )
        counts, total = outputs["count"]
        np.testing.assert_array_equal(counts[:4], np.bincount(small & 3, minlength=4))
        assert counts[4] == small.max()
        assert counts[5] - 1 in small
        assert total[0] == 128
        np.testing.assert_array_equal(
            one["small"], np.trunc(-chars.astype(np.float32) * np.float32(2.5)).astype(np.int16)
        )


def wide(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bfloat(values: np.ndarray) -> np.ndarray:
    import ml_dtypes

    return values.astype(ml_dtypes.bfloat16).astype(np.float32)


BOUNDS = r"""
extern "C" __global__ void mark(int* y, unsigned n, int first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x + first;
  if ((unsigned)i < n) y[i & 1023] = i;
}
extern "C" __global__ void below(int* y, int n, int first) {
  int i = first + (int)threadIdx.x * 3;
  if (i >= n) return;
  y[threadIdx.x] = i;
}
"""


def test_a_bounds_check_is_dropped_only_where_it_passes(run_ptx: Runner) -> None:
    """Rows that wrap around, or that pass the check only in part, keep it."""
    zeros = np.zeros(1024, np.int32)
    big = 2**31 - 1
    cases = [
        ("mark", n, first)
        for n in (0, 1, 63, 64, 65, 2**32 - 10)
        for first in (0, -5, -40, big - 20)
    ] + [
        ("below", n, first) for n in (0, 100, big - 50, big, -big) for first in (0, -400, big - 100)
    ]
    launches = [
        Launch(name, [zeros], [0], [n & 0xFFFFFFFF, first & 0xFFFFFFFF]) for name, n, first in cases
    ]
    results = run_ptx(compile_cuda(BOUNDS), launches)
    for (name, n, first), (got,) in zip(cases, results, strict=True):
        want = zeros.copy()
        for t in range(64):
            step = t if name == "mark" else 3 * t
            i = np.int64(first + step)
            wrapped = int((i + 2**31) % 2**32 - 2**31)
            if name == "mark" and wrapped % 2**32 < n:
                want[wrapped & 1023] = wrapped
            if name == "below" and wrapped < n:
                want[t] = wrapped
        np.testing.assert_array_equal(got, want, err_msg=f"{name} {n} {first}")
