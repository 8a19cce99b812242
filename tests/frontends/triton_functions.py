"""Functions of Triton, as their users write them."""

import triton
import triton.language as tl

SCALE = 2.0


@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    y = tl.load(y_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x + y, mask=i < n)


@triton.jit
def product(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, k, BK):
        rk = start + tl.arange(0, BK)
        a_mask, b_mask = (rm[:, None] < m) & (rk < k), (rk[:, None] < k) & (rn < n)
        a = tl.load(a_ptr + rm[:, None] * k + rk, mask=a_mask, other=0.0)
        b = tl.load(b_ptr + rk[:, None] * n + rn, mask=b_mask, other=0.0)
        total = tl.dot(a, b, total)
    c = c_ptr + rm[:, None] * n + rn
    tl.store(c, total.to(tl.float16), mask=(rm[:, None] < m) & (rn < n))


@triton.jit
def scale_rows(x_ptr, bias_ptr, y_ptr, step, width, factor, BLOCK: tl.constexpr):
    row = tl.program_id(0) * step
    i = tl.arange(0, BLOCK)
    y = tl.load(x_ptr + row + i, mask=i < width) * factor
    if bias_ptr is not None:
        y += tl.load(bias_ptr + i, mask=i < width)
    tl.store(y_ptr + row + i, y, mask=i < width)


@triton.autotune(
    [triton.Config({"BLOCK": 256}, num_warps=2), triton.Config({"BLOCK": 1024})], ["n"]
)
@triton.heuristics({"EVEN": lambda given: given["n"] % given["BLOCK"] == 0})
@triton.jit
def negate(x_ptr, y_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(y_ptr + i, -tl.load(x_ptr + i))
    else:
        tl.store(y_ptr + i, -tl.load(x_ptr + i, mask=i < n), mask=i < n)


_SIZES = [triton.Config({"SIZE": size}) for size in (256, 64, 0)]


@triton.autotune(_SIZES, [], warmup=1, rep=1, cache_results=True)
@triton.jit
def doubled(x_ptr, SIZE: tl.constexpr):
    tl.static_assert(SIZE < 256)
    i = tl.arange(0, SIZE)
    tl.store(x_ptr + i, tl.load(x_ptr + i) * 2)


@triton.jit
def shifted(x_ptr, y_ptr, n, BY: tl.constexpr = 2, BLOCK: tl.constexpr = 1024):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) + BY, mask=i < n)


@triton.jit
def sum_of(tensors, scales, half: tl.float16, wide: tl.float64, out_ptr, COUNT: tl.constexpr):
    total = half.to(tl.float64) + wide
    for i in tl.static_range(COUNT):
        total += tl.load(tensors[i]) * scales[i]
    tl.store(out_ptr, total)


@triton.jit
def either(which_ptr, x_ptr, y_ptr, out_ptr):
    if tl.load(which_ptr):  # noqa: SIM108 - as code for GPUs is written
        value = tl.load(x_ptr)
    else:
        value = tl.load(y_ptr)
    tl.store(out_ptr, value)


@triton.jit
def too_far(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i + 1))  # its last element is behind the end


@triton.jit
def by_global(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n) * FACTOR, mask=i < n)


@triton.jit
def mistaken(x_ptr, y_ptr, BLOCK: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, BLOCK), tl.load(x_ptr + tl.arange(0, 2 * BLOCK)))


FACTOR = tl.constexpr(3.0)
