"""Threads that wait for each other: what a suspended thread keeps, and what never hangs."""

from __future__ import annotations

import numpy as np
import pytest
from cpu_harness import Launch, compile_cuda, compile_model, load_functions, model_text

from custom_dispatch.cpu.analysis.control_flow import build_graph
from custom_dispatch.cpu.analysis.inline_calls import inline_calls
from custom_dispatch.cpu.analysis.liveness import live_after, live_before
from custom_dispatch.cpu.analysis.suspension import is_lockstep, suspends
from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lower import lower
from custom_dispatch.ptx import Instruction, read_module
from custom_dispatch.toolchain.nvrtc import C_HEADERS

_HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"


def entry_text(body: str) -> str:
    return (
        f"{_HEADER}.visible .entry k(.param .u64 p)\n{{\n.reg .pred %p<9>; .reg .b32 %r<9>; "
        f".reg .b64 %rd<9>;\n{body}\nret;\n}}\n"
    )


def live_at_waits(body: str) -> list[list[str]]:
    graph = build_graph(read_module(entry_text(body)).entries[0])
    found = live_after(graph, suspends, live_before(graph))
    return [
        sorted(found[id(i)]) for block in graph.blocks for i in block.instructions if id(i) in found
    ]


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("mov.u32 %r1, 1; mov.u32 %r2, 2; bar.sync 0; st.global.u32 [%rd1], %r1;", ["%r1", "%rd1"]),
        ("bar.sync 0; mov.u32 %r1, 1; st.global.u32 [%rd1], %r1;", ["%rd1"]),
        ("bar.sync 0; @%p1 mov.u32 %r1, 1; st.global.u32 [%rd1], %r1;", ["%p1", "%r1", "%rd1"]),
        ("L: bar.sync 0; add.u32 %r1, %r1, %r2; setp.lt.u32 %p1, %r1, 9; @%p1 bra L;",
         ["%r1", "%r2"]),
        ("bar.sync 0; @%p2 bra M; mov.u32 %r3, %r4; M: st.shared.v2.u32 [%r5+8], {%r3, %r6};",
         ["%p2", "%r3", "%r4", "%r5", "%r6"]),
    ],
)  # fmt: skip
def test_a_suspended_thread_keeps_just_what_is_read_later(body: str, want: list[str]) -> None:
    assert live_at_waits(body) == [want]


def test_the_state_of_a_warp_is_as_large_as_its_live_registers() -> None:
    body = "ld.param.u64 %rd1, [p]; bar.sync 0; st.global.u32 [%rd1], %r1;"
    kernel = CpuKernel("k", "k", (64, 1, 1), 1, 0)
    code = lower(read_module(entry_text(body)), [kernel])
    # 16 barriers of 32 bytes, a place and a count for each of up to 32 warps, and the states of 2:
    # a pointer, which is the same in all lanes, which lanes are active, and which have not ended
    assert code.local_memory == {"k": 16 * 32 + 2 * 4 * 32 + 2 * 64}


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("bar.sync 0; bar.sync 0;", True),
        ("bar.sync 3; bar.red.popc.u32 %r1, 3, %p1;", True),
        ("bar.sync 0; bar.sync 1;", False),
        ("bar.sync 0, 32;", False),
        ("bar.sync %r1;", False),
        ("bar.sync 0; bar.warp.sync -1;", False),
        ("bar.sync 0; bar.arrive 0, 64;", False),
    ],
)
def test_one_barrier_for_all_threads_needs_no_warps(body: str, wanted: bool) -> None:
    statements = read_module(entry_text(body)).entries[0].body
    assert is_lockstep([s for s in statements if isinstance(s, Instruction)]) is wanted


def test_what_a_call_passes_becomes_registers() -> None:
    source = (
        "struct S { float a; double b; };\n"
        "__device__ __noinline__ S f(S s, short n) { return {s.a * n, s.b + clock()}; }\n"
        'extern "C" __global__ void k(S* x) { x[1] = f(x[0], 3); }'
    )
    module = read_module(compile_cuda(source))
    entry = inline_calls(module, module.entries[-1])
    assert "call" not in {s.parts[0] for s in entry.body if isinstance(s, Instruction)}
    assert not [variable for variable in entry.variables if variable.space == "param"]


DEADLOCKS = r"""
#include <cassert>
extern "C" {
__global__ void different_barriers(int* x) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1;" ::: "memory");
  else asm volatile("bar.sync 2;" ::: "memory");
  x[threadIdx.x] = 1;
}
__global__ void too_few(int* x) {
  if (threadIdx.x < 32) asm volatile("bar.sync 1, 64;" ::: "memory");
  x[threadIdx.x] = 1;
}
__global__ void missing_lane(int* x) {
  if (threadIdx.x == 3) { asm volatile("bar.sync 1, 64;" ::: "memory"); }
  else x[threadIdx.x] = __shfl_sync(0xffffffffu, threadIdx.x, 3);
}
__global__ void traps(int* x) { if (x[threadIdx.x] == 0) __trap(); }
__global__ void asserts(int* x) { assert(x[threadIdx.x] == 1); }
}
"""


@pytest.mark.parametrize("driver", ["local-sync", "local-task"])
def test_threads_that_wait_in_vain_and_traps_fail_the_call_and_nothing_else(driver: str) -> None:
    names = {"different_barriers": 3, "too_few": 3, "missing_lane": 3, "traps": 1, "asserts": 2}
    launches = [Launch(name, [np.zeros(64, np.int32)], [0]) for name in names]
    launches.append(Launch("traps", [np.ones(64, np.int32)], [0]))
    ptx = compile_cuda(DEADLOCKS, options=[f"-I{C_HEADERS}"])
    module = compile_model(model_text(ptx, launches))
    call = load_functions(module, driver)
    for index, number in enumerate(names.values()):
        with pytest.raises(RuntimeError, match=rf"(non-zero \({number}\)|c error {number};)"):
            call(index, launches[index])
    (result,) = call(len(names), launches[-1])
    np.testing.assert_array_equal(result, np.ones(64, np.int32))
