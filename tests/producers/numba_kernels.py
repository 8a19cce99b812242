"""Kernels of Numba. `python -m tests.producers.numba_kernels DIRECTORY` writes their PTX."""

from __future__ import annotations

import sys
from pathlib import Path

from numba import cuda, float32


def saxpy(x, y, out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def scale_rows(x, y, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        out[i, j] = x[i, j] * y[i]


def row_sum(x, out):
    partial = cuda.shared.array(128, float32)
    row, thread = cuda.blockIdx.x, cuda.threadIdx.x
    total = float32(0)
    for column in range(thread, x.shape[1], 128):
        total += x[row, column]
    partial[thread] = total
    cuda.syncthreads()
    step = 64
    while step > 0:
        if thread < step:
            partial[thread] += partial[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[row] = partial[0]


if __name__ == "__main__":
    one, two = float32[::1], float32[:, ::1]
    types = {saxpy: (one, one, one, float32), scale_rows: (two, one, two), row_sum: (two, one)}
    for function, signature in types.items():
        text, _ = cuda.compile_ptx(function, signature, device=False, cc=(8, 0))
        (Path(sys.argv[1]) / f"numba_{function.__name__}.ptx").write_text(text)
