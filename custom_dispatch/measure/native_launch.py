"""Launching an object through the CUDA driver itself: what a call is measured against.

The same bytes that a module holds are loaded (`cuModuleLoadDataEx`) and launched
(`cuLaunchKernel`) with the same parameters in the same order: bindings, then 32-bit constants. The
context is the device's primary one, which IREE uses too. As in `driver.py` this is the stable
driver API through ctypes (CUDA Driver API, "Module Management", "Memory Management", "Event
Management" and "Execution Control").
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from typing import Any

import numpy

from custom_dispatch.errors import DeviceError
from custom_dispatch.runtime import driver
from custom_dispatch.runtime.driver import error_name

_MAX_DYNAMIC_SHARED = 8
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES."""
_LOG_BYTES = 4096
_ERROR_LOG, _ERROR_LOG_SIZE = 5, 6
"""CU_JIT_ERROR_LOG_BUFFER and its size in bytes."""
_WAIT_GEQ = 0
"""CU_STREAM_WAIT_VALUE_GEQ."""
_QUEUED = 256
"""Launches that wait at once: with about 1000 of them the driver waits for the GPU."""


class NativeContext:
    """A GPU's primary context, current on this thread between `with` and its end."""

    def __init__(self, gpu: int = 0) -> None:
        self._gpu = gpu
        try:
            self._library = driver.cuda_library()
        except OSError as problem:
            raise DeviceError(
                f"The CUDA driver cannot be loaded: {problem}.",
                next_step="run `custom-dispatch doctor`.",
            ) from None
        self._memory: list[ctypes.c_uint64] = []
        self._modules: dict[bytes, ctypes.c_void_p] = {}

    def __enter__(self) -> NativeContext:
        self.check("cuCtxPushCurrent", driver.push(self._gpu))
        return self

    def __exit__(self, *_: object) -> None:
        # Nothing is raised here: after a lost context each of these fails, and was reported.
        for address in self._memory:
            self._library.cuMemFree_v2(address)
        for module in self._modules.values():
            self._library.cuModuleUnload(module)
        driver.pop()

    def call(self, function: str, *arguments: Any) -> None:
        """Call a function of the driver."""
        self.check(function, getattr(self._library, function)(*arguments))

    def check(self, function: str, status: int) -> None:
        """Make an error of a status that is one."""
        if status == 0:
            return
        raise DeviceError(
            f"The CUDA driver's {function} failed with {error_name(self._library, status)}.",
            next_step="run the program under compute-sanitizer, or see docs/profiling.md.",
        )

    def function(self, name: str) -> Callable[..., int]:
        """A function of the driver as it is, for loops that are timed."""
        found: Callable[..., int] = getattr(self._library, name)
        return found

    def upload(self, array: numpy.ndarray[Any, Any]) -> ctypes.c_uint64:
        """Copy an array to new device memory, which lives as long as this context."""
        address = self.allocate(array.nbytes)
        self.overwrite(address, array)
        return address

    def overwrite(self, address: ctypes.c_uint64, array: numpy.ndarray[Any, Any]) -> None:
        """Copy an array to device memory."""
        if array.nbytes:
            plain = numpy.ascontiguousarray(array)
            source = ctypes.c_void_p(plain.ctypes.data)
            self.call("cuMemcpyHtoD_v2", address, source, ctypes.c_size_t(array.nbytes))

    def copy(self, address: ctypes.c_uint64, source: ctypes.c_uint64, size: int) -> None:
        """Copy device memory."""
        if size:
            self.call("cuMemcpyDtoD_v2", address, source, ctypes.c_size_t(size))

    def fill(self, address: ctypes.c_uint64, byte: int, size: int) -> None:
        """Write the same byte everywhere."""
        if size:
            self.call("cuMemsetD8_v2", address, ctypes.c_ubyte(byte), ctypes.c_size_t(size))

    def allocate(self, size: int) -> ctypes.c_uint64:
        """New device memory; of one byte where none is needed, so that there is an address."""
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(size, 1)))
        self._memory.append(address)
        return address

    def download(self, address: ctypes.c_uint64, like: numpy.ndarray[Any, Any]) -> None:
        """Copy device memory into an array, after everything before it is done."""
        if like.nbytes:
            target = ctypes.c_void_p(like.ctypes.data)
            self.call("cuMemcpyDtoH_v2", target, address, ctypes.c_size_t(like.nbytes))

    def load(self, image: bytes) -> ctypes.c_void_p:
        """Load PTX, a cubin or a fatbin, once; PTX is compiled by the driver here."""
        if image in self._modules:
            return self._modules[image]
        module = ctypes.c_void_p()
        log = ctypes.create_string_buffer(_LOG_BYTES)
        options = (ctypes.c_int * 2)(_ERROR_LOG, _ERROR_LOG_SIZE)
        values = (ctypes.c_void_p * 2)(ctypes.addressof(log), _LOG_BYTES)
        data = ctypes.create_string_buffer(image)  # ends in the NUL that PTX needs
        load = self.function("cuModuleLoadDataEx")
        status = load(ctypes.byref(module), data, 2, options, values)
        if status and log.value:
            raise DeviceError(
                "The CUDA driver does not load the object.",
                next_step="build it for this GPU, or update the driver; the driver says:",
                log=log.value.decode("utf-8", "replace"),
            )
        self.check("cuModuleLoadDataEx", status)
        self._modules[image] = module
        return module


