"""The edges of IREE's ABI and of DLPack's, on a GPU: one double, bits that negate, None.

Two halves: `build DIRECTORY` needs this package's compilers and no GPU; then, where there are a GPU
and PyTorch, `run DIRECTORY`. Inputs are random and fresh in every run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from custom_dispatch.errors import CallError
from gpu.each import run_each
from gpu.halves import options

SOURCE = """
extern "C" __global__ void total(const double* x, double* sum, int count) {
  __shared__ double parts[256];
  double mine = 0;
  for (int i = threadIdx.x; i < count; i += 256) mine += x[i];
  parts[threadIdx.x] = mine;
  for (int width = 128; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) parts[threadIdx.x] += parts[threadIdx.x + width];
  }
  if (threadIdx.x == 0) sum[0] += parts[0];
}
extern "C" __global__ void twice(const float* x, float* y, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] = 2 * x[i];
}
extern "C" __global__ void shifted(const float* x, const float* y, float* z, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) z[i] = x[i] + (y ? y[i] : 0);
}
"""


def build(directory: Path) -> None:
    """One module with both kernels."""
    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "edges.cu"
    source.write_text(SOURCE)
    n = cd.dim("n")
    count = cd.Scalar("count", "i32", n)
    total = cd.Kernel(
        "total",
        source=source,
        operands=[cd.In("x", "f64", [n]), cd.InOut("sum", "f64", [1]), count],
        block=256,
        grid=1,
    )
    twice = cd.Kernel(
        "twice",
        source=source,
        operands=[cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), count],
        block=256,
        grid=cd.ceildiv(n, 256),
    )
    shifted = cd.Kernel(
        "shifted",
        source=source,
        operands=[
            cd.In("x", "f32", [n]),
            cd.In("y", "f32", [n], optional=True),
            cd.Out("z", "f32", [n]),
            count,
        ],
        block=256,
        grid=cd.ceildiv(n, 256),
    )
    cd.compile(None, [total, twice, shifted]).save(directory / "edges.vmfb")


def one_double(program: Any, device: str) -> None:
    """IREE takes what has one element apart."""
    del device
    rng = np.random.default_rng()
    for count in (1, 255, 100_003):
        x, before = rng.standard_normal(count), rng.standard_normal(1)
        found = np.asarray(program.total(x, before))
        np.testing.assert_allclose(found, before + x.sum(), rtol=1e-11, atol=1e-11)


def negated(program: Any, device: str) -> None:
    """PyTorch keeps some tensors as views with a bit that says minus, which DLPack drops."""
    z = torch.randn(1000, dtype=torch.complex64, device=device).conj()
    lazy = torch._neg_view(torch.randn(1000, device=device))
    for given in (lazy, z.imag):
        assert given.is_neg()
        try:
            program.twice(given)
        except CallError as error:
            assert "resolve_neg" in str(error), error  # noqa: PT017
        else:
            raise AssertionError("a tensor with the negative bit was read")
        whole = given.resolve_neg().contiguous()
        found = torch.from_dlpack(program.twice(whole))
        torch.testing.assert_close(found, 2 * whole)


def optional(program: Any, device: str) -> None:
    """None for an operand that may be left out."""
    x = torch.randn(1000, device=device)
    y = torch.randn(1000, device=device)
    torch.testing.assert_close(torch.from_dlpack(program.shifted(x, None)), x)
    torch.testing.assert_close(torch.from_dlpack(program.shifted(x, y)), x + y)


if __name__ == "__main__":
    given = options(__doc__)
    if given.half == "build":
        build(given.directory)
        sys.exit()
    import torch

    loaded = cd.load(given.directory / "edges.vmfb", given.device)
    sys.exit(run_each((one_double, negated, optional), lambda: (loaded, given.device)))
