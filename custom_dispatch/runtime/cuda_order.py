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

from custom_dispatch.errors import DeviceError
from custom_dispatch.runtime import primary_context
from custom_dispatch.runtime.driver import error_name

_LEGACY_STREAM, _PER_THREAD_STREAM = 1, 2
"""CU_STREAM_LEGACY and CU_STREAM_PER_THREAD (CUDA Driver API, "Stream synchronization behavior"):
DLPack numbers them so too, and they are never destroyed."""
_NOT_READY = 600
_given_to: dict[int, set[int]] = {}
"""The streams that arrays of each GPU were given to."""
_ANYBODY = -1


def note_export(gpu: int, stream: int | None) -> None:
    """Say that an array on a GPU was given to another library.

    Parameters
    ----------
    stream
        The one that DLPack's `__dlpack__` was called with: None stands for the default stream.
    """
    known = (_LEGACY_STREAM, _PER_THREAD_STREAM)
    # Another stream may be destroyed, and must not be asked for then.
    found = _LEGACY_STREAM if stream is None else stream if stream in known else _ANYBODY
    _given_to.setdefault(gpu, set()).add(found)


def wait_for_users(gpu: int) -> None:
    """Wait for what other libraries do with a GPU's arrays, if they were given any.

    Whoever calls this, or `wait_for_stream`, holds the GPU's `Access`, and so its context.
    """
    streams = _given_to.get(gpu)
    if not streams:
        return
    if _ANYBODY in streams:
        check_status(primary_context.driver().cuCtxSynchronize())
    else:
        for stream in tuple(streams):
            wait_for_stream(stream)


def wait_for_stream(stream: int) -> None:
    """Wait until everything that was ordered before a stream is done."""
    driver, handle = primary_context.driver(), ctypes.c_void_p(stream)
    status = driver.cuStreamQuery(handle)
    check_status(driver.cuStreamSynchronize(handle) if status == _NOT_READY else status)


def check_status(status: int) -> None:
    """Require that the GPU works: the driver answers with the error of any work before."""
    if status != 0:
        name = error_name(primary_context.driver(), status)
        raise DeviceError(
            f"The GPU's work for another library has failed: {name}.",
            next_step="start a new process; run it under compute-sanitizer to find the place.",
        )
