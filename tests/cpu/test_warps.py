"""Kernels whose warps run as vectors: the same results as thread by thread, whatever lanes do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from corpus_cases import CORPUS, FILES
from cpu_harness import Launch, Runner, compile_cuda, compile_model, model_text, run_launches
from expected import check
from test_corpus import include_paths

import custom_dispatch as cd
from custom_dispatch.cpu.analysis.control_flow import build_graph
from custom_dispatch.cpu.analysis.divergence import exit_blocks, find_divergence
from custom_dispatch.cpu.analysis.liveness import live_before
from custom_dispatch.cpu.cpu_kernel import CpuKernel, Processor
from custom_dispatch.cpu.lower import lower
from custom_dispatch.cpu.lower import lower as lower_function
from custom_dispatch.cpu.warps.lane_parts import Part, load_parts, store_parts
from custom_dispatch.cpu.warps.lane_values import (
    DISTANT,
    LANES,
    UNIFORM,
    UNSET_FORM,
    VARYING_FORM,
    Form,
    Value,
    fold,
    form_of,
    from_constants,
)
from custom_dispatch.ptx import read_module

LANE = tuple(range(LANES))

KERNELS = r"""
extern "C" {
__global__ void wrapping(unsigned long long* up, long long* down, int* table, int* picked,
                         unsigned base, int edge) {
  unsigned i = base + threadIdx.x;
  int j = (int)(edge + threadIdx.x);
  up[threadIdx.x] = i;
  down[threadIdx.x] = 3LL * j;
  // The index wraps around in the middle of a warp, and is only used where it is small.
  picked[threadIdx.x] = i < 64u ? table[i] : -1;
}

__global__ void rows(int* y, const int* x, int width) {
  int t = threadIdx.x, r = threadIdx.y;
  __shared__ int tile[8][16];
  tile[r][t] = x[(blockIdx.x * 8 + r) * width + t];
  __syncthreads();
  y[(blockIdx.x * 8 + r) * width + t] = tile[7 - r][t] * 3 + tile[r][15 - t];
}

__global__ void wandering(int* y, const int* x, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= n) return;
  int v = x[t], sum = 0, steps = 0;
  for (int i = 0; i < v; i++) {
    if ((i ^ t) & 1) continue;
    sum += i * t;
    for (int k = i; k > 0; k /= 3) {
      if (k == 5 + (t & 3)) break;
      steps++;
    }
    if (sum > 5000) break;
  }
  switch (v & 3) {
    case 0: sum += 1; break;
    case 1: sum ^= 0x55; break;
    case 2: if (steps & 1) sum = -sum; break;
    default: sum *= 2;
  }
  y[t] = sum * 1000 + steps;
}

__global__ void places(int* y) {
  int number = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  y[number] = threadIdx.x + 100 * threadIdx.y + 10000 * threadIdx.z;
}

