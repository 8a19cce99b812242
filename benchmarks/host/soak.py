"""Many calls of changing shapes from several threads: memory stays as it is.

    python -m benchmarks host.soak build DIRECTORY                                       (no GPU)
    python -m benchmarks host.soak run DIRECTORY [--device cpu|cuda] [--calls N | --seconds S]
                                            [--threads N] [--load-every N] [--save]

The second half needs iree-base-runtime, numpy, ml_dtypes and this package's sources. Threads share
two programs: a model with kernels and generated code, and a kernel by itself. They pass numpy
arrays of any size up to 64 Ki elements, now and then arrays on the device, sizes that are refused,
and load a program anew. What the process holds, and for CUDA what is taken of the GPU, is noted a
hundred times. The bar: from the run's second quarter to its last, the medians differ by at most
8 MiB.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import platform
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

LARGEST = 1 << 16
SAMPLES = 100
BAR_BYTES = 8 << 20
ON_DEVICE_EVERY, REFUSED_EVERY = 10, 50


@dataclass
class Soak:
    """What threads share."""

    calls: int | None
    seconds: float | None
    load_every: int
    done: int = 0
    failed: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)
    started: float = field(default_factory=time.monotonic)

    def next(self) -> int | None:
        """The number of the next call; None when there is to be none."""
        with self.lock:
            if self.share >= 1 or self.failed:
                return None
            self.done += 1
            return self.done

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        if self.calls is not None:
            return self.done / self.calls
        return (time.monotonic() - self.started) / (self.seconds or 1)


def build(directory: Path) -> None:
    """Compile the model and the kernel, for CUDA and the CPU."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace

    targets = ["cuda:sm_80", "cuda:sm_90", "cpu"]
    kernels = [simple_mul, simple_mul_inplace]
    directory.mkdir(parents=True, exist_ok=True)
    model = ROOT / "mlir" / "mixed_invocation.mlir"
    cd.compile(model, kernels, targets).save(directory / "model.vmfb")
    cd.compile(None, simple_mul, targets).save(directory / "kernel.vmfb")


def work(soak: Soak, directory: Path, device: str, programs: list[Any], seed: int) -> None:
    """Call until the soak is over, and check what comes back."""
    import iree.runtime as rt
    import numpy as np

    import custom_dispatch as cd
    from custom_dispatch.runtime.device import hal_device

    source = random.Random(seed)  # noqa: S311
    base = np.random.default_rng(seed).random(LARGEST, np.float32)
    while (number := soak.next()) is not None:
        size = int(2 ** source.uniform(0, 16))
        a, b = base[:size], base[LARGEST - size :]
        model, kernel = programs
        if number % soak.load_every == 0:
            model = cd.load(directory / "model.vmfb", device)
        try:
            if number % REFUSED_EVERY == 0:
                try:
                    model.mixed_invocation(a, np.zeros(size + 1, np.float32))
                    soak.failed.append("sizes that disagree were taken")
                except cd.CustomDispatchError:
                    continue
            if number % ON_DEVICE_EVERY == 0:
                with kernel.simple_mul.access:
                    on_device = rt.asdevicearray(hal_device(device), a)
                found = np.asarray(kernel.simple_mul(on_device, b))
                wanted = a * b
            elif number % 2:
                found, wanted = model.mixed_invocation(a, b), (a * b) * (a * b + b)
            else:
                found, wanted = kernel.simple_mul(a, b), a * b
            if not np.array_equal(found, wanted):
                soak.failed.append(f"call {number} with {size} elements: wrong result")
        except Exception as error:  # noqa: BLE001 - told, and the soak ends
            soak.failed.append(f"call {number}: {error}")


