"""Matrix products on the CPU: the kernels that ship, against IREE's own code for the same product.

Both are called whole, with operands on the device; IREE's own knows the sizes, the kernels find
them out. Bar: twice the time of IREE's own. For 16 bits IREE's product has sums of f32, too.
"""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np

import custom_dispatch as cd
from benchmarks.lib.report import Row, finish, interleaved, quartiles
from cuda_kernels import gemm
from custom_dispatch.ir.compiler_tool import compile_mlir, cpu_flags
from custom_dispatch.kernel.target import Target

TARGETS = ("cpu", "cpu:x86-64-v3")
DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
SIZES = ((512, 384, 384), (512, 1536, 384), (512, 384, 1536), (26, 384, 384), (1, 4096, 4096))
"""m, n, k."""
REPETITIONS = 11
BAR = 2.0
PLAIN = """
func.func @plain(%a: tensor<{m}x{k}x{t}>, %b: tensor<{of_b}x{t}>) -> tensor<{m}x{n}x{t}> {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  %c = linalg.matmul {maps} ins(%a, %b : tensor<{m}x{k}x{t}>, tensor<{of_b}x{t}>)
      outs(%z : tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32>
  {rounded}
}}
"""
OF_WEIGHTS = (
    "indexing_maps = [affine_map<(i, j, l) -> (i, l)>, affine_map<(i, j, l) -> (j, l)>, "
    "affine_map<(i, j, l) -> (i, j)>]"
)


def _plain(layout: str, dtype: str, size: tuple[int, int, int], target: Target) -> cd.Program:
    m, n, k = size
    text = PLAIN.format(
        m=m,
        n=n,
        k=k,
        t=dtype,
        of_b=f"{n}x{k}" if layout == "linear" else f"{k}x{n}",
        maps=OF_WEIGHTS if layout == "linear" else "",
        rounded=f"return %c : tensor<{m}x{n}xf32>"
        if dtype == "f32"
        else f"%r = arith.truncf %c : tensor<{m}x{n}xf32> to tensor<{m}x{n}x{dtype}>\n"
        f"  return %r : tensor<{m}x{n}x{dtype}>",
    )
    flags = ["--iree-hal-target-device=local", *cpu_flags(target)]
    return cd.load(compile_mlir(text.encode(), flags), "cpu")


def _calls(
    layout: str, dtype: str, size: tuple[int, int, int], ours: cd.Program, target: Target
) -> dict[str, Callable[[], object]]:
    m, n, k = size
    rng = np.random.default_rng(0)
    of_b = (n, k) if layout == "linear" else (k, n)
    a, b, none = (
        rng.standard_normal(shape, np.float32).astype(DTYPES[dtype])
        for shape in ((m, k), of_b, (0,))
    )
    plain = _plain(layout, dtype, size, target)
    on_device = [ours.to_device(each) for each in (a, b, none, none.reshape(0, 0))]
    kernel = getattr(ours, f"{layout}_{dtype}")
    calls = {
        "IREE's own": lambda: plain.plain(*on_device[:2]),
        "the kernel": lambda: kernel(*on_device),
    }
    right = a.astype(np.float32) @ (b.T if layout == "linear" else b).astype(np.float32)
    for call in calls.values():  # correct first
        found = np.asarray(call()).view(DTYPES[dtype]).astype(np.float32)
        off = np.abs(found - right).max() / np.abs(right).max()
        if off > (1e-5 if dtype == "f32" else 1e-2):
            raise RuntimeError(f"{layout} {dtype} {size}: off by {off}")
    return calls


def main() -> int:
    """Measure and report."""
    rows = []
    for name in TARGETS:
        target = Target.parse(name)
        for layout in ("linear", "matmul"):
            choices = [getattr(gemm, f"{layout}_{dtype}") for dtype in DTYPES]
            ours = cd.load(cd.compile(None, choices, [target]), "cpu")
            for dtype in DTYPES:
                for size in SIZES:
                    calls = _calls(layout, dtype, size, ours, target)
                    times = interleaved(calls, REPETITIONS)
                    base = quartiles(times["IREE's own"])[0]
                    for what, values in times.items():
                        median, spread = quartiles(values)
                        label = f"{name} {layout} {dtype} {'x'.join(map(str, size))}: {what}"
                        bar = BAR if what == "the kernel" else None
                        rows.append(Row(label, median, spread, median / base, bar))
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "numpy")
    return finish("cpu_gemm", rows, ["m x n x k; device local-task"], packages)
