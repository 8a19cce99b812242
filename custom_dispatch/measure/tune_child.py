"""What `tune.py` runs in a process of its own (`child.py`): kernels, checked and timed."""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import output_shapes
from custom_dispatch.kernel.description import read_description
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Out, Scratch
from custom_dispatch.measure import comparison
from custom_dispatch.measure.bench import Bench, launch_of, scratch_for
from custom_dispatch.measure.inputs import BenchInputs, inputs_for_kernel, size_bytes
from custom_dispatch.measure.measurement import time_in_turn
from custom_dispatch.measure.native_launch import NativeContext, NativeLaunch, seconds_of
from custom_dispatch.runtime.device import device_of
from custom_dispatch.runtime.driver import device_attribute

_L2_CACHE_SIZE = 38
"""CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE (CUDA Driver API, "Device Management")."""
_CACHES = 3
"""Copies of the inputs are so many times larger than the L2 cache, together."""
_MOST_COPIES = 64
_TIMED_S = 200e-6
"""What is timed as one takes so long at least, or as many launches as there are copies."""
_POISON = 0xFF
"""Bytes of results before a check: NaN as floats."""

Addresses = dict[str, ctypes.c_uint64]


@dataclass(frozen=True, slots=True)
class Effort:
    """How long is measured, and how inputs are made."""

    repetitions: int = 100
    """Launches of each kernel and size, about."""
    seconds: float = 1.0
    """Time for these, at most."""
    timeout_s: float = 60.0
    """Seconds after which one kernel with one of the sizes is given up."""
    seed: int = 0
    """For the random inputs, which are the same for every kernel."""
    with_reference: bool = True
    """Whether results are compared with the reference of the choice's kernels, if one has any."""
    scalars: Mapping[str, float | int] = field(default_factory=dict)
    """The values of scalars that calls pass, by name; others get some number."""


class Candidates:
    """The kernels that are measured, on one device.

    `request`: a file that says of each kernel its declaration, the file of its code, and its symbol
    there.
    """

    def __init__(self, request: str, device: str, effort: dict[str, Any]) -> None:
        self.device, self.effort = device, Effort(**effort)
        self._listed = json.loads(Path(request).read_text())
        self.kernels = [read_description(item["kernel"]) for item in self._listed]
        self._closing = ExitStack()
        self._open: OnCpu | OnGpu
        self._wanted: dict[str, comparison.Sample] | None = None
        self._of = "the reference"

    def code(self, index: int) -> tuple[bytes, str]:
        """A kernel's code, and its symbol there."""
        item = self._listed[index]
        return Path(item["code"]).read_bytes(), item["symbol"]

    def inputs(self, kernel: Kernel, dims: Mapping[str, int]) -> BenchInputs:
        """The inputs for some sizes: the same for every kernel that takes the same."""
        generator = numpy.random.default_rng(self.effort.seed)
        scalars = self.effort.scalars
        return inputs_for_kernel(kernel, dims, generator, with_optional=False, scalars=scalars)

    def open(self, dims: dict[str, int], reference: str) -> None:
        """Measure for other sizes, whose right results are in a file, if there is one."""
        self._closing.close()
        self._wanted = comparison.read_samples(Path(reference)) if reference else None
        self._of = "the reference"
        self._open = (OnCpu if self.device == "cpu" else OnGpu)(self, dims)
        self._closing.callback(self._open.close)

    def check(self, index: int) -> str:
        """Run a kernel once, and compare its results with the reference's, or, if there is none,
        with those of the first kernel that was checked: what is wrong, or nothing.
        """
        kernel, got = self.kernels[index], self._open.check(index)
        if self._wanted is None:
            self._wanted, self._of = got, f"`{kernel.name}`"
        return comparison.difference(kernel, got, self._wanted, self._of)

    def seconds(self, indices: Sequence[int]) -> dict[int, float]:
        """Medians of kernels that were checked, timed in turn."""
        return self._open.seconds(indices)


class OnCpu:
    """Calls of each module's function, through IREE alone."""

    def __init__(self, asked: Candidates, dims: Mapping[str, int]) -> None:
        self._asked, self._dims = asked, dims
        self._runs: dict[int, tuple[Bench, BenchInputs]] = {}

    def check(self, index: int) -> dict[str, comparison.Sample]:
        """The results of one run."""
        kernel = self._asked.kernels[index]
        code, _ = self._asked.code(index)
        inputs = self._asked.inputs(kernel, self._dims)
        runs = Bench(code, "a candidate", kernel.name, "cpu", kernel)
        self._runs[index] = runs, inputs
        pairs = zip(kernel.outputs, runs.results(inputs), strict=True)
        return {
            item.name: comparison.sample_of(got.view(item.dtype.to_numpy())) for item, got in pairs
        }

    def seconds(self, indices: Sequence[int]) -> dict[int, float]:
        """Medians of kernels that were checked."""
        effort, found = self._asked.effort, {}
        for index in indices:
            runs, inputs = self._runs[index]
            with runs.function.access:
                call = {"": runs.calls(inputs)["invoke"]}
                timing = time_in_turn(call, effort.repetitions, effort.seconds)[""]
            found[index] = timing.median_s
        return found

    def close(self) -> None:
        """Give the inputs back."""
        self._runs.clear()


