"""The CUDA driver, asked directly: which GPUs are here, and if none, why.

The driver library is loaded when first asked, never at import; its absence is an answer and no
error. Only functions of the stable driver API are used (CUDA Driver API, "Initialization",
"Version Management" and "Device Management"), through ctypes: what is deployed next to IREE must
not need a CUDA package.
"""

from __future__ import annotations

import ctypes
import functools
import os
from dataclasses import dataclass
from typing import Any

_LIBRARY = "libcuda.so.1"
_COMPUTE_CAPABILITY_MAJOR = 75
_COMPUTE_CAPABILITY_MINOR = 76
_ERROR_NO_DEVICE = 100


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


@functools.cache
def driver_state() -> DriverState:
    """Ask the driver, once a process."""
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return DriverState(
            (),
            None,
            f"No NVIDIA driver is installed: {_LIBRARY} was not found. Install the driver "
            "(580 or later for objects of the CUDA 13.0 compilers), or use the CPU.",
        )
    status = library.cuInit(0)
    version = _version(library)
    if status == _ERROR_NO_DEVICE:
        return DriverState((), version, _no_device())
    if status != 0:
        return DriverState(
            (),
            version,
            f"The NVIDIA driver could not be initialised: {_error_text(library, status)}. Check "
            "it with nvidia-smi; a restart is needed after the driver was updated.",
        )
    count = ctypes.c_int()
    library.cuDeviceGetCount(ctypes.byref(count))
    gpus = tuple(_gpu(library, index) for index in range(count.value))
    return DriverState(gpus, version, "" if gpus else _no_device())


def _no_device() -> str:
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    if hidden is not None:
        return (
            f"The NVIDIA driver shows no GPU to this process: CUDA_VISIBLE_DEVICES is {hidden!r}. "
            "Unset it, or set it to the index of a GPU."
        )
    return "An NVIDIA driver is installed, but it found no GPU. Check with nvidia-smi."


def _version(library: Any) -> tuple[int, int] | None:
    number = ctypes.c_int()
    if library.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    return number.value // 1000, number.value % 1000 // 10


def _error_text(library: Any, status: int) -> str:
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
