"""A chain of ten dispatches on a GPU: what one more kernel in a model costs.

Two halves, as the GPU suite has: `build DIRECTORY` on any machine, then `run DIRECTORY` where there
is a GPU, iree-base-runtime and numpy. `direct` is the least there can be: the same dispatches
without checks. The bar: 1.15 times that.
"""

from __future__ import annotations

import json
import re
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.lib.gpu_command import parser

SIZES = {"dynamic": "tensor<?xf32>", "static": "tensor<1024xf32>"}
LENGTHS = (1, 10)
ROUNDS, WARM_UP, REPETITIONS = 10, 10, 40
BAR = 1.15


def _model(kind: str, length: int) -> str:
    types = f"({kind}, {kind}) -> {kind}"
    lines = [
        f"func.func private @simple_mul{types}",
        f"func.func @main(%v0: {kind}, %b: {kind}) -> {kind} {{",
    ]
    lines += [f"  %v{i + 1} = call @simple_mul(%v{i}, %b) : {types}" for i in range(length)]
    return "\n".join([*lines, f"  return %v{length} : {kind}", "}"])


def build(directory: Path) -> None:
    """Compile every chain."""
    import custom_dispatch as cd
    from cuda_kernels.simple_mul import simple_mul
    from custom_dispatch.frontends.mlir import link
    from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
    from custom_dispatch.ir.executable import embedded

    directory.mkdir(parents=True, exist_ok=True)
    library = cd.build([simple_mul], ["cuda:sm_80", "cuda:sm_90"])
    flags = device_flags(library)
    for name, kind in SIZES.items():
        for length in LENGTHS:
            text = link(_model(kind, length), library, embedded).text
            (directory / f"{name}_{length}.vmfb").write_bytes(compile_mlir(text.encode(), flags))
            direct = re.sub(r"\n *scf\.if %\w+ \{\n.*?check_ok.*?\n *\}", "", text, flags=re.DOTALL)
            content = compile_mlir(direct.encode(), flags)
            (directory / f"{name}_{length}_direct.vmfb").write_bytes(content)


def run(directory: Path, device_name: str) -> dict[str, float]:
    """Time every chain in turn; medians in microseconds a call."""
    import iree.runtime as rt
    import numpy as np

    device, instance = rt.get_device(device_name), rt.VmInstance()
    hal = rt.create_hal_module(instance, device)
    operand = rt.asdevicearray(device, np.ones(1024, np.float32))._buffer_view
    calls: dict[str, tuple[Any, Any]] = {}
    for path in sorted(directory.glob("*.vmfb")):
        module = rt.VmModule.mmap(instance, str(path))
        calls[path.stem] = (rt.VmContext(instance, [hal, module]), module.lookup_function("main"))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS):
        # In blocks: what the memory pool holds after another chain costs or saves 35 us a call.
        for name, (context, function) in calls.items():
            for repetition in range(WARM_UP + REPETITIONS):
                inputs, outputs = rt.VmVariantList(2), rt.VmVariantList(1)
                inputs.push_ref(operand)
                inputs.push_ref(operand)
                start = time.perf_counter()
                context.invoke(function, inputs, outputs)
                if repetition >= WARM_UP:
                    times[name].append((time.perf_counter() - start) * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


def main() -> int:
    """Build or run."""
    given = parser(__doc__).parse_args()
    if given.what == "build":
        build(given.directory)
        return 0
    medians = run(given.directory, given.device)
    worst = 0.0
    for name in SIZES:
        for length in LENGTHS:
            ours, least = medians[f"{name}_{length}"], medians[f"{name}_{length}_direct"]
            worst = max(worst, ours / least)
            row = f"{name} {length:2} kernels {ours:8.1f} us, direct {least:8.1f} us"
            print(f"{row}, {ours / least:.2f}x")
    print(json.dumps(medians))
    return 0 if worst <= BAR else 1
