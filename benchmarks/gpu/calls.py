"""What a call costs on a GPU, beside the barest way through IREE and the driver's own launch.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then `run DIRECTORY` where there
is a GPU, iree-base-runtime, numpy and, for comparison, CuPy and PyTorch.

Bars, of the issue: our layer adds at most 5 us to the barest invocation of the same function, and
at most 15 %; 100 dependent dispatches take at most 1.5 times 100 launches on a stream; a large
kernel (2**28 f32) at most 1.02 times its own launch, result included. What a call of one small
kernel costs beside CuPy's is reported: IREE hands every call from thread to thread.
"""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.lib import gpu_command

SMALL, LARGE = 1024, 1 << 28
TYPE = "tensor<?xf32>"
CHAIN = 100
PIPELINE = 8
BLOCK = 64


def build(directory: Path) -> None:
    """Compile the modules, and write the kernel's PTX."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul

    directory.mkdir(parents=True, exist_ok=True)
    library = cd.build([simple_mul], ["cuda:sm_80", "cuda:sm_90"])
    for item in library.objects:
        (directory / f"{item.target.symbol}.ptx").write_bytes(item.data)
    cd.compile(None, library).save(directory / "kernel.vmfb")
    calls = [
        f"  %v{i + 1} = call @simple_mul(%v{i}, %b) : ({TYPE}, {TYPE}) -> {TYPE}"
        for i in range(CHAIN)
    ]
    model = "\n".join(
        [
            f"func.func private @simple_mul({TYPE}, {TYPE}) -> {TYPE}",
            f"func.func @main(%v0: {TYPE}, %b: {TYPE}) -> {TYPE} {{",
            *calls,
            f"  return %v{CHAIN} : {TYPE}",
            "}",
        ]
    )
    cd.compile(model, library).save(directory / "chain.vmfb")


def _after_a_pause(run: Callable[[], object]) -> Callable[[], object]:
    """A call after the machine had nothing to do; the pause is not timed."""

    def call() -> object:
        return run()

    _pauses[call] = 0.003
    return call


_pauses: dict[Callable[[], object], float] = {}


def _pipelined(function: Any, x: Any, y: Any) -> Callable[[], object]:
    def call() -> None:
        for one in [function.submit(x, y) for _ in range(PIPELINE)]:
            one.result()

    return call


def medians(
    variants: dict[str, Callable[[], object]], rounds: int, repetitions: int
) -> dict[str, tuple[float, float]]:
    """Median and quartile distance in microseconds, the variants in turn in blocks."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, run in variants.items():
            for repetition in range(repetitions + 5):
                if pause := _pauses.get(run, 0):
                    time.sleep(pause)
                start = time.perf_counter()
                run()
                if repetition >= 5:
                    times[name].append((time.perf_counter() - start) * 1e6)
    found = {}
    for name, values in times.items():
        low, middle, high = statistics.quantiles(values, n=4)
        found[name] = (middle, high - low)
    return found


def bare(program: Any, name: str, views: list[Any], *, waits: bool) -> Callable[[], object]:
    """The barest invocation of a function through IREE's Python bindings."""
    from iree import runtime as rt

    function = program.function(name)
    context, points = function._context, function._points

    def run() -> object:
        inputs, outputs = rt.VmVariantList(len(views) + 2), rt.VmVariantList(1)
        for view in views:
            inputs.push_ref(view)
        if waits:
            context.invoke(points.waiting, inputs, outputs)
        else:
            semaphore = function.device.create_semaphore(0)
            inputs.push_ref(rt.HalFence.create_at(semaphore, 0))
            inputs.push_ref(rt.HalFence.create_at(semaphore, 1))
            context.invoke(points.asynchronous, inputs, outputs)
            while semaphore.query() < 1:
                pass
        return outputs.get_as_object(0, rt.HalBufferView)

    return run


def run(directory: Path, device: str) -> list[tuple[str, float, float, str, float | None, float]]:
    """Time everything: (what, us, spread, beside, ratio, bar)."""
    import numpy as np

    import custom_dispatch as cd

    kernel = cd.load(directory / "kernel.vmfb", device)
    chain = cd.load(directory / "chain.vmfb", device)
    generator = np.random.default_rng()
    rows: list[tuple[str, float, float, str, float | None, float]] = []
    for size in (SMALL, LARGE if device == "cuda" else 1 << 20):
        a, b = (generator.random(size, np.float32) + 0.5 for _ in range(2))
        empty = np.full(size, np.nan, np.float32)
        x, y, z = map(kernel.to_device, (a, b, empty))
        views = [x.view, y.view]
        result = kernel.simple_mul(x, y)
        np.testing.assert_array_equal(result.to_host(), a * b)
        np.testing.assert_array_equal(kernel.simple_mul(x, y, out=z).to_host(), a * b)
        few = size == SMALL
        label = f"{size} f32"
        variants: dict[str, Callable[[], object]] = {
            "IREE, waiting": bare(kernel, "simple_mul", views, waits=True),
            "IREE, fences": bare(kernel, "simple_mul", views, waits=False),
            "call": lambda x=x, y=y: kernel.simple_mul(x, y),
            "call with out=": lambda x=x, y=y, z=z: kernel.simple_mul(x, y, out=z),
            "IREE, waiting, again": bare(kernel, "simple_mul", views, waits=True),
        }
        natives: dict[str, Callable[[], object]] = {}
        if device == "cuda":
            natives = _natives(directory, size, [x, y, z])
        if few:
            variants["IREE, fences, after 3 ms without work"] = _after_a_pause(
                variants["IREE, fences"]
            )
        elif device == "cuda":
            variants["8 calls under way at a time, each"] = _pipelined(kernel.simple_mul, x, y)
        if natives and few:
            natives["driver, after 3 ms without work"] = _after_a_pause(natives["driver"])
        found = medians(variants | natives, 10 if few else 5, 100 if few else 10)
        for name in found:
            if "at a time" in name:
                found[name] = (found[name][0] / PIPELINE, found[name][1] / PIPELINE)
        barest = min(found["IREE, waiting"][0], found["IREE, fences"][0])
        for name, (middle, spread) in found.items():
            ratio = middle / (found["driver"][0] if not few and "driver" in found else barest)
            bar = 0.0
            if name == "call" and few:
                bar = 1.15
            if name == "call" and not few and natives:
                bar = 1.02
            beside = "driver" if not few and "driver" in found else "barest"
            rows.append((f"{label}: {name}", middle, spread, beside, ratio, bar))
        if few:
            rows += _chains(chain, kernel, natives, [x, y], a, b)
    return rows


