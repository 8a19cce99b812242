"""Measuring a function of a module: its calls, IREE's own, and the same object without IREE."""

import copy
import ctypes
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from hashlib import sha256
from typing import Any

import numpy
from iree import runtime as rt

from custom_dispatch.eager.reference import reference_results
from custom_dispatch.errors import DeviceError
from custom_dispatch.kernel.abi import constants_of
from custom_dispatch.kernel.binding import grid_for
from custom_dispatch.kernel.evaluation import evaluate
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Scratch
from custom_dispatch.measure.comparison import Array, agreement
from custom_dispatch.measure.inputs import BenchInputs, bytes_moved, launch_numbers, output_arrays
from custom_dispatch.measure.measurement import Measurement, Subject, time_in_turn
from custom_dispatch.measure.native_launch import (
    NativeContext,
    NativeCopy,
    NativeLaunch,
    seconds_of,
)
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.archive import cuda_executables
from custom_dispatch.runtime.call_arguments import push_scalar
from custom_dispatch.runtime.device_array import to_device
from custom_dispatch.runtime.device_choice import choose_device
from custom_dispatch.runtime.module_file import ModuleFile, vm_instance
from custom_dispatch.runtime.program import Program

_COPIED_BYTES = 1 << 18
"""What a thread copies, at least: starting one takes longer than to copy less."""
_PAGE = 4096
_MOST_OF_MEMORY = 8
"""No more than this part of the memory is taken: the kernel's operands are there, too."""