__global__ void backwards(int* y, const int* x) {
  // In a block of less than a warp the lanes that have no thread are before the first element.
  __shared__ int tile[64];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void strided(float* y, const float4* x, const float2* z, int n) {
  // lanes carry on where their own loops ended, so some warps' addresses are no neighbours
  float sum = 0;
  int i = threadIdx.x;
  for (; i < n && i % 7 != 6; i += blockDim.x) sum += x[i].x - x[i].w;
  for (; i < n; i += blockDim.x) sum += z[i].y;
  y[threadIdx.x] = sum + i;
}

__global__ void detours(int* y, const int* x, int n, int threads) {
  int t = threadIdx.x, v = x[t];
  if (v & 1) {  // all three end at one place
    v += x[(t + 1) % threads];
    if (v & 2) {
      v += x[(t + 2) % threads];
      if (v & 4) v += x[(t + 3) % threads];
    }
  }
  for (int i = 0; i < v % 9; ++i)
    if ((i ^ t) & 1) v += x[(t + i) % threads];
  if (v % 3)
    for (int i = 0; i < n; ++i)
      if (v & 1 << i) v += x[(t + i) % threads];
  y[t] = v;
}

__global__ void meetings(int* y, const int* x) {
  int t = threadIdx.x, v = x[t];
  unsigned odd = __ballot_sync(0xffffffffu, v & 1);
  if (v & 1) v = __reduce_add_sync(odd, v);
  else v += __shfl_xor_sync(~odd, v, 0);
  v += __shfl_sync(0xffffffffu, v, (t * 5) & 31) + __shfl_sync(0xffffffffu, v, 3);
  y[t] = v + __popc(__match_any_sync(0xffffffffu, x[t] & 7));
}
}
"""


def _wrapping() -> tuple[Launch, list[np.ndarray]]:
    base, edge = 0xFFFFFFF0, 0x7FFFFFF8
    lane = np.arange(64, dtype=np.uint64)
    table = np.arange(64, dtype=np.int32) * 11
    i = (base + lane) % 2**32
    j = ((edge + lane) % 2**32).astype(np.uint32).view(np.int32).astype(np.int64)
    picked = np.where(i < 64, table[(i % 64).astype(int)], -1).astype(np.int32)
    arrays = [np.zeros(64, np.uint64), np.zeros(64, np.int64), table, np.zeros(64, np.int32)]
    return Launch("wrapping", arrays, [0, 1, 3], [base, edge]), [i, 3 * j, picked]


def _rows() -> tuple[Launch, list[np.ndarray]]:
    width = 37
    x = np.random.default_rng(1).integers(-99, 99, (24, width), np.int32)
    want = np.zeros_like(x)
    for block in range(3):
        tile = x[8 * block : 8 * block + 8, :16]
        want[8 * block : 8 * block + 8, :16] = tile[::-1] * 3 + tile[:, ::-1]
    return Launch("rows", [np.zeros_like(x), x], [0], [width], (16, 8, 1), (3, 1, 1)), [want]


def _wandering(threads: int) -> tuple[Launch, list[np.ndarray]]:
    n = 3 * threads - 7
    x = np.random.default_rng(threads).integers(0, 40, max(n, 1), np.int32)
    want = np.zeros_like(x)
    for t in range(n):
        v, total, steps = int(x[t]), 0, 0
        for i in range(v):
            if (i ^ t) & 1:
                continue
            total += i * t
            k = i
            while k > 0:
                if k == 5 + (t & 3):
                    break
                steps += 1
                k //= 3
            if total > 5000:
                break
        case = v & 3
        if case == 0:
            total += 1
        elif case == 1:
            total ^= 0x55
        elif case == 2:
            total = -total if steps & 1 else total
        else:
            total *= 2
        want[t] = total * 1000 + steps
    arrays = [np.zeros_like(x), x]
    return Launch("wandering", arrays, [0], [n], (threads, 1, 1), (3, 1, 1)), [want]


def _places(block: tuple[int, int, int]) -> tuple[Launch, list[np.ndarray]]:
    x, y, z = np.meshgrid(*(np.arange(size) for size in block), indexing="ij")
    numbers = (z * block[1] + y) * block[0] + x
    want = np.zeros(numbers.size, np.int32)
    want[numbers] = x + 100 * y + 10000 * z
    return Launch("places", [np.zeros_like(want)], [0], [], block), [want]


def _backwards(threads: int) -> tuple[Launch, list[np.ndarray]]:
    x = np.arange(threads, dtype=np.int32)
    return Launch("backwards", [np.zeros_like(x), x], [0], [], (threads, 1, 1)), [x[::-1]]


def _strided() -> tuple[Launch, list[np.ndarray]]:
    n, threads = 500, 96
    rng = np.random.default_rng(4)
    x = rng.integers(-9, 9, (n, 4)).astype(np.float32)
    z = rng.integers(-9, 9, (n, 2)).astype(np.float32)
    want = np.zeros(threads, np.float32)
    for t in range(threads):
        i, total = t, 0.0
        while i < n and i % 7 != 6:
            total += float(x[i, 0] - x[i, 3])
            i += threads
        while i < n:
            total += float(z[i, 1])
            i += threads
        want[t] = total + i
    return Launch("strided", [np.zeros_like(want), x, z], [0], [n], (threads, 1, 1)), [want]


def _meetings() -> tuple[Launch, list[np.ndarray]]:
    x = np.random.default_rng(5).integers(0, 50, 64, np.int32)
    want = np.zeros_like(x)
    for warp in range(2):
        mine = x[32 * warp : 32 * warp + 32].astype(int)
        odd = mine & 1 == 1
        v = np.where(odd, mine[odd].sum(), 2 * mine)
        same = np.array([np.sum((mine & 7) == (m & 7)) for m in mine])
        want[32 * warp : 32 * warp + 32] = v + v[np.arange(32) * 5 % 32] + v[3] + same
    return Launch("meetings", [np.zeros_like(x), x], [0]), [want]


def _detours() -> tuple[Launch, list[np.ndarray]]:
    threads, n = 70, 5
    x = np.random.default_rng(6).integers(0, 50, threads, np.int32)
    want = np.zeros_like(x)
    for t in range(threads):
        v = int(x[t])
        if v & 1:
            v += x[(t + 1) % threads]
            if v & 2:
                v += x[(t + 2) % threads]
                if v & 4:
                    v += x[(t + 3) % threads]
        i = 0
        while i < v % 9:
            if (i ^ t) & 1:
                v += x[(t + i) % threads]
            i += 1
        if v % 3:
            for i in range(n):
                if v & 1 << i:
                    v += x[(t + i) % threads]
        want[t] = v
    arrays = [np.zeros_like(x), x]
    return Launch("detours", arrays, [0], [n, threads], (threads, 1, 1)), [want]


def _cases() -> list[tuple[Launch, list[np.ndarray]]]:
    blocks = [(32, 2, 1), (16, 3, 1), (8, 4, 2), (4, 5, 3), (7, 5, 3), (1, 40, 1), (3, 1, 11)]
    return [
        _wrapping(),
        _rows(),
        *(_wandering(threads) for threads in (3, 32, 48, 96)),
        *(_places(block) for block in blocks),
        *(_backwards(threads) for threads in (4, 31, 40)),
        _strided(),
        _meetings(),
        _detours(),
    ]


def test_lanes_do_what_threads_do(run_ptx: Runner) -> None:
    ptx = compile_cuda(KERNELS, "sm_80")
    cases = _cases()
    launches = [launch for launch, _ in cases]
    text = model_text(ptx, launches, "x86-64-v3")
    assert text.count(".warp(") >= len(launches)  # none of them is run thread by thread
    for (launch, want), got in zip(cases, run_ptx(ptx, launches, "x86-64-v3"), strict=True):
        for expected, found in zip(want, got, strict=True):
            np.testing.assert_array_equal(found, expected, err_msg=f"{launch.entry} {launch.block}")


@pytest.mark.parametrize("name", ["barriers", pytest.param("warps", marks=pytest.mark.thorough)])
def test_threads_one_by_one_give_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = __import__(lower_function.__module__, fromlist=["_by_warps"])
    monkeypatch.setattr(module, "_by_warps", lambda thread: None)
    ptx = compile_cuda((CORPUS / f"{name}.cu").read_text(), "sm_80", include_paths())
    cases = FILES[name]()
    text = model_text(ptx, [case.launch for case in cases])
    assert ".warp(" not in text
    results = run_launches(compile_model(text), [case.launch for case in cases], "local-sync")
    for case, got in zip(cases, results, strict=True):
        check(case, got)


HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
BACKWARDS = """
.visible .entry k(.param .u64 p) {
.reg .b32 %r<9>; .reg .pred %p<3>; .reg .b64 %rd<5>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd2, %r1, 4;
add.s64 %rd3, %rd1, %rd2;
and.b32 %r2, %r1, 1;
setp.eq.s32 %p1, %r2, 0;
bra TOP;
JOIN:
bar.warp.sync -1;
st.global.u32 [%rd3], %r3;
ret;
TOP:
@%p1 bra EVEN;
mov.u32 %r3, 7;
bra JOIN;
EVEN:
add.u32 %r3, %r1, 100;
bra JOIN;
}
"""


def test_lanes_that_would_meet_before_they_part_are_run_thread_by_thread(run_ptx: Runner) -> None:
    launch = Launch("k", [np.zeros(64, np.int32)], [0])
    text = model_text(HEADER + BACKWARDS, [launch])
    assert ".step(" in text
    assert ".warp(" not in text
    lanes = np.arange(64)
    want = np.where(lanes % 2 == 0, lanes + 100, 7)
    np.testing.assert_array_equal(run_ptx(HEADER + BACKWARDS, [launch])[0][0], want)


LOCK = """
extern "C" __global__ void locked(int* lock, int* sum) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  *sum += threadIdx.x;
  __threadfence();
  atomicExch(lock, 0);
}
"""


def test_lanes_that_wait_for_each_other_in_a_loop_are_run_thread_by_thread(
    run_ptx: Runner,
) -> None:
    ptx = compile_cuda(LOCK)
    launch = Launch("locked", [np.zeros(1, np.int32), np.zeros(1, np.int32)], [0, 1])
    assert ".warp(" not in model_text(ptx, [launch])
    (lock, total), *_ = run_ptx(ptx, [launch])
    assert (lock[0], total[0]) == (0, sum(range(64)))


def test_a_kernel_that_neither_waits_nor_diverges_is_run_warp_by_warp_too() -> None:
    ptx = compile_cuda(
        'extern "C" __global__ void twice(const float* x, float* y, int n) {'
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }"
    )
    kernel = CpuKernel("twice", "k", (256, 1, 1), 2, 1, processor=Processor("x86_64", ""))
    text = lower(read_module(ptx), [kernel]).text
    assert ".warp(" in text
    assert ".thread(" not in text


# ---- what lanes hold


def test_forms_widen_no_more_than_they_must() -> None:
    tid = Form(DISTANT, LANE, multiple=32)
    assert UNSET_FORM.join(tid) == tid
    assert tid.join(Form(DISTANT, LANE, multiple=8)) == Form(DISTANT, LANE, multiple=8)
    assert tid.join(Form(DISTANT, tuple(2 * lane for lane in LANE))) == VARYING_FORM
    assert tid.join(Form(UNIFORM)) == VARYING_FORM
    assert Form(UNIFORM).join(Form(UNIFORM)).rank == UNIFORM
    kept = form_of(Value("%1"), checked=True)  # a scalar of which some lanes may keep another
    assert Form(UNIFORM).join(kept).rank == DISTANT
    assert Form(UNIFORM).join(kept).checked
    assert form_of(from_constants((4,) * LANES, 32)).rank == UNIFORM


def test_constants_are_computed_as_integers_of_their_width() -> None:
    ends = from_constants(tuple(2**31 - 1 - lane for lane in LANE), 32)
    one = from_constants((1,) * LANES, 32)
    found = fold("add", ends, one, 32)
    assert found is not None
    assert found.constants()[:2] == (-(2**31), 2**31 - 1)
    shifted = fold("lshr", from_constants((-1,) * LANES, 32), from_constants((28,) * LANES, 32), 32)
    assert shifted is not None
    assert shifted.known == 15
    assert fold("shl", one, from_constants((32,) * LANES, 32), 32) is None
    assert fold("udiv", one, one, 32) is None


def test_lanes_memory_is_moved_in_as_few_parts_as_there_are() -> None:
    neighbours = Value("%p", tuple(4 * lane for lane in LANE))
    assert load_parts(neighbours, 4) == [Part(0, LANES, LANE)]
    mirrored = Value("%p", tuple(-4 * lane for lane in LANE))
    assert load_parts(mirrored, 4) == [Part(31, LANES, LANE[::-1])]
    assert [part.lanes() for part in store_parts(mirrored, 4)] == [LANE[::-1]]
    pairs = Value("%p", tuple(8 * lane for lane in LANE))
    assert [part.width for part in load_parts(pairs, 4)] == [63]  # what lies between is not used
    assert store_parts(pairs, 4) == []  # nor may it be written
    two_rows = tuple(4 * (lane % 16) for lane in LANE)
    assert [part.width for part in load_parts(Value("%p", two_rows), 4)] == [16]
    rows = Value("%p", two_rows, "%n", tuple(lane // 16 for lane in LANE))
    assert [(part.first, part.width) for part in load_parts(rows, 4)] == [(0, 16), (16, 16)]
    assert load_parts(Value("%p", tuple(400 * lane for lane in LANE)), 4) == []
    shared = Value("%p", tuple(4 * (lane // 2) for lane in LANE))
    assert [part.lanes() for part in store_parts(shared, 4)] == [tuple(range(1, 32, 2))]


def test_what_waiting_lanes_still_read_is_blended() -> None:
    body = """
    mov.u32 %r2, 0;
    L:
    add.u32 %r1, %r1, 1;
    add.u32 %r2, %r2, %r1;
    setp.lt.u32 %p1, %r1, %r3;
    @%p1 bra L;
    st.global.u32 [%rd1], %r2;
    """
    text = f"{HEADER}.visible .entry k() {{\n.reg .b32 %r<5>; .reg .pred %p<2>; .reg .b64 %rd<2>;\n"
    graph = build_graph(read_module(text + body + "ret;\n}\n").entries[0])
    live = dict(enumerate(live_before(graph)))
    loop = next(i for i, block in enumerate(graph.blocks) if i in block.successors)
    found = find_divergence(graph, live, {loop})
    assert found is not None
    # the sum is read after the loop, by lanes that have left it; the counter is not
    assert found.blended[loop] == {"%r2", "%rd1"}
    assert loop not in found.together
    assert not exit_blocks(graph) & {loop}
    nothing = find_divergence(graph, live, set())
    assert nothing is not None
    assert not nothing.stops


def test_what_some_lanes_pass_over_needs_no_note_of_who_waits() -> None:
    body = """
    setp.lt.u32 %p1, %r1, 5;
    @%p1 bra END;
    setp.lt.u32 %p2, %r1, 3;
    @%p2 bra END;
    BAR
    add.u32 %r2, %r2, %r1;
    END:
    st.global.u32 [%rd1], %r2;
    """
    head = f"{HEADER}.visible .entry k() {{\n.reg .b32 %r<5>; .reg .pred %p<3>; .reg .b64 %rd<2>;\n"
    for barrier, detours in (("", {0: 3, 1: 3}), ("bar.sync 0;", {})):
        text = head + body.replace("BAR", barrier) + "ret;\n}\n"
        graph = build_graph(read_module(text).entries[0])
        found = find_divergence(graph, dict(enumerate(live_before(graph))), {0, 1})
        assert found is not None
        assert found.detours == detours
        assert bool(found.stops) == bool(barrier)
        assert found.blended[2] == {"%r2", "%rd1"}
        assert found.together & {0, 1, 2, 3} == {0, 3}


def test_large_local_memory_is_one_threads_at_a_time(
    tmp_path: Path,
) -> None:
    """An IREE worker has 128 KiB of stack, and more than it ends the process."""
    source = tmp_path / "local.cu"
    source.write_text(
        'extern "C" __global__ void local(const int* x, int* y) {\n'
        "  volatile unsigned char all[16384];\n"
        "  for (int i = 0; i < 16384; i++) all[i] = i + x[0];\n"
        "  y[threadIdx.x] = all[x[threadIdx.x]];\n}\n"
    )
    operands = [cd.In("x", "i32", [40]), cd.Out("y", "i32", [40])]
    kernel = cd.Kernel("local", source=source, operands=operands, block=40, grid=1)
    x = np.arange(40, dtype=np.int32) * 400 + 3
    assert (np.asarray(kernel.on("cpu")(x)) == (x + 3) % 256).all()


@pytest.mark.parametrize("wait", ["", "bar.sync 0;"])
def test_addresses_of_small_memory_may_have_32_bits(run_ptx: Runner, wait: str) -> None:
    """LLVM computes with the lower half of such an address where it knows the memory's kind."""
    head = f"{HEADER}.const .align 4 .b8 c[8] = {{1, 0, 0, 0, 2, 0, 0, 0}};\n"
    body = f"""
    .visible .entry k(.param .u64 p) {{
    .local .align 16 .b8 depot[64];
    .reg .b64 %SPL, %rd<4>; .reg .b32 %r<9>;
    ld.param.u64 %rd1, [p];
    mov.b64 %SPL, depot;
    mov.u32 %r1, %tid.x;
    mad.wide.u32 %rd2, %r1, 4, %rd1;
    cvt.u32.u64 %r2, %SPL;
    and.b32 %r3, %r1, 15;
    shl.b32 %r3, %r3, 2;
    add.s32 %r4, %r2, %r3;
    st.local.b32 [%r4], %r1;
    {wait}
    ld.local.b32 %r5, [%r2+8];
    ld.local.b32 %r6, [%r4];
    mov.b32 %r7, c;
    ld.const.b32 %r8, [%r7+4];
    add.s32 %r6, %r6, %r8;
    st.global.b32 [%rd2], %r6;
    ret;
    }}
    """
    launch = Launch("k", [np.zeros(64, np.int32)], [0])
    ((found,),) = run_ptx(head + body, [launch])
    np.testing.assert_array_equal(found, np.arange(64) + 2)
