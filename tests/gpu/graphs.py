"""Graphs on a real GPU: when they cannot be made, lose the GPU, or share it with other work.

    python tests/gpu/graphs.py build DIRECTORY      (no GPU)
    python tests/gpu/graphs.py run DIRECTORY [CASE...]

As `devices.py`: each case is a process of its own with a time limit. Cases of streams need PyTorch.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parent), str(HERE.parent / "fuzz")]

import numpy as np  # noqa: E402

import custom_dispatch as cd  # noqa: E402
from gpu.devices import AT_ONCE_S, expect, refused, run_case  # noqa: E402

COUNT, NODES = 4096, 1000
T = f"tensor<{COUNT}xf32>"
REPLAYS = 20_000
MIB = 1 << 20
CASES: dict[str, Callable[[Path], str]] = {}
X = np.arange(COUNT, dtype=np.float32)


def case(function: Callable[[Path], str]) -> Callable[[Path], str]:
    CASES[function.__name__] = function
    return function


# -- building

ROWS, BIAS, WEIGHT = "tensor<?x64xf32>", "tensor<64xf32>", "tensor<64x64xf32>"
BESIDE = f"""
func.func private @linear_f32({ROWS}, {WEIGHT}, {BIAS}, {ROWS}) -> {ROWS}
func.func @prompt(%x: {ROWS}, %w: {WEIGHT}) -> {ROWS} {{
  %b = arith.constant dense<0.0> : {BIAS}
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : {ROWS}
  %f0 = arith.constant 0.0 : f32
  %e = tensor.empty(%n) : {ROWS}
  %zeros = linalg.fill ins(%f0 : f32) outs(%e : {ROWS}) -> {ROWS}
  %0 = call @linear_f32(%x, %w, %b, %zeros) : ({ROWS}, {WEIGHT}, {BIAS}, {ROWS}) -> {ROWS}
  %1 = call @linear_f32(%0, %w, %b, %x) : ({ROWS}, {WEIGHT}, {BIAS}, {ROWS}) -> {ROWS}
  %2 = call @linear_f32(%1, %w, %b, %0) : ({ROWS}, {WEIGHT}, {BIAS}, {ROWS}) -> {ROWS}
  return %2 : {ROWS}
}}
func.func @step(%x: {T}) -> {T} {{
  %0 = arith.addf %x, %x : {T}
  return %0 : {T}
}}"""


def _faults(name: str, mistake: int) -> str:
    return f"""func.func @{name}(%x: {T}) -> {T} {{
      %none = arith.constant 0 : i32
      %mistake = arith.constant {mistake} : i32
      %0 = call @fault(%x, %none) : ({T}, i32) -> {T}
      %1 = call @fault(%0, %mistake) : ({T}, i32) -> {T}
      return %1 : {T}
    }}
    """


def build(directory: Path) -> None:
    """Everything that the cases load."""
    from sample_kernels.faults import MISTAKES, fault

    from cuda_kernels.simple_mul import simple_mul

    directory.mkdir(parents=True, exist_ok=True)
    targets = [*cd.DEFAULT_TARGETS]  # of several, each has blocks of its own
    text = f"func.func private @fault({T}, i32) -> {T}\n"
    text += "".join(_faults(name, mistake) for name, mistake in MISTAKES.items())
    cd.compile(text, fault, targets, graph=True).save(directory / "faults.vmfb")
    lines = [f"  %{i + 1} = call @simple_mul(%{i}, %y) : ({T}, {T}) -> {T}\n" for i in range(NODES)]
    text = f"func.func private @simple_mul({T}, {T}) -> {T}\n"
    text += f"func.func @main(%0: {T}, %y: {T}) -> {T} {{\n{''.join(lines)}"
    text += f"  return %{NODES} : {T}\n}}"
    cd.compile(text, simple_mul, targets, graph=True).save(directory / "many.vmfb")
    text = f"""
    util.global private mutable @count = dense<0.0> : {T}
    func.func private @simple_mul({T}, {T}) -> {T}
    func.func @main(%x: {T}) -> ({T}, {T}) {{
      %old = util.global.load @count : {T}
      %one = arith.constant dense<1.0> : {T}
      %new = arith.addf %old, %one : {T}
      util.global.store %new, @count : {T}
      %0 = call @simple_mul(%x, %x) : ({T}, {T}) -> {T}
      return %0, %new : {T}, {T}
    }}"""
    cd.compile(text, simple_mul, targets, graph=True).save(directory / "state.vmfb")
    from cuda_kernels.gemm import linear_f32

    module = cd.compile(BESIDE, linear_f32, targets, graph="where possible")
    expect("`prompt` cannot be a graph" in module.no_graph, module.no_graph)
    module.save(directory / "beside.vmfb")
    for path in sorted(directory.iterdir()):
        print(f"{path.name:20} {path.stat().st_size:8} bytes")


# -- what cases share


def loaded(directory: Path, name: str) -> Any:
    return cd.load(directory / f"{name}.vmfb", os.environ.get("GRAPHS_DEVICE", "cuda"))


def many_works(program: Any) -> None:
    x, y = X % 97, np.where(X % 2, np.float32(1), np.float32(-1))
    found = np.asarray(program.main.replay(x, y)[0])
    expect(np.array_equal(found, x), "wrong results")


@case
def works(directory: Path) -> str:
    start = time.perf_counter()
    program = loaded(directory, "many")
    took = time.perf_counter() - start
    many_works(program)
    expect(np.array_equal(loaded(directory, "faults").none(X), 4 * X), "wrong results")
    return f"{NODES} nodes, loaded in {took * 1e3:.0f} ms"


@case
def an_open_function_beside_a_graph(directory: Path) -> str:
    """Its kernels are chosen by size, and those that are not chosen are not recorded."""
    program, random = loaded(directory, "beside"), np.random.default_rng(0)
    worst = 0.0
    for index in range(200):
        x = random.standard_normal((1 + index**2 % 997, 64), np.float32)
        w = random.standard_normal((64, 64), np.float32) / 8
        first = x.astype(np.float64) @ w.T
        wanted = (first @ w.T + x) @ w.T + first
        worst = max(worst, float(np.abs(program.prompt(x, w) - wanted).max()))
        if index % 10 == 0:
            expect(np.array_equal(program.step.replay(X)[0], 2 * X), "the graph is wrong")
    expect(worst < 1e-4, f"wrong by {worst}")
    return f"{worst:.1e}"


# -- graphs that cannot be made


class Hoard:
    """All of a GPU's memory, to be given back in steps."""

    def __init__(self) -> None:
        from custom_dispatch.runtime import driver

        self._driver, self._blocks = driver, []
        driver.push(0)
        for size in (1 << 30, 64 * MIB, 2 * MIB):
            while (block := self._take(size)) is not None:
                self._blocks.append(block)
        driver.pop()

    def _take(self, size: int) -> Any:
        block = ctypes.c_uint64()
        taken = self._driver.cuda_library().cuMemAlloc_v2(
            ctypes.byref(block), ctypes.c_size_t(size)
        )
        return None if taken else block

    def give_back(self, count: int = 1) -> None:
        self._driver.push(0)
        for _ in range(count):
            self._driver.cuda_library().cuMemFree_v2(self._blocks.pop())
        self._driver.pop()