def resident_bytes() -> int:
    """What the process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def gpu_meter(opened: Any) -> Callable[[], int]:
    """How much of the first GPU's memory is taken, by whoever: CUDA Driver API, cuMemGetInfo.

    What is kept for later calls is given back first: how much that is changes with the sizes of the
    last 512.
    """
    cuda = ctypes.CDLL("libcuda.so.1")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDeviceGet(ctypes.byref(device), 0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    cuda.cuCtxPushCurrent_v2(context)

    def taken() -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        with opened.access, opened.access.alone(5) as alone:
            if alone:
                opened.hal.allocator.trim()
            status = cuda.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        if status != 0:
            raise RuntimeError(f"cuMemGetInfo: error {status}")
        return total.value - free.value

    return taken


def run(
    directory: Path, device: str, soak: Soak, threads: int
) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Run the threads; return the samples of each meter, and what it reads when they are gone."""
    import custom_dispatch as cd

    programs = [cd.load(directory / f"{name}.vmfb", device) for name in ("model", "kernel")]
    meters: dict[str, Callable[[], int]] = {"process": resident_bytes}
    if device == "cuda":
        meters["GPU"] = gpu_meter(programs[1].function("simple_mul").open_device)
    samples: dict[str, list[int]] = {name: [] for name in meters}
    workers = [
        threading.Thread(target=work, args=(soak, directory, device, programs, seed))
        for seed in range(threads)
    ]
    soak.started = time.monotonic()
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        if soak.share * SAMPLES >= len(samples["process"]):
            for name, meter in meters.items():
                samples[name].append(meter())
        time.sleep(0.01)
    for worker in workers:
        worker.join()
    gc.collect()
    return samples, {name: meter() for name, meter in meters.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", choices=("build", "run"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--calls", type=int, help="200000 without --seconds")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--load-every", type=int, default=2000, help="calls between two loads")
    parser.add_argument("--save", action="store_true", help="under benchmarks/results")
    options = parser.parse_args()
    if options.half == "build":
        build(options.directory)
        return 0
    calls = options.calls or (None if options.seconds else 200_000)
    soak = Soak(calls, options.seconds, options.load_every)
    samples, left = run(options.directory, options.device, soak, options.threads)
    took = time.monotonic() - soak.started
    print(f"{soak.done} calls in {took:.0f} s from {options.threads} threads on {options.device}")
    for failure in soak.failed[:5]:
        print(failure)
    passed = not soak.failed
    rows = []
    for name, values in samples.items():
        quarter = len(values) // 4
        before = statistics.median(values[quarter : 2 * quarter])
        after = statistics.median(values[-quarter:])
        holds = after - before <= BAR_BYTES
        passed = passed and holds
        shown = [round(value / 2**20, 1) for value in values]
        rows.append({"what": name, "MiB": shown, "left_MiB": round(left[name] / 2**20, 1)})
        print(
            f"{name:8} {before / 2**20:9.1f} MiB, then {after / 2**20:9.1f} MiB: "
            f"{(after - before) / 2**20:+.2f} MiB {'ok' if holds else 'NOT MET'}; "
            f"{values[0] / 2**20:.1f} MiB at first, {left[name] / 2**20:.1f} MiB left at the end"
        )
    if options.save:
        _save(options, soak.done, took, rows)
    return 0 if passed else 1


def _save(options: argparse.Namespace, calls: int, took: float, rows: list[Any]) -> None:
    import custom_dispatch as cd

    about = {
        "benchmark": "soak",
        "command": "python -m benchmarks host.soak build DIRECTORY (no GPU), then: "
        + " ".join(["host.soak", "run", "DIRECTORY", *sys.argv[3:]]),
        "date": time.strftime("%Y-%m-%d"),
        "device": str(next(item for item in cd.devices() if item.kind == options.device)),
        "python": platform.python_version(),
        "versions": {"iree-base-runtime": version("iree-base-runtime")},
        "bar": f"from the second quarter to the last at most {BAR_BYTES >> 20} MiB more",
    }
    content = {"about": about, "calls": calls, "seconds": round(took), "rows": rows}
    path = ROOT / "benchmarks" / "results" / f"soak_{options.device}.json"
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(f"kept in {path.relative_to(ROOT)}")
