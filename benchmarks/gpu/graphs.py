"""Small kernels as one graph, beside CuPy's graph of the same kernels; its load, and a soak.

`build DIRECTORY` on any machine, then `run DIRECTORY` where there are a GPU, iree-base-runtime,
numpy and CuPy; `check DIRECTORY`, the soak alone, takes `--device cpu` as well.

- Chains of 1, 100 and 480 kernels that wait for each other: a replay that waits, one of ten in
  flight, a plain call, the same module without graph, and a CUDA graph that CuPy captured of the
  same kernel and launches on a stream. The bar: 1.1 times CuPy's for 100 and for 480.
- A load of the longest, with graph and without. The bar: at most 20 ms more.
- A soak of 200,000 calls of a graph with state: replays in flight, with new inputs now and then,
  and plain calls. Results and state are compared all along, memory is noted a hundred times. The
  bar: from the run's second quarter to its last at most 8 MiB more, in the process and on the GPU.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.host.soak import BAR_BYTES, SAMPLES, gpu_meter, resident_bytes
from benchmarks.lib import gpu_command
from benchmarks.lib.report import quartiles

COUNT, LENGTHS = 4096, (1, 100, 480)
TYPE = f"tensor<{COUNT}xf32>"
KERNEL = f"func.func private @simple_mul({TYPE}, {TYPE}) -> {TYPE}\n"
CALL = f"call @simple_mul({{}}, {{}}) : ({TYPE}, {TYPE}) -> {TYPE}"
BAR, LOAD_BAR_MS = 1.1, 20.0
ROUNDS, IN_A_ROW, UNCOUNTED, IN_FLIGHT, LOADS = 10, 45, 5, 10, 15
CALLS, NEW_INPUTS_EVERY, PLAIN_EVERY, CHECKED_EVERY = 200_000, 100, 500, 1000


def _chain(length: int) -> str:
    lines = [f"  %v{i + 1} = {CALL.format(f'%v{i}', '%b')}" for i in range(length)]
    return "\n".join(
        [
            f"{KERNEL}func.func @main(%v0: {TYPE}, %b: {TYPE}) -> {TYPE} {{",
            *lines,
            f"  return %v{length} : {TYPE}",
            "}",
        ]
    )


STATE = f"""
util.global private mutable @total = dense<0.0> : {TYPE}
{KERNEL}
func.func @main(%x: {TYPE}, %y: {TYPE}) -> ({TYPE}, {TYPE}) {{
  %0 = {CALL.format("%x", "%y")}
  %1 = {CALL.format("%0", "%y")}
  %old = util.global.load @total : {TYPE}
  %new = arith.addf %old, %1 : {TYPE}
  util.global.store %new, @total : {TYPE}
  return %1, %new : {TYPE}, {TYPE}
}}
"""


def build(directory: Path) -> None:
    """Compile every chain, with graph and without, and the model with state."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul

    directory.mkdir(parents=True, exist_ok=True)
    library = cd.build([simple_mul], ["cuda:sm_80", "cuda:sm_90", "cpu"])
    for length in LENGTHS:
        for graph in (True, False):
            module = cd.compile(_chain(length), library, graph=graph)
            module.save(directory / _file(length, graph))
    cd.compile(STATE, library, graph=True).save(directory / "state.vmfb")


def _file(length: int, graph: bool) -> str:
    return f"chain{length}{'.graph' if graph else ''}.vmfb"


