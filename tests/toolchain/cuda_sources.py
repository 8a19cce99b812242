"""What the tests of this room share and import by name (this directory is on sys.path)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from custom_dispatch.kernel.target import Arch

SCALE = """\
extern "C" __global__ void scale(const float *in, float *out, float factor, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = factor * in[i];
}
"""

SM_90 = Arch(90)

Write = Callable[..., Path]


def skip_without_gcc() -> None:
    """Nvcc preprocesses with gcc, which is no Python package: the one thing that may be missing."""
    if shutil.which("gcc") is None:
        pytest.skip("nvcc needs gcc to preprocess, and there is none")
