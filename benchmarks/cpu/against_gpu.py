"""The same PTX on the CPU and on a GPU, bit by bit: every kernel of the CPU corpus.

Two halves. `build DIRECTORY` on any machine compiles the corpus, runs it on the CPU in IREE and
keeps inputs, outputs and PTX. `run DIRECTORY` on a machine with a GPU and CuPy launches the same
PTX through the CUDA driver and prints, for each kernel, whether the results are bit-equal, or the
largest difference in units in the last place.
"""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lib.gpu_command import parser

TESTS = Path(__file__).resolve().parents[2] / "tests" / "cpu"
CPU = "x86-64-v3"


def build(directory: Path) -> None:
    """Run the corpus on the CPU and keep all that the other half needs."""
    sys.path.insert(0, str(TESTS))
    import corpus_cases
    from cpu_harness import compile_cuda, compile_model, model_text, run_launches
    from test_corpus import include_paths

    directory.mkdir(parents=True, exist_ok=True)
    kept: list[dict[str, Any]] = []
    for name, make in corpus_cases.FILES.items():
        source = (corpus_cases.CORPUS / f"{name}.cu").read_text()
        ptx = compile_cuda(source, "sm_80", include_paths())
        (directory / f"{name}.ptx").write_text(ptx.rstrip("\0"))
        launches = [case.launch for case in make()]
        results = run_launches(
            compile_model(model_text(ptx, launches, CPU)), launches, "local-sync"
        )
        for launch, outputs in zip(launches, results, strict=True):
            kept.append({"file": name, **vars(launch), "results": outputs})
    with (directory / "cases.pickle").open("wb") as file:
        pickle.dump(kept, file)
    print(f"{len(kept)} kernels")


def ulps(left: np.ndarray[Any, Any], right: np.ndarray[Any, Any]) -> int:
    """The largest distance between two arrays, counted in floating-point numbers."""
    integer = np.dtype(f"i{left.dtype.itemsize}")
    distances = []
    for array in (left, right):
        bits = array.view(integer).astype(object if left.dtype.itemsize == 8 else np.int64)
        lowest = -(2 ** (8 * left.dtype.itemsize - 1))
        distances.append(np.where(bits < 0, lowest - bits, bits))
    both_nan = np.isnan(left.astype(np.float64)) & np.isnan(right.astype(np.float64))
    return int(np.max(np.where(both_nan, 0, abs(distances[0] - distances[1])), initial=0))


def run(directory: Path) -> int:
    """Launch the same PTX on the GPU and compare."""
    import cupy

    with (directory / "cases.pickle").open("rb") as file:
        cases = pickle.load(file)  # noqa: S301 - what `build` wrote
    modules: dict[str, Any] = {}
    rows = []
    for case in cases:
        name = case["file"]
        if name not in modules:
            modules[name] = cupy.RawModule(path=str(directory / f"{name}.ptx"))
        kernel = modules[name].get_function(case["entry"])
        shared = case["dynamic_shared_memory"]
        if shared > 48 * 1024:
            kernel.max_dynamic_shared_size_bytes = shared
        arrays = [cupy.asarray(array) for array in case["arrays"]]
        constants = [np.uint32(value & 0xFFFFFFFF) for value in case["constants"]]
        kernel(case["grid"], case["block"], (*arrays, *constants), shared_mem=shared)
        cupy.cuda.runtime.deviceSynchronize()
        worst, differing = 0, 0
        for index, cpu in zip(case["outputs"], case["results"], strict=True):
            gpu = cupy.asnumpy(arrays[index])
            differing += int(np.count_nonzero(gpu.view(np.uint8) != cpu.view(np.uint8)) > 0)
            if cpu.dtype.kind == "f":
                worst = max(worst, ulps(cpu, gpu))
            elif not np.array_equal(cpu, gpu):
                worst = -1  # integers that differ
        rows.append({"kernel": case["entry"], "bit_equal": differing == 0, "ulp": worst})
        verdict = "bit-equal" if differing == 0 else f"{worst} ulp" if worst >= 0 else "DIFFERS"
        print(f"{name:14} {case['entry']:28} {verdict}")
    equal = sum(row["bit_equal"] for row in rows)
    print(f"{equal} of {len(rows)} bit-equal")
    print(json.dumps(rows))
    return 0


def main() -> int:
    """Build or run."""
    given = parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    return run(given.directory)
