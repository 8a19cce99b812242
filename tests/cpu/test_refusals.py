"""What the CPU target refuses, and the words it uses."""

from __future__ import annotations

import pytest
from cpu_harness import compile_cuda

from custom_dispatch.cpu.cpu_kernel import CpuKernel
from custom_dispatch.cpu.lower import lower
from custom_dispatch.errors import PtxError, UnsupportedInstructionError
from custom_dispatch.ptx import read_module

_HEADER = ".version 9.0\n.target sm_80\n.address_size 64\n"
_NEXT_STEP = (
    "  next step: leave `cpu` out of the targets, or write this part of the kernel without the "
    "instruction."
)


def kernel_of(entry: str, bindings: int = 1, constants: int = 0, symbol: str = "k") -> CpuKernel:
    return CpuKernel(entry, symbol, (64, 1, 1), bindings, constants)


def ptx_of(instruction: str) -> str:
    return (
        f"{_HEADER}.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<9>; .reg .f32 %f<9>; "
        f".reg .pred %p<9>; .reg .b64 %rd<9>;\n{instruction}\nret;\n}}\n"
    )


def refusal(instruction: str) -> str:
    with pytest.raises(UnsupportedInstructionError) as caught:
        lower(read_module(ptx_of(instruction)), [kernel_of("k")])
    return str(caught.value)


@pytest.mark.parametrize(
    ("instruction", "what"),
    [
        ("mbarrier.init.shared.b64 [%rd1], 1;", "transaction barriers"),
        ("wgmma.fence.sync.aligned ;", "warpgroup matrix operations"),
    ],
)
def test_a_kernel_that_is_more_than_a_loop_is_refused_as_not_yet(
    instruction: str, what: str
) -> None:
    opcode = instruction.split()[0].rstrip(";")
    assert refusal(instruction) == (
        f"Kernel `k` uses `{opcode}` (PTX line 7), and the CPU target does not run kernels with "
        f"{what} yet.\n  expected: an instruction the CPU target lowers\n{_NEXT_STEP}"
    )


@pytest.mark.parametrize(
    "instruction",
    [
        "tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [t, {%r1,%r2}];",
        "prmt.b32.f5e %r1, %r2, %r3, %r4;",
        "cp.async.bulk.commit_group ;",
        "cp.async.mbarrier.arrive.shared.b64 [%rd1];",
        "isspacep.local %p1, %rd1;",
        "add.sat.u32 %r1, %r2, %r3;",
        "cvt.rna.satfinite.tf32.f32 %r1, %f2;",
        "ld.global.tf32 %r1, [%rd1];",
        "mov.e4m3x2 %r1, %r2;",
        "szext.s32 %r1, %r2, %r3;",
        "set.eq.f16x2.f16 %r1, %r2, %r3;",
        "atom.global.max.f32 %f1, [%rd1], %f2;",
        "cvt.rn.f16x2.e2m1x2 %r1, %r2;",
        "vadd.s32.s32.s32 %r1, %r2, %r3;",
        "no.such.instruction %r1;",
        "ld.shared::cluster.u32 %r1, [%r2];",
        "barrier.cluster.arrive ;",
        "shfl.down.b32 %r1, %r2, 1, 31;",
        "vote.ballot.b32 %r1, %p1;",
        "redux.sync.min.f32 %f1, %f2, -1;",
        "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%rd1}, {%rd2}, {%rd3}, {%rd4};",
        "bar.cta.red.popc %r1, 0, %p1;",
    ],
)
def test_any_other_instruction_is_refused_by_name(instruction: str) -> None:
    opcode = instruction.split()[0]
    assert refusal(instruction) == (
        f"Kernel `k` uses `{opcode}` (PTX line 7).\n"
        f"  expected: an instruction the CPU target lowers\n{_NEXT_STEP}"
    )


