"""One kernel measured for some sizes, in a process of its own; see `tune.py`.

    python -m custom_dispatch.runtime.tune_child REQUEST.json ANSWERS.jsonl

An answer is one line, written as soon as it is known: the median's seconds, or a problem. After a
failure of the device this process is of no use any more, and ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.errors import CustomDispatchError, DeviceError
from custom_dispatch.kernel.description import read_description
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.runtime.bench import Bench, native_launch
from custom_dispatch.runtime.bench_inputs import BenchInputs, inputs_for_kernel
from custom_dispatch.runtime.check import compare
from custom_dispatch.runtime.device import devices
from custom_dispatch.runtime.native_launch import NativeContext
from custom_dispatch.runtime.timing import time_in_turn

_FAILED = 3

Arrays = tuple[numpy.ndarray[Any, Any], ...]


def main(request: Path, answers: Path) -> int:
    """Measure what is asked for; the exit status."""
    asked = json.loads(request.read_text())
    kernel = read_description(asked["kernel"])
    code = Path(asked["code"]).read_bytes()
    for dims, reference in zip(asked["sizes"], asked["references"], strict=True):
        lost = False
        try:
            inputs = inputs_for_kernel(kernel, dims, numpy.random.default_rng(asked["seed"]))
            if asked["symbol"]:
                answer = _on_gpu(asked, kernel, code, inputs, reference)
            else:
                answer = _on_cpu(asked, kernel, code, inputs, reference)
        except CustomDispatchError as error:
            answer = {"problem": error.found}
            lost = isinstance(error, DeviceError)
        with answers.open("a") as file:
            file.write(json.dumps(answer) + "\n")
        if lost:
            return _FAILED
    return 0


def _on_gpu(
    asked: Mapping[str, Any], kernel: Kernel, code: bytes, inputs: BenchInputs, reference: str
) -> dict[str, Any]:
    """The kernel's own time, launched through the CUDA driver."""
    capability = devices()[0].compute_capability or 0
    with NativeContext() as context:
        launch, results = native_launch(context, code, asked["symbol"], kernel, inputs, capability)
        problem = _wrong(kernel, results, reference)
        if problem:
            return {"problem": problem}
        calls = {"kernel": launch.kernel_seconds}
        timings = time_in_turn(calls, asked["repetitions"], asked["budget_s"])
    return {"seconds": timings["kernel"].median_s}


def _on_cpu(
    asked: Mapping[str, Any], kernel: Kernel, code: bytes, inputs: BenchInputs, reference: str
) -> dict[str, Any]:
    """A call of the module's function, through IREE alone."""
    runs = Bench(code, "a candidate", kernel.name, "cpu", kernel)
    problem = _wrong(kernel, runs.results(inputs), reference)
    if problem:
        return {"problem": problem}
    found = runs.measure(
        inputs,
        repetitions=asked["repetitions"],
        budget_s=asked["budget_s"],
        reference=False,
    )
    return {"seconds": found.invoke.median_s}


def _wrong(kernel: Kernel, results: Arrays, reference: str) -> str:
    """How results differ from the reference's, in a file of their bits; empty if they do not."""
    if not reference:
        return ""
    held = numpy.load(reference)
    for index, (operand, got, name) in enumerate(
        zip(kernel.outputs, results, held["dtypes"], strict=True)
    ):
        dtype = operand.dtype.to_numpy() if operand.dtype.numpy_name == name else numpy.dtype(name)
        want = held[f"arr_{index}"].view(dtype)
        typed = got.reshape(-1).view(operand.dtype.to_numpy())
        if want.size != typed.size:
            return f"gives wrong results: `{operand.name}` has {typed.size} elements"
        count, largest = compare(operand.dtype, typed, want)
        if count:
            return (
                f"gives wrong results: `{operand.name}` differs from the reference in {count} of "
                f"{typed.size} elements, by up to {largest:.3g}"
            )
    return ""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
