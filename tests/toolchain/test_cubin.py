"""What a cubin says of its kernels; and a damaged one is a sentence."""

from __future__ import annotations

import contextlib
import os
import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from custom_dispatch.errors import PtxError
from custom_dispatch.kernel.target import Arch
from custom_dispatch.toolchain.choose_compiler import find_compiler
from custom_dispatch.toolchain.compiler import CompileRequest
from custom_dispatch.toolchain.images import read_cubin
from custom_dispatch.toolchain.ptxas import assemble

SOURCE = """\
#if __CUDA_ARCH__ >= 900
#define REQUIRED __block_size__((32, 2, 1))
#else
#define REQUIRED
#endif
struct Pair { float a; long long b; };
extern "C" __global__ void plain(const float *a, float *b, int n, char c, short s, Pair p) {
  b[n] = a[n] * c * s * p.a * p.b;
}
extern "C" __global__ void __launch_bounds__(128) bounded(float *a) { a[0] = 1; }
extern "C" __global__ void REQUIRED required(float *a) { a[0] = 1; }
extern "C" __global__ void shared(float *a) {
  __shared__ float tile[100];
  tile[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  a[0] = tile[int(a[1])];
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void stacked(int *a) {
  int local[32] = {};
  for (int i = 0; i < 32; i++) local[a[i] & 31] += a[i + 1];
  a[threadIdx.x] = local[a[50] & 31];
}
"""


@pytest.fixture(scope="module")
def ptx(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    source = tmp_path_factory.mktemp("cubin") / "kernels.cu"
    source.write_text(SOURCE)
    nvrtc = find_compiler("nvrtc")
    return {
        name: nvrtc.compile(CompileRequest(source, Arch.parse(name))).ptx
        for name in ("sm_80", "sm_90", "sm_100")
    }


@pytest.fixture(scope="module")
def cubins(ptx: dict[str, bytes]) -> dict[str, bytes]:
    return {name: assemble(text, Arch.parse(name)).cubin for name, text in ptx.items()}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_parameters_limits_and_shared_memory_are_read(cubins: dict[str, bytes], arch: str) -> None:
    kernels = read_cubin(cubins[arch])
    required = None if arch == "sm_80" else (32, 2, 1)
    found = {
        name: (k.parameter_bytes, k.max_threads, k.required_threads) for name, k in kernels.items()
    }
    assert found == {
        "plain": ((8, 8, 4, 1, 2, 16), None, None),
        "bounded": ((8,), (128, 1, 1), None),
        "required": ((8,), None, required),
        "shared": ((8,), None, None),
        "nothing": ((), None, None),
        "stacked": ((8,), None, None),
    }


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_a_cubin_tells_what_ptxas_does_but_for_spills(ptx: dict[str, bytes], arch: str) -> None:
    assembly = assemble(ptx[arch], Arch.parse(arch))
    kernels = read_cubin(assembly.cubin)
    for said in assembly.resources:
        unknown = replace(said, spill_stores_bytes=None, spill_loads_bytes=None)
        assert kernels[said.kernel].resources == unknown
        assert said.constant_bytes >= sum(kernels[said.kernel].parameter_bytes)
    assert kernels["shared"].resources.static_shared_bytes == 400
    assert kernels["shared"].resources.barriers == 1
    assert kernels["stacked"].resources.stack_bytes > 0


def test_a_cubin_cut_short_anywhere_is_a_sentence(cubins: dict[str, bytes]) -> None:
    whole = cubins["sm_80"]
    for length in range(0, len(whole) - 1, 97):
        with pytest.raises(PtxError) as caught:
            read_cubin(whole[:length])
        assert caught.value.found.startswith("The cubin is damaged")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_a_damaged_cubin_never_fails_otherwise(
    cubins: dict[str, bytes], seed: int, changes: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    data = bytearray(cubins["sm_90"])
    for _ in range(changes):
        # Half of them in the file's head, where the tables are found.
        position = chance.randrange(64) if chance.random() < 0.5 else chance.randrange(len(data))
        data[position] = chance.choice([0, 0xFF, chance.randrange(256)])
    with contextlib.suppress(PtxError):
        assert isinstance(read_cubin(bytes(data)), dict)


@pytest.mark.parametrize("position", [0x28, 0x2F])
def test_tables_past_the_end_are_a_sentence(cubins: dict[str, bytes], position: int) -> None:
    data = bytearray(cubins["sm_80"])
    data[position : position + 8] = b"\xff" * 8
    with pytest.raises(PtxError, match="The cubin is damaged"):
        read_cubin(bytes(data))


def test_random_bytes_behind_the_magic_never_fail_otherwise() -> None:
    for _ in range(20):
        with contextlib.suppress(PtxError):
            read_cubin(b"\x7fELF" + os.urandom(200))
