"""What checking costs: the same kernels compiled for `cpu:checked` and for `cpu:host`.

Ratios of whole calls, with the operands on the device. There is no bar: checked code is for finding
mistakes in small cases.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from iree import runtime as rt

import custom_dispatch as cd
from benchmarks.cpu.kernels import _kernels
from benchmarks.lib.report import Row, finish, interleaved, quartiles
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.runtime.device import hal_device

ROWS, COLUMNS, SIZE = 256, 1024, 128
REPETITIONS = 5


def main() -> int:
    """Measure and report."""
    programs, compiled = {}, {}
    with tempfile.TemporaryDirectory() as directory:
        kernels = [*_kernels(Path(directory)), simple_mul]
        for target in ("cpu:host", "cpu:checked"):
            library = cd.build(kernels, [target], store=False)
            start = time.perf_counter()
            module = cd.compile(None, library, store=False)
            compiled[target] = (time.perf_counter() - start) * 1e3
            programs[target] = cd.load(module, "cpu")
    device = hal_device("cpu")
    rng = np.random.default_rng(0)

    def on_device(*shape: int) -> rt.DeviceArray:
        return rt.asdevicearray(device, rng.standard_normal(shape, np.float32))

    x, w, a, b = (
        on_device(*shape) for shape in ((ROWS, COLUMNS), (COLUMNS,), (SIZE, SIZE), (SIZE, SIZE))
    )
    flat, other = on_device(ROWS * COLUMNS), on_device(ROWS * COLUMNS)

    def calls(program: cd.Program) -> dict[str, Callable[[], object]]:
        return {
            f"simple_mul of {ROWS * COLUMNS}": lambda: program.simple_mul(flat, other),
            f"softmax {ROWS} x {COLUMNS} (shuffles)": lambda: program.softmax(x),
            f"RMS norm {ROWS} x {COLUMNS} (barriers)": lambda: program.rms_norm_tree(x, w, 1e-5),
            f"tiled matmul {SIZE}^3": lambda: program.matmul_tiled(a, b),
        }

    plain, checked = calls(programs["cpu:host"]), calls(programs["cpu:checked"])
    rows = [
        Row("compiling the four kernels for cpu:host", compiled["cpu:host"], 0.0, 1.0),
        Row(
            "compiling them for cpu:checked",
            compiled["cpu:checked"],
            0.0,
            compiled["cpu:checked"] / compiled["cpu:host"],
        ),
    ]
    for what, run in plain.items():
        np.testing.assert_allclose(np.asarray(run()), np.asarray(checked[what]()), rtol=1e-6)
        times = interleaved({"plain": run, "checked": checked[what]}, REPETITIONS)
        base, cost = quartiles(times["plain"]), quartiles(times["checked"])
        rows.append(Row(f"{what}: cpu:host", *base, 1.0))
        rows.append(Row(f"{what}: cpu:checked", *cost, cost[0] / base[0]))
    packages = ("custom-dispatch", "iree-base-compiler", "iree-base-runtime", "numpy")
    return finish("cpu_checked", rows, ["device local-task"], packages)
