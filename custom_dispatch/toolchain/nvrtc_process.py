"""Processes in which NVRTC compiles; `nvrtc_program.py` is the program that they run.

While NVRTC compiles, its own handlers of SIGINT and SIGTERM are those of the process, which exit
with status 4; afterwards Python's are back in a form that leaves a waiting thread asleep. So it
compiles in processes that end with the build, at a time limit and at Ctrl-C. Each thread of a
build has one: NVRTC takes turns with itself within a process, so that two threads compile in 0.62
of the time of one, and two processes in half.
"""

import marshal
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.errors import SourceError, ToolNotFoundError, ToolTimeoutError
from custom_dispatch.files import exists
from custom_dispatch.installation import install_step
from custom_dispatch.process import DEFAULT_TIMEOUT_SECONDS, Completed, Started, start
from custom_dispatch.toolchain import nvrtc_program

_PROGRAM = Path(nvrtc_program.__file__)
_TIMEOUT_SECONDS = DEFAULT_TIMEOUT_SECONDS
# The C++ front end under NVRTC then writes the path of each file that it reads to standard error,
# with a space for each that includes it (NVRTC 13.0 and 13.5, seen; not documented).
_TELL_HEADERS = ("-Xcudafe", "--trace_includes")
# Loading takes 30 ms. One that does not answer by then is no NVRTC.
_START_SECONDS = 60.0


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
    headers: tuple[str, ...]
    """Paths of files that it read, and names of headers that it holds itself."""


class NvrtcProcess:
    """A process in which one thread compiles; no other's, as it ends with the thread that started
    it.

    `libraries`: NVRTC's, in the order in which they are loaded; it is the last.
    """

    def __init__(self, libraries: Sequence[Path]) -> None:
        self._libraries = tuple(libraries)
        self._started: Started | None = None
        self._facts: tuple[str, tuple[int, ...]] | None = None

    def begin(self) -> Started:
        """Start it, if it does not run, so that it loads NVRTC meanwhile."""
        if self._started is None:
            if not sys.executable or getattr(sys, "frozen", False):
                raise ToolNotFoundError(
                    "NVRTC is called in another process of Python, and there is none to start.",
                    expected="the path of an interpreter as sys.executable",
                    next_step="build in a program that Python runs, or compile with nvcc.",
                )
            command = [sys.executable, "-I", "-S", str(_PROGRAM), *map(str, self._libraries)]
            self._started = start(command, name="NVRTC")
        return self._started

    def facts(self) -> tuple[str, tuple[int, ...]]:
        """NVRTC's release, "13.0", and the compute capabilities that it compiles for."""
        if self._facts is None:
            try:
                found = self.begin().ask(marshal.dumps(None), timeout_seconds=_START_SECONDS)
            except ToolTimeoutError:
                self.end()
                raise self._does_not_load(f"no answer in {_START_SECONDS:g} seconds") from None
            if isinstance(found, Completed):
                self.end()
                if found.returncode < 0:
                    raise SourceError("NVRTC was ended while it started.")
                raise self._does_not_load(found.stderr.strip() or found.how)
            try:
                release, capabilities = marshal.loads(found)  # noqa: S302 - our own program's
            except (EOFError, TypeError, ValueError) as problem:
                self.end()
                raise self._does_not_load(str(problem)) from problem
            self._facts = release, tuple(capabilities)
        return self._facts

    def compile(self, asked: Compilation) -> Compiled:
        """Compile."""
        self.facts()
        options = [os.fsencode(option) for option in (*asked.options, *_TELL_HEADERS)]
        names = [name.encode() for name in asked.names]
        question = marshal.dumps((asked.source, os.fsencode(asked.name), options, names))
        try:
            found = self.begin().ask(question, timeout_seconds=_TIMEOUT_SECONDS)
        except ToolTimeoutError as error:
            self.end()
            raise ToolTimeoutError(
                f"NVRTC did not compile `{asked.name}` within {_TIMEOUT_SECONDS:g} seconds and was "
                "ended.",
                next_step="try a smaller source.",
            ) from error
        if isinstance(found, Completed):
            self.end()
            lines = [line for line in found.stderr.splitlines() if not exists(Path(line.strip()))]
            raise SourceError(
                f"NVRTC {found.how} while it compiled `{asked.name}`, without an answer.",
                next_step="try again; if it ends so each time, compile with nvcc.",
                log="\n".join(lines),
            )
        said = self.begin().take_stderr()
        status, log, ptx, symbols = marshal.loads(found)  # noqa: S302 - as above
        return Compiled(
            status.decode(),
            log.rstrip(b"\0").decode("utf-8", "replace").strip(),
            ptx.rstrip(b"\0"),
            tuple(symbol.decode() for symbol in symbols),
            tuple(line.lstrip(" ") for line in said.splitlines()),
        )

    def end(self) -> None:
        """End it, without waiting for that; the next compilation starts another."""
        if self._started is not None:
            self._started.end(wait=False)
        self._started = self._facts = None

    def _does_not_load(self, why: str) -> ToolNotFoundError:
        return ToolNotFoundError(
            f"NVRTC at `{self._libraries[-1]}` cannot be loaded: {why}",
            next_step=install_step("cuda"),
        )