def _of_cupy(length: int, x: Any, b: Any) -> tuple[Callable[[], None], Callable[[], Any]]:
    """What launches CuPy's graph of a chain and waits, and what gives its result."""
    import cupy

    source = Path(__file__).resolve().parents[2] / "cuda_kernels" / "simple_mul.cu"
    kernel = cupy.RawKernel(source.read_text(encoding="utf-8"), "simple_mul")
    first, *between = (cupy.asarray(x), cupy.empty(COUNT, "f"), cupy.empty(COUNT, "f"))
    other, stream = cupy.asarray(b), cupy.cuda.Stream(non_blocking=True)
    with stream:
        stream.begin_capture()
        source_of = first
        for turn in range(length):
            target = between[turn % 2]
            kernel((COUNT // 64,), (64,), (source_of, other, target, np.int32(COUNT)))
            source_of = target
        graph = stream.end_capture()

    def call() -> None:
        graph.launch(stream)
        stream.synchronize()

    return call, lambda: cupy.asnumpy(source_of)


def _chains(directory: Path, device: str) -> list[dict[str, Any]]:
    import custom_dispatch as cd

    source = np.random.default_rng(0)
    rows = []
    for length in LENGTHS:
        x, b = (source.uniform(0.99, 1.01, COUNT).astype(np.float32) for _ in range(2))
        wanted = x
        for _ in range(length):
            wanted = wanted * b
        graph = cd.load(directory / _file(length, True), device)
        plain = cd.load(directory / _file(length, False), device)
        held = [graph.to_device(each) for each in (x, b)]
        cupy_call, cupy_result = _of_cupy(length, x, b)

        def in_flight(main: Any = graph.main) -> None:
            for _ in range(IN_FLIGHT - 1):
                main.replay(wait=False)
            main.replay()

        variants: dict[str, Callable[[], Any]] = {
            "replay": graph.main.replay,
            "one of ten in flight": in_flight,
            "plain call": lambda graph=graph, held=held: graph.main(*held),
            "without graph": lambda plain=plain, held=held: plain.main(*held),
            "CuPy's graph": cupy_call,
        }
        graph.main.replay(x, b)
        times: dict[str, list[float]] = {name: [] for name in variants}
        for _ in range(ROUNDS):
            for name, call in variants.items():
                for turn in range(IN_A_ROW):
                    start = time.perf_counter()
                    call()
                    if turn >= UNCOUNTED:
                        times[name].append((time.perf_counter() - start) * 1e6)
        times["one of ten in flight"] = [each / IN_FLIGHT for each in times["one of ten in flight"]]
        found = (graph.main.outputs[0], graph.main(x, b), plain.main(x, b), cupy_result())
        right = all(np.array_equal(np.asarray(each), wanted) for each in found)
        us = {name: quartiles(values) for name, values in times.items()}
        ratio = us["replay"][0] / us["CuPy's graph"][0]
        rows.append({"kernels": length, "us": us, "ratio to CuPy's graph": ratio, "right": right})
        told = ", ".join(f"{name} {each[0]:.1f}" for name, each in us.items())
        print(f"{length:4} kernels, us: {told}; {ratio:.2f}x CuPy's; right: {right}", flush=True)
    return rows


def _loads(directory: Path, device: str) -> dict[str, Any]:
    """How long the longest chain takes to load, in ms, with graph and without, in turn."""
    import custom_dispatch as cd

    times: dict[str, list[float]] = {"graph": [], "without": []}
    for _ in range(LOADS):
        for name, graph in (("graph", True), ("without", False)):
            start = time.perf_counter()
            program = cd.load(directory / _file(LENGTHS[-1], graph), device)
            times[name].append((time.perf_counter() - start) * 1e3)
            del program
    found: dict[str, Any] = {name: quartiles(values) for name, values in times.items()}
    found["more"] = found["graph"][0] - found["without"][0]
    print(
        f"load of {LENGTHS[-1]} kernels: {found['graph'][0]:.1f} ms with graph, "
        f"{found['without'][0]:.1f} without: {found['more']:+.1f} ms",
        flush=True,
    )
    return found


def soak(directory: Path, device: str, calls: int = CALLS) -> dict[str, Any]:
    """Call a graph many times; say what was wrong, and what memory was held."""
    import custom_dispatch as cd

    program = cd.load(directory / "state.vmfb", device)
    main = program.main
    meters: dict[str, Callable[[], int]] = {"process": resident_bytes}
    if device != "cpu":
        meters["GPU"] = gpu_meter(main.open_device)
    samples: dict[str, list[int]] = {name: [] for name in meters}
    source = np.random.default_rng(1)
    x, y, total = np.zeros(COUNT, "f"), np.ones(COUNT, "f"), np.zeros(COUNT, np.float64)
    main.replay(x, y)
    wrong, start = 0, time.perf_counter()
    for number in range(1, calls + 1):
        if number % NEW_INPUTS_EVERY == 0:  # sums that f32 holds exactly
            x, y = (source.integers(0, 3, COUNT).astype(np.float32) for _ in range(2))
            main.replay(x, y, wait=False)
        elif number % PLAIN_EVERY == 1:
            product, _ = main(x, y)
            wrong += not np.array_equal(product, x * y * y)
        else:
            main.replay(wait=number % 50 == 0)
        total += x * y * y
        if number % CHECKED_EVERY == 0 or number == calls:
            found = main.replay(np.zeros(COUNT, "f"), y)  # adds nothing
            wrong += not np.array_equal(np.asarray(found[1]), total)
            main.replay(x, None)
            total += x * y * y
        if total.max() > 2**23:
            wrong += not np.array_equal(np.asarray(main.outputs[1]), total)
            program.reset()
            total[:] = 0
        if number * SAMPLES >= calls * (len(samples["process"]) + 1):
            gc.collect()
            for name, meter in meters.items():
                samples[name].append(meter())
    took = time.perf_counter() - start
    report: dict[str, Any] = {"calls": calls, "seconds": round(took, 1), "wrong": wrong}
    for name, values in samples.items():
        quarter = len(values) // 4
        more = statistics.median(values[-quarter:]) - statistics.median(
            values[quarter : 2 * quarter]
        )
        report[name] = {"more_bytes": more, "MiB": [round(each / 2**20, 1) for each in values]}
        print(f"soak: {name} {values[0] / 2**20:.1f} MiB at first, {more / 2**20:+.2f} MiB")
    print(f"soak: {calls} calls in {took:.1f} s, {wrong} wrong", flush=True)
    return report


def main() -> int:
    """Build, check or run."""
    given = gpu_command.parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    found = {"soak": soak(given.directory, given.device)}
    if given.what == "run":
        rows, load = _chains(given.directory, given.device), _loads(given.directory, given.device)
        found = {"chains": rows, "load of 480 kernels, ms": load, **found}
    if given.save:
        gpu_command.save(
            given.save,
            f"gpu.graphs build DIRECTORY (no GPU), then: gpu.graphs {given.what} DIRECTORY "
            f"--device {given.device}",
            unit="us a call, unless said otherwise: median, distance of quartiles",
            **found,
        )
    kept = found["soak"]
    meters = [kept[name] for name in ("process", "GPU") if name in kept]
    holds = not kept["wrong"] and all(each["more_bytes"] <= BAR_BYTES for each in meters)
    if given.what == "run":
        long = [row for row in rows if row["kernels"] > 1]
        holds &= all(row["right"] and row["ratio to CuPy's graph"] <= BAR for row in long)
        holds &= load["more"] <= LOAD_BAR_MS
    print("bars met" if holds else "BARS NOT MET")
    return 0 if holds else 1