@case
def no_memory_for_a_graph(directory: Path) -> str:
    """Load with more and more memory, from none on: every failure is a sentence."""
    before = loaded(directory, "many")
    many_works(before)  # what IREE and the driver take once is there
    hoard, said = Hoard(), []
    for given in range(64):
        try:
            many_works(loaded(directory, "many"))
        except cd.CustomDispatchError as error:
            where = "call" if "`main`" in error.found else "load"
            said.append(f"{2 * given} MiB, {where}: {error.found} {error.log[-300:]}")
            print(said[-1], error.next_step, flush=True)
            expect(error.next_step, error)
            if cd.why_not("cuda") is not None:  # a driver before CUDA 12.9 does not tell
                expect("CUDA graph could not be launched" in error.found, error)
                break
            many_works(before)
            hoard.give_back()
            continue
        said.append(f"{2 * given} MiB: works")
        break
    made = [text for text in said if "CUDA graph" in text]
    expect(said[0].startswith("0 MiB, "), said)
    return f"{len(said)} loads; {made or said[-2:]}"


# -- GPUs that are lost in a graph


def _lose(directory: Path, mistake: str, *parts: str) -> str:
    program, other = loaded(directory, "faults"), loaded(directory, "many")
    expect(np.array_equal(program.none(X), 4 * X), "wrong results")
    array = program.to_device(X)
    bad = getattr(program, mistake)
    said = refused(
        lambda: bad.replay(X), "CUDA can no longer be used in this process", f"`{mistake}`", *parts
    )
    for later in (
        lambda: bad.replay(X),
        lambda: program.none.replay(),
        lambda: program.none.replay(X, wait=False),
        lambda: program.none(X),
        lambda: program.none(array),
        lambda: program.none.submit(X),
        lambda: other.main.replay(),
        lambda: program.none.inputs[0].to_host(),
        lambda: program.none.outputs[0].to_host(),
        lambda: loaded(directory, "faults"),
    ):
        start = time.monotonic()
        refused(later, said)
        took = time.monotonic() - start
        expect(took < AT_ONCE_S, f"a later call took {took:.1f} s to fail")
    on_cpu = cd.load(directory / "faults.vmfb")
    expect(on_cpu.device_reason.startswith(said), on_cpu.device_reason)
    expect(np.array_equal(on_cpu.none.replay(X)[0], 4 * X), "wrong results")
    return said