class NativeLaunch:
    """A kernel of an object with everything that its launch needs, ready to be launched again.

    - `image`: the object's bytes.
    - `symbol`: the kernel's name in it.
    - `grid`, `block`: in blocks and threads.
    - `bindings`: device addresses, in binding order.
    - `constants`: 32-bit constants, behind them.
    """

    def __init__(
        self,
        context: NativeContext,
        image: bytes,
        symbol: str,
        *,
        grid: Sequence[int],
        block: Sequence[int],
        shared_bytes: int,
        bindings: Sequence[ctypes.c_uint64],
        constants: Sequence[int],
    ) -> None:
        self._context = context
        self._empty = 0 in grid
        function = ctypes.c_void_p()
        module = context.load(image)
        context.call("cuModuleGetFunction", ctypes.byref(function), module, symbol.encode())
        if shared_bytes:  # with what is static it may be over the 48 KiB that need no asking
            context.call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, shared_bytes)
        values: list[Any] = [*bindings, *(ctypes.c_uint32(word) for word in constants)]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        self._kept = values, pointers
        sizes = [ctypes.c_uint(size) for size in (*grid, *block, shared_bytes)]
        self._before_stream = (function, *sizes)
        self._pointers = pointers
        self._launch = context.function("cuLaunchKernel")
        self._synchronize = context.function("cuCtxSynchronize")

    def run(self, times: int = 1) -> None:
        """Launch it, and wait until it is done. A grid of no blocks is not launched, as in IREE.

        `times`: how many launches to wait for, one behind the other.
        """
        for _ in range(times):
            self.enqueue()
        self._context.check("cuCtxSynchronize", self._synchronize())

    def enqueue(self, stream: int = 0) -> None:
        """Launch it behind everything else in a stream, and wait for nothing.

        `stream`: the driver's handle, as of `torch.cuda.current_stream().cuda_stream`; 0, the
        default stream.
        """
        if not self._empty:
            handle = ctypes.c_void_p(stream)
            status = self._launch(*self._before_stream, handle, self._pointers, None)
            self._context.check("cuLaunchKernel", status)


class NativeCopy:
    """A copy of device memory, to be timed as launches are."""

    def __init__(self, context: NativeContext, size: int) -> None:
        self._context = context
        self._arguments = (context.allocate(size), context.allocate(size), ctypes.c_size_t(size))
        self._copy = context.function("cuMemcpyDtoDAsync_v2")

    def enqueue(self, stream: int = 0) -> None:
        """Copy behind everything else in a stream, and wait for nothing."""
        status = self._copy(*self._arguments, ctypes.c_void_p(stream))
        self._context.check("cuMemcpyDtoDAsync_v2", status)


@contextmanager
def _gate(context: NativeContext) -> Iterator[ctypes.c_uint]:
    """What the default stream waits for until it is 1, so that launches behind it are there when
    the first runs.

    A launch takes the host several microseconds, and more than a short kernel runs. Page-locked
    memory and a wait for its value (CUDA Driver API, "Stream Memory Operations"); where the driver
    has none, nothing waits.
    """
    memory = ctypes.c_void_p()
    context.call("cuMemAllocHost_v2", ctypes.byref(memory), ctypes.sizeof(ctypes.c_uint))
    flag = ctypes.c_uint.from_address(memory.value or 0)
    flag.value = 0
    address = ctypes.c_uint64(memory.value or 0)  # the same for the GPU
    try:
        context.function("cuStreamWaitValue32_v2")(None, address, ctypes.c_uint(1), _WAIT_GEQ)
        yield flag
    finally:
        flag.value = 1
        context.function("cuCtxSynchronize")()  # until nothing reads the memory any more
        context.function("cuMemFreeHost")(memory)


def seconds_of(
    context: NativeContext, launches: Sequence[NativeLaunch | NativeCopy], times: int
) -> float:
    """Launch so often between two events, one launch after another and again from the first.

    The GPU begins when they are all in its queue, or as many as fit: what the host takes to launch
    is not in the time.

    Returns: the seconds between the events, on the GPU's clock; of several parts, their sum.
    """
    start, stop = ctypes.c_void_p(), ctypes.c_void_p()
    elapsed, seconds = ctypes.c_float(), 0.0
    call = context.call
    call("cuEventCreate", ctypes.byref(start), 0)
    call("cuEventCreate", ctypes.byref(stop), 0)
    turns = cycle(launches)
    try:
        for first in range(0, times, _QUEUED):
            with _gate(context) as opened:
                call("cuEventRecord", start, None)
                for launch in islice(turns, min(_QUEUED, times - first)):
                    launch.enqueue()
                call("cuEventRecord", stop, None)
                opened.value = 1
                call("cuEventSynchronize", stop)
            call("cuEventElapsedTime", ctypes.byref(elapsed), start, stop)
            seconds += elapsed.value / 1e3
    finally:
        context.function("cuEventDestroy_v2")(start)
        context.function("cuEventDestroy_v2")(stop)
    return seconds
