"""Order between IREE and other users of the GPU.

IREE works on a stream of its own, which it tells nobody, and its Python calls take no events. So
what other libraries have under way is waited for on the host, here:

- Before an array of theirs is read, the stream on which it becomes ready is waited for.
- After an array of ours was given away: its memory is used again as soon as nobody holds it, and
  the other library may still read it by then (PyTorch lets go of a tensor when its work is queued,
  not when it is done). From then on, calls wait for the stream that asked for the array.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

from custom_dispatch.errors import DeviceError
from custom_dispatch.runtime import primary_context
from custom_dispatch.runtime.driver import error_name

_LEGACY_STREAM, _PER_THREAD_STREAM = 1, 2
"""CU_STREAM_LEGACY and CU_STREAM_PER_THREAD (CUDA Driver API, "Stream synchronization behavior"):
DLPack numbers them so too, and they are never destroyed."""
_NOT_READY = 600
_given_to: set[int] = set()
_ANYBODY = -1
_thread = threading.local()


def enter_thread() -> None:
    """Make the context that IREE uses the calling thread's, if that has none yet.

    A context is a thread's own (CUDA Driver API, cuCtxSetCurrent), and IREE makes it that of the
    thread which opens the device; `cuMemAlloc` fails in every other one.
    """
    if getattr(_thread, "has_context", False):
        return
    driver, current = primary_context.driver(), ctypes.c_void_p()
    driver.cuCtxGetCurrent(ctypes.byref(current))
    if not current.value:
        driver.cuCtxSetCurrent(primary_context.primary_context())
    _thread.has_context = True


def note_export(stream: int | None) -> None:
    """Say that an array on the GPU was given to another library.

    Parameters
    ----------
    stream
        The one that DLPack's `__dlpack__` was called with: None stands for the default stream.
    """
    known = (_LEGACY_STREAM, _PER_THREAD_STREAM)
    # Another stream may be destroyed, and must not be asked for then.
    _given_to.add(_LEGACY_STREAM if stream is None else stream if stream in known else _ANYBODY)


def wait_for_users() -> None:
    """Wait for what other libraries do with arrays that they were given, if they were given any."""
    if not _given_to:
        return
    if _ANYBODY in _given_to:
        _within_context(lambda driver: driver.cuCtxSynchronize())
    else:
        for stream in tuple(_given_to):
            wait_for_stream(stream)


def wait_for_stream(stream: int) -> None:
    """Wait until everything that was ordered before a stream is done."""

    def wait(driver: Any) -> int:
        handle = ctypes.c_void_p(stream)
        status: int = driver.cuStreamQuery(handle)
        return driver.cuStreamSynchronize(handle) if status == _NOT_READY else status

    _within_context(wait)


def _within_context(wait: Callable[[Any], int]) -> None:
    driver = primary_context.driver()
    status = primary_context.push()
    if status == 0:
        status = wait(driver)
        primary_context.pop()
    if status != 0:
        raise DeviceError(
            f"The GPU's work for another library has failed: {error_name(driver, status)}.",
            next_step="start a new process; run it under compute-sanitizer to find the place.",
        )
