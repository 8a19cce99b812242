"""Precompiled headers: what CUB takes to read is read once a machine.

NVRTC writes one while it compiles, and reads it back for another source that begins with the same
directives, in a fifth of the time. The file is a piece of memory, so three things are asked of it
here: that it was made from just these headers, options and directives (its key), that it is whole
(its checksum is taken while the compiler runs, and the result counts only if it is right), and that
NVRTC itself finds it fitting. Whatever goes wrong, the caller compiles without.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.process import Started, start
from custom_dispatch.store import Store, key_of
from custom_dispatch.store.precompiled import PrecompiledFiles
from custom_dispatch.toolchain import nvrtc_helper

_HELPER = Path(nvrtc_helper.__file__)
_TIMEOUT_SECONDS = 120.0
# CCCL: what includes it takes half a second and more to read. Other headers are not worth a file.
_LARGE = re.compile(rb"#[ \t]*include[ \t]*<(?:cub|thrust|cuda)/")
# Not possessive (`*+`), though that is what is meant: Python before 3.11.5 matches it wrongly.
_GAP = rb"(?:[ \t\f\v\r\n]|\\\r?\n|//[^\n]*(?:\n|\Z)|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*"
_DIRECTIVE = re.compile(_GAP + rb"(#(?:[^\\\n]|\\[ \t]*\r?\n|\\)*)(?:\n|\Z)")
# "PCH creation disabled because #line directive encountered": the one behind the source, too late.
_NO_REMARK = "--diag-suppress=20283"
_UNFIT = "incompatible precompiled header"
# What NVRTC says of such a file, and nothing of the source.
_REMARK = re.compile(
    r'^"[^"\n]*": (?:creating|using) precompiled header file .*\n?|'
    r"^Warning #\d+-D: .*precompiled header.*\n?",
    re.MULTILINE,
)


def leading_directives(source: bytes) -> tuple[bytes, ...]:
    """The directives that a source begins with: what a precompiled header is made of."""
    found = []
    position = 0
    while (match := _DIRECTIVE.match(source, position)) is not None:
        found.append(match[1].strip())
        position = match.end()
    return tuple(found)


def is_worthwhile(directives: Sequence[bytes]) -> bool:
    """Whether reading these headers takes long."""
    return any(map(_LARGE.match, directives))


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


class Helper:
    """A process in which NVRTC compiles with precompiled headers.

    It is started before there is anything to compile: it takes 30 ms to load NVRTC, in which the
    caller finds out which headers count. One that gets nothing to compile is ended.

    Parameters
    ----------
    libraries
        NVRTC's, in the order in which they are loaded; it is the last.
    """

    def __init__(self, libraries: Sequence[str]) -> None:
        self._command = [sys.executable, "-I", "-S", str(_HELPER), *libraries]
        self._started: Started | None = None

    def __enter__(self) -> Helper:
        if not _impossible.is_set():
            with suppress(CustomDispatchError):
                self._started = self._start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._started is not None:
            self._started.end()

    def compile(self, asked: Compilation, option: str) -> Compiled | None:
        """Compile; None where that cannot be done here.

        Parameters
        ----------
        option
            What is done with the precompiled header, in NVRTC's words.
        """
        if _impossible.is_set():
            return None
        options = (*asked.options, _NO_REMARK, option)
        words = [asked.source, os.fsencode(asked.name), str(len(options)).encode()]
        words += [os.fsencode(word) for word in options]
        words += [name.encode() for name in asked.names]
        stdin = b"".join(struct.pack("<I", len(word)) + word for word in words)
        try:
            started = self._started or self._start()
            self._started = None  # one process compiles once
            with started:
                done = started.finish(stdin, timeout_seconds=_TIMEOUT_SECONDS)
            answers = list(_answers(done.stdout))
        except (CustomDispatchError, struct.error):
            return None
        if done.returncode != 0 or len(answers) < 2:
            _impossible.set()
            return None
        return _compiled(answers)

    def _start(self) -> Started:
        with _without_random_addresses():
            return start(self._command)


class PrecompiledHeaders:
    """The precompiled headers of one source, for `Compiler.compile`.

    Parameters
    ----------
    headers
        A digest of every header, of what is not there, and of the directives.
    unchanged
        Whether these headers are still what they were; asked after one was precompiled.
    """

    def __init__(
        self, store: Store, helper: Helper, headers: bytes, unchanged: Callable[[], bool]
    ) -> None:
        self._store = store
        self._files = PrecompiledFiles(store)
        self._helper = helper
        self._headers = headers
        self._unchanged = unchanged

    def compile(self, asked: Compilation, identity: bytes) -> Compiled | None:
        """Compile with a precompiled header, which is made if it is missing; None where not.

        Parameters
        ----------
        identity
            The compiler's.
        """
        key = key_of("precompiled", identity, self._headers, asked.options)
        if _impossible.is_set():
            return None
        with self._store.once(key):  # threads with the same headers wait for the one who reads them
            known = self._files.find(key)
            if known is None:
                return self._make(asked, key)
        with ThreadPoolExecutor(1) as pool:
            whole = pool.submit(self._files.is_whole, key)
            found = self._helper.compile(asked, f"--use-pch={known}")
            if found is not None and whole.result():
                return found
        self._files.remove(key)
        return None

    def _make(self, asked: Compilation, key: bytes) -> Compiled | None:
        with self._files.new() as path:
            if path is None:
                return None
            made = self._helper.compile(asked, f"--create-pch={path}")
            if made is not None and made.status == "NVRTC_SUCCESS" and self._unchanged():
                self._files.keep(key, path)
            return made


# Set where this machine does not let a program have its memory at the same addresses each time.
_impossible = threading.Event()


def _compiled(answers: Sequence[bytes]) -> Compiled:
    status, log, *rest = answers
    text = log.rstrip(b"\0").decode("utf-8", "replace")
    if _UNFIT in text:
        _impossible.set()  # what it gave is right, but took the long way
    ptx, symbols = (rest[0], rest[1:]) if rest else (b"", [])
    return Compiled(
        status.decode(),
        _REMARK.sub("", text).strip(),
        ptx.rstrip(b"\0"),
        tuple(symbol.decode() for symbol in symbols),
    )


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


def _answers(data: bytes) -> Iterator[bytes]:
    position = 0
    while position < len(data):
        (size,) = struct.unpack_from("<I", data, position)
        position += 4 + size
        if position > len(data):
            raise struct.error
        yield data[position - size : position]
