"""Kernels with more values at once than the stack of an IREE worker holds by default."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import custom_dispatch as cd

VALUES = 1024
SOURCE = f"""
extern "C" __global__ void reverse(float* x) {{
  float values[{VALUES}];
#pragma unroll
  for (int i = 0; i < {VALUES}; ++i) values[i] = x[32 * i + threadIdx.x];
#pragma unroll
  for (int i = 0; i < {VALUES}; ++i) x[32 * i + threadIdx.x] = values[{VALUES} - 1 - i];
}}
"""


def test_a_kernel_may_hold_many_values(tmp_path: Path) -> None:
    path = tmp_path / "reverse.cu"
    path.write_text(SOURCE)
    x = cd.InOut("x", "f32", [VALUES, 32])
    reverse = cd.Kernel("reverse", source=path, operands=[x], block=32, grid=1)
    rows = np.arange(32 * VALUES, dtype="f").reshape(VALUES, 32)
    np.testing.assert_array_equal(reverse.on("cpu")(rows), rows[::-1])
