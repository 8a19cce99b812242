"""Access to the devices of this process, and what ends it: a lost GPU, a fork, the exit.

Three things would otherwise end in a hang, a crash or a message that explains nothing:

- A kernel that goes wrong takes the process's CUDA context with it (CUDA Driver API, CUresult:
  "leaves the process in an inconsistent state and any further CUDA work will return the same
  error"). What happened is remembered, and every later use is refused with it, at once.
- A fork copies no threads, so IREE's devices never answer in the child, and CUDA refuses to work
  there. Programs of the parent are refused in the child; the child may open the CPU anew.
- A daemon thread that comes back from IREE while the interpreter ends is unwound by Python through
  C++ code, which aborts the process. So the exit waits for calls that run, and lets none begin.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from custom_dispatch.errors import DeviceError, sentence
from custom_dispatch.kernel.target import gpu_index
from custom_dispatch.runtime import driver
from custom_dispatch.runtime.driver import check_status, context_error, has_initialised

IREE_ERRORS = (RuntimeError, ValueError, IndexError)
"""What IREE's bindings raise (runtime/bindings/python/status_utils.cc), by the kind of status."""

_SANITIZE = "run it under compute-sanitizer, or on cpu:checked, to find the place"
_NO_GRAPH = "the CUDA graph could not be launched (there may have been no memory to make it)"
_LONGEST_EXIT_S = 30.0


class Access:
    """The right to use a device; a call holds it by `with access:`, which on a GPU makes its
    context that of the thread.

    All programs of a process on a device share one. What ends it for one GPU ends it for all, whose
    accesses are made like the first: what is inconsistent then is the process.
    """

    __slots__ = ("_end", "_pop", "_push", "gpu")

    def __init__(self, device: str, like: Access | None = None) -> None:
        self.gpu = gpu_index(device)
        # Once it is over: what was found, and the next step.
        self._end: list[str] = [] if like is None else like._end
        # `driver.binding`, from the first call on that needs the GPU's context.
        self._push: Callable[[], int] | None = None
        self._pop: Callable[[], int] | None = None

    @property
    def problem(self) -> str:
        """Why the devices cannot be used any more, with the next step; empty while they can."""
        return f"{self._end[0]} {sentence(self._end[1])}" if self._end else ""

    def check(self) -> None:
        """Require that the devices can be used."""
        if self._end:
            raise DeviceError(self._end[0], next_step=self._end[1])

    def __enter__(self) -> None:
        if self._end:
            self.check()
        thread = threading.get_ident()
        _calls.append(thread)
        if _exiting or _alone is not None:
            _enter_late(thread)
        if self.gpu is not None and (status := (self._push or self._push_first)()):
            _calls.remove(thread)
            check_status(status)

    def _push_first(self) -> int:
        if self.gpu is None or not has_initialised():
            return 0
        status = driver.push(self.gpu)
        if status == 0:
            self._push, self._pop = driver.binding(self.gpu)
        return status

    def __exit__(self, *_: object) -> None:
        if self._pop is not None:
            self._pop()
        _calls.remove(threading.get_ident())

    @contextlib.contextmanager
    def alone(self, timeout: float) -> Iterator[bool]:
        """Let no other thread call anything; yields whether that was reached.

        `timeout`: how long to wait for the calls of other threads, in seconds.
        """
        global _alone
        me = threading.get_ident()
        if not _one_alone.acquire(blocking=False):
            yield False
            return
        try:
            _alone = me
            latest = time.monotonic() + timeout
            while any(thread != me for thread in tuple(_calls)) and time.monotonic() < latest:
                time.sleep(0.0002)
            yield all(thread == me for thread in tuple(_calls))
        finally:
            _alone = None
            _one_alone.release()

    def end(self, found: str, next_step: str) -> None:
        """Refuse every use from now on. What was said first stays: the rest follows from it."""
        if not self._end:
            self._end += (found, next_step)

    def ended_by(
        self, name: str, error: Exception, device: Any, *, graph: bool = False
    ) -> DeviceError | None:
        """Say what a failure of `name` did to the device, where it made it unusable.

        `device`: IREE's device. `graph`: whether it is launched as a CUDA graph.
        """
        if self.gpu is None:
            return None
        text = str(error)
        if not self._end:
            is_full = is_out_of_memory(error)
            if is_full and not (graph and _refuses(device, self)):
                return None
            whys = driver.cuda_errors()["lost"]
            lost = next((word for word in whys if word in text), "") or context_error(self.gpu)
            if lost:
                why = whys.get(lost, "the driver refuses all further work")
                why += f" ({lost}), and the process's CUDA context was lost with it"
            elif is_full or _refuses(device, self):
                why = _NO_GRAPH if graph else "a launch failed"
                why += ", and IREE's CUDA device refuses all further work"
            else:
                return None
            self.end(
                f"CUDA can no longer be used in this process: in `{name}`, {why}.",
                f"start a new process; {_SANITIZE}."
                if lost or not graph
                else "start a new process with more of the GPU's memory free, or compile the model "
                "without graph=True.",
            )
            # To end a lost device is to wait for ever for its work [H200].
            _keep_for_ever(device, *_holders)
        return DeviceError(self._end[0], next_step=self._end[1], log=text)


