"""Kernels launched and timed on a GPU with the same inputs, for `tune_child.py`.

In a model a kernel finds its inputs in memory, not in the L2 cache, where the launch before left
its own. So launches go round over copies of the inputs that together are larger than the cache, and
several are timed as one where they are short, as a pair of events takes microseconds.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import grid_for, output_shapes
from custom_dispatch.kernel.buffer import Buffer, Out, Scratch
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.words import constants_of
from custom_dispatch.measure.bench_inputs import (
    BenchInputs,
    given_by_name,
    inputs_for_kernel,
    launch_numbers,
    size_bytes,
)
from custom_dispatch.measure.native_launch import NativeContext, NativeLaunch, seconds_of
from custom_dispatch.measure.sample import Sample, taken
from custom_dispatch.measure.timing import time_in_turn
from custom_dispatch.runtime.device import device_of

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


class OnGpu:
    """The kernels of one request with the inputs for some sizes.

    Raises
    ------
    DeviceError
        The GPU is not there, or its memory does not suffice.
    """

    def __init__(
        self, asked: Mapping[str, Any], kernels: Sequence[Kernel], dims: Mapping[str, int]
    ) -> None:
        self._asked, self._kernels, self._dims = asked, kernels, dims
        gpu = device_of(asked["device"])
        self._capability = gpu.compute_capability or 0
        self._context = NativeContext(gpu.index).__enter__()
        self._sets: dict[tuple[str, ...], tuple[BenchInputs, list[Addresses]]] = {}
        self._launches: dict[int, list[NativeLaunch]] = {}

    def close(self) -> None:
        """Free the memory."""
        self._context.__exit__(None, None, None)

    def check(self, index: int) -> Sample:
        """The results of one run, into memory that was poisoned."""
        kernel = self._kernels[index]
        inputs, sets = self._inputs(kernel)
        code = Path(self._asked["kernels"][index]["code"]).read_bytes()
        symbol = self._asked["kernels"][index]["symbol"]
        given = given_by_name(kernel, inputs)
        scratch = {
            item.name: self._context.allocate(evaluate(item.size_bytes, self._dims))
            for item in kernel.scratches
        }
        self._launches[index] = [
            NativeLaunch(
                self._context,
                code,
                symbol,
                grid=grid_for(kernel, self._dims, capability=self._capability),
                block=kernel.block,
                shared_bytes=kernel.dynamic_shared_memory,
                bindings=[(scratch | addresses)[item.name] for item in kernel.abi.bindings],
                constants=constants_of(kernel, self._dims, launch_numbers(kernel, given)),
            )
            for addresses in sets
        ]
        sizes = {
            name: math.prod(shape) for name, shape in output_shapes(kernel, self._dims).items()
        }
        for item in kernel.outputs:
            address = sets[0][item.name]
            if isinstance(item, Out):
                self._context.fill(address, _POISON, sizes[item.name] * item.dtype.bytes)
            else:
                self._context.overwrite(address, numpy.asarray(given[item.name]))
        for launch in reversed(self._launches[index]):
            launch.run()
        arrays = {}
        for item in kernel.outputs:

            def read(first: int, end: int, item: Buffer = item) -> numpy.ndarray[Any, Any]:
                found = numpy.empty(end - first, item.dtype.to_numpy())
                start = sets[0][item.name].value + first * item.dtype.bytes
                self._context.download(ctypes.c_uint64(start), found)
                return found

            arrays[item.name] = taken(sizes[item.name], read)
        return Sample(arrays, {name: sizes[name] for name in arrays})

    def seconds(self, indices: Sequence[int]) -> dict[int, float]:
        """Medians of a launch, of kernels that were checked, timed in turn."""
        repetitions: int = self._asked["repetitions"]
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
        found = time_in_turn(calls, most, self._asked["budget_s"])
        return {int(name): timing.median_s for name, timing in found.items()}

    def _inputs(self, kernel: Kernel) -> tuple[BenchInputs, list[Addresses]]:
        """Copies of a kernel's operands on the GPU: the same for all that take the same."""
        key = tuple(map(str, kernel.operands))
        if key in self._sets:
            return self._sets[key]
        generator = numpy.random.default_rng(self._asked["seed"])
        inputs = inputs_for_kernel(
            kernel, self._dims, generator, with_optional=False, scalars=self._asked["scalars"]
        )
        given = given_by_name(kernel, inputs)
        buffers = [item for item in kernel.abi.bindings if not isinstance(item, Scratch)]
        sizes = {item.name: size_bytes(item, self._dims) for item in buffers}
        for item in buffers:
            if not isinstance(item, Out):
                sizes[item.name] = numpy.asarray(given[item.name]).nbytes  # none, if it is absent
        sets: list[Addresses] = []
        for _ in range(self._copies(sum(sizes.values()))):
            addresses = {name: self._context.allocate(size) for name, size in sizes.items()}
            for item in buffers:
                if isinstance(item, Out):
                    continue
                if sets:
                    source = sets[0][item.name]
                    self._context.copy(addresses[item.name], source, sizes[item.name])
                else:
                    self._context.overwrite(addresses[item.name], numpy.asarray(given[item.name]))
            sets.append(addresses)
        self._sets[key] = inputs, sets
        return self._sets[key]

    def _copies(self, size_bytes: int) -> int:
        gpu, cache = ctypes.c_int(), ctypes.c_int()
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._context.call("cuCtxGetDevice", ctypes.byref(gpu))
        self._context.call("cuDeviceGetAttribute", ctypes.byref(cache), _L2_CACHE_SIZE, gpu)
        self._context.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        if size_bytes > free.value:
            raise CallError(
                f"The operands have {size_bytes} bytes, and {free.value} are free on the GPU.",
                next_step="measure smaller sizes.",
            )
        wanted = math.ceil(_CACHES * cache.value / max(size_bytes, 1))
        return max(1, min(wanted, _MOST_COPIES, free.value // 2 // max(size_bytes, 1)))
