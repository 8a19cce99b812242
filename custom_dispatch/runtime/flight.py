"""A call on its way: when it is done, and what became of it.

A call ends when its semaphore says so. On a GPU the host asks over and over at first: a thread that
sleeps is woken 5 us later on a bare machine and 250 us later on a virtual one
(docs/iree-notes.md), and CUDA's own synchronisation spins for this reason too.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, MutableSequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from iree import runtime as rt

from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.runtime.access import IREE_ERRORS
from custom_dispatch.runtime.device import OpenDevice

_SPIN_S = 0.05
"""Beyond this, what a sleeping thread adds is less than a hundredth."""
_QUERIES = 2048
_NAP_NS = 100_000_000
"""How often a sleeping thread looks for Ctrl-C."""
NO_MARK: MutableSequence[int] = [0]
"""Of calls whose semaphore alone says when they are done."""


class Flight:
    """A call that was handed to a device.

    - `kept`: what must live until it is done: its arguments.
    - `translate`: what a failure of IREE means to the caller.
    - `signal`: the semaphore that is signalled when it is done, and the value; a new one, unless
      given.
    - `mark`: a number that the device makes 1 when the call is done. The semaphore follows later: a
      thread of IREE's waits for the GPU and signals it.
    """

    __slots__ = (
        "_device",
        "_error",
        "_kept",
        "_mark",
        "_over",
        "_semaphore",
        "_translate",
        "_value",
    )

    def __init__(
        self,
        device: OpenDevice,
        kept: Any,
        translate: Callable[[Exception], Exception],
        signal: tuple[Any, int] | None = None,
        mark: Any = NO_MARK,
    ) -> None:
        self._device = device
        self._semaphore, self._value = signal or (device.hal.create_semaphore(0), 1)
        self._kept = kept
        self._mark = mark
        self._translate = translate
        self._over = False
        self._error: Exception | None = None

    @property
    def hal(self) -> Any:
        """IREE's device, whose semaphore it has."""
        return self._device.hal

    def fence(self) -> Any:
        """The fence that is reached when the call is done."""
        return rt.HalFence.create_at(self._semaphore, self._value)

    def fail(self, error: Exception) -> None:
        """Say that the call was never made, so that whoever waits for it does not wait on."""
        self._semaphore.fail(str(error)[:1000])
        self._end(error)

    def done(self) -> bool:
        """Whether the call is over, well or not."""
        if self._over:
            return True
        try:
            if self._mark[0] or self._semaphore.query() >= self._value:
                self._end(None)
        except IREE_ERRORS as error:
            self._end(error)
        return self._over

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the call is done.

        `timeout`: how long at most, in seconds.

        Returns: whether it is.
        Raises `CallError`, `DeviceError`, `KernelError`: it failed.
        """
        if not self._over and not (self._device.is_cuda and self._is_soon_done()):
            self._wait(timeout)
        if self._error is not None:
            raise self._error
        return self._over

    def _is_soon_done(self) -> bool:
        """Ask for a few hundred microseconds at most, before anything else is done."""
        mark, query, value = self._mark, self._semaphore.query, self._value
        try:
            for _ in range(_QUERIES):
                if mark[0] or query() >= value:
                    self._kept = None
                    self._over = True
                    break
        except IREE_ERRORS as error:
            self._end(error)
        return self._over

    def _wait(self, timeout: float | None) -> None:
        self._device.access.check()  # in a forked process nobody would ever signal
        latest = None if timeout is None else time.perf_counter() + timeout
        try:
            if self._device.is_cuda and self._spin(latest):
                return
            while True:
                nap = _NAP_NS
                if latest is not None:
                    nap = min(nap, max(0, int((latest - time.perf_counter()) * 1e9)))
                if self._semaphore.wait(self._value, timeout=nap):
                    self._end(None)
                    return
                if latest is not None and time.perf_counter() >= latest:
                    return
        except IREE_ERRORS as error:
            self._end(error)

    def _spin(self, latest: float | None) -> bool:
        end = time.perf_counter() + _SPIN_S
        if latest is not None:
            end = min(end, latest)
        while not self._is_soon_done():
            if time.perf_counter() > end:
                return False
            # Other threads of Python may run. To sleep, be it for no time, would take 50 us: the
            # timer slack of Linux.
            select.select((), (), (), 0)
        return True

    def _end(self, error: Exception | None) -> None:
        if error is not None and self._error is None:
            self._error = self._translate(error)
        self._kept = None
        self._over = True


class ReadingFlight(Flight):
    """A call that reads an array, to whoever uses the array next: its failure is not theirs."""

    __slots__ = ("_reader",)
    hal = None  # it is waited for on the host

    def __init__(self, reader: Flight) -> None:
        self._reader = reader

    def done(self) -> bool:
        """As `Flight.done`."""
        return self._reader.done()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the call is over, well or not; return whether it is."""
        with contextlib.suppress(CustomDispatchError):
            self._reader.wait(timeout)
        return self._reader.done()


