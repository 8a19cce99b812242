"""Launches timed on the GPU's clock, and the bandwidth of a copy, which is what it can do."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from custom_dispatch.measure.native_launch import NativeLaunch
    from custom_dispatch.runtime.program import Program

HEAD_START, MOST_CYCLES = 300_000, 20_000_000
"""For which the GPU waits, 0.15 ms at 2 GHz, and at most after launches that took longer."""


def median_us(once: Callable[[], float], budget_s: float = 0.25) -> float:
    """The median of at least 7 launches, each in seconds, in microseconds."""
    for _ in range(2):
        once()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 7 or (len(times) < 50 and time.perf_counter() - start < budget_s):
        times.append(once())
    return statistics.median(times) * 1e6


def step_us(
    program: Program, arguments: Sequence[Any], few: int, many: int, rounds: int, *, is_graph: bool
) -> float:
    """Microseconds of one more step, of a program whose `steps_N` has N steps, by the host's clock.

    Few and many are called in turn, `rounds` times each; the difference of their medians counts.
    """
    runs: list[Callable[[], Any]] = []
    for count in (few, many):
        steps = program.function(f"steps_{count}")
        (steps.replay if is_graph else steps)(*arguments)
        runs.append(steps.replay if is_graph else partial(steps, *arguments))
    times: list[list[float]] = [[], []]
    for _ in range(rounds):
        for call, found in zip(runs, times, strict=True):
            start = time.perf_counter()
            call()
            found.append(time.perf_counter() - start)
    of_few, of_many = map(statistics.median, times)
    return (of_many - of_few) * 1e6 / (many - few)


def with_events(operator: Callable[[], Any]) -> Callable[[], float]:
    """What launches on PyTorch's current stream, timed on the GPU's clock, in seconds.

    The GPU waits until everything is launched: events around launches that it does not have yet
    take the host's time, too, which for PyTorch's attention is 30 to 45 us.
    """
    import torch

    def once() -> float:
        cycles, is_late = HEAD_START, True
        while is_late:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in "ab")
            torch.cuda._sleep(cycles)  # type: ignore[no-untyped-call]
            start.record()
            operator()
            is_late = start.query() and cycles <= MOST_CYCLES
            stop.record()
            stop.synchronize()
            cycles *= 4
        return float(start.elapsed_time(stop)) / 1e3

    return once


def launched(launch: NativeLaunch) -> Callable[[], float]:
    """A kernel's own launch, timed in the same way."""
    import torch

    return with_events(lambda: launch.enqueue(torch.cuda.current_stream().cuda_stream))


def in_graph(run: Callable[[], Any]) -> Callable[[], None]:
    """What launches on PyTorch's current stream, as a CUDA graph: what is returned replays it."""
    import torch

    run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay  # type: ignore[no-any-return]


def in_turn(runs: Mapping[str, Sequence[Callable[[], Any]]], rounds: int) -> dict[str, float]:
    """Microseconds of a launch of each name's, one behind the other in a graph; medians.

    Each is a graph of its own. Their replays take turns, so what disturbs one disturbs the others.
    """
    times = {name: list[float]() for name in runs}
    replays = {
        name: with_events(in_graph(lambda launches=launches: [run() for run in launches]))
        for name, launches in runs.items()
    }
    for _ in range(rounds):
        for name, once in replays.items():
            times[name].append(once() * 1e6 / len(runs[name]))
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def copy_bandwidth(kind: str) -> float:
    """TB/s of a copy of 16384 x 8192 elements, read and written."""
    import torch

    from benchmarks.cases.kernels import Inputs

    x = Inputs(kind)(16384, 8192)
    y = torch.empty_like(x)
    return 2 * x.nbytes / median_us(with_events(lambda: y.copy_(x)), 1.0) / 1e6