def _natives(directory: Path, size: int, arrays: list[Any]) -> dict[str, Callable[[], object]]:
    import cupy
    import torch

    import custom_dispatch as cd
    from custom_dispatch.measure.native_launch import NativeContext, NativeLaunch
    from custom_dispatch.runtime import driver

    def with_pytorch_in() -> None:
        loaded.simple_mul(*tensors)

    def after_giving_away() -> None:
        driver.note_export(0, None)
        loaded.simple_mul(*arrays[:2])
        driver._given_to.clear()

    major, minor = torch.cuda.get_device_capability()
    ptx = directory / ("sm_90.ptx" if (major, minor) >= (9, 0) else "sm_80.ptx")
    mine = [torch.from_dlpack(array) for array in arrays]
    context = NativeContext().__enter__()  # until the process ends
    native = NativeLaunch(
        context,
        ptx.read_bytes(),
        "simple_mul",
        grid=(-(-size // BLOCK), 1, 1),
        block=(BLOCK, 1, 1),
        shared_bytes=0,
        bindings=[ctypes.c_uint64(tensor.data_ptr()) for tensor in mine],
        constants=[size],
    )
    tensors = [tensor.clone() for tensor in mine[:2]]
    torch.cuda.synchronize()
    # As the kernel's own work would leave it: nothing was given to other libraries.
    driver._given_to.clear()
    kernel = cupy.RawModule(path=str(ptx)).get_function("simple_mul")
    given = [cupy.from_dlpack(tensor) for tensor in mine]
    stream = cupy.cuda.Stream(non_blocking=True)
    count = cupy.int32(size)

    def with_cupy() -> None:
        with stream:
            kernel((-(-size // BLOCK),), (BLOCK,), (*given, count))
            stream.synchronize()

    loaded = cd.load(directory / "kernel.vmfb", "cuda")
    check = torch.from_dlpack(loaded.simple_mul(*tensors))
    torch.testing.assert_close(check, tensors[0] * tensors[1], rtol=0, atol=0)
    driver._given_to.clear()
    return (
        {
            "driver": native.run,
            "driver, 100 launches": lambda: native.run(CHAIN),
            "CuPy": with_cupy,
            "call with PyTorch tensors": with_pytorch_in,
            "call after a result was given to PyTorch": after_giving_away,
        }
        if size == SMALL
        else {"driver": native.run, "CuPy": with_cupy}
    )


def _chains(
    chain: Any,
    kernel: Any,
    natives: dict[str, Callable[[], object]],
    arrays: list[Any],
    a: Any,
    b: Any,
) -> list[tuple[str, float, float, str, float | None, float]]:
    import numpy as np

    expected = a.astype(np.float64) * b.astype(np.float64) ** CHAIN
    np.testing.assert_allclose(chain.main(*arrays).to_host(), expected, rtol=1e-4)

    def dependent() -> None:
        value = arrays[0]
        for _ in range(CHAIN):
            value = kernel.simple_mul.submit(value, arrays[1]).arrays
        value.wait()

    def independent() -> None:
        found = [kernel.simple_mul.submit(*arrays) for _ in range(CHAIN)]
        for one in found:
            one.result()

    variants: dict[str, Callable[[], object]] = {
        "100 dispatches in a function": lambda: chain.main(*arrays),
        "100 calls, each of the last one's result, submitted": dependent,
        "100 calls, submitted": independent,
    }
    if natives:
        variants["driver, 100 launches"] = natives["driver, 100 launches"]
    found = medians(variants, 5, 40)
    rows = []
    for name, (middle, spread) in found.items():
        ratio = middle / found["driver, 100 launches"][0] if natives else None
        bar = 1.5 if name.startswith("100 dispatches") and natives else 0.0
        rows.append((name, middle, spread, "driver, 100 launches", ratio, bar))
    return rows


def main() -> int:
    """Build or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    rows = run(given.directory, given.device)
    missed = False
    for name, middle, spread, beside, ratio, bar in rows:
        said = "" if ratio is None else f"{ratio:6.2f} of {beside}"
        verdict = ""
        if bar and ratio is not None:
            met = ratio <= bar
            missed = missed or not met
            verdict = f"  bar {bar}: {'met' if met else 'MISSED'}"
        print(f"{name:62} {middle:10.1f} us +-{spread:7.1f} {said}{verdict}")
    if given.save:
        gpu_command.save(
            given.save,
            "gpu.calls run",
            unit="us a call: median, distance of quartiles",
            rows=[list(row) for row in rows],
        )
    return int(missed)
