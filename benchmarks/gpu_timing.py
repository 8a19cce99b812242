"""Launches timed on the GPU's clock, and the bandwidth of a copy, which is what it can do."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def median_us(once: Callable[[], float], budget_s: float = 0.25) -> float:
    """The median of at least 7 launches, each in seconds, in microseconds."""
    for _ in range(2):
        once()
    times: list[float] = []
    start = time.perf_counter()
    while len(times) < 7 or (len(times) < 50 and time.perf_counter() - start < budget_s):
        times.append(once())
    return statistics.median(times) * 1e6


def with_events(operator: Callable[[], Any]) -> Callable[[], float]:
    """PyTorch's operator, timed as a launch is, in seconds."""
    import torch

    def once() -> float:
        start, stop = (torch.cuda.Event(enable_timing=True) for _ in "ab")
        start.record()
        operator()
        stop.record()
        stop.synchronize()
        return float(start.elapsed_time(stop)) / 1e3

    return once


def copy_bandwidth(kind: str) -> float:
    """TB/s of a copy of 16384 x 8192 elements, read and written."""
    import torch

    from benchmarks.gpu_kernel_cases import Inputs

    x = Inputs(kind)(16384, 8192)
    y = torch.empty_like(x)
    return 2 * x.nbytes / median_us(with_events(lambda: y.copy_(x)), 1.0) / 1e6
