"""Importing the package and declaring kernels, against importing numpy.

Bar: `import custom_dispatch` costs at most 60 ms over bare `import numpy`, and declaring kernels
loads neither IREE nor CUDA. Measured inside fresh interpreters, around the import statement.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.lib.report import Row, finish, quartiles

REPETITIONS = 21
BAR_MS = 60.0
_TIMED = """
import time
start = time.perf_counter()
{code}
print((time.perf_counter() - start) * 1e3)
"""
CASES = {
    "import numpy": "import numpy",
    "import custom_dispatch": "import custom_dispatch",
    "import numpy, custom_dispatch": "import numpy, custom_dispatch",
    "import numpy, custom_dispatch; declare two kernels": (
        "import numpy, custom_dispatch\nimport cuda_kernels.simple_mul"
    ),
}
_LOADED = """
import sys, cuda_kernels.simple_mul
print(*sorted({name.partition(".")[0] for name in sys.modules} & {"iree", "cuda", "nvidia"}))
"""


def _run(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> int:
    """Measure and report."""
    times: dict[str, list[float]] = {name: [] for name in CASES}
    for repetition in range(REPETITIONS + 1):
        for name, code in CASES.items():
            elapsed = float(_run(_TIMED.format(code=code)))
            if repetition:  # the first run fills the file system's and Python's caches
                times[name].append(elapsed)
    base = quartiles(times["import numpy"])[0]
    rows = []
    for name, values in times.items():
        median, spread = quartiles(values)
        over = median - base
        gated = name.startswith("import numpy, ")
        rows.append(
            Row(name, median, spread, over / BAR_MS if gated else None, 1 if gated else None)
        )
    loaded = _run(_LOADED)
    notes = [
        f"the ratio is (time - time of import numpy) / {BAR_MS:g} ms",
        f"loaded of iree, cuda and nvidia after declaring kernels: {loaded or 'none'}",
    ]
    status = finish("import_time", rows, notes, ("custom-dispatch", "numpy"))
    return status or bool(loaded)
