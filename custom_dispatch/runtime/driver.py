"""The CUDA driver, asked directly: which GPUs are here, and if none, why.

The driver library is loaded when first asked, never at import; its absence is an answer and no
error. Only functions of the stable driver API are used (CUDA Driver API, "Initialization",
"Version Management", "Device Management" and "Error Handling"), through ctypes: what is deployed
next to IREE must not need a CUDA package.
"""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from custom_dispatch.runtime import primary_context
from custom_dispatch.runtime.hardware import hardware
from custom_dispatch.runtime.primary_context import LIBRARY

_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76
VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
_NO_DEVICE = "CUDA_ERROR_NO_DEVICE"

_initialised = False

# What cuInit answers where the driver does not work, and what helps (CUDA Driver API, "Data types
# used by CUDA driver", CUresult).
_NEXT_STEPS = {
    "CUDA_ERROR_NOT_INITIALIZED": "This process was forked from one that used CUDA, or the "
    'driver\'s device files are missing; use the start method "spawn", or check with nvidia-smi.',
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "The driver's library and kernel module are of different "
    "versions; restart the machine, as after every update of the driver.",
    "CUDA_ERROR_SYSTEM_NOT_READY": "The GPUs are still being set up; on machines with NVSwitch "
    "start nvidia-fabricmanager.",
    "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE": "The forward-compatibility libraries on "
    "LD_LIBRARY_PATH do not support this GPU; remove them, or update the driver.",
    "CUDA_ERROR_OUT_OF_MEMORY": "Other processes hold the GPU's memory; nvidia-smi lists them.",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "Another process has the GPU for itself; nvidia-smi lists it.",
}
_OTHERWISE = "Check it with nvidia-smi; a restart is needed after the driver was updated."


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that the driver shows to this process."""

    index: int
    name: str
    compute_capability: int
    """major * 10 + minor."""
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class DriverState:
    """What the CUDA driver answered."""

    gpus: tuple[Gpu, ...]
    cuda_version: tuple[int, int] | None
    """The newest CUDA version that the driver supports; None without a driver."""
    problem: str
    """Why no GPU can be used, as a sentence with the next step; empty when one can."""
    driver_version: str = ""
    """The driver's own version, such as "580.159.04"; empty where nothing tells it."""

    @property
    def description(self) -> str:
        """The driver in a message: "580.159.04, CUDA 13.0"."""
        cuda = "" if self.cuda_version is None else "CUDA {}.{}".format(*self.cuda_version)
        return ", ".join(filter(None, (self.driver_version, cuda)))


@functools.cache
def driver_state() -> DriverState:
    """Ask the driver, once a process."""
    global _initialised
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError:
        return DriverState((), None, _no_library(), hardware().driver_version)
    status = library.cuInit(0)
    cuda, version = _version(library), hardware().driver_version
    if status != 0:
        return DriverState((), cuda, _not_initialised(error_name(library, status)), version)
    _initialised = True
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    gpus = tuple(_gpu(library, index) for index in range(count.value))
    return DriverState(gpus, cuda, "" if gpus else _not_initialised(_NO_DEVICE), version)


def has_initialised() -> bool:
    """Whether CUDA was initialised here; a process that is forked then cannot use it."""
    return _initialised


def context_error(gpu: int) -> str:
    """What CUDA says of the context that IREE shares with others; empty while it works.

    The question is the cheapest that is answered with the error of an earlier, asynchronous launch
    (CUDA Driver API, cuMemGetInfo).
    """
    if not _initialised:
        return ""
    library = primary_context.driver()
    status = primary_context.push(gpu)
    if status == 0:
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        status = library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        primary_context.pop()
    return error_name(library, status) if status else ""


def _no_library() -> str:
    version = hardware().driver_version
    if version:
        return (
            f"The NVIDIA driver {version} is loaded on this machine, but its library {LIBRARY} "
            "was not found. Start a container with `--gpus all` (NVIDIA Container Toolkit), or "
            "install the driver's libraries; or use the CPU."
        )
    return (
        f"No NVIDIA driver is installed: {LIBRARY} was not found. Install the driver (580 or "
        "later for objects of the CUDA 13.0 compilers), or use the CPU."
    )


def _not_initialised(error: str) -> str:
    if error != _NO_DEVICE:
        next_step = _NEXT_STEPS.get(error, _OTHERWISE)
        return f"The NVIDIA driver could not be initialised: {error}. {next_step}"
    present = hardware().gpu_names
    here = f", though this machine has {listed(present)}" if present else ""
    hidden = os.environ.get(VISIBLE_DEVICES)
    if hidden is not None:
        return (
            f"The NVIDIA driver shows no GPU to this process{here}: {VISIBLE_DEVICES} is "
            f"{hidden!r}. Unset it, or set it to the index of a GPU."
        )
    if present:
        return (
            f"The NVIDIA driver shows no GPU to this process{here}. Check that it may open "
            "/dev/nvidia*; start a container with `--gpus all`."
        )
    return "An NVIDIA driver is installed, but it found no GPU. Check with nvidia-smi."


def listed(names: Sequence[str]) -> str:
    """GPUs in a message: "2 GPUs (NVIDIA H200, NVIDIA H200)"."""
    return f"{len(names)} GPU{'s' if len(names) > 1 else ''} ({', '.join(names)})"


def _version(library: Any) -> tuple[int, int] | None:
    number = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    return number.value // 1000, number.value % 1000 // 10


def error_name(library: Any, status: int) -> str:
    """What CUDA calls an error; its number where it has no name."""
    name = ctypes.c_char_p()
    if library.cuGetErrorName(status, ctypes.byref(name)) != 0 or name.value is None:
        return f"error {status}"
    return name.value.decode("ascii", "replace")


def _gpu(library: Any, index: int) -> Gpu:
    device = ctypes.c_int()
    library.cuDeviceGet(ctypes.byref(device), index)
    name = ctypes.create_string_buffer(256)
    library.cuDeviceGetName(name, len(name), device)
    memory = ctypes.c_size_t()
    library.cuDeviceTotalMem_v2(ctypes.byref(memory), device)
    major, minor = (
        _attribute(library, device, which)
        for which in (_COMPUTE_CAPABILITY_MAJOR, _COMPUTE_CAPABILITY_MINOR)
    )
    return Gpu(index, name.value.decode("utf-8", "replace"), major * 10 + minor, memory.value)


def _attribute(library: Any, device: ctypes.c_int, which: int) -> int:
    value = ctypes.c_int()
    library.cuDeviceGetAttribute(ctypes.byref(value), which, device)
    return value.value