@case
def lost_to_a_wrong_address(directory: Path) -> str:
    return _lose(directory, "address", "memory that is not its own")


@case
def lost_to_a_trap(directory: Path) -> str:
    return _lose(directory, "trap", "executed `trap`")


@case
def lost_with_replays_under_way(directory: Path) -> str:
    program = loaded(directory, "faults")
    flights = [program.none.replay(X, wait=False) for _ in range(20)]
    flights.append(program.trap.replay(X, wait=False))
    late = []
    for _ in range(20):
        try:
            late.append(program.none.replay(wait=False))
        except cd.DeviceError:  # it is known already
            break
    said = refused(flights[-1].result, "CUDA can no longer be used in this process")
    for flight in late:
        refused(flight.result, said)
    return f"{said} ({len(late)} more were under way)"


# -- other threads, streams and processes


@case
def two_threads_and_streams(directory: Path) -> str:
    """Each thread writes inputs and reads outputs on its own stream, and replays its program."""
    import torch

    device = os.environ.get("GRAPHS_DEVICE", "cuda")
    count = REPLAYS if device == "cuda" else 200
    wrong: list[int] = []

    def call(seed: int) -> None:
        generator = torch.Generator(device).manual_seed(seed)
        pool = torch.rand(64, COUNT, device=device, generator=generator)
        with torch.cuda.stream(torch.cuda.Stream()) if device == "cuda" else torch.no_grad():
            program = loaded(directory, "faults")
            given, found = (
                torch.from_dlpack(program.none.inputs[0]),
                torch.from_dlpack(program.none.outputs[0]),
            )
            bad = torch.zeros((), dtype=torch.int64, device=device)
            for index in range(count):
                x = pool[index % 64]
                given.copy_(x)
                program.none.replay()
                bad += (found != 4 * x).any()
            wrong.append(int(bad))

    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(call, seed) for seed in range(2)]:
            done.result()
    expect(wrong == [0, 0], f"wrong: {wrong}")
    return f"2 x {count} replays"


@case
def plain_calls_of_four_threads(directory: Path) -> str:
    program, count = loaded(directory, "state"), 1500
    counted: list[float] = []

    def call(seed: int) -> None:
        for index in range(count):
            x = np.random.default_rng(seed * count + index).random(COUNT, np.float32)
            given = program.to_device(x) if seed % 2 else x
            make = program.main if index % 3 else lambda x: program.main.submit(x).result()
            found, number = map(np.asarray, make(given))
            expect(np.array_equal(found, x * x), "the result of another call")
            expect((number == number[0]).all(), number)
            counted.append(float(number[0]))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(call, seed) for seed in range(4)]:
            done.result()
    twice = [number for number in counted if counted.count(number) > 1]
    expect(sorted(counted) == list(range(1, 4 * count + 1)), f"{max(counted)}, twice {twice[:9]}")
    return f"4 x {count} calls"


