"""Kernels of Triton on the CPU target beside Triton's own interpreter, in CPU time of launches.

The cases are those of Liger in `cases.triton_corpus`, with their gradients; what the interpreter
cannot run is left out. Both processes run each
of them once before they measure, so that nothing is compiled then; the least of several runs
counts. CPU time is what all threads of a process take, and what else the machine does matters
little to it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import nullcontext
from typing import Any
from unittest import mock

from benchmarks.lib.report import RESULTS, about
from benchmarks.lib.triton_launches import looks_like_an_a100

RUNS = 3
BAR = 20.0
_LONG_S = 8.0
"""Of a case that took longer than this once there is no further run."""


def measured(mode: str) -> dict[str, float]:
    """Seconds of CPU time in launches of each function, of a run of each case."""
    import torch
    from triton.runtime.interpreter import GridExecutor
    from triton.runtime.jit import JITFunction

    from custom_dispatch.testing import triton_on_cpu

    torch.set_num_threads(1)
    spent: dict[str, float] = defaultdict(float)

    def timed(run: Any) -> Any:
        def call(self: Any, *arguments: Any, **keywords: Any) -> Any:
            start = time.process_time()
            try:
                return run(self, *arguments, **keywords)
            finally:
                spent[self.fn.__name__] += time.process_time() - start

        return call

    where = nullcontext() if mode == "interpreter" else triton_on_cpu()
    least: dict[str, float] = {}
    with (
        where,
        looks_like_an_a100(),
        mock.patch.object(JITFunction, "run", timed(JITFunction.run)),
        mock.patch.object(GridExecutor, "__call__", timed(GridExecutor.__call__)),
    ):
        from benchmarks.cpu.triton_corpus import library_cases

        for case, run in library_cases("liger").items():
            for turn in range(RUNS + 1):
                spent.clear()
                start = time.perf_counter()
                try:
                    run()
                except Exception as error:  # noqa: BLE001 - the interpreter raises many kinds
                    print(f"{mode}: {case}: {error}"[:200], file=sys.stderr)
                    break
                is_long = time.perf_counter() - start > _LONG_S
                if turn or (is_long and mode == "interpreter"):
                    for name, seconds in spent.items():
                        key = f"{case}: {name}"
                        least[key] = min(seconds, least.get(key, seconds))
                if is_long and turn:
                    break
    return least


def main() -> int:
    """Measure both, each in a process of its own, and compare them."""
    words = sys.argv[1:]
    if words[:1] == ["worker"]:
        print(json.dumps(measured(words[1])))
        return 0
    found = {}
    load = [os.getloadavg()[0]]
    for mode in ("cpu", "interpreter"):
        command = [sys.executable, "-m", "benchmarks", "cpu.triton_interpreter", "worker", mode]
        environment = {**os.environ, "TRITON_INTERPRET": str(int(mode == "interpreter"))}
        made = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
        found[mode] = json.loads(made.stdout.splitlines()[-1])
        load.append(os.getloadavg()[0])
    rows = {
        key: {"cpu_ms": ours * 1e3, "interpreter_ms": theirs * 1e3, "times": theirs / ours}
        for key, ours in found["cpu"].items()
        if (theirs := found["interpreter"].get(key)) is not None
    }
    ratios = [row["times"] for row in rows.values()]
    middle = statistics.median(ratios)
    for key, row in rows.items():
        print(f"{key:80} {row['cpu_ms']:9.3f} {row['interpreter_ms']:10.2f} {row['times']:7.1f}x")
    print(f"{len(rows)} kernels, median {middle:.1f}x, from {min(ratios):.1f} to {max(ratios):.1f}")
    if "--save" in words:
        said = {**about("triton_interpreter", ("triton", "torch", "liger-kernel")), "load": load}
        content = {"about": said, "kernels": len(rows), "median": middle, "rows": rows}
        (RESULTS / "triton_interpreter.json").write_text(json.dumps(content, indent=1) + "\n")
    return 0 if middle >= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