@pytest.mark.parametrize(
    ("source", "reason", "instead"),
    [
        (
            "__device__ __noinline__ int f(int n) { return n ? f(n - 1) * n + clock() : 1; }\n"
            'extern "C" __global__ void k(int* x) { x[0] = f(x[1]); }',
            "calls itself (recursion)",
            "write it as a loop",
        ),
        (
            'extern "C" __global__ void k(int* x) { printf("%d", x[0]); }',
            "printing (`printf`) needs a C library",
            "use cpu:checked, or do not print",
        ),
        (
            "__device__ int f(int n) { return n; } __device__ int g(int n) { return -n; }\n"
            "__device__ int (*choice[2])(int) = {f, g};\n"
            'extern "C" __global__ void k(int* x) { x[0] = choice[x[1]](x[2]); }',
            "a call through a pointer",
            "write this part of the kernel without the instruction",
        ),
        (
            'extern "C" __global__ void k(int** x) { x[0] = new int; }',
            "`malloc` is not in the PTX",
            "pass the memory as an operand, such as cd.Scratch",
        ),
    ],
)
def test_calls_that_cannot_be_put_in_place_are_refused(
    source: str, reason: str, instead: str
) -> None:
    ptx = compile_cuda(source, options=["-default-device", "--device-int128"])
    with pytest.raises(UnsupportedInstructionError) as caught:
        lower(read_module(ptx), [kernel_of("k")])
    assert "Kernel `k` uses `call" in str(caught.value)
    assert reason in str(caught.value)
    assert caught.value.next_step == f"leave `cpu` out of the targets, or {instead}."


def test_a_special_register_without_meaning_is_refused() -> None:
    assert refusal("mov.u32 %r1, %envreg3;").splitlines()[0] == (
        "Kernel `k` uses `mov.u32` (PTX line 7): the CPU target has no special register `%envreg3`."
    )


def test_atomics_that_the_processor_lacks_are_refused() -> None:
    text = "{ .reg .b128 %x<3>; atom.global.exch.b128 %x1, [%rd1], %x2; }"
    assert refusal(text).splitlines()[0] == (
        "Kernel `k` uses `atom.global.exch.b128` (PTX line 7): atomics of 128 bits need a CPU that "
        "has them, such as `cpu:x86-64-v3`."
    )


def test_the_place_in_the_cu_source_is_named_when_known() -> None:
    ptx = compile_cuda(
        'extern "C" __global__ void k(float* x) {\n  x[threadIdx.x] = 1;\n'
        '  asm volatile("brkpt;");\n'
        "  x[threadIdx.x ^ 1] += 1;\n}",
        options=["-lineinfo"],
    )
    with pytest.raises(UnsupportedInstructionError, match=r"`brkpt` \(PTX line \d+, \S*:3\)"):
        lower(read_module(ptx), [kernel_of("k")])


@pytest.mark.parametrize("symbols", [("k", "k"), ("a b", "c"), ("", "c"), ('x"', "c")])
def test_symbols_are_identifiers_and_differ(symbols: tuple[str, str]) -> None:
    kernels = [kernel_of("k", symbol=symbol) for symbol in symbols]
    with pytest.raises(PtxError, match="letters, digits and `_`, and another symbol for each"):
        lower(read_module(ptx_of("")), kernels)


