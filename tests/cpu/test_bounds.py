"""What is known of numbers because a block's size is: right for all of them, and put to use."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import numpy as np
import pytest
from cpu_harness import Launch, Runner, compile_cuda, model_text

from custom_dispatch.cpu.analysis.bounds import Bounds, bounds_of, compared, resized
from custom_dispatch.cpu.warps.lane_values import signed

BITS = 3
NUMBERS = range(-4, 4)
INTERVALS = [(low, high) for low in NUMBERS for high in NUMBERS if low <= high]
MASK = (1 << BITS) - 1
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shl": operator.lshift,
    "lshr": lambda x, y: (x & MASK) >> y,
    "ashr": operator.rshift,
    "udiv": lambda x, y: (x & MASK) // (y & MASK),
    "urem": lambda x, y: (x & MASK) % (y & MASK),
    "sdiv": lambda x, y: int(x / y),
    "srem": lambda x, y: x - y * int(x / y),
}


def _numbers(bounds: Bounds | None) -> range:
    return NUMBERS if bounds is None else range(bounds[0], bounds[1] + 1)


def _has_value(operation: str, y: int) -> bool:
    if operation in ("shl", "lshr", "ashr"):
        return 0 <= y < BITS
    return y != 0 or operation[1:] not in ("div", "rem")


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_an_operation_gives_is_within_its_bounds(operation: str) -> None:
    compute = OPERATIONS[operation]
    known = 0
    for x, y in itertools.product([*INTERVALS, None], repeat=2):
        found = bounds_of(operation, x, y, BITS)
        if found is None:
            continue
        known += 1
        assert -4 <= found[0] <= found[1] < 4
        for p, q in itertools.product(_numbers(x), _numbers(y)):
            if _has_value(operation, q):
                assert found[0] <= signed(compute(p, q), BITS) <= found[1], (x, y, p, q)
    assert known > 10


def test_a_comparison_that_is_decided_is_so_for_all_numbers() -> None:
    conditions = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}
    named = {sign + how: test for sign in "su" for how, test in conditions.items()}
    named |= {"eq": operator.eq, "ne": operator.ne}
    for condition, test in named.items():
        decided = set()
        for x, y in itertools.product([*INTERVALS, None], repeat=2):
            found = compared(condition, x, y)
            if found is None:
                continue
            decided.add(found)
            low = MASK if condition[0] == "u" else -1
            for p, q in itertools.product(_numbers(x), _numbers(y)):
                assert test(p & low, q & low) is found, (condition, x, y)
        assert decided == {True, False}


def test_bounds_are_those_of_the_other_width_or_unknown() -> None:
    for x in INTERVALS:
        assert resized("sext", x, "i3", "i8") == x
        assert resized("zext", x, "i3", "i8") == (x if x[0] >= 0 else None)
        assert resized("trunc", x, "i3", "i2") == (x if x[0] >= -2 and x[1] < 2 else None)
    assert resized("zext", None, "i32", "i64") is None
    assert resized("sext", (0, 1), "i1", "i32") is None  # as a signed number, true is -1


def test_bounds_are_as_narrow_as_kernels_need() -> None:
    tid = (0, 1023)
    assert bounds_of("ashr", tid, (31, 31), 32) == (0, 0)
    assert bounds_of("lshr", bounds_of("sub", (4095, 4095), tid, 32), (10, 10), 32) == (3, 3)
    assert bounds_of("and", None, (31, 31), 32) == (0, 31)
    assert bounds_of("and", tid, (-1024, -1024), 32) == (0, 0)
    assert bounds_of("urem", tid, (2048, 2048), 32) == tid
    assert bounds_of("add", (0, 2**31 - 1), (1, 1), 32) is None


KERNELS = r"""
extern "C" {
__global__ void quotients(int* y, const int* x, int n) {
  int t = threadIdx.x, back = t - 37, far = 5000 - t;
  int found = t / 32 * 7 + t % 32 + back / 8 * 1000 + back % 8 * 3 + far / 64 + far % 64;
  found += min(t, 2000) - max(t, 2000) + (t < 1024) + (far > 0 ? 5 : t) + (back < 0 ? 7 : t * t);
  found ^= (unsigned)far >> 12 | (unsigned)(t * t) >> 20 | (unsigned)back >> 29;
  if (t > 4095) found = x[t];                // never
  if (t / 32 < 40) found += x[t / 32] + x[t % 32];  // always
  y[t] = found;
}

__global__ void stages(int* y, const int* x, int n) {
  __shared__ int tile[2][512];
  int t = threadIdx.x, sum = 0, stage = 0, kept = 3;
  for (int i = t; i < 512; i += blockDim.x) tile[0][i] = x[i];
  __syncthreads();
  for (int at = 0; at < n; at++, stage ^= 1) {
    for (int i = t; i < 512; i += blockDim.x) tile[stage ^ 1][i] = tile[stage][i] + at * kept;
    sum += tile[stage][(t / 32 * 32 + at) % 512];
    if (sum > 300) kept = 4;
    __syncthreads();
  }
  y[t] = sum + stage * 100000 + tile[stage][511 - t % 512];
}

__global__ void warps(float* y, const float* x) {
  int t = threadIdx.x;
  y[t] = x[t / 32] * x[t % 32 + 32];
  if (t >= 1024) y[0] = 1234567.f;
}
}
"""


def _quotients(threads: int) -> tuple[Launch, np.ndarray]:
    x = np.arange(64, dtype=np.int32) ** 2
    t = np.arange(threads)
    back, far = t - 37, 5000 - t
    found = t // 32 * 7 + t % 32 + np.trunc(back / 8).astype(int) * 1000
    found += np.fmod(back, 8) * 3 + far // 64 + far % 64 + t - 2000 + 1 + 5
    found += np.where(back < 0, 7, t * t)
    found ^= far >> 12 | t * t >> 20 | np.where(back < 0, 7, 0)
    found += x[t // 32] + x[t % 32]
    arrays = [np.zeros(threads, np.int32), x]
    return Launch("quotients", arrays, [0], [7], (threads, 1, 1)), found


def _stages(threads: int, steps: int) -> tuple[Launch, np.ndarray]:
    x = np.random.default_rng(3).integers(0, 99, 512, np.int32)
    tile, found = np.stack([x, x]).astype(int), np.zeros(threads, int)
    t = np.arange(threads)
    kept = np.full(threads, 3)
    for at in range(steps):
        stage = at % 2
        writer = np.arange(512) % threads
        tile[stage ^ 1] = tile[stage] + at * kept[writer]
        found += tile[stage][(t // 32 * 32 + at) % 512]
        kept = np.where(found > 300, 4, kept)
    found += steps % 2 * 100000 + tile[steps % 2][511 - t % 512]
    arrays = [np.zeros(threads, np.int32), x]
    return Launch("stages", arrays, [0], [steps], (threads, 1, 1)), found


@pytest.fixture(scope="module")
def ptx() -> str:
    return compile_cuda(KERNELS, "sm_80")


def test_signed_indices_give_what_each_thread_would(ptx: str, run_ptx: Runner) -> None:
    cases = [_quotients(threads) for threads in (1, 33, 64, 1024)]
    cases += [_stages(threads, steps) for threads in (96, 100, 512) for steps in (0, 5, 8)]
    launches = [launch for launch, _ in cases]
    for (launch, want), (found,) in zip(cases, run_ptx(ptx, launches, "x86-64-v3"), strict=True):
        np.testing.assert_array_equal(found, want, err_msg=f"{launch.entry} {launch.block}")


def test_quotients_of_a_thread_s_number_cost_no_gather_and_no_branch(ptx: str) -> None:
    x = np.zeros(64, np.float32)
    text = model_text(
        ptx, [Launch("warps", [np.zeros(1024, np.float32), x], [0], [], (1024, 1, 1))]
    )
    assert ".warp(" in text
    assert "k0.load" not in text  # no function in which lanes take turns
    assert "1234567" not in text
    assert str(int(np.float32(1234567).view(np.int32))) not in text
    warp = text.partition("@k0.warp(")[2].partition("llvm.func")[0]
    assert "llvm.cond_br" not in warp
