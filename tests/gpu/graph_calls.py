"""Functions that are graphs, on a GPU: done when a call returns, under streams and threads.

Two halves: `build` needs this package's compilers and no GPU; then, where there is a GPU, IREE's
runtime and PyTorch,

    python tests/gpu/graph_calls.py run DIRECTORY

A replay ends when the host sees the mark that its graph writes last, and not when IREE says so. So
results are read at once, on a stream of PyTorch's that waits for nothing. Inputs are random and
fresh in every run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import custom_dispatch as cd
from custom_dispatch.runtime import driver
from gpu.halves import build_or_run

CALLS, THREADS = 5000, 4
COUNT = 4096
T = f"tensor<{COUNT}xf32>"
KERNEL = f"func.func private @simple_mul({T}, {T}) -> {T}"
COUNTER = f"""
util.global private mutable @kept = dense<0.0> : {T}
func.func @step(%x: {T}) -> {T} {{
  %old = util.global.load @kept : {T}
  %new = arith.addf %old, %x : {T}
  util.global.store %new, @kept : {T}
  return %new : {T}
}}
"""
Array = np.ndarray[Any, Any]


def chain(length: int) -> str:
    """A function that multiplies by its second argument over and over."""
    lines = [
        f"  %v{i + 1} = call @simple_mul(%v{i}, %y) : ({T}, {T}) -> {T}" for i in range(length)
    ]
    body = "\n".join(lines)
    function = (
        f"func.func @step(%v0: {T}, %y: {T}) -> {T} {{\n{body}\n  return %v{length} : {T}\n}}"
    )
    return f"{KERNEL}\n{function}\n"


def build(directory: Path) -> None:
    """Compile a graph of one kernel, one of 100, the same without a graph, and a counter."""
    from cuda_kernels.simple_mul import simple_mul

    directory.mkdir(parents=True, exist_ok=True)
    targets = ["cuda:sm_80", "cuda:sm_90"]
    library = cd.build([simple_mul], targets)
    cd.compile(chain(1), library, graph=True).save(directory / "one.vmfb")
    cd.compile(chain(100), library, graph=True).save(directory / "many.vmfb")
    cd.compile(chain(100), library).save(directory / "plain.vmfb")
    cd.compile(COUNTER, [], targets, graph=True).save(directory / "counter.vmfb")


def drawn() -> Array:
    """Powers of two, whose products are exact, or numbers close to 1."""
    return np.random.default_rng().choice(np.float32([0.5, 1, 2, -1, -2]), COUNT)


def multiplied(x: Array, y: Array, times: int) -> Array:
    """What the chain computes."""
    for _ in range(times):
        x = x * y
    return x


def results_are_there_when_a_replay_returns(directory: Path) -> None:
    import torch

    step = cd.load(directory / "many.vmfb", "cuda").step
    step.replay(drawn(), drawn())
    x, y = map(torch.from_dlpack, step.inputs)
    result = torch.from_dlpack(step.outputs[0])
    stream = torch.cuda.Stream()
    for _ in range(CALLS):
        with torch.cuda.stream(stream):
            x.uniform_()
            y.uniform_(0.99, 1.01)
        stream.synchronize()
        driver._given_to.clear()  # else the call would wait for PyTorch first
        step.replay()
        with torch.cuda.stream(stream):
            found, wanted = result.clone(), x.clone()
            for _ in range(100):
                wanted *= y
            assert torch.equal(found, wanted)


def two_streams_of_pytorch_write_inputs_and_read_results(directory: Path) -> None:
    import torch

    steps = [cd.load(directory / "one.vmfb", "cuda").step for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in steps]
    held = []
    for step, stream in zip(steps, streams, strict=True):
        step.replay(drawn(), drawn())
        with torch.cuda.stream(stream):
            held.append([torch.from_dlpack(a) for a in (*step.inputs, *step.outputs)])
    for number in range(CALLS):
        for step, stream, (x, y, result) in zip(steps, streams, held, strict=True):
            with torch.cuda.stream(stream):
                x.uniform_()
                if number % 3:
                    step.replay()
                else:
                    step.replay(wait=False).result()
                assert torch.equal(result, x * y)


def in_threads(work: Callable[[int], None]) -> None:
    """Run it in several threads; raise what one of them raised."""
    errors: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def threads_with_programs_of_their_own_do_not_mix(directory: Path) -> None:
    def work(_: int) -> None:
        step = cd.load(directory / "one.vmfb", "cuda").step
        for number in range(CALLS // THREADS):
            x, y = drawn(), drawn()
            if number % 2:
                (found,) = step.replay(x, y)
            else:
                (found,) = step.replay(x, y, wait=False).result()
            assert np.array_equal(found.to_host(), x * y)

    in_threads(work)


def replays_of_one_program_by_threads_are_counted_each_once(directory: Path) -> None:
    step = cd.load(directory / "counter.vmfb", "cuda").step
    step.replay(np.ones(COUNT, np.float32))

    def work(_: int) -> None:
        for own in range(1, CALLS // THREADS + 1):
            if own % 5:
                step.replay()
            else:
                step.replay(wait=False).result()
            assert step.outputs[0].to_host().min() > own

    in_threads(work)
    assert np.all(step.outputs[0].to_host() == 1 + CALLS // THREADS * THREADS)


def plain_calls_of_threads_do_not_mix(directory: Path) -> None:
    step = cd.load(directory / "one.vmfb", "cuda").step

    def work(_: int) -> None:
        for number in range(CALLS // THREADS):
            x, y = drawn(), drawn()
            found = step(x, y) if number % 4 else step.submit(x, y).result()
            assert np.array_equal(found, x * y)

    in_threads(work)


def calls_under_way_and_replays_follow_each_other(directory: Path) -> None:
    plain, graph = (cd.load(directory / f"{name}.vmfb", "cuda") for name in ("plain", "many"))
    signs = np.float32([1, -1])
    for number in range(CALLS // 5):
        x, y = drawn(), np.random.default_rng().choice(signs, COUNT)
        (found,) = graph.step.replay(plain.step.submit(x, y).arrays, y)
        assert np.array_equal(found.to_host(), multiplied(x, y, 200))
        for _ in range(number % 4):
            graph.step.replay(wait=False)
        (found,) = graph.step.replay(drawn(), y)
        (found,) = graph.step.replay(x)
        assert np.array_equal(found.to_host(), multiplied(x, y, 100))


CASES = (
    results_are_there_when_a_replay_returns,
    two_streams_of_pytorch_write_inputs_and_read_results,
    threads_with_programs_of_their_own_do_not_mix,
    replays_of_one_program_by_threads_are_counted_each_once,
    plain_calls_of_threads_do_not_mix,
    calls_under_way_and_replays_follow_each_other,
)


if __name__ == "__main__":
    sys.exit(build_or_run(__doc__, build, CASES))
