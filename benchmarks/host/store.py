"""Building with an empty store and with a full one.

Bars: what was all of `cuda_kernels` when they were set, `simple_mul` and `rms_norm`, takes for four
architectures at most 30 ms from a full store, and from an empty one at most 1.1 times the floor: a
chain is one object made alone from its source, and no build takes less than the slowest chain, nor
than all of them divided among the cores. How near to that the machine comes is shown by the same
chains in processes of their own, and what the store costs by a build without one. A kernel that
includes CUB takes less than 0.3 s where another with the same headers was compiled before.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import cuda_kernels
import custom_dispatch as cd
from benchmarks.lib.report import Row, as_usual, finish, quartiles
from custom_dispatch.cli.kernels import load_kernels
from custom_dispatch.toolchain.plan import plan_units

REPETITIONS = 9
ARCHS = (80, 86, 90, 100)
SOURCES = ("norms.rms_norm", "simple_mul")
ATTENTION = "attention"
"""What takes minutes to compile, and is left out where all the others are timed."""
WARM_BAR_MS = 30.0
CUB_BAR_MS = 300.0
CUB = """
#include <cub/block/block_reduce.cuh>
extern "C" __global__ void total{name}(const float* x, float* y, int count) {{
  using Reduce = cub::BlockReduce<float, {threads}>;
  __shared__ typename Reduce::TempStorage storage;
  float sum = 0;
  for (int i = threadIdx.x; i < count; i += {threads}) sum += x[i];
  sum = Reduce(storage).Sum(sum);
  if (threadIdx.x == 0) y[0] = sum;
}}
"""


@contextmanager
def store_in(directory: str) -> Iterator[None]:
    """Let the store be there."""
    os.environ["CUSTOM_DISPATCH_STORE"] = directory
    yield
    os.environ["CUSTOM_DISPATCH_STORE"] = "off"


def timed(kernels: list[cd.Kernel], targets: list[str], **settings: object) -> float:
    """Milliseconds of a build."""
    start = time.perf_counter()
    cd.build(kernels, targets, **settings)  # type: ignore[arg-type]
    return (time.perf_counter() - start) * 1e3


@cache
def _declared(names: tuple[str, ...] = SOURCES) -> tuple[list[cd.Kernel], list[str]]:
    """The kernels of some modules of `cuda_kernels`, and the targets."""
    kernels = load_kernels([f"cuda_kernels.{name}" for name in names])
    return kernels, [f"cuda:sm_{arch}" for arch in ARCHS]


def _chain(which: tuple[int, str]) -> float:
    """One source for one target, alone."""
    unit, target = which
    return timed(list(plan_units(_declared()[0])[unit].kernels), [target], store=False, jobs=1)


def two_sources() -> list[Row]:
    """Two sources: cold, warm, and their chains one by one."""
    kernels, targets = _declared()
    chains = [(unit, target) for unit in range(len(plan_units(kernels))) for target in targets]
    timed(kernels, targets, store=False)  # loads NVRTC
    cores = len(os.sched_getaffinity(0))
    kinds = ("longest", "divided", "processes", "threads", "cold", "warm")
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    with get_context("spawn").Pool(cores) as pool:
        pool.map(_chain, chains * cores, chunksize=1)  # loads NVRTC in each
        for _ in range(REPETITIONS):
            with tempfile.TemporaryDirectory() as directory, store_in(directory):
                times["cold"].append(timed(kernels, targets))
                times["warm"].append(timed(kernels, targets))
            alone = list(map(_chain, chains))
            times["longest"].append(max(alone))
            times["divided"].append(sum(alone) / cores)
            times["threads"].append(timed(kernels, targets, store=False))
            start = time.perf_counter()
            pool.map(_chain, chains, chunksize=1)
            times["processes"].append((time.perf_counter() - start) * 1e3)
    found = {kind: quartiles(values) for kind, values in times.items()}
    floor = max(found["longest"][0], found["divided"][0])
    count = f"{len(kernels)} kernels for {len(targets)} architectures"

    def row(kind: str, what: str, to: float | None = None, bar: float | None = None) -> Row:
        median, spread = found[kind]
        return Row(f"{count}: {what}", median, spread, to and median / to, bar)

    rows = [
        row("longest", f"the slowest of {len(chains)} chains"),
        row("divided", f"all chains, divided among {cores} cores"),
        row("processes", f"all chains, in {cores} processes at once, to the floor", floor),
        row("threads", "without a store, to the floor", floor),
        row("cold", "empty store, to the floor", floor, 1.1),
        row("cold", "empty store, to without a store", found["threads"][0]),
        row("cold", "empty store, to the slowest chain", found["longest"][0]),
        row("warm", "full store", WARM_BAR_MS, 1),
    ]
    median, spread = quartiles([_fresh_process(SOURCES, targets) for _ in range(REPETITIONS)])
    rows.append(Row(f"{count}: full store, fresh process", median, spread, median / WARM_BAR_MS, 1))
    return rows


def many_kernels() -> list[Row]:
    """All of `cuda_kernels` but attention, from a full store."""
    root = Path(str(cuda_kernels.__file__)).parent
    names = sorted(path.name for path in root.iterdir() if any(path.glob("*.cu")))
    kernels, targets = _declared(("simple_mul", *(name for name in names if name != ATTENTION)))
    with tempfile.TemporaryDirectory() as directory, store_in(directory):
        timed(kernels, targets)
        warm = [timed(kernels, targets) for _ in range(REPETITIONS)]
    what = f"{len(kernels)} kernels for {len(targets)} architectures: full store"
    return [Row(what, *quartiles(warm))]


_FRESH = """
import sys, time
import custom_dispatch as cd
import custom_dispatch.toolchain.build
from custom_dispatch.cli.kernels import load_kernels
kernels = load_kernels([f"cuda_kernels.{name}" for name in sys.argv[1].split(",")])
start = time.perf_counter()
cd.build(kernels, sys.argv[2].split(","))
print((time.perf_counter() - start) * 1e3)
"""


def _fresh_process(names: Sequence[str], targets: list[str]) -> float:
    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-c", _FRESH, ",".join(names), ",".join(targets)]
        environment = as_usual() | {"CUSTOM_DISPATCH_STORE": directory}
        for _ in range(2):
            done = subprocess.run(
                command, capture_output=True, text=True, check=True, env=environment
            )
        return float(done.stdout)


def with_cub() -> list[Row]:
    """A kernel that includes CUB, after another one that does."""
    first, later, again = [], [], []
    n = cd.dim("n")
    with tempfile.TemporaryDirectory() as sources:
        kernels = []
        for index, threads in enumerate((128, 256)):
            path = Path(sources, f"total{index}.cu")
            path.write_text(CUB.format(name=index, threads=threads))
            operands = [
                cd.In("x", "f32", [n]),
                cd.Out("y", "f32", [1]),
                cd.Scalar("count", "i32", n),
            ]
            kernels.append(
                cd.Kernel(f"total{index}", source=path, operands=operands, block=threads, grid=1)
            )
        for _ in range(max(3, REPETITIONS // 3)):
            with tempfile.TemporaryDirectory() as directory, store_in(directory):
                first.append(timed(kernels[:1], ["cuda:sm_90"]))
                later.append(timed(kernels[1:], ["cuda:sm_90"]))
                again.append(timed(kernels[1:], ["cuda:sm_90"]))
    rows = [Row("a kernel with CUB, the first", *_spread(first))]
    median, spread = _spread(later)
    rows.append(Row("another kernel with the same headers", median, spread, median / CUB_BAR_MS, 1))
    rows.append(Row("that kernel again", *_spread(again)))
    return rows


def _spread(values: list[float]) -> tuple[float, float]:
    return statistics.median(values), max(values) - min(values)


def main() -> int:
    """Measure and report."""
    os.environ["CUSTOM_DISPATCH_STORE"] = "off"
    rows = two_sources() + many_kernels() + with_cub()
    notes = [
        "a chain is one source compiled and checked for one architecture, alone and without a "
        "store; the floor is the slowest chain or all of them divided among the cores, whichever "
        "is more",
        "processes at once share nothing but the machine: they show what its cores give when all "
        "are busy; they have loaded NVRTC before, and a build starts its own",
        "with an empty store the toolkit's 1800 headers are read for the first time, meanwhile",
        f"the full store's ratio is to {WARM_BAR_MS:g} ms, that of CUB to {CUB_BAR_MS:g} ms",
        "with CUB the spread is that of all values",
    ]
    packages = ("custom-dispatch", "nvidia-cuda-nvrtc", "nvidia-cuda-nvcc", "nvidia-cuda-cccl")
    return finish("store", rows, notes, packages)
