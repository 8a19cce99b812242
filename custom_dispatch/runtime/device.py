"""The devices of this machine, and why one that is wanted is not among them."""

from __future__ import annotations

import functools
import os
import platform
from dataclasses import dataclass
from typing import Any

from custom_dispatch.errors import DeviceError
from custom_dispatch.runtime.driver import driver_state

DEVICE_NAMES = ("auto", "cuda", "cpu")
CHECKED = "cpu:checked"
"""What a kernel can be called on besides: the CPU, with checks."""


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

    def __str__(self) -> str:
        if self.compute_capability is None:
            return f"cpu ({self.name})"
        memory = "" if self.memory_bytes is None else f", {self.memory_bytes / 2**30:.0f} GiB"
        return f"cuda ({self.name}, sm_{self.compute_capability}{memory})"


def devices() -> tuple[Device, ...]:
    """The devices of this machine, GPUs first. The CPU is always there."""
    gpus = tuple(
        Device("cuda", gpu.name, gpu.compute_capability, gpu.memory_bytes)
        for gpu in driver_state().gpus
    )
    return (*gpus, Device("cpu", _cpu_name()))


def why_not(device: str) -> str | None:
    """Why a device cannot be used: None when it can, else one sentence with the next step.

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
    return driver_state().problem or None if device == "cuda" else None


def check_device_name(device: str) -> str:
    """Return the name if it is one.

    Raises
    ------
    DeviceError
        It is none.
    """
    if device not in DEVICE_NAMES:
        raise DeviceError(
            f"{device!r} is not a device.",
            expected=" or ".join(DEVICE_NAMES),
            next_step="choose one of these; cd.devices() lists what is here.",
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

    problem = why_not(kind)
    if problem is not None:
        raise DeviceError(problem)
    try:
        return rt.get_device("cuda" if kind == "cuda" else "local-task")
    except Exception as error:
        raise DeviceError(
            f"IREE could not open the device {kind}.",
            next_step="run `custom-dispatch doctor`; IREE says:",
            log=str(error),
        ) from error


@functools.cache
def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            name = next(
                line.partition(":")[2].strip() for line in lines if line.startswith("model name")
            )
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return f"{name}, {os.cpu_count()} cores"
