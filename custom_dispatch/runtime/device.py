"""The devices of this machine, opened, and why one that is wanted is not among them."""

import ctypes
import functools
import itertools
import os
from collections.abc import Iterator
from typing import Any

from iree import runtime as rt

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeviceError
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.kernel.target import gpu_index, read_device
from custom_dispatch.runtime import dlpack, driver
from custom_dispatch.runtime.access import Access, access_to
from custom_dispatch.runtime.driver import VISIBLE_DEVICES, Device, driver_state, listed
from custom_dispatch.runtime.module_file import vm_instance

_DRIVERS = {"cuda": "cuda", "cpu": "local-task"}
"""IREE's driver for each kind of device."""


def devices() -> tuple[Device, ...]:
    """The devices of this machine, GPUs first. The CPU is always there."""
    return (*driver_state().gpus, Device("cpu", str(host_cpu())))


def device_problem(device: str) -> str | None:
    """Why a device cannot be used: None when it can, else a sentence or two with the next step.

    `device`: "cuda" or "cpu", or "cuda:1" for the second GPU.
    """
    index = gpu_index(read_device(device))
    if index is None:
        return None
    state = driver_state()
    problem = access_to("cuda").problem or state.problem or _without_driver()
    if problem or index < max(len(state.gpus), 1):
        return problem or None
    here = f"this process is shown {listed([gpu.name for gpu in state.gpus])}, from cuda:0 on"
    return f"There is no {device}: {here}. Choose one of these, or change {VISIBLE_DEVICES}."


def device_of(name: str) -> Device:
    """The GPU that is here under a name, or the CPU."""
    index = gpu_index(name)
    return devices()[-1 if index is None else index]


@functools.cache
def _without_driver() -> str:
    """What is said where IREE's runtime was built without its CUDA driver."""
    drivers = iree_drivers()
    if "cuda" in drivers:
        return ""
    return (
        "The IREE runtime that is installed was built without its CUDA driver: it has "
        f"{', '.join(drivers)}. Install iree-base-runtime from PyPI, or build IREE with "
        "-DIREE_HAL_DRIVER_CUDA=ON."
    )


def iree_drivers() -> tuple[str, ...]:
    """The drivers that the installed IREE runtime was built with."""
    return tuple(rt.query_available_drivers())


@functools.cache
def hal_device(name: str, *, graphs: bool = False) -> Any:
    """IREE's device, made once a process.

    - `name`: as of `Device.argument`.
    - `graphs`: for a GPU: whether commands that are recorded once become CUDA graphs. All that is
      recorded in a call becomes one there too, which takes longer than to launch it; so there are
      two devices. They share the GPU's context and memory, but not each other's semaphores.
    """
    problem = device_problem(name)
    if problem is not None:
        raise DeviceError(problem)
    gpu = gpu_index(name)
    try:
        # IREE makes the context of the GPU that it opens that of the thread, and leaves it so.
        with access_to(name):
            # Not IREE's own cache: it would give a forked process the devices of its parent.
            device = _open_cpu() if gpu is None else _open_cuda(gpu, graphs=graphs)
    except Exception as error:
        raise DeviceError(
            f"IREE could not open the device {name}.",
            next_step="run `custom-dispatch doctor`; IREE says:",
            log=str(error),
        ) from error
    _opened.append((name, device))
    return device


def name_of_hal(hal: Any) -> str | None:
    """The name of a device of IREE; None for one that others opened."""
    return next((name for name, device in _opened if device is hal), None)


def _open_cpu() -> Any:
    """IREE's device for the CPU, whose workers have stacks of 8 MiB, as other threads have.

    They have 128 KiB by default, and a kernel with more values at once than that holds ends the
    process: a Triton product of f32 was seen to take 180 KB. IREE reads the size when it makes the
    driver; memory is taken as it is touched.
    """
    size = "--task_worker_stack_size"
    rt.flags.parse_flags(f"{size}={8 << 20}")
    try:
        return rt.get_device(_DRIVERS["cpu"], cache=False)
    finally:
        rt.flags.parse_flags(f"{size}={128 << 10}")


_KEPT = "*;*;100000"
"""How large a buffer that IREE keeps for later calls may be, how much all of them, and how many:
`OpenDevice.give_back_memory` says why there is no limit, and when they go."""