class Order:
    """In which order the calls of a program take effect: each waits for the one before.

    Calls that share state or buffers begin by `with order:`, one after the other.
    """

    __slots__ = ("_thread", "last", "lock")

    def __init__(self) -> None:
        self.lock = threading.RLock()
        """Of calls that must not begin at once."""
        self.last: Any = None
        """The call that was submitted last, until it is found to be done."""
        self._thread: ThreadPoolExecutor | None = None

    def __enter__(self) -> None:
        self.lock.acquire()
        while isinstance(last := self.last, ThreadFlight):
            if last.done() or is_submitting_thread():
                return
            self.lock.release()  # the thread needs it for the call
            last.wait()
            self.lock.acquire()

    def __exit__(self, *_: object) -> None:
        self.lock.release()

    def thread(self) -> ThreadPoolExecutor:
        """The thread that makes calls which can only be waited for."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "custom_dispatch", initializer=_mark_thread)
        return self._thread


_thread = threading.local()


def _mark_thread() -> None:
    _thread.submits = True


def is_submitting_thread() -> bool:
    """Whether this is a thread that makes submitted calls, one after the other."""
    return getattr(_thread, "submits", False)


_under_way: deque[Flight] = deque()


def keep_until_done(flight: Flight) -> None:
    """Keep a call's arguments alive, whether or not anybody waits for it."""
    with contextlib.suppress(IndexError):  # other threads take from it, too
        while (first := _under_way.popleft()).done():
            pass
        _under_way.appendleft(first)
    _under_way.append(flight)


def _wait_for_all() -> None:
    """Let no call outlive the interpreter, whose memory it may read."""
    while _under_way:
        try:
            _under_way.popleft().wait(timeout=30)
        except Exception:  # noqa: BLE001, S112 - nobody is left to be told
            continue


def _forked() -> None:
    """Leave the parent's calls to the parent."""
    _of_the_parent.extend(_under_way)
    _under_way.clear()


_of_the_parent: list[Flight] = []
atexit.register(_wait_for_all)
os.register_at_fork(after_in_child=_forked)


class Submission:
    """A call in flight. Made by `Function.submit`."""

    __slots__ = ("_arrays", "_flight", "_results")

    def __init__(
        self, flight: Flight | ThreadFlight, results: Callable[[], Any], arrays: Any
    ) -> None:
        self._flight = flight
        self._results = results
        self._arrays = arrays

    @property
    def arrays(self) -> Any:
        """The results as `DeviceArray`s, to be passed on before they are computed.

        Waits for the call if its module has no asynchronous function.
        """
        return self.result() if self._arrays is None else self._arrays

    def mapped(self, function: Callable[[Any], Any]) -> Submission:
        """The same call, whose results pass through a function."""
        results = self._results
        arrays = None if self._arrays is None else function(self._arrays)
        return Submission(self._flight, lambda: function(results()), arrays)

    def done(self) -> bool:
        """Whether the call is over, well or not."""
        return self._flight.done()

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the call, and return what it returns.

        `timeout`: how long to wait at most, in seconds.

        Raises `TimeoutError`: the call has not finished. It continues, and can be waited for again.
        Raises `CallError`, `DeviceError`, `KernelError`: the call failed.
        """
        if not self._flight.wait(timeout):
            raise TimeoutError(f"the call is not done after {timeout} s")
        return self._results()

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.done():
            import asyncio  # loaded here: 20 ms, and whoever awaits has loaded it

            # A thread waits: IREE wakes no event loop of Python.
            waiting = asyncio.get_running_loop().run_in_executor(None, self._flight.wait)
            yield from waiting.__await__()
        return self.result()

    def __repr__(self) -> str:
        return f"Submission({'done' if self.done() else 'under way'})"


class ThreadFlight:
    """A call that a thread of Python makes and waits for."""

    __slots__ = ("_future",)

    def __init__(self, future: concurrent.futures.Future[Any]) -> None:
        self._future = future

    def done(self) -> bool:
        """Whether the call is over, well or not."""
        return self._future.done()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the call is over; return whether it is. Its failure comes with its result."""
        concurrent.futures.wait([self._future], timeout)
        return self._future.done()
