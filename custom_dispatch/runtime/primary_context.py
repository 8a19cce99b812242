"""The first GPU's primary context, which IREE, the CUDA runtime and this package share.

IREE takes it when it opens the device (iree/hal/drivers/cuda/cuda_device.c), and PyTorch and CuPy
work in it. Whoever asks the driver about memory, streams or launches of the same buffers works in
it, too. It is retained once a process, and kept (CUDA Driver API, "Primary Context Management").
"""

from __future__ import annotations

import ctypes
import functools
import threading
from typing import Any

LIBRARY = "libcuda.so.1"
_lock = threading.Lock()
_kept: ctypes.c_void_p | None = None


@functools.cache
def driver() -> Any:
    """The driver's library.

    Raises
    ------
    OSError
        It is not here, or cannot be loaded.
    """
    return ctypes.CDLL(LIBRARY)


def _retained() -> tuple[int, ctypes.c_void_p]:
    """The driver's status, and the context: null where there is none."""
    global _kept
    with _lock:
        if _kept is not None:
            return 0, _kept
        library, device, context = driver(), ctypes.c_int(), ctypes.c_void_p()
        status = library.cuInit(0)
        status = status or library.cuDeviceGet(ctypes.byref(device), 0)
        status = status or library.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
        if status == 0:
            _kept = context
        return status, context


def primary_context() -> ctypes.c_void_p:
    """The context; null where there is none, which every function then answers with an error."""
    return _retained()[1]


def push() -> int:
    """Make the context the calling thread's until `pop`; the driver's status."""
    status, context = _retained()
    if status:
        return status
    pushed: int = driver().cuCtxPushCurrent_v2(context)
    return pushed


def pop() -> None:
    """Undo the last `push`."""
    driver().cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