class OnGpu:
    """Launches of the kernels with the inputs for some sizes, through the CUDA driver.

    In a model a kernel finds its inputs in memory, not in the L2 cache, where the launch before
    left its own. So launches go round over copies of the inputs that together are larger than the
    cache, and several are timed as one where they are short, as a pair of events takes
    microseconds.
    """

    def __init__(self, asked: Candidates, dims: Mapping[str, int]) -> None:
        self._asked, self._dims = asked, dims
        gpu = device_of(asked.device)
        self._gpu, self._capability = gpu.index, gpu.compute_capability or 0
        self._context = NativeContext(gpu.index).__enter__()
        self._sets: dict[tuple[str, ...], tuple[BenchInputs, list[Addresses]]] = {}
        self._launches: dict[int, list[NativeLaunch]] = {}

    def close(self) -> None:
        """Free the memory."""
        self._context.__exit__(None, None, None)

    def check(self, index: int) -> dict[str, comparison.Sample]:
        """The results of one run, into memory that was poisoned."""
        kernel = self._asked.kernels[index]
        inputs, sets = self._inputs(kernel)
        scratch = scratch_for(self._context, kernel, self._dims)
        launched = self._context, *self._asked.code(index), kernel, inputs
        self._launches[index] = [
            launch_of(*launched, scratch | addresses, self._capability) for addresses in sets
        ]
        sizes = {
            name: math.prod(shape) for name, shape in output_shapes(kernel, self._dims).items()
        }
        for item in kernel.outputs:
            address = sets[0][item.name]
            if isinstance(item, Out):
                self._context.fill(address, _POISON, sizes[item.name] * item.dtype.bytes)
            else:
                self._context.overwrite(address, numpy.asarray(inputs.named[item.name]))
        for launch in reversed(self._launches[index]):
            launch.run()
        found = {}
        for item in kernel.outputs:

            def read(first: int, end: int, item: Buffer = item) -> comparison.Array:
                part = numpy.empty(end - first, item.dtype.to_numpy())
                start = sets[0][item.name].value + first * item.dtype.bytes
                self._context.download(ctypes.c_uint64(start), part)
                return part

            found[item.name] = comparison.Sample(
                sizes[item.name], comparison.taken(sizes[item.name], read)
            )
        return found

    def seconds(self, indices: Sequence[int]) -> dict[int, float]:
        """Medians of a launch, of kernels that were checked, timed in turn."""
        repetitions = self._asked.effort.repetitions
        calls = {}
        most = 1
        for index in indices:
            launches = self._launches[index]
            once = seconds_of(self._context, launches, len(launches)) / len(launches)
            times = min(max(len(launches), math.ceil(_TIMED_S / max(once, 1e-7))), repetitions)

            def call(launches: list[NativeLaunch] = launches, times: int = times) -> float:
                return seconds_of(self._context, launches, times) / times

            calls[str(index)] = call
            most = max(most, math.ceil(repetitions / times))
        found = time_in_turn(calls, most, self._asked.effort.seconds)
        return {int(name): timing.median_s for name, timing in found.items()}

    def _inputs(self, kernel: Kernel) -> tuple[BenchInputs, list[Addresses]]:
        """Copies of a kernel's operands on the GPU: the same for all that take the same."""
        key = tuple(map(str, kernel.operands))
        if key in self._sets:
            return self._sets[key]
        inputs = self._asked.inputs(kernel, self._dims)
        buffers = [item for item in kernel.abi.bindings if not isinstance(item, Scratch)]
        given = {
            item.name: numpy.asarray(inputs.named[item.name])
            for item in buffers
            if not isinstance(item, Out)
        }
        sizes = {item.name: size_bytes(item, self._dims) for item in buffers}
        sizes |= {name: array.nbytes for name, array in given.items()}  # none, if it is absent
        sets: list[Addresses] = []
        for _ in range(self._copies(sum(sizes.values()))):
            addresses = {name: self._context.allocate(size) for name, size in sizes.items()}
            for name, array in given.items():
                if sets:
                    self._context.copy(addresses[name], sets[0][name], sizes[name])
                else:
                    self._context.overwrite(addresses[name], array)
            sets.append(addresses)
        self._sets[key] = inputs, sets
        return self._sets[key]

    def _copies(self, size_bytes: int) -> int:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._context.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        if size_bytes > free.value:
            raise CallError(
                f"The operands have {size_bytes} bytes, and {free.value} are free on the GPU.",
                next_step="measure smaller sizes.",
            )
        cache = device_attribute(self._gpu, _L2_CACHE_SIZE)
        wanted = math.ceil(_CACHES * cache / max(size_bytes, 1))
        return max(1, min(wanted, _MOST_COPIES, free.value // 2 // max(size_bytes, 1)))