class Bench:
    """A function of a module on a device, to be measured for several inputs.

    - `source`, `label`: the module's bytes, and its name in messages.
    - `function`: the function's name; None for the only one.
    - `device`: as for `cd.load`.
    - `kernel`: the kernel that the function is, where it is at hand with its reference; else what
      the module says of it.
    - `reason`: why it is this device, where the caller chose.

    Raises `ModuleFileError`, `DeviceError`: as for `cd.load`; or there is no such function.
    """

    def __init__(
        self,
        source: bytes,
        label: str,
        function: str | None,
        device: str,
        kernel: Kernel | None = None,
        *,
        reason: str = "",
    ) -> None:
        file = ModuleFile(source, label=label)
        self._source = source
        self.program = Program(file, choose_device(device, file.label, file.manifest))
        self.function = self.program.function(function)
        self.device = self.program.device
        self.reason = reason or self.program.device_reason
        manifest = self.program.manifest
        use = None if manifest is None else manifest.use_of(self.function.name)
        self.use = use
        name = None if use is None else use.direct
        declared = None if manifest is None or name is None else manifest.declaration(name)
        self.kernel = kernel if name is not None and kernel is not None else declared
        self._image: tuple[bytes, str, Kernel] | None = None
        self.native_note = self._find_image()
        hal = rt.create_hal_module(vm_instance(), self.function.device)
        with self.function.access:
            self._context = rt.VmContext(vm_instance(), [hal, file.vm_module])
        self._vm_function = file.vm_module.lookup_function(self.function.name)

    def _find_image(self) -> str:
        """Find the object that IREE runs; else why there is no native launch."""
        manifest, kernel = self.program.manifest, self.kernel
        name = self.function.name
        if self.device.compute_capability is None:
            return "The CPU has no driver to launch kernels with: calls compare with IREE's own."
        if manifest is None or self.use is None:
            return "No native launch: the module does not say what its functions do."
        if kernel is None:
            called = ", ".join(map(str, self.use.kernels)) or "no kernel"
            return (
                f"No native launch: `{name}` is more than one kernel ({called}). "
                "`custom-dispatch bench KERNELS --kernel NAME` measures one by itself."
            )
        target = manifest.best_for(self.device.compute_capability)
        item = None if target is None else manifest.object_of(kernel.name, target)
        if item is None:
            return "No native launch: the module does not say which object IREE runs."
        for executable in cuda_executables(self._source):
            for image in executable.images:
                # A file that `emit` wrote has remarks on C++ names behind the object.
                if sha256(image[: item.size_bytes]).hexdigest() == item.sha256:
                    form = kernel.for_target(target)
                    self._image = (image, item.symbols[kernel.name], form)
                    return ""
        return f"No native launch: the module does not hold {item.file} as its manifest has it."

    def measure(
        self, inputs: BenchInputs, *, repetitions: int, budget_s: float, reference: bool
    ) -> Measurement:
        """Check the results for some inputs, and time calls with them.

        - `repetitions`, `budget_s`: how many calls of each kind are timed at most, and for how many
          seconds.
        - `reference`: whether to compare with the kernel's reference, where there is one.

        Raises `CallError`: the inputs do not fit the function.
        Raises `DeclarationError`: the reference fails.
        Raises `DeviceError`, `KernelError`: the device failed, or the kernel on the CPU.
        """
        kernel, agreements = self.kernel, []
        results = self.results(inputs)
        known = kernel if inputs.of_kernel else None
        if reference and known is not None and known.reference is not None:
            wanted = reference_results(known, copy.deepcopy([*inputs.named.values()]))
            agreements.append(agreement("the reference", known, results, wanted))
        moved = None if known is None else bytes_moved(known, inputs.dims)
        with self.function.access, ExitStack() as stack:
            calls = self.calls(inputs)
            if self._image is not None and known is not None:
                context = stack.enter_context(NativeContext(self.device.index))
                launch, found = native_launch(context, *self._image, inputs, self.capability)
                agreements.append(agreement("the native launch", known, results, found))
                calls["native"] = timed(launch.run)
                calls["kernel"] = partial(seconds_of, context, [launch], 1)
                calls |= native_copy(context, moved or 0)
            elif not self.capability:
                calls |= host_copy(moved or 0)
            timings = time_in_turn(calls, repetitions, budget_s)
        dims = inputs.dims
        return Measurement(
            dims,
            inputs.shapes,
            timings["call"],
            timings["invoke"],
            timings.get("native"),
            timings.get("kernel"),
            moved,
            None if known is None or known.flops is None else evaluate(known.flops, dims),
            tuple(agreements),
            timings.get("copy"),
            "" if agreements else self._why_not_compared(reference),
        )

    def _why_not_compared(self, reference: bool) -> str:
        if self.kernel is None:
            return "more than one kernel has no reference"
        if self.kernel.reference is None:
            return f"no reference of `{self.kernel.name}` is here"
        return "" if reference else "only the first size is, as references may take minutes"

    @property
    def subject(self) -> Subject:
        """What this measures."""
        manifest, name = self.program.manifest, self.function.name
        reports = {item.name: item for item in self.program.report().functions}
        capability = self.device.compute_capability
        return Subject(
            name,
            str(self.function.type),
            str(self.device),
            self.reason,
            "" if manifest is None else str(manifest.target_on(capability) or ""),
            reports[name].dispatches,
            self.native_note,
        )

    @property
    def capability(self) -> int:
        """The GPU's compute capability; 0 on the CPU."""
        return self.device.compute_capability or 0

    def results(self, inputs: BenchInputs) -> tuple[Array, ...]:
        """A call with arrays of the host, which checks the inputs."""
        results = self.function(*inputs.values)
        several = results if isinstance(results, tuple) else (results,)
        return tuple(map(numpy.asarray, several))

    def calls(self, inputs: BenchInputs) -> dict[str, Callable[[], float]]:
        """What makes one call, through this package and through IREE alone, and times it."""
        device = self.function.device
        kinds = self.function.type.inputs
        arguments: list[Any] = []
        plain = rt.VmVariantList(len(kinds))
        for value, kind in zip(inputs.values, kinds, strict=True):
            if kind.sizes is None:
                arguments.append(value)
                push_scalar(plain, value, kind.dtype, "a scalar")
                continue
            view = to_device(self.function.open_device, numpy.asarray(value), kind.dtype)
            plain.push_ref(view)
            arguments.append(rt.DeviceArray(device, view, implicit_host_transfer=False))
        function, context, vm_function = self.function, self._context, self._vm_function
        outputs = len(self.function.type.outputs)

        def invoke() -> float:
            results = rt.VmVariantList(outputs)
            start = time.perf_counter()
            try:
                context.invoke(vm_function, plain, results)
            except IREE_ERRORS as error:
                raise function.translated(error) from error
            return time.perf_counter() - start

        return {"call": timed(lambda: function(*arguments)), "invoke": invoke}


