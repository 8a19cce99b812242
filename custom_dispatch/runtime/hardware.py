"""What GPUs this machine has and which NVIDIA driver, whether or not this process may use them.

The CUDA driver tells only what it shows to this process. What it hides is told by NVML
(NVML API Reference, "Initialization and Cleanup", "System Queries", "Device Queries"), which knows
nothing of CUDA_VISIBLE_DEVICES, and by the kernel module under /proc/driver/nvidia (NVIDIA
Accelerated Linux Graphics Driver README, "proc Interface").
"""

from __future__ import annotations

import ctypes
import functools
import re
from dataclasses import dataclass
from pathlib import Path

_NVML = "libnvidia-ml.so.1"
_PROC = Path("/proc/driver/nvidia")
_VERSION = re.compile(r"^NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", re.MULTILINE)
_LONGEST_TEXT = 96
"""NVML_DEVICE_NAME_V2_BUFFER_SIZE, which is more than the 80 of a driver version."""


@dataclass(frozen=True, slots=True)
class Hardware:
    """The machine's GPUs, as NVML or the kernel module lists them."""

    driver_version: str
    """Such as "580.159.04"; empty where nothing tells it."""
    gpu_names: tuple[str, ...]
    """One for each GPU that is here. A container may see fewer, or more than it may open."""


@functools.cache
def hardware() -> Hardware:
    """Ask NVML, and where it is not here, the kernel module; once a process."""
    return _from_nvml() or _from_kernel_module(_PROC)


def _from_nvml() -> Hardware | None:
    try:
        library = ctypes.CDLL(_NVML)
        if library.nvmlInit_v2() != 0:
            return None
    except (OSError, AttributeError):
        return None
    try:
        text = ctypes.create_string_buffer(_LONGEST_TEXT)
        known = library.nvmlSystemGetDriverVersion(text, _LONGEST_TEXT) == 0
        version = text.value.decode("ascii", "replace") if known else ""
        count = ctypes.c_uint()
        library.nvmlDeviceGetCount_v2(ctypes.byref(count))
        names = []
        for index in range(count.value):
            device = ctypes.c_void_p()
            found = library.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
            named = found and library.nvmlDeviceGetName(device, text, _LONGEST_TEXT) == 0
            names.append(text.value.decode("utf-8", "replace") if named else "a GPU")
    finally:
        library.nvmlShutdown()
    return Hardware(version, tuple(names))


def _from_kernel_module(directory: Path) -> Hardware:
    try:
        match = _VERSION.search((directory / "version").read_text(errors="replace"))
    except OSError:
        match = None
    names = []
    try:
        for path in sorted((directory / "gpus").iterdir()):
            lines = (path / "information").read_text(errors="replace").splitlines()
            model = (line.partition(":")[2].strip() for line in lines if line.startswith("Model"))
            names.append(next(model, "a GPU"))
    except OSError:
        pass
    return Hardware("" if match is None else match[1], tuple(names))
