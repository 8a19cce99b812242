"""Kernels that fail on the CPU: what a call says, and that the process goes on."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import KernelError

SOURCE = """
#include <cassert>
extern "C" __global__ void fails(const int* how, int* out) {
  if (*how == 1) __trap();
  if (*how == 2) assert(threadIdx.x > 100);
  if (*how == 3) {
    if (threadIdx.x < 32) asm volatile("bar.sync 1;" ::: "memory");
    else asm volatile("bar.sync 2;" ::: "memory");
  }
  out[threadIdx.x] = *how;
}
"""


@pytest.fixture(scope="module")
def fails(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    source = tmp_path_factory.mktemp("failures") / "fails.cu"
    source.write_text(SOURCE)
    return kernel_of(source)


def kernel_of(source: Path) -> cd.Kernel:
    operands = [cd.In("how", "i32", [1]), cd.Out("out", "i32", [64])]
    return cd.Kernel("fails", source=source, operands=operands, block=64, grid=1)


@pytest.mark.parametrize(
    ("how", "what"),
    [
        (1, "a kernel executed `trap`"),
        (2, "an assertion of a kernel did not hold"),
        (
            3,
            "the threads of a kernel's block wait for each other at different barriers, or for "
            "lanes of their warp that never come",
        ),
    ],
)
def test_a_kernel_that_fails_is_an_error_and_the_next_call_works(
    fails: cd.Kernel, how: int, what: str
) -> None:
    with pytest.raises(KernelError) as caught:
        fails.on("cpu")(numpy.array([how], numpy.int32))
    assert str(caught.value) == (
        f"`fails` failed on the CPU: {what}.\n"
        "  next step: compile it for cpu:checked, which names the line, thread and block."
    )
    result = fails.on("cpu")(numpy.zeros(1, numpy.int32))
    numpy.testing.assert_array_equal(result, numpy.zeros(64, numpy.int32))


SPINS = """
extern "C" __global__ void spins(volatile int* flag, int* out) {
  __shared__ volatile int seen;
  seen = 0;
  __syncthreads();
  switch (flag[0]) {
    case 1:  // for a later warp of the block
      if (threadIdx.x < 32) while (seen == 0) {}
      else seen = 1;
      break;
    case 2:  // for nobody
      while (atomicAdd(const_cast<int*>(flag + 1), 0) == 0) {}
      break;
    case 3:  // until it gives up
      for (int i = 0; i < 10; i++)
        for (int n = 0; n < 50000 && flag[1] == 0; n++) {}
      break;
    case 4:  // for an earlier warp of the block
      if (threadIdx.x >= 32) while (seen == 0) {}
      else seen = 1;
  }
  out[threadIdx.x] = flag[0];
}
"""


@pytest.fixture(scope="module")
def spins(tmp_path_factory: pytest.TempPathFactory) -> cd.Program:
    source = tmp_path_factory.mktemp("spins") / "spins.cu"
    source.write_text(SPINS)
    operands = [cd.InOut("flag", "i32", [2]), cd.Out("out", "i32", [64])]
    kernel = cd.Kernel("spins", source=source, operands=operands, block=64, grid=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("custom_dispatch.cpu.analysis.spins.MOST_TURNS", 1 << 20)
        return cd.load(cd.compile(None, kernel, ["cpu"], store=False), "cpu")


@pytest.mark.parametrize("how", [1, 2])
def test_a_loop_that_waits_for_a_write_that_never_comes_is_an_error(
    spins: cd.Program, how: int
) -> None:
    with pytest.raises(KernelError) as caught:
        spins.spins(numpy.array([how, 0], numpy.int32))
    assert str(caught.value) == (
        "`spins` failed on the CPU: a thread waits in a loop for another one to write memory, and "
        "on the CPU warps run one after another.\n"
        "  next step: compile it for cpu:checked, which names the line, thread and block."
    )


@pytest.mark.parametrize("how", [0, 3, 4])
def test_a_loop_that_asks_memory_and_ends_is_none(spins: cd.Program, how: int) -> None:
    _, out = spins.spins(numpy.array([how, 0], numpy.int32))
    numpy.testing.assert_array_equal(out, numpy.full(64, how, numpy.int32))