@pytest.mark.parametrize(
    "instruction",
    [
        "add.s32 %r1, %r2;",
        "ld.param.u64 %rd1, [nowhere];",
        "ld.param.u64 %rd1, [p+4];",
        "mov.u64 %rd1, nowhere;",
        "ld.global.f32 %f1, %rd1;",
        "add.s32 5, %r1, %r2;",
        "bra nowhere;",
        "brx.idx %r1, nowhere;",
        "add.s32 %r1, %r2, 1+2;",
        "setp.lt %p1, %r1;",
        "mov %r1;",
        "cvt %r1, %r2;",
        "ld %r1;",
        "ld.global.u32 %r1;",
        "selp.b32 %r1;",
        "add;",
        "shl.b32 %r1, %r2, {%r3, %r4};",
        "mov.b64 {%r1, %r2, %r3}, %rd1;",
        "mov.b64 {}, %rd1;",
        "lop3.b32 %r1, %r2, %r3, %r4, %r5;",
        "set.lt.u32 %r1, %r2, %r3;",
        "slct.b32 %r1, %r2, %r3, %r4;",
        "testp %p1, %f1;",
        "atom.global.u32 %r1, [%rd1], %r2;",
        "bra;",
        "brx.idx;",
        "add.xyz %r1, %r2, %r3;",
        "shr.u7 %r1, %r2, %r3;",
        "mul.f16x2 %r1, %r2;",
        "prmt %r1;",
        "dp4a.u32 %r1, %r2, %r3, %r4;",
        "mov.f16 %r1, 0f3F800000;",
        "add.f16 %r1, %r2, 0f3F800000;",
        "bar.sync;",
        "cp.async.ca.shared.global [%r1], [%rd1];",
        "red.global.add.u32 [%rd1];",
        "atom.global.cas.b32 %r1, [%rd1], %r2;",
        "bar.sync 0, 32, 1;",
        "bar.red.popc.u32 %r1, 0;",
        "bar.sync %rd;",
        "barrier;",
        "ld.shared.f32 %f1, [%r1, %r2];",
    ],
)
def test_malformed_instructions_give_a_ptx_error(instruction: str) -> None:
    """No other exception, whatever the text; ptxas rejects PTX before."""
    with pytest.raises(PtxError) as caught:
        lower(read_module(ptx_of(instruction)), [kernel_of("k")])
    assert caught.value.found[0].isupper()
    assert caught.value.found.endswith(".")
    assert caught.value.next_step.endswith(".")


def test_an_operand_is_shown_as_it_is_written() -> None:
    with pytest.raises(PtxError) as caught:
        lower(read_module(ptx_of("ld.param.u64 %rd1, [p+4];")), [kernel_of("k")])
    assert caught.value.found == (
        "Kernel `k` uses `ld.param.u64` (PTX line 7): `[p+4]` reads past parameter 0, which has 64 "
        "bits."
    )


def test_local_memory_over_the_limit_is_refused() -> None:
    ptx = ptx_of(".local .align 4 .b8 big[40000];\nmov.u64 %rd1, big;")
    with pytest.raises(PtxError) as caught:
        lower(read_module(ptx), [kernel_of("k")])
    assert "Kernel `k` has 40000 bytes of local memory in `big` (PTX line 7)." in str(caught.value)
    three = " ".join(f".local .align 4 .b8 a{index}[30000];" for index in range(4))
    with pytest.raises(PtxError, match="Kernel `k` has 120000 bytes of local memory in all"):
        lower(read_module(ptx_of(f"{three}\nmov.u64 %rd1, a0;")), [kernel_of("k")])


def test_a_block_that_needs_more_memory_than_a_worker_has_is_refused() -> None:
    ptx = ptx_of(
        ".shared .align 4 .b8 tile[600000];\nmov.u32 %r1, tile;\nbar.sync 0;\n"
        "st.shared.u32 [%r1], 1;"
    )
    with pytest.raises(PtxError) as caught:
        lower(read_module(ptx), [kernel_of("k")])
    message = str(caught.value)
    assert "Kernel `k` needs 60" in message
    assert "600000 of shared memory, and 64 for each of 2 suspended warps" in message
    assert "expected: at most 524288 bytes" in message


def test_the_same_input_gives_the_same_text() -> None:
    ptx = ptx_of("ld.param.u64 %rd1, [p];\nld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd1], %f1;")
    kernels = [kernel_of("k"), kernel_of("k", symbol="l")]
    texts = {lower(read_module(ptx), kernels).text for _ in "ab"}
    assert len(texts) == 1


def test_checked_mode_takes_instructions_without_operands() -> None:
    module = read_module(ptx_of("griddepcontrol.wait;"))
    assert "@check.access" in lower(module, [kernel_of("k")], checked=True).text


@pytest.mark.parametrize("instruction", ["brkpt;", "barrier.cluster.arrive;", "bar.sync;"])
def test_checked_mode_refuses_others_without_operands_by_name(instruction: str) -> None:
    with pytest.raises(PtxError, match=f"Kernel `k`.*{instruction[:-1]}`"):
        lower(read_module(ptx_of(instruction)), [kernel_of("k")], checked=True)