def timed(run: Callable[[], object]) -> Callable[[], float]:
    """What makes a call and returns the seconds that it took."""

    def call() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return call


def launch_of(
    context: NativeContext,
    image: bytes,
    symbol: str,
    kernel: Kernel,
    inputs: BenchInputs,
    addresses: Mapping[str, ctypes.c_uint64],
    capability: int,
) -> NativeLaunch:
    """A launch of a kernel in an object, with operands at these addresses."""
    numbers = launch_numbers(kernel, inputs.named)
    return NativeLaunch(
        context,
        image,
        symbol,
        grid=grid_for(kernel, inputs.dims, capability=capability),
        block=kernel.block,
        shared_bytes=kernel.dynamic_shared_memory,
        bindings=[addresses[buffer.name] for buffer in kernel.abi.bindings],
        constants=constants_of(kernel.abi, inputs.dims, numbers),
    )


def scratch_for(
    context: NativeContext, kernel: Kernel, dims: Mapping[str, int]
) -> dict[str, ctypes.c_uint64]:
    """The addresses of a kernel's scratch memory, which is allocated."""
    return {
        item.name: context.allocate(evaluate(item.size_bytes, dims)) for item in kernel.scratches
    }


def native_launch(
    context: NativeContext,
    image: bytes,
    symbol: str,
    kernel: Kernel,
    inputs: BenchInputs,
    capability: int,
) -> tuple[NativeLaunch, tuple[Array, ...]]:
    """A launch of the object with the same inputs, and the results of the first."""
    outputs = output_arrays(kernel, inputs)
    operands = {**inputs.named, **outputs}
    addresses = scratch_for(context, kernel, inputs.dims)
    for buffer in kernel.abi.bindings:
        if not isinstance(buffer, Scratch):
            addresses[buffer.name] = context.upload(numpy.asarray(operands[buffer.name]))
    launch = launch_of(context, image, symbol, kernel, inputs, addresses, capability)
    launch.run()
    for name, array in outputs.items():
        context.download(addresses[name], array)
    return launch, tuple(outputs[item.name] for item in kernel.outputs)


def _pages(size: int) -> Array:
    """Bytes that begin with a page: some CPUs copy others at a tenth of the speed."""
    held = numpy.ones(size + _PAGE, numpy.uint8)
    first = -held.ctypes.data % _PAGE
    return held[first : first + size]


def native_copy(context: NativeContext, moved: int) -> dict[str, Callable[[], float]]:
    """What times a copy on the GPU that moves so many bytes, as `copy`; nothing where the memory is
    too small for one.
    """
    if moved < 2:
        return {}
    try:
        copied = NativeCopy(context, moved // 2)
    except DeviceError:
        return {}
    return {"copy": partial(seconds_of, context, [copied], 1)}


def host_copy(moved: int) -> dict[str, Callable[[], float]]:
    """The same in the memory of the CPU, by as many threads as IREE has for kernels."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if not 2 <= moved <= memory // _MOST_OF_MEMORY:
        return {}
    size = moved // 2
    source, target = _pages(size), _pages(size)
    threads = max(min(len(os.sched_getaffinity(0)), size // _COPIED_BYTES), 1)
    each = -(-size // (threads * _PAGE)) * _PAGE
    parts = [[array[at : at + each] for at in range(0, size, each)] for array in (target, source)]
    pool = ThreadPoolExecutor(threads)

    alone = partial(numpy.copyto, target, source)
    return {"copy": timed(alone if threads == 1 else lambda: [*pool.map(numpy.copyto, *parts)])}