def _open_cuda(gpu: int, *, graphs: bool) -> Any:
    """IREE's device for a GPU, with buffers that are kept for later calls.

    As it is by default, IREE takes results and transients from a memory pool of the driver's, which
    gives everything back whenever a call is done: 70 us a call of little work, 2 ms for 1 GiB
    (docs/iree-notes.md). Instead, buffers come from `cuMemAlloc` and are kept by IREE's caching
    allocator (iree/hal/utils/caching_allocator.c), which finds those of the same size again. Such
    buffers can also be given to other libraries through DLPack, which the pool's cannot.
    """
    driver = _cuda_driver(graphs=graphs)
    heaps = ("device_local", "host_local", "host_local|host_cached")
    pools = ",".join(f"{heap}={_KEPT}" for heap in heaps)
    return driver.create_device_by_uri(f"cuda://{gpu}", allocators=[f"caching:{pools}"])


@functools.cache
def _cuda_driver(*, graphs: bool) -> Any:
    """IREE's driver, which reads its flags when it is made."""
    changed = {"--cuda_async_allocations": "true"}
    if graphs:
        changed["--cuda_use_streams"] = "true"
    rt.flags.parse_flags(*(f"{flag}=false" for flag in changed))
    try:
        return rt._binding.create_hal_driver("cuda") if graphs else rt.get_driver("cuda")
    finally:
        rt.flags.parse_flags(*(f"{flag}={default}" for flag, default in changed.items()))


_opened: list[tuple[str, Any]] = []
"""Every device that `hal_device` made, with its name."""


def _forked() -> None:
    """Leave the parent's devices alone: their threads are not here, and to end them is to wait."""
    if not _opened:
        return
    # A driver holds the threads of its devices, so the child needs a new one.
    drivers = [rt.get_driver(_DRIVERS[name.partition(":")[0]]) for name, _ in _opened]
    if any(gpu_index(name) is not None for name, _ in _opened):
        drivers += [_cuda_driver(graphs=graphs) for graphs in (False, True)]
    for kept in (*drivers, *(device for _, device in _opened)):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    rt._binding.clear_hal_driver_cache()
    _opened.clear()
    hal_device.cache_clear()
    _cuda_driver.cache_clear()


os.register_at_fork(after_in_child=_forked)


_CALLS = 512
_SHORT_S, _LONG_S = 0.02, 10.0


@dataclass(frozen=True, slots=True, eq=False)
class OpenDevice:
    """IREE's device, and what goes with it."""

    name: str
    """As of `Device.argument`."""
    hal: Any
    """IREE's device."""
    access: Access
    reached: Any
    """A fence that is reached already, for calls that wait for nothing."""
    is_cuda: bool
    """Whether its arrays are in a GPU's memory."""
    _counter: Iterator[int]
    gpu: int = 0
    """The GPU's number."""

    def count_call(self) -> None:
        """Give back now and then the buffers that are kept for calls of sizes that came once."""
        if next(self._counter) % _CALLS == _CALLS - 1:
            self.give_back_memory(_SHORT_S)

    def give_back_memory(self, timeout: float = _LONG_S) -> bool:
        """Give back the buffers that are kept for later calls; return whether it was done.

        IREE's caching allocator frees a buffer twice when it lets it go (iree/hal/drivers/cuda/
        cuda_allocator.c: `deallocate_buffer` frees it, and the buffer's own end does so again).
        The driver refuses the second time, unless somebody was given the same address in
        between. So nobody else allocates meanwhile: other threads' calls are waited for, and the
        GIL, which this holds, keeps other libraries from it.

        `timeout`: how long to wait for the calls of other threads, in seconds.
        """
        with self.access, self.access.alone(timeout) as alone:
            if alone:
                self.hal.allocator.trim()
        return alone

    @property
    def dlpack(self) -> tuple[int, int]:
        """DLPack's type and number of the device."""
        return (dlpack.CUDA, self.gpu) if self.is_cuda else (dlpack.CPU, 0)

    def __str__(self) -> str:
        return f"cuda:{self.gpu}" if self.is_cuda else self.name


class OpenModule:
    """IREE's context of a module, unloaded in that of its GPU wherever the last reference ends."""

    def __init__(self, access: Access, modules: list[Any]) -> None:
        self._gpu = access.gpu
        self.invoke = rt.VmContext(vm_instance(), modules).invoke

    def __del__(self) -> None:
        if self._gpu is not None and driver.push(self._gpu) == 0:
            self.__dict__.clear()
            driver.pop()


def open_device(name: str, hal: Any, access: Access) -> OpenDevice:
    """Put a device of IREE together with what goes with it."""
    reached = rt.HalFence.create_at(hal.create_semaphore(0), 0)
    is_cuda = access.gpu is not None
    return OpenDevice(name, hal, access, reached, is_cuda, itertools.count(), access.gpu or 0)
