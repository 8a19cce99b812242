"""Occupancy: compared with NVIDIA's own calculator, which CUDA's headers hold."""

from __future__ import annotations

import itertools
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from custom_dispatch.format.occupancy import Occupancy, occupancy, processors
from custom_dispatch.kernel.geometry import max_block_registers, max_shared_bytes
from custom_dispatch.toolchain.locations import include_directories

CALCULATOR = """\
#include <cstdio>
#include <cuda_occupancy.h>
int main() {
  long cc, warps, shared, optin, registers, threads, used;
  while (std::scanf("%ld %ld %ld %ld %ld %ld %ld", &cc, &warps, &shared, &optin, &registers,
                    &threads, &used) == 7) {
    cudaOccDeviceProp gpu{};
    gpu.computeMajor = cc / 10;
    gpu.computeMinor = cc % 10;
    gpu.maxThreadsPerBlock = 1024;
    gpu.maxThreadsPerMultiprocessor = warps * 32;
    gpu.regsPerBlock = gpu.regsPerMultiprocessor = 65536;
    gpu.warpSize = 32;
    gpu.sharedMemPerBlock = 48 * 1024;
    gpu.sharedMemPerMultiprocessor = shared;
    gpu.sharedMemPerBlockOptin = optin;
    gpu.reservedSharedMemPerBlock = cc >= 80 ? 1024 : 0;
    gpu.numSms = 1;
    cudaOccFuncAttributes kernel{};
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.maxDynamicSharedSizeBytes = optin;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    cudaOccDeviceState state{};
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    cudaOccResult result;
    int error = cudaOccMaxActiveBlocksPerMultiprocessor(&result, &gpu, &kernel, &state, threads,
                                                        used);
    std::printf("%d\\n", error ? -error : result.activeBlocksPerMultiprocessor);
  }
}
"""


def test_nvidias_calculator_says_the_same(tmp_path: Path) -> None:
    if shutil.which("g++") is None:
        pytest.skip("NVIDIA's calculator is a C++ header, and there is no g++")
    (tmp_path / "calculator.cpp").write_text(CALCULATOR)
    include = [f"-I{path}" for path in include_directories()]
    program = tmp_path / "calculator"
    subprocess.run(["g++", *include, tmp_path / "calculator.cpp", "-o", program], check=True)
    chance = random.Random(0)  # noqa: S311 - not for secrets
    shared = [0, 1, 127, 400, 1024, 4096, 10_000, 24_577, 49_152]
    cases = [
        (capability, registers, threads, used)
        for capability, registers, threads in itertools.product(
            map(int, processors()),
            (4, 16, 32, 33, 64, 100, 168, 255),
            (1, 32, 33, 64, 96, 128, 256, 384, 512, 1024),
        )
        for used in (chance.choice(shared), chance.randrange(max_shared_bytes(capability)))
    ]
    lines = []
    for capability, registers, threads, used in cases:
        sm = processors()[str(capability)]
        optin = max_shared_bytes(capability)
        of_sm = f"{capability} {sm['warps']} {sm['shared_kib'] * 1024} {optin}"
        lines.append(f"{of_sm} {registers} {threads} {used}")
    done = subprocess.run([program], input="\n".join(lines), text=True, capture_output=True)
    expected = [int(line) for line in done.stdout.split()]
    assert len(expected) == len(cases)
    for case, blocks in zip(cases, expected, strict=True):
        capability, registers, threads, used = case
        found = occupancy(capability, (threads, 1, 1), registers, used)
        assert found is not None
        assert found.blocks == blocks, case


def test_an_sm_is_described_in_a_word() -> None:
    full = occupancy(90, (256, 1, 1), 32, 0)
    assert full == Occupancy(8, 64, 64, "warps")
    assert str(full) == "100% (warps)"
    assert str(occupancy(90, (128, 2, 1), 128, 0)) == "25% (registers)"
    assert str(occupancy(80, (32, 1, 1), 16, 100 * 1024)) == "2% (shared memory)"
    assert str(occupancy(90, (32, 1, 1), 16, 0)) == "50% (blocks)"
    assert occupancy(90, (1024, 1, 1), 255, 0) == Occupancy(0, 0, 64, "registers")
    assert max_block_registers(90) == 65536


def test_unknown_gpus_are_not_guessed() -> None:
    assert occupancy(88, (32, 1, 1), 16, 0) is None
    assert occupancy(60, (32, 1, 1), 16, 0) is None
