"""Processes in which NVRTC compiles; `nvrtc_program.py` is the program that they run.

While NVRTC compiles, its own handlers of SIGINT and SIGTERM are those of the process, which exit
with status 4; afterwards Python's are back in a form that leaves a waiting thread asleep. So it
compiles in processes that end with the build, at a time limit and at Ctrl-C. Each thread of a
build has one: NVRTC takes turns with itself within a process, so that two threads compile in 0.62
of the time of one, and two processes in half.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.errors import CustomDispatchError, SourceError, ToolTimeoutError
from custom_dispatch.process import (
    DEFAULT_TIMEOUT_SECONDS,
    Completed,
    Started,
    start,
    times_ended,
)
from custom_dispatch.toolchain import nvrtc_program

_PROGRAM = Path(nvrtc_program.__file__)
_TIMEOUT_SECONDS = DEFAULT_TIMEOUT_SECONDS
# Loading takes 30 ms. One that does not answer by then is no NVRTC, and is done without.
_START_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Compilation:
    """What NVRTC is given."""

    source: bytes
    name: str
    options: tuple[str, ...]
    names: tuple[str, ...]
    """C++ expressions whose symbols are wanted."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """What NVRTC gave."""

    status: str
    log: str
    ptx: bytes
    symbols: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What an NVRTC library says of itself."""

    release: str
    """"13.0"."""
    capabilities: tuple[int, ...]
    """The compute capabilities that it compiles for."""


def write_question(asked: Compilation) -> list[bytes]:
    """A compilation as `nvrtc_program` takes it."""
    words = [asked.source, os.fsencode(asked.name), str(len(asked.options)).encode()]
    words += map(os.fsencode, asked.options)
    return words + [name.encode() for name in asked.names]


def read_answer(words: Sequence[bytes]) -> Compiled:
    """What `nvrtc_program` says of a compilation."""
    status, log, *rest = words
    ptx, symbols = (rest[0], rest[1:]) if rest else (b"", [])
    return Compiled(
        status.decode(),
        log.rstrip(b"\0").decode("utf-8", "replace").strip(),
        ptx.rstrip(b"\0"),
        tuple(symbol.decode() for symbol in symbols),
    )


def read_facts(words: Sequence[bytes]) -> Facts:
    """What `nvrtc_program` says of the library."""
    return Facts(words[0].decode(), tuple(sorted(map(int, words[1:]))))


class NvrtcProcess:
    """A process in which one thread compiles; no other's, as it ends with the thread that started
    it.

    One that does not start is done without: everything is compiled in this process then.

    Parameters
    ----------
    libraries
        NVRTC's, in the order in which they are loaded; it is the last.
    """

    def __init__(self, libraries: Sequence[Path]) -> None:
        self._command = [sys.executable, "-I", "-S", str(_PROGRAM), *map(str, libraries)]
        self._started: Started | None = None
        self._facts: Facts | None = None
        self._starts = bool(sys.executable) and not getattr(sys, "frozen", False)
        self._ended_before = 0

    def begin(self) -> None:
        """Start it, if it does not run, so that it loads NVRTC meanwhile."""
        if self._started is not None or not self._starts:
            return
        self._ended_before = times_ended()
        try:
            self._started = start(self._command, name="NVRTC")
        except CustomDispatchError:
            self._starts = False

    def facts(self) -> Facts | None:
        """What NVRTC says of itself there; None where there is none.

        Raises
        ------
        SourceError
            It was ended, as by Ctrl-C: nothing would end what is compiled in this process instead.
        """
        self.begin()
        if self._started is not None and self._facts is None:
            with contextlib.suppress(CustomDispatchError):
                found = _ask(self._started, [], _START_SECONDS)
                self._facts = None if isinstance(found, Completed) else read_facts(found)
            if self._facts is None:
                self._starts = False
                self.end()
                if times_ended() != self._ended_before:
                    raise SourceError("NVRTC was ended while it started.")
        return self._facts

    def compile(self, asked: Compilation) -> Compiled | None:
        """Compile; None where that is to be done in this process.

        Raises
        ------
        SourceError
            The process ended.
        ToolTimeoutError
            It ran past its time limit.
        """
        if self.facts() is None or self._started is None:
            return None
        try:
            found = _ask(self._started, write_question(asked), _TIMEOUT_SECONDS)
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
        return read_answer(found)

    def end(self) -> None:
        """End it, without waiting for that; the next compilation starts another."""
        if self._started is not None:
            self._started.end(wait=False)
        self._started = self._facts = None


def _ask(started: Started, words: Sequence[bytes], seconds: float) -> list[bytes] | Completed:
    message = b"".join(map(nvrtc_program.sized, words))
    answer = started.ask(message, timeout_seconds=seconds)
    return answer if isinstance(answer, Completed) else nvrtc_program.words_in(answer)


def _how(returncode: int) -> str:
    if returncode >= 0:
        return f"ended with status {returncode}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-returncode).name}"
    return f"was ended by signal {-returncode}"
