"""How long the CPU variant of a kernel takes to build: lowered by us, compiled by IREE.

Every kernel of `tests/cpu/corpus` alone in a module, from its PTX. Bars: the median at most 0.4 s,
the longest at most 1 s. The ratio is that to the time a kernel of one instruction takes, most of
which is IREE's own start.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from benchmarks.lib.report import Row, finish
from custom_dispatch.ir.compiler_tool import compile_mlir

TESTS = Path(__file__).parents[2] / "tests" / "cpu"
FLAGS = ("--iree-input-demote-f64-to-f32=false", "--iree-opt-const-eval=false", "--verify=false")
LEAST = """.version 8.0
.target sm_80
.address_size 64
.visible .entry least(.param .u64 p) {
.reg .b64 %rd<2>; .reg .b32 %r<2>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; st.global.u32 [%rd1], %r1; ret;
}
"""


def main() -> int:
    """Measure and report."""
    sys.path.insert(0, str(TESTS))
    import numpy as np
    from corpus_cases import CORPUS, FILES
    from cpu_harness import Launch, compile_cuda, model_text, set_apart
    from test_corpus import include_paths

    def seconds(ptx: str, launch: Launch) -> float:
        start = time.perf_counter()
        source, apart = set_apart(model_text(ptx, [launch], "x86-64-v3"))
        compile_mlir(source.encode(), FLAGS, apart)
        return time.perf_counter() - start

    launch = Launch("least", [np.zeros(32, np.int32)], [0], block=(32, 1, 1))
    least = statistics.median(seconds(LEAST, launch) for _ in range(5))
    times: dict[str, float] = {}
    for name, cases in FILES.items():
        ptx = compile_cuda((CORPUS / f"{name}.cu").read_text(), "sm_80", include_paths())
        for case in cases():
            times[case.launch.entry] = min(seconds(ptx, case.launch) for _ in range(2))
    ordered = sorted(times, key=lambda entry: times[entry])
    median = statistics.median(times.values())
    rows = [
        Row("a kernel of one instruction", 1e3 * least, 0.0, 1.0),
        Row(f"median of {len(times)} kernels (bar 400 ms)", 1e3 * median, 0.0, median / least),
    ]
    for entry in reversed(ordered[-5:]):
        what = f"{entry} (bar 1000 ms)"
        rows.append(Row(what, 1e3 * times[entry], 0.0, times[entry] / least))
    notes = ["cpu:x86-64-v3; the five that take longest; the shorter of two runs each"]
    return finish("cpu_build", rows, notes, ("custom-dispatch", "iree-base-compiler"))
