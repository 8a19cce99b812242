"""What memory of a kernel's own costs on a GPU: `cd.Scratch`, beside the same kernel without.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then `run DIRECTORY [FILE.json]`
where there is a GPU, iree-base-runtime and numpy. Both kernels add one to each element; one has a
scratch of the same size, which it would only write for fewer than no elements: so what differs is
the memory alone.

The bar: a call with eight under way takes at most 1.1 times the other kernel's, or 4 us more.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.lib import gpu_command

SIZES = (1024, 1 << 20, 1 << 24)
KERNELS = ("without", "with_scratch")
PIPELINE = 8
ROUNDS, CALLS, WARM_UP = 7, 200, 50
BAR_RATIO, BAR_US = 1.1, 4.0

SOURCE = """
extern "C" __global__ void without(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + 1;
}
extern "C" __global__ void with_scratch(const float *x, volatile float *s, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < 0) s[i] = x[i];
  if (i < n) y[i] = x[i] + 1;
}
"""


def build(directory: Path) -> None:
    """Compile the module."""
    import custom_dispatch as cd

    directory.mkdir(parents=True, exist_ok=True)
    source = directory / "scratch.cu"
    source.write_text(SOURCE)
    n = cd.dim("n")
    x, y, count = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n]), cd.Scalar("n", "i32", n)
    kernels = [
        cd.Kernel(name, source=source, operands=operands, block=256, grid=cd.ceildiv(n, 256))
        for name, operands in (
            ("without", [x, y, count]),
            ("with_scratch", [x, cd.Scratch("s", "f32", [n]), y, count]),
        )
    ]
    cd.compile(None, kernels, ["cuda:sm_80", "cuda:sm_90"]).save(directory / "scratch.vmfb")


def _pipelined(submit: Callable[[], Any], depth: int) -> float:
    """Microseconds a call, with so many under way."""
    waiting: list[Any] = []
    start = time.perf_counter()
    for _ in range(CALLS):
        waiting.append(submit())
        if len(waiting) >= depth:
            waiting.pop(0).result()
    for item in waiting:
        item.result()
    return (time.perf_counter() - start) / CALLS * 1e6


def run(directory: Path) -> list[dict[str, Any]]:
    """Check both kernels, and time them in turn; medians in microseconds a call."""
    import iree.runtime as rt
    import numpy as np

    import custom_dispatch as cd
    from custom_dispatch.runtime.device import hal_device

    program = cd.load(directory / "scratch.vmfb", "cuda")
    rows = []
    for size in SIZES:
        values = np.random.default_rng().standard_normal(size, np.float32)
        with program.function(next(iter(KERNELS))).access:
            operand = rt.asdevicearray(hal_device("cuda"), values)
        functions = {name: program.function(name) for name in KERNELS}
        for name, function in functions.items():
            if not np.array_equal(np.asarray(function(operand)), values + np.float32(1)):
                sys.exit(f"{name} is wrong for {size} elements")
        for depth in (1, PIPELINE):
            times: dict[str, list[float]] = {name: [] for name in KERNELS}
            for _ in range(ROUNDS):
                for name, function in functions.items():
                    for _ in range(WARM_UP):
                        function(operand)
                    times[name].append(_pipelined(partial(function.submit, operand), depth))
            medians = {name: statistics.median(found) for name, found in times.items()}
            rows.append(
                {"elements": size, "under_way": depth}
                | {f"{name}_us": round(found, 2) for name, found in medians.items()}
            )
    return rows


def main() -> int:
    """Build or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    rows = run(given.directory)
    met = True
    for row in rows:
        least, ours = row["without_us"], row["with_scratch_us"]
        holds = ours <= max(least * BAR_RATIO, least + BAR_US)
        met &= holds or row["under_way"] == 1
        print(
            f"{row['elements']:9} elements, {row['under_way']} under way: {least:8.1f} us without, "
            f"{ours:8.1f} with ({ours / least:.2f})"
        )
    if given.save:
        gpu_command.save(given.save, "gpu.scratch run", rows=rows)
    return 0 if met else 1
