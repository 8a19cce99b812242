"""What the process answers (`child.py`) that launches the kernels which `tune.py` asks for.

The questions:

- `{"open": DIMS, "reference": PATH}`: the inputs for these sizes are made.
- `{"check": INDEX}`: a kernel runs once, and its results are compared with the reference's, or, if
  there is none, with those of the first kernel that was checked.
- `{"time": [INDEX, ...]}`: kernels are timed in turn.

What is wrong is `{"problem": TEXT}`. After `"lost"` the device is of no use to this process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy

from custom_dispatch.errors import CustomDispatchError, DeviceError
from custom_dispatch.kernel.description import read_description
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.measure.bench import Bench
from custom_dispatch.measure.bench_inputs import BenchInputs, inputs_for_kernel
from custom_dispatch.measure.sample import Sample, difference, read_sample
from custom_dispatch.measure.tune_gpu import OnGpu

Answer = dict[str, Any]


class Device(Protocol):
    """Where kernels run, with the inputs for some sizes."""

    def check(self, index: int) -> Sample:
        """The results of one run."""

    def seconds(self, indices: Sequence[int]) -> dict[int, float]:
        """Medians of kernels that were checked."""

    def close(self) -> None:
        """Give the inputs back."""


class OnCpu:
    """Calls of each module's function, through IREE alone."""

    def __init__(self, asked: Mapping[str, Any], kernels: Sequence[Kernel], dims: Any) -> None:
        self._asked, self._kernels, self._dims = asked, kernels, dims
        self._runs: dict[int, tuple[Bench, BenchInputs]] = {}

    def check(self, index: int) -> Sample:
        """The results of one run."""
        kernel = self._kernels[index]
        code = Path(self._asked["kernels"][index]["code"]).read_bytes()
        generator = numpy.random.default_rng(self._asked["seed"])
        inputs = inputs_for_kernel(
            kernel, self._dims, generator, with_optional=False, scalars=self._asked["scalars"]
        )
        runs = Bench(code, "a candidate", kernel.name, "cpu", kernel)
        self._runs[index] = runs, inputs
        pairs = zip(kernel.outputs, runs.results(inputs), strict=True)
        return Sample.of({item.name: got.view(item.dtype.to_numpy()) for item, got in pairs})

    def seconds(self, indices: Sequence[int]) -> dict[int, float]:
        """Medians of kernels that were checked."""
        found = {}
        for index in indices:
            runs, inputs = self._runs[index]
            measured = runs.measure(
                inputs,
                repetitions=self._asked["repetitions"],
                budget_s=self._asked["budget_s"],
                reference=False,
            )
            found[index] = measured.invoke.median_s
        return found

    def close(self) -> None:
        """Give the inputs back."""
        self._runs.clear()


class Service:
    """Answers questions about the kernels of one request."""

    def __init__(self, asked: Mapping[str, Any]) -> None:
        self._asked = asked
        self._kernels = [read_description(item["kernel"]) for item in asked["kernels"]]
        self._device: Device | None = None
        self._wanted: Sample | None = None
        self._of = "the reference"

    def answer(self, question: Mapping[str, Any]) -> Answer:
        """Do what is asked for."""
        try:
            if "open" in question:
                return self._open(question)
            if self._device is None:
                raise TypeError("nothing is open")
            if "check" in question:
                return self._check(self._device, question["check"])
            seconds = self._device.seconds(question["time"])
            return {"seconds": {str(index): value for index, value in seconds.items()}}
        except CustomDispatchError as error:
            return {"problem": error.found, "lost": isinstance(error, DeviceError)}
        except MemoryError:
            return {"problem": "The memory of this machine does not suffice."}

    def _open(self, question: Mapping[str, Any]) -> Answer:
        if self._device is not None:
            self._device.close()
        path = question["reference"]
        self._wanted, self._of = (read_sample(Path(path)), "the reference") if path else (None, "")
        make = OnCpu if self._asked["device"] == "cpu" else OnGpu
        self._device = make(self._asked, self._kernels, question["open"])
        return {}

    def _check(self, device: Device, index: int) -> Answer:
        kernel = self._kernels[index]
        got = device.check(index)
        if self._wanted is None:
            self._wanted, self._of = got, f"`{kernel.name}`"
        return {"problem": difference(kernel, got, self._wanted, self._of)}


def answers(request: str) -> Callable[[Mapping[str, Any]], Answer]:
    """What answers the questions about the kernels of a file."""
    return Service(json.loads(Path(request).read_text())).answer
