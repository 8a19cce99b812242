"""The benchmark's half that needs a GPU: kernels in modules against their native launches.

    python tests/gpu/bench.py DIRECTORY [--dims SIZE]

DIRECTORY is what `build.py` wrote. Every function that is a kernel is called with random inputs and
launched through the CUDA driver from the same object; results must be equal bit for bit. Needs
iree-base-runtime, numpy, and this package importable: no compiler and no click.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

MODULES = (
    "samples",
    "samples_sm_80",
    "samples_by_path",
    "image_cubin",
    "image_fatbin",
    "signatures",
    "signatures_cubin",
    "templates",
    "templates_fatbin",
    "optional",
    "rms_norm",
)
SIZES = (1000, 64, 16)


def measure(path: Path, name: str, generator: np.random.Generator) -> tuple[Any, Any] | str:
    """A function's bench and measurement; or why there is none."""
    from custom_dispatch.errors import CallError, DeclarationError
    from custom_dispatch.measure.bench import Bench
    from custom_dispatch.measure.inputs import inputs_for_kernel

    bench = Bench(path.read_bytes(), path.name, name, "cuda")
    if bench.kernel is None or bench.native_note:
        return bench.native_note or "no kernel"
    problem = ""
    for size in SIZES:
        dims = {dim.name: size for dim in bench.kernel.dims}
        try:
            inputs = inputs_for_kernel(bench.kernel, dims, generator)
            return bench, bench.measure(inputs, repetitions=20, budget_s=1.0, reference=False)
        except (CallError, DeclarationError) as error:
            problem = str(error)
    return f"no size fits: {problem}"


def run(directory: Path, seed: int = 0) -> list[tuple[str, bool, str]]:
    """One row a function: its name, whether all is well, and what was found."""
    from custom_dispatch.errors import CustomDispatchError
    from custom_dispatch.runtime.module_file import ModuleFile

    generator = np.random.default_rng(seed)
    rows = []
    for module in MODULES:
        path = directory / f"{module}.vmfb"
        for name in ModuleFile(path).functions():
            try:
                found = measure(path, name, generator)
            except CustomDispatchError as error:
                found = str(error)
            if isinstance(found, str):
                row = (f"{module}.{name}", False, found)
            else:
                bench, measured = found
                agreed = all(item.equal for item in measured.agreements)
                times = (measured.call, measured.invoke, measured.native, measured.kernel)
                micro = " / ".join(f"{item.median_s * 1e6:.1f}" for item in times)
                variant = bench.subject.variant
                about = f"{variant}: {micro} us; {'; '.join(map(str, measured.agreements))}"
                row = (f"{module}.{name}", agreed and bool(measured.agreements), about)
            rows.append(row)
            print("ok  " if row[1] else "FAIL", f"{row[0]:44} {row[2]}", flush=True)
    return rows


def main() -> int:
    """Run it, and print a summary; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print("times: a call through custom_dispatch / IREE alone / CUDA driver / the kernel itself")
    rows = run(arguments.directory)
    failed = sum(not passed for _, passed, _ in rows)
    print(f"{len(rows) - failed} equal, {failed} not")
    if arguments.json is not None:
        import custom_dispatch as cd

        content = {
            "command": "python tests/gpu/bench.py DIRECTORY",
            "date": time.strftime("%Y-%m-%d"),
            "device": str(cd.devices()[0]),
            "python": platform.python_version(),
            "iree-base-runtime": version("iree-base-runtime"),
            "rows": [{"name": a, "passed": b, "detail": c} for a, b, c in rows],
        }
        arguments.json.write_text(json.dumps(content, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
