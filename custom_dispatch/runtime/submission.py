"""A call that was submitted and not waited for."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable, Generator
from typing import Any

from custom_dispatch.runtime.flight import Flight


class Submission:
    """A call on its way. Made by `Function.submit`."""

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

        Waits for the call where its module has no function that does not wait.
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

        Parameters
        ----------
        timeout
            How long to wait at most, in seconds.

        Raises
        ------
        TimeoutError
            It is not done by then. It goes on, and can be waited for again.
        CallError, DeviceError, KernelError
            The call failed.
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
