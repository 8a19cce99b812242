"""The devices of this machine, and why one that is wanted is not among them."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import DeviceError
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.kernel.device_name import gpu_index, gpu_name, read_device
from custom_dispatch.runtime.access import access_to
from custom_dispatch.runtime.driver import VISIBLE_DEVICES, driver_state, listed

_DRIVERS = {"cuda": "cuda", "cpu": "local-task"}
"""IREE's driver for each kind of device."""


@dataclass(frozen=True, slots=True)
class Device:
    """Something that modules can run on."""

    kind: str
    """"cuda" or "cpu"."""
    name: str
    """The product's name, as its driver or the kernel tells it."""
    compute_capability: int | None = None
    """A GPU's, as major * 10 + minor."""
    memory_bytes: int | None = None
    """A GPU's memory."""
    index: int = 0
    """A GPU's number: its place among those that the driver shows to this process, from 0."""

    @property
    def argument(self) -> str:
        """What `device=` is called with: "cuda" for the first GPU, then "cuda:1"; or "cpu"."""
        return gpu_name(self.index) if self.kind == "cuda" else self.kind

    def __str__(self) -> str:
        if self.compute_capability is None:
            return f"cpu ({self.name})"
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.0f} GiB"
        return f"{self.argument} ({self.name}, sm_{self.compute_capability}{memory})"


def devices() -> tuple[Device, ...]:
    """The devices of this machine, GPUs first. The CPU is always there."""
    gpus = tuple(
        Device("cuda", gpu.name, gpu.compute_capability, gpu.memory_bytes, gpu.index)
        for gpu in driver_state().gpus
    )
    return (*gpus, Device("cpu", str(host_cpu())))


def device_problem(device: str) -> str | None:
    """Why a device cannot be used: None when it can, else a sentence or two with the next step.

    Parameters
    ----------
    device
        "cuda" or "cpu", or "cuda:1" for the second GPU.

    Raises
    ------
    DeviceError
        No device has that name.
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
    import iree.runtime as rt

    return tuple(rt.query_available_drivers())


@functools.cache
def hal_device(name: str) -> Any:
    """IREE's device, made once a process.

    Parameters
    ----------
    name
        As of `Device.argument`.

    Raises
    ------
    DeviceError
        IREE cannot create the device.
    """
    import iree.runtime as rt

    problem = device_problem(name)
    if problem is not None:
        raise DeviceError(problem)
    gpu = gpu_index(name)
    try:
        # IREE makes the context of the GPU that it opens that of the thread, and leaves it so.
        with access_to(name):
            # Not IREE's own cache: it would give a forked process the devices of its parent.
            device = rt.get_device(_DRIVERS[name], cache=False) if gpu is None else _open_cuda(gpu)
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


_KEPT = "*;*;100000"
"""How large a buffer that IREE keeps for later calls may be, how much all of them, and how many:
`OpenDevice.give_back_memory` says why there is no limit, and when they go."""


def _open_cuda(gpu: int) -> Any:
    """IREE's device for a GPU, with buffers that are kept for later calls.

    As it is by default, IREE takes results and transients from a memory pool of the driver's, which
    gives everything back whenever a call is done: 70 us a call of little work, 2 ms for 1 GiB
    (docs/iree-notes.md). Instead, buffers come from `cuMemAlloc` and are kept by IREE's caching
    allocator (iree/hal/utils/caching_allocator.c), which finds those of the same size again. Such
    buffers can also be given to other libraries through DLPack, which the pool's cannot.
    """
    import iree.runtime as rt

    flag = "--cuda_async_allocations={}"
    rt.flags.parse_flags(flag.format("false"))
    try:
        driver = rt.get_driver("cuda")  # it reads the flag when it is made, and there is one
    finally:
        rt.flags.parse_flags(flag.format("true"))
    heaps = ("device_local", "host_local", "host_local|host_cached")
    pools = ",".join(f"{heap}={_KEPT}" for heap in heaps)
    return driver.create_device_by_uri(f"cuda://{gpu}", allocators=[f"caching:{pools}"])


_opened: list[tuple[str, Any]] = []
"""Every device that `hal_device` made, with its name."""


def _forked() -> None:
    """Leave the parent's devices alone: their threads are not here, and to end them is to wait."""
    import iree.runtime as rt

    if not _opened:
        return
    # A driver holds the threads of its devices, so the child needs a new one.
    drivers = [rt.get_driver(_DRIVERS[name.partition(":")[0]]) for name, _ in _opened]
    for kept in (*drivers, *(device for _, device in _opened)):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    rt._binding.clear_hal_driver_cache()
    _opened.clear()
    hal_device.cache_clear()


os.register_at_fork(after_in_child=_forked)
