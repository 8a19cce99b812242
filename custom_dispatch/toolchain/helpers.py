"""Compilations, each in a process of its own.

While NVRTC compiles, its own handlers of SIGINT and SIGTERM are those of the process, which exit
with status 4; afterwards Python's are back in a form that leaves a waiting thread asleep. So it
compiles in processes that end with the build, at a time limit and at Ctrl-C. Each thread of a
build has one: NVRTC takes turns with itself within a process, so that two threads compile in 0.62
of the time of one, and two processes in half.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Sequence

from custom_dispatch.errors import CustomDispatchError, SourceError, ToolTimeoutError
from custom_dispatch.process import DEFAULT_TIMEOUT_SECONDS, Completed, times_ended
from custom_dispatch.toolchain.helper import Compilation, Compiled, Facts, Helper

_TIMEOUT_SECONDS = DEFAULT_TIMEOUT_SECONDS
# Loading takes 30 ms. One that does not answer by then is no NVRTC, and is done without.
_START_SECONDS = 20.0


class Helpers:
    """The processes in which one build compiles: one for each of its threads."""

    def __init__(self) -> None:
        self._of_thread: dict[int, HelperOfThread] = {}

    def of_thread(self, libraries: Sequence[str]) -> HelperOfThread:
        """That of this thread. It is no other's: it ends with the thread that started it."""
        return self._of_thread.setdefault(threading.get_ident(), HelperOfThread(libraries))

    def end(self) -> None:
        """End all of them."""
        for helper in self._of_thread.values():
            helper.end()


class HelperOfThread:
    """A process in which a thread compiles what it has to, as `Elsewhere`.

    One that does not start is done without: everything is compiled in this process then.
    """

    def __init__(self, libraries: Sequence[str]) -> None:
        self._libraries = libraries
        self._helper: Helper | None = None
        self._facts: Facts | None = None
        self._starts = True
        self._ended_before = 0

    def begin(self) -> None:
        """Start it, if it does not run, so that it loads NVRTC meanwhile."""
        if self._helper is not None or not self._starts:
            return
        helper = Helper(self._libraries)
        self._ended_before = times_ended()
        try:
            helper.begin()
            self._helper = helper
        except CustomDispatchError:
            self._starts = False

    def facts(self, identity: Callable[[], bytes], ask: Callable[[], Facts]) -> Facts:  # noqa: ARG002
        """See `Elsewhere.facts`."""
        return self._facts_of_one_that_runs() or ask()

    def compile(self, asked: Compilation, identity: Callable[[], bytes]) -> Compiled | None:  # noqa: ARG002
        """See `Elsewhere.compile`."""
        if self._facts_of_one_that_runs() is None or self._helper is None:
            return None
        try:
            found = self._helper.compile(asked, timeout_seconds=_TIMEOUT_SECONDS)
        except ToolTimeoutError as error:
            self.end()
            raise ToolTimeoutError(
                f"NVRTC did not compile `{asked.name}` within {_TIMEOUT_SECONDS:g} seconds and was "
                "ended.",
                next_step="try a smaller source.",
            ) from error
        if isinstance(found, Completed):
            self.end()
            raise SourceError(
                f"NVRTC {_how(found.returncode)} while it compiled `{asked.name}`, without an "
                "answer.",
                next_step="try again; if it ends so each time, compile with nvcc.",
                log=found.stderr,
            )
        return found

    def end(self) -> None:
        """End it; the next compilation starts another."""
        if self._helper is not None:
            self._helper.end()
        self._helper = self._facts = None

    def _facts_of_one_that_runs(self) -> Facts | None:
        """What NVRTC says of itself there; None where there is none.

        Raises
        ------
        SourceError
            It was ended, as by Ctrl-C: nothing would end what is compiled in this process instead.
        """
        self.begin()
        if self._helper is not None and self._facts is None:
            found: Facts | Completed | None = None
            with contextlib.suppress(CustomDispatchError):
                found = self._helper.facts(timeout_seconds=_START_SECONDS)
            if isinstance(found, Facts):
                self._facts = found
            else:
                self._starts = False
                self.end()
                if times_ended() != self._ended_before:
                    raise SourceError("NVRTC was ended while it started.")
        return self._facts


def _how(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with status {returncode}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"was ended by signal {-returncode}"
