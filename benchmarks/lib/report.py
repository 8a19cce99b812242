"""Printing a benchmark's ratios against its bar, and keeping them under `results/`."""

from __future__ import annotations

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True)
class Row:
    """One figure of a benchmark."""

    what: str
    median_ms: float
    spread_ms: float
    """The distance from the first to the third quartile."""
    ratio: float | None = None
    """To the figure it is measured against, in the same run."""
    bar: float | None = None
    """What the ratio may be at most."""

    @property
    def holds(self) -> bool:
        """Whether the bar is met, where there is one."""
        return self.bar is None or self.ratio is None or self.ratio <= self.bar


def as_usual() -> dict[str, str]:
    """The environment, in which Python keeps what it has compiled, as it does where nobody asks."""
    return {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def interleaved(
    variants: dict[str, Callable[[], object]], repetitions: int
) -> dict[str, list[float]]:
    """Time callables in turn, so that what disturbs the machine disturbs them all; milliseconds."""
    for run in variants.values():
        run()
    times: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(repetitions):
        for name, run in variants.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) * 1e3)
    return times


def quartiles(values: list[float]) -> tuple[float, float]:
    """The median, and the distance from the first to the third quartile."""
    low, middle, high = statistics.quantiles(values, n=4)
    return middle, high - low


def finish(name: str, rows: list[Row], notes: list[str], packages: tuple[str, ...]) -> int:
    """Print the rows; with --save keep them; return 1 if a bar is not met."""
    said = about(name, packages)
    print(json.dumps(said))
    for row in rows:
        ratio = "" if row.ratio is None else f"{row.ratio:6.2f}x"
        bar = "" if row.bar is None else f"(bar {row.bar:g}x) {'ok' if row.holds else 'NOT MET'}"
        print(f"{row.what:58} {row.median_ms:9.2f} ms  +-{row.spread_ms:6.2f}  {ratio} {bar}")
    for note in notes:
        print(f"- {note}")
    if "--save" in sys.argv[1:]:
        RESULTS.mkdir(exist_ok=True)
        content = {"about": said, "rows": [asdict(row) for row in rows], "notes": notes}
        (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n")
    return 0 if all(row.holds for row in rows) else 1


def about(name: str, packages: tuple[str, ...]) -> dict[str, object]:
    """What was run, where, when and with what."""
    return {
        "benchmark": name,
        "command": " ".join(sys.argv),
        "date": time.strftime("%Y-%m-%d"),
        "device": f"{_cpu()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in packages},
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()
