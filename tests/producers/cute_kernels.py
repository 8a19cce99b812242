"""Kernels of CuTe DSL. `python -m tests.producers.cute_kernels DIRECTORY` writes their PTX."""

# No `from __future__ import annotations`: CuTe DSL reads the annotations.
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    os.environ.update(CUTE_DSL_ARCH="sm_80", CUTE_DSL_KEEP_PTX="1", CUTE_DSL_DUMP_DIR=sys.argv[1])

import cutlass
from cutlass import cute


@cute.kernel
def _saxpy(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, a: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * 256 + thread
    if i < cute.size(out):
        out[i] = a * x[i] + y[i]


@cute.jit
def saxpy(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor, a: cutlass.Float32):
    _saxpy(x, y, out, a).launch(grid=(cute.ceil_div(cute.size(out), 256), 1, 1), block=(256, 1, 1))


@cute.kernel
def _scale_rows(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    j = thread
    while j < out.shape[1]:
        out[row, j] = x[row, j] * y[row]
        j += 128


@cute.jit
def scale_rows(x: cute.Tensor, y: cute.Tensor, out: cute.Tensor):
    _scale_rows(x, y, out).launch(grid=(out.shape[0], 1, 1), block=(128, 1, 1))


@cute.kernel
def _row_sum(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    memory = cutlass.utils.SmemAllocator()
    partial = memory.allocate_tensor(cutlass.Float32, cute.make_layout(128), 16)
    total = cutlass.Float32(0)
    j = thread
    while j < x.shape[1]:
        total += x[row, j]
        j += 128
    partial[thread] = total
    cute.arch.sync_threads()
    if thread == 0:
        whole = cutlass.Float32(0)
        for k in range(128):
            whole += partial[k]
        out[row] = whole


@cute.jit
def row_sum(x: cute.Tensor, out: cute.Tensor):
    _row_sum(x, out).launch(grid=(x.shape[0], 1, 1), block=(128, 1, 1))


@cute.kernel
def _shifted(x: cute.Tensor, FACTOR: cutlass.Constexpr, out: cute.Tensor, by: cutlass.Int64):
    i, _, _ = cute.arch.thread_idx()
    shift = by.to(cutlass.Float32)
    while i < out.shape[0]:
        out[i] = FACTOR * x[i] + shift
        i += 64


if __name__ == "__main__":
    from cutlass.cute.runtime import make_fake_compact_tensor

    m, n = cute.sym_int(), cute.sym_int()
    one, row = (
        make_fake_compact_tensor(cutlass.Float32, (size,), assumed_align=16) for size in (n, m)
    )
    two = make_fake_compact_tensor(cutlass.Float32, (m, n), stride_order=(1, 0), assumed_align=16)
    for function, arguments in (
        (saxpy, (one, one, one, cutlass.Float32(0))),
        (scale_rows, (two, row, two)),
        (row_sum, (two, row)),
    ):
        made = cute.compile(function, *arguments)
        (Path(sys.argv[1]) / f"cute_{function.__name__}.ptx").write_text(made.__ptx__)