def is_out_of_memory(error: Exception) -> bool:
    """Whether a device had no memory left."""
    text = str(error)
    return "RESOURCE_EXHAUSTED" in text or "CUDA_ERROR_OUT_OF_MEMORY" in text


def _refuses(device: Any, access: Access) -> bool:
    """Whether IREE's device does not even take four bytes.

    A launch that the driver refuses leaves CUDA as it is, and IREE's device may be unusable.
    """
    import numpy
    from iree import runtime as rt

    try:
        with access:  # who waits for a call that failed holds none
            device.allocator.allocate_buffer_copy(
                memory_type=rt.MemoryType.DEVICE_LOCAL,
                allowed_usage=rt.BufferUsage.DEFAULT,
                device=device,
                buffer=numpy.zeros(1, numpy.uint32),
                element_type=rt.HalElementType.UINT_32,
            )
    except IREE_ERRORS as error:
        return "cuMemAlloc" not in str(error)
    return False


_accesses: dict[str, Access] = {}
_calls: list[int] = []
"""The thread of each call that runs. A list's append and remove are atomic."""
_exiting = False
_alone: int | None = None
"""The thread that wants to be alone."""
_one_alone = threading.Lock()


def _enter_late(thread: int) -> None:
    """Begin a call while the interpreter ends, or another thread wants to be alone."""
    while True:
        if _exiting and threading.current_thread() is not threading.main_thread():
            _calls.remove(thread)
            raise SystemExit  # ends this thread; the interpreter is about to
        # A call within a call goes on: the other thread waits for the outer one.
        if not _somebody_is_alone() or _alone == thread or _calls.count(thread) > 1:
            return
        _calls.remove(thread)
        while _somebody_is_alone():
            time.sleep(0.0002)
        _calls.append(thread)


def _somebody_is_alone() -> bool:
    return _alone is not None


def access_to(device: str) -> Access:
    """The access to a device, by its `Device.argument`: one a process."""
    found = _accesses.get(device)
    if found is None:
        like = None if device in ("cuda", "cpu") else access_to("cuda")
        found = _accesses.setdefault(device, Access(device, like))
    return found


def keep_in_forks(holder: object) -> None:
    """Say that an object holds something of a device: no forked process is to end it.

    Ending it would mean to wait for the device's threads, or to call CUDA.
    """
    _holders.add(holder)


def _keep_for_ever(*objects: object) -> None:
    """Let objects outlive the interpreter, which is then not told of them as leaks."""
    if (binding := sys.modules.get("iree.runtime._binding")) is not None:  # else there are none
        binding.disable_leak_checker()
    for item in objects:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(item))


_holders: weakref.WeakSet[object] = weakref.WeakSet()


def _forked() -> None:
    _keep_for_ever(*_holders)
    for access in _accesses.values():
        access.end(
            "This program was loaded before the process was forked, and devices do not survive "
            "a fork.",
            'load it in the child, or start processes with the method "spawn" '
            '(multiprocessing.get_context("spawn")).',
        )
    global _alone, _one_alone
    _accesses.clear()
    _calls.clear()
    _alone, _one_alone = None, threading.Lock()
    if has_initialised():
        access_to("cuda").end(
            "CUDA cannot be used in this process: it was forked from one that had opened CUDA, "
            "which does not survive a fork.",
            'start processes with the method "spawn" (multiprocessing.get_context("spawn")).',
        )


def _wait_for_calls() -> None:
    global _exiting
    _exiting = True
    latest = time.monotonic() + _LONGEST_EXIT_S
    while _calls and time.monotonic() < latest:
        time.sleep(0.001)
    # What frameworks never let go (an operator's functions, and so a script's globals) is no leak.
    _keep_for_ever()


os.register_at_fork(after_in_child=_forked)
atexit.register(_wait_for_calls)
