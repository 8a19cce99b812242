"""Kernels with loops, barriers and shuffles on the CPU, against IREE's own code and numpy.

Saxpy and row-wise kernels of 2**24 f32, a tiled matmul of 512**3; a call is timed whole, with its
operands on the device. Bars: row-wise within 2 times IREE's own code for the same CPU, and within
1.5 times numpy; matmul within 4 times IREE's own.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from iree import runtime as rt

import custom_dispatch as cd
from benchmarks.lib.report import Row, finish, interleaved, quartiles
from custom_dispatch.ir.compiler_tool import compile_mlir, cpu_flags
from custom_dispatch.kernel.target import Target
from custom_dispatch.runtime.device import hal_device

ROWS, COLUMNS, SIZE = 4096, 4096, 512
REPETITIONS = 9
CORPUS = Path(__file__).parents[2] / "tests" / "cpu" / "corpus"
SAXPY = """
extern "C" __global__ void saxpy(const float* x, const float* y, float* z, int n, float a) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    z[i] = a * x[i] + y[i];
}
"""
PLAIN = b"""
func.func @saxpy(%x: tensor<16777216xf32>, %y: tensor<16777216xf32>, %a: f32)
    -> tensor<16777216xf32> {
  %e = tensor.empty() : tensor<16777216xf32>
  %z = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
      affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %y : tensor<16777216xf32>, tensor<16777216xf32>) outs(%e : tensor<16777216xf32>) {
  ^bb0(%u: f32, %v: f32, %out: f32):
    %p = arith.mulf %a, %u : f32
    %q = arith.addf %p, %v : f32
    linalg.yield %q : f32
  } -> tensor<16777216xf32>
  return %z : tensor<16777216xf32>
}
func.func @softmax(%x: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %0 = tensor.empty() : tensor<4096x4096xf32>
  %1 = linalg.softmax dimension(1) ins(%x : tensor<4096x4096xf32>)
      outs(%0 : tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %1 : tensor<4096x4096xf32>
}
func.func @rms_norm(%x: tensor<4096x4096xf32>, %w: tensor<4096xf32>) -> tensor<4096x4096xf32> {
  %zero = arith.constant 0.0 : f32
  %count = arith.constant 4096.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x4096xf32>) outs(%z : tensor<4096xf32>) {
  ^bb0(%v: f32, %acc: f32):
    %q = arith.mulf %v, %v : f32
    %a = arith.addf %acc, %q : f32
    linalg.yield %a : f32
  } -> tensor<4096xf32>
  %o = tensor.empty() : tensor<4096x4096xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
      affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %s, %w : tensor<4096x4096xf32>, tensor<4096xf32>, tensor<4096xf32>)
      outs(%o : tensor<4096x4096xf32>) {
  ^bb0(%v: f32, %t: f32, %u: f32, %out: f32):
    %m = arith.divf %t, %count : f32
    %n = arith.addf %m, %eps : f32
    %r = math.rsqrt %n : f32
    %a = arith.mulf %v, %r : f32
    %b = arith.mulf %a, %u : f32
    linalg.yield %b : f32
  } -> tensor<4096x4096xf32>
  return %y : tensor<4096x4096xf32>
}
func.func @matmul(%a: tensor<512x512xf32>, %b: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<512x512xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<512x512xf32>) -> tensor<512x512xf32>
  %c = linalg.matmul ins(%a, %b : tensor<512x512xf32>, tensor<512x512xf32>)
      outs(%z : tensor<512x512xf32>) -> tensor<512x512xf32>
  return %c : tensor<512x512xf32>
}
"""


def _kernels(directory: Path) -> list[cd.Kernel]:
    r, c, m, n, k = (cd.dim(name) for name in "rcmnk")
    for name in ("barriers", "warps"):
        (directory / f"{name}.cu").write_text((CORPUS / f"{name}.cu").read_text())
    (directory / "saxpy.cu").write_text(SAXPY)
    return [
        cd.Kernel(
            "saxpy",
            source=directory / "saxpy.cu",
            operands=[
                cd.In("x", "f32", [n]),
                cd.In("y", "f32", [n]),
                cd.Out("z", "f32", [n]),
                cd.Scalar("count", "i32", n),
                cd.Scalar("a", "f32"),
            ],
            block=256,
            grid=1024,
        ),
        cd.Kernel(
            "softmax",
            source=directory / "warps.cu",
            operands=[
                cd.In("x", "f32", [r, c]),
                cd.Out("y", "f32", [r, c]),
                cd.Scalar("n", "i32", c),
            ],
            block=256,
            grid=r,
        ),
        cd.Kernel(
            "rms_norm_tree",
            source=directory / "barriers.cu",
            operands=[
                cd.In("x", "f32", [r, c]),
                cd.In("w", "f32", [c]),
                cd.Out("y", "f32", [r, c]),
                cd.Scalar("n", "i32", c),
                cd.Scalar("eps", "f32"),
            ],
            block=128,
            grid=r,
        ),
        cd.Kernel(
            "matmul_tiled",
            source=directory / "barriers.cu",
            operands=[
                cd.In("a", "f32", [m, k]),
                cd.In("b", "f32", [k, n]),
                cd.Out("c", "f32", [m, n]),
                *(cd.Scalar(f"size_{d.name}", "i32", d) for d in (m, n, k)),
            ],
            block=(16, 16),
            grid=(cd.ceildiv(n, 16), cd.ceildiv(m, 16)),
        ),
    ]


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    e /= e.sum(1, keepdims=True)
    return e


def main() -> int:
    """Measure and report."""
    target = Target.parse("cpu:x86-64-v3")
    with tempfile.TemporaryDirectory() as directory:
        ours = cd.load(cd.compile(None, _kernels(Path(directory)), [target]), "cpu")
    plain = cd.load(
        compile_mlir(PLAIN, ["--iree-hal-target-device=local", *cpu_flags(target)]), "cpu"
    )
    device = hal_device("cpu")
    rng = np.random.default_rng(0)
    x, w = (
        rng.standard_normal((ROWS, COLUMNS), np.float32),
        rng.standard_normal(COLUMNS, np.float32),
    )
    a, b = (rng.standard_normal((SIZE, SIZE), np.float32) for _ in range(2))
    flat, other = x.reshape(-1), rng.standard_normal(ROWS * COLUMNS, np.float32)
    dflat, dother = (rt.asdevicearray(device, v) for v in (flat, other))
    two = np.float32(2)
    dx, dw, da, db = (rt.asdevicearray(device, v) for v in (x, w, a, b))
    eps = np.float32(1e-5)

    def norm() -> np.ndarray:
        return x / np.sqrt(np.mean(x * x, 1, keepdims=True) + eps) * w

    calls: dict[str, tuple[Callable[[], object], Callable[[], object], Callable[[], object]]] = {
        "saxpy 2^24, a loop over the grid": (
            lambda: plain.saxpy(dflat, dother, two),
            lambda: ours.saxpy(dflat, dother, two),
            lambda: two * flat + other,
        ),
        "softmax 4096 x 4096": (
            lambda: plain.softmax(dx),
            lambda: ours.softmax(dx),
            lambda: _softmax(x),
        ),
        "RMS norm 4096 x 4096": (
            lambda: plain.rms_norm(dx, dw),
            lambda: ours.rms_norm_tree(dx, dw, eps),
            norm,
        ),
        "tiled matmul 512^3": (
            lambda: plain.matmul(da, db),
            lambda: ours.matmul_tiled(da, db),
            lambda: a @ b,
        ),
    }
    rows = []
    for what, (theirs, mine, numpys) in calls.items():
        for call in (theirs, mine):  # correct first
            np.testing.assert_allclose(np.asarray(call()), numpys(), rtol=1e-3, atol=1e-3)
        times = interleaved({"iree": theirs, "kernel": mine, "numpy": numpys}, REPETITIONS)
        base, kernel = quartiles(times["iree"])[0], quartiles(times["kernel"])
        natural = quartiles(times["numpy"])[0]
        rows.append(Row(f"{what}: IREE's own", *quartiles(times["iree"]), 1.0))
        bar = 4.0 if "matmul" in what else 2.0
        rows.append(Row(f"{what}: the kernel", *kernel, kernel[0] / base, bar))
        bar_numpy = None if "matmul" in what else 1.5
        rows.append(Row(f"{what}: against numpy", *kernel, kernel[0] / natural, bar_numpy))
    notes = ["cpu:x86-64-v3, device local-task; numpy runs on one core where it has no BLAS"]
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "numpy")
    return finish("cpu_kernels", rows, notes, packages)
