"""The devices of this machine, and why one that is wanted is not among them."""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import DeviceError
from custom_dispatch.host_cpu import host_cpu
from custom_dispatch.kernel.names import is_one_of, shown
from custom_dispatch.runtime.access import access_to
from custom_dispatch.runtime.driver import VISIBLE_DEVICES, driver_state

DEVICE_NAMES = ("auto", "cuda", "cpu")
CHECKED = "cpu:checked"
"""What a kernel can be called on besides: the CPU, with checks."""
_DRIVERS = {"cuda": "cuda", "cpu": "local-task"}
"""IREE's driver for each kind of device."""


@dataclass(frozen=True, slots=True)
class Device:
    """Something that modules can run on."""

    kind: str
    """"cuda" or "cpu": what `device=` is called with."""
    name: str
    """The product's name, as its driver or the kernel tells it."""
    compute_capability: int | None = None
    """A GPU's, as major * 10 + minor."""
    memory_bytes: int | None = None
    """A GPU's memory."""
    index: int = 0
    """A GPU's place among those that the driver shows to this process. "cuda" is the first."""

    def __str__(self) -> str:
        if self.compute_capability is None:
            return f"cpu ({self.name})"
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.0f} GiB"
        return f"cuda ({self.name}, sm_{self.compute_capability}{memory})"


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
        "cuda" or "cpu".

    Raises
    ------
    DeviceError
        No device has that name.
    """
    check_device_name(device)
    if device != "cuda":
        return None
    return access_to("cuda").problem or driver_state().problem or _without_driver() or None


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


def check_device_name(device: str, *, of_kernel: bool = False) -> str:
    """Return the name if it is one.

    Parameters
    ----------
    of_kernel
        Whether a kernel is called, which also runs on `CHECKED`.

    Raises
    ------
    DeviceError
        It is none.
    """
    names = (*DEVICE_NAMES, CHECKED) if of_kernel else DEVICE_NAMES
    if not is_one_of(device, names):
        index = device.removeprefix("cuda:") if isinstance(device, str) else ""
        raise DeviceError(
            f"{shown(device)} is not a device.",
            expected=" or ".join(names),
            next_step=f'choose "cuda", and set {VISIBLE_DEVICES}={index} for that GPU.'
            if index.isdecimal()
            else "choose one of these; cd.devices() lists what is here.",
        )
    return device


@functools.cache
def hal_device(kind: str) -> Any:
    """IREE's device of a kind, made once a process.

    Raises
    ------
    DeviceError
        It cannot be made.
    """
    import iree.runtime as rt

    problem = device_problem(kind)
    if problem is not None:
        raise DeviceError(problem)
    try:
        # Not IREE's own cache: it would give a forked process the devices of its parent.
        device = _open_cuda() if kind == "cuda" else rt.get_device(_DRIVERS[kind], cache=False)
    except Exception as error:
        raise DeviceError(
            f"IREE could not open the device {kind}.",
            next_step="run `custom-dispatch doctor`; IREE says:",
            log=str(error),
        ) from error
    _opened.append((kind, device))
    return device


_KEPT = "*;*;100000"
"""How large a buffer that IREE keeps for later calls may be, how much all of them, and how many:
`OpenDevice.give_back_memory` says why there is no limit, and when they go."""


def _open_cuda() -> Any:
    """IREE's CUDA device, with buffers that are kept for later calls.

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
    return driver.create_default_device(allocators=[f"caching:{pools}"])


_opened: list[tuple[str, Any]] = []
"""Every device that `hal_device` made, with its kind."""


def _forked() -> None:
    """Leave the parent's devices alone: their threads are not here, and to end them is to wait."""
    import iree.runtime as rt

    if not _opened:
        return
    # A driver holds the threads of its devices, so the child needs a new one.
    drivers = [rt.get_driver(_DRIVERS[kind]) for kind, _ in _opened]
    for kept in (*drivers, *(device for _, device in _opened)):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
    rt._binding.clear_hal_driver_cache()
    _opened.clear()
    hal_device.cache_clear()


os.register_at_fork(after_in_child=_forked)
