"""The GPUs' primary contexts, which IREE, the CUDA runtime and this package share.

IREE takes that of a GPU when it opens the device (iree/hal/drivers/cuda/cuda_device.c), and PyTorch
and CuPy work in it. Whoever asks the driver about memory, streams or launches of the same buffers
works in it, too. Each is retained once a process, and kept (CUDA Driver API, "Primary Context
Management").
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable
from typing import Any

LIBRARY = "libcuda.so.1"
_lock = threading.Lock()
_pushes: dict[int, Callable[[], int]] = {}
"""For each GPU whose context is retained, what makes that the calling thread's."""
_popped = ctypes.byref(ctypes.c_void_p())
"""Where the driver writes what was popped, which nobody reads."""


@functools.cache
def driver() -> Any:
    """The driver's library.

    Raises
    ------
    OSError
        It is not here, or cannot be loaded.
    """
    return ctypes.CDLL(LIBRARY)


def _retain(gpu: int) -> int:
    """Retain a GPU's context, once; the driver's status."""
    with _lock:
        if gpu in _pushes:
            return 0
        library, device, context = driver(), ctypes.c_int(), ctypes.c_void_p()
        status: int = library.cuInit(0)
        status = status or library.cuDeviceGet(ctypes.byref(device), gpu)
        status = status or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        if status == 0:
            _pushes[gpu] = functools.partial(library.cuCtxPushCurrent_v2, context)
        return status


def push(gpu: int) -> int:
    """Make a GPU's context the calling thread's until `pop`; the driver's status.

    After that the thread has again what it had, or none: PyTorch's and CuPy's current device is
    that of the thread's context (CUDA Driver API, "Context Management").
    """
    if gpu not in _pushes and (status := _retain(gpu)):
        return status
    return _pushes[gpu]()


def pop() -> None:
    """Undo the last `push`."""
    driver().cuCtxPopCurrent_v2(_popped)
