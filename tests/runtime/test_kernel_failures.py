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
