"""ptxas judges PTX, and tells what each kernel takes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from cuda_sources import SM_90, Write
from hypothesis import example, given
from hypothesis import strategies as st

from custom_dispatch.errors import DeclarationError, PtxError, ToolNotFoundError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.ptxas import assemble, parse_spills

# Keeps 64 values alive under a limit of 32 registers, so that some must spill.
SPILLING = """\
extern "C" __global__ void __launch_bounds__(256, 8) spilling(const float *in, float *out, int n) {
  __shared__ float shared[33];
  float v[64];
  for (int i = 0; i < 64; i++) v[i] = in[i * n + threadIdx.x];
  shared[threadIdx.x & 31] = v[n & 63];
  __syncthreads();
  float total = 0;
  for (int i = 0; i < 64; i++) total += v[i] * v[(i * 7 + n) & 63] * shared[i & 31];
  out[threadIdx.x] = total;
}
__device__ __noinline__ float called(float x, int n) {
  float local[10];
  for (int i = 0; i < 10; i++) local[i] = x * i;
  return local[n];
}
extern "C" __global__ void calling(float *out) { out[0] = called(out[1], out[2]); }
"""

LOG = """\
ptxas info    : 2 bytes gmem
ptxas info    : Compiling entry function 'calling' for 'sm_80'
ptxas info    : Function properties for calling
    40 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 15 registers, used 0 barriers, 48 bytes cumulative stack size, 360 bytes \
cmem[0], 16 bytes cmem[2]
ptxas info    : Compile time = 10.721 ms
ptxas info    : Function properties for called
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'spilling' for 'sm_80'
ptxas info    : Function properties for spilling
    816 bytes stack frame, 548 bytes spill stores, 592 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 816 bytes cumulative stack size, 132 bytes smem
"""


def test_spills_are_read_from_ptxas_words() -> None:
    assert parse_spills(LOG) == {"calling": (0, 0), "spilling": (548, 592)}


@given(st.text() | st.lists(st.sampled_from(LOG.splitlines()) | st.text()).map("\n".join))
@example(
    "Compiling entry function '\u0661'\nFunction properties for \u0661\n\u0661 bytes stack frame"
)
def test_any_log_is_read_without_an_exception(log: str) -> None:
    assert all(min(spills) >= 0 for spills in parse_spills(log).values())


def test_ptx_becomes_a_cubin_and_a_report(write: Write) -> None:
    request = CompileRequest(write("k.cu", SPILLING), SM_90)
    assembly = assemble(find_compiler("nvrtc").compile(request).ptx, SM_90)
    assert assembly.cubin.startswith(b"\x7fELF")
    assert assembly.log == ""
    kernels = {kernel.kernel: kernel for kernel in assembly.resources}
    assert set(kernels) == {"spilling", "calling"}
    spilling = kernels["spilling"]
    assert spilling.registers == 32
    assert spilling.spill_stores_bytes > 0
    assert spilling.spill_loads_bytes > 0
    assert spilling.static_shared_bytes == 33 * 4
    assert spilling.barriers == 1
    assert kernels["calling"].stack_bytes == 40
    assert kernels["calling"].spill_stores_bytes == 0


def test_advice_of_ptxas_is_kept(write: Write) -> None:
    source = (
        'extern "C" __global__ void k() { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }'
    )
    arch = Arch(90, "a")
    ptx = find_compiler("nvrtc").compile(CompileRequest(write("k.cu", source), arch)).ptx
    log = assemble(ptx, arch).log
    assert "Potential Performance Loss: 'setmaxnreg' ignored" in log
    assert "Compile time" not in log


def test_a_trailing_nul_does_no_harm(scale_ptx: Callable[[str], bytes]) -> None:
    assert assemble(scale_ptx("sm_90") + b"\0", SM_90).resources[0].kernel == "scale"


def test_wrong_ptx_is_refused_with_its_kernel_and_line(write: Write) -> None:
    # An instruction that NVRTC takes on trust, as `asm` is: ptxas is the first to read it.
    source = (
        'extern "C" __global__ void first() {}\n'
        'extern "C" __global__ void second() { asm volatile("no.such.thing;"); }\n'
    )
    ptx = find_compiler("nvrtc").compile(CompileRequest(write("k.cu", source), SM_90)).ptx
    line = ptx.decode().splitlines().index("\tno.such.thing;") + 1
    with pytest.raises(PtxError) as caught:
        assemble(ptx, SM_90)
    assert caught.value.found == (
        f"The PTX does not assemble for sm_90: kernel `second`, line {line}."
    )
    assert caught.value.log.startswith(f"ptxas kernel.ptx, line {line}; ")
    assert "aborted" not in caught.value.log
    assert caught.value.next_step


def test_an_instruction_of_a_later_architecture_names_the_target_that_has_it(write: Write) -> None:
    source = 'extern "C" __global__ void k() { asm volatile("griddepcontrol.wait;"); }\n'
    ptx = find_compiler("nvrtc").compile(CompileRequest(write("k.cu", source), Arch(80))).ptx
    with pytest.raises(PtxError) as caught:
        assemble(ptx, Arch(80))
    assert caught.value.found.startswith("The PTX does not assemble for sm_80: kernel `k`, line")
    assert caught.value.next_step == (
        "build for cuda:sm_90 or later (the target cpu takes the PTX of the oldest plain CUDA "
        "target), or correct it where ptxas' message points:"
    )


def test_ptx_of_a_later_architecture_is_refused(scale_ptx: Callable[[str], bytes]) -> None:
    with pytest.raises(PtxError) as caught:
        assemble(scale_ptx("sm_90"), Arch(80))
    assert caught.value.found == "The PTX's `.target` is of a later architecture than sm_80."
    assert caught.value.next_step == "compile the source for sm_80 or an earlier architecture."


def test_ptx_of_an_earlier_architecture_assembles(scale_ptx: Callable[[str], bytes]) -> None:
    assert assemble(scale_ptx("sm_80"), SM_90).resources[0].kernel == "scale"


def test_ptx_of_a_later_release_is_refused(scale_ptx: Callable[[str], bytes]) -> None:
    with pytest.raises(PtxError) as caught:
        assemble(scale_ptx("sm_90").replace(b".version 9.0", b".version 99.0"), SM_90)
    assert caught.value.found == "The PTX is of a later CUDA release than ptxas 13.0.88."


@pytest.mark.parametrize("ptx", [b"", b"hello", b"\xff\xfe\0\0"])
def test_garbage_is_refused(ptx: bytes) -> None:
    with pytest.raises(PtxError, match="does not assemble for sm_90"):
        assemble(ptx, SM_90)


def test_an_architecture_ptxas_does_not_know_lists_those_it_does() -> None:
    with pytest.raises(DeclarationError) as caught:
        assemble(b".version 9.0\n.target sm_50\n.address_size 64\n", Arch(50))
    assert caught.value.found == "ptxas 13.0.88 does not compile for sm_50."
    assert caught.value.expected.startswith("one of sm_75, sm_80, ")


def test_a_missing_ptxas_says_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from custom_dispatch.toolchain import locations

    monkeypatch.setattr(locations, "_places", lambda: iter(()))
    with pytest.raises(ToolNotFoundError) as caught:
        assemble(b"", SM_90)
    assert caught.value.next_step == "pip install -e '.[nvcc]' (in the clone)."