@case
def replays_wait_for_other_streams(directory: Path) -> str:
    """What another library has queued is done before an input is read or an output written."""
    import torch

    program = loaded(directory, "faults")
    first, second = torch.rand(2, COUNT, device="cuda")
    torch.cuda.synchronize()
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            given, found = (
                torch.from_dlpack(program.none.inputs[0]),
                torch.from_dlpack(program.none.outputs[0]),
            )
            for _ in range(20):
                torch.cuda._sleep(20_000_000)
                given.copy_(first)
                program.none.replay()  # reads what is queued above
                torch.cuda._sleep(20_000_000)
                seen = found.clone()
                torch.cuda._sleep(20_000_000)
                queued = second * 1
                program.none.replay(queued)  # writes after it was read, and reads what is queued
                expect(torch.equal(seen, 4 * first), "the output was written too early")
                expect(torch.equal(found, 4 * second), "the argument was read too early")
                call = program.none(queued)
                expect(torch.equal(torch.from_dlpack(call), 4 * second), "a plain call is wrong")
    return "2 streams"


@case
def memory_of_others_is_not_used_too_early(directory: Path) -> str:
    """Another library lets go of an array before it has read it: a new one may lie there."""
    import torch

    program, early, again = loaded(directory, "faults"), 0, 0
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            for _ in range(20):
                result = program.none(program.to_device(X))
                before = result.address
                given = torch.from_dlpack(result)
                torch.cuda._sleep(50_000_000)
                seen = given.clone()
                del given, result
                later = program.to_device(np.zeros_like(X))
                again += later.address == before
                early += not torch.equal(seen.cpu(), torch.tensor(4 * X))
    expect(again, "the memory was not used again")
    expect(not early, f"{early} arrays were written over")
    return f"{again} of 40 arrays lay where one had been"


@case
def chains_of_replays(directory: Path) -> str:
    program, steps = loaded(directory, "state"), 5000
    flights = [program.main.replay(X, wait=False)]
    flights += [program.main.replay(wait=False) for _ in range(steps - 1)]
    flights[-1].result()
    expect(program.main.outputs[1].to_host()[0] == steps, "a replay is missing")
    expect(np.array_equal(program.main.outputs[0], X * X), "wrong results")
    return f"{steps} replays in flight"


@case
def fork_after_a_graph(directory: Path) -> str:
    program = loaded(directory, "state")
    program.main.replay(X)
    receiver, sender = os.pipe()
    with warnings.catch_warnings(action="ignore"):  # Python knows of the threads
        child = os.fork()
    if child == 0:
        said = refused(lambda: program.main.replay(), "before the process was forked")
        refused(lambda: program.main(X), "before the process was forked")
        refused(lambda: program.main.outputs[0].to_host(), "before the process was forked")
        anew = cd.load(directory / "state.vmfb", "cpu")
        expect(np.array_equal(anew.main.replay(X)[0], X * X), "wrong results")
        os.write(sender, said.encode())
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    expect(code == 0, f"the child ended with {code}")
    expect(np.array_equal(program.main.replay(X)[0], X * X), "wrong results")
    return os.read(receiver, 4096).decode()


@case
def exit_with_replays_under_way(directory: Path) -> str:
    program = loaded(directory, "many")
    threading.Thread(
        target=lambda: [program.main.replay() for _ in range(10**9)], daemon=True
    ).start()
    other = loaded(directory, "many")
    for _ in range(50):
        other.main.replay(wait=False)
    return "50 replays, and a thread that replays"


# -- running


def run(directory: Path, names: list[str]) -> int:
    failed = 0
    for name in names or CASES:
        passed, said = run_case(name, directory, Path(__file__))
        failed += not passed
        print(f"{'ok    ' if passed else 'FAILED'} {name}: {said}", flush=True)
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


def main(words: list[str]) -> int:
    match words:
        case ["build", directory]:
            build(Path(directory))
        case ["run", directory, *names]:
            return run(Path(directory), names)
        case ["case", directory, name]:
            print("done:", CASES[name](Path(directory)), flush=True)
        case _:
            print(__doc__)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
