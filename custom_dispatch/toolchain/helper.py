"""NVRTC in a process of its own, which `nvrtc_helper.py` is."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from custom_dispatch.errors import ToolNotFoundError
from custom_dispatch.process import Completed, Started, start
from custom_dispatch.toolchain import nvrtc_helper

_HELPER = Path(nvrtc_helper.__file__)


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


def write_question(asked: Compilation, more: Sequence[str] = ()) -> list[bytes]:
    """A compilation, with further options, as `nvrtc_helper` takes it."""
    options = (*asked.options, *more)
    words = [asked.source, os.fsencode(asked.name), str(len(options)).encode()]
    words += map(os.fsencode, options)
    return words + [name.encode() for name in asked.names]


def read_answer(words: Sequence[bytes]) -> Compiled:
    """What `nvrtc_helper` says of a compilation."""
    status, log, *rest = words
    ptx, symbols = (rest[0], rest[1:]) if rest else (b"", [])
    return Compiled(
        status.decode(),
        log.rstrip(b"\0").decode("utf-8", "replace").strip(),
        ptx.rstrip(b"\0"),
        tuple(symbol.decode() for symbol in symbols),
    )


def read_facts(words: Sequence[bytes]) -> Facts:
    """What `nvrtc_helper` says of the library."""
    return Facts(words[0].decode(), tuple(sorted(map(int, words[1:]))))


class Elsewhere(Protocol):
    """What compiles in another process, for `Compiler.compile`."""

    def facts(self, identity: Callable[[], bytes], ask: Callable[[], Facts]) -> Facts:
        """What the compiler says of itself.

        Parameters
        ----------
        identity
            Finds out the compiler's.
        ask
            Asks it in this process.
        """

    def compile(self, asked: Compilation, identity: Callable[[], bytes]) -> Compiled | None:
        """Compile; None where that is to be done in this process.

        Raises
        ------
        SourceError
            The process ended.
        ToolTimeoutError
            It ran past its time limit.
        """


class Helper:
    """A process in which NVRTC compiles.

    It may be started before there is anything to compile: it takes 30 ms to load NVRTC, in which
    the caller finds out which headers count.

    Parameters
    ----------
    libraries
        NVRTC's, in the order in which they are loaded; it is the last.
    fixed
        Whether its memory is to have the same addresses each time.
    """

    def __init__(self, libraries: Sequence[str], *, fixed: bool = False) -> None:
        place = nvrtc_helper.FIXED if fixed else nvrtc_helper.ANY
        self._command = [sys.executable, "-I", "-S", str(_HELPER), place, *libraries]
        self._fixed = fixed
        self._started: Started | None = None

    def begin(self) -> None:
        """Start it, if it does not run.

        Raises
        ------
        ToolNotFoundError
            No program can be started, or this one is not to be: that of a program with Python
            inside would begin anew.
        """
        if self._started is not None:
            return
        if not sys.executable or getattr(sys, "frozen", False):
            raise ToolNotFoundError("There is no Python to start NVRTC with.")
        with _without_random_addresses() if self._fixed else nullcontext():
            self._started = start(self._command, name="NVRTC")

    def end(self) -> None:
        """End it, whatever it does, without waiting for that."""
        if self._started is not None:
            self._started.end(wait=False)
            self._started = None

    def facts(self, *, timeout_seconds: float) -> Facts | Completed:
        """What NVRTC says of itself; or how it ended."""
        words = self._ask([], timeout_seconds)
        if isinstance(words, Completed):
            return words
        return read_facts(words)

    def compile(
        self, asked: Compilation, *more: str, timeout_seconds: float
    ) -> Compiled | Completed:
        """Compile; or say how NVRTC ended.

        Parameters
        ----------
        more
            Options, behind those of the compilation.

        Raises
        ------
        ToolNotFoundError
            It cannot be started.
        ToolTimeoutError
            The time limit passed.
        """
        found = self._ask(write_question(asked, more), timeout_seconds)
        return found if isinstance(found, Completed) else read_answer(found)

    def _ask(self, words: Sequence[bytes], timeout_seconds: float) -> list[bytes] | Completed:
        self.begin()
        if self._started is None:  # pragma: no cover - it was begun
            raise TypeError
        message = b"".join(struct.pack("<I", len(word)) + word for word in words)
        answer = self._started.ask(message, timeout_seconds=timeout_seconds)
        return answer if isinstance(answer, Completed) else list(_words(answer))


@contextmanager
def _without_random_addresses() -> Iterator[None]:
    """Programs that this thread starts have their memory at the same addresses each time.

    Linux keeps this for each thread, and a program takes it from the thread that starts it; what
    runs already stays as it is. The program says whether it was so (personality(2)).
    """
    personality = ctypes.CDLL(None).personality
    before = personality(ctypes.c_ulong(nvrtc_helper.ASK_PERSONALITY))
    personality(ctypes.c_ulong(before | nvrtc_helper.ADDR_NO_RANDOMIZE))
    try:
        yield
    finally:
        personality(ctypes.c_ulong(before))


def _words(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        (size,) = struct.unpack_from("<I", data, position)
        position += 4 + size
        yield data[position - size : position]
