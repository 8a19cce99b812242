"""Precompiled headers: what CUB takes to read is read once a machine.

NVRTC writes one while it compiles, and reads it back for another source that begins with the same
directives, in a fifth of the time. The file is a piece of memory, so three things are asked of it
here: that it was made from just these headers, options and directives (its key), that it is whole
(its checksum is taken while the compiler runs, and the result counts only if it is right), and that
NVRTC itself finds it fitting. Whatever goes wrong, the caller compiles without.
"""

from __future__ import annotations

import re
import struct
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from custom_dispatch.errors import CustomDispatchError
from custom_dispatch.process import Completed
from custom_dispatch.store import Store, key_of, package_identity
from custom_dispatch.store.precompiled import PrecompiledFiles
from custom_dispatch.toolchain.helper import Compilation, Compiled, Elsewhere, Facts, Helper

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


class PrecompiledHeaders:
    """The precompiled headers of one source, as `Elsewhere`.

    Parameters
    ----------
    libraries
        NVRTC's, in the order in which they are loaded.
    otherwise
        What compiles where a precompiled header cannot be used.
    """

    def __init__(
        self, store: Store, libraries: Sequence[str], otherwise: Elsewhere | None = None
    ) -> None:
        self._store = store
        self._files = PrecompiledFiles(store)
        self._otherwise = otherwise
        self._helper = Helper(libraries, fixed=True)
        self._headers: bytes | None = None
        self._unchanged: Callable[[], bool] = bool

    def __enter__(self) -> PrecompiledHeaders:
        if not _impossible.is_set():
            with suppress(CustomDispatchError):
                self._helper.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self._helper.end()

    def are(self, headers: bytes, unchanged: Callable[[], bool]) -> None:
        """Say which headers these are; without that none is used.

        Parameters
        ----------
        headers
            A digest of every header, of what is not there, and of the directives.
        unchanged
            Whether these headers are still what they were; asked after one was precompiled.
        """
        self._headers = headers
        self._unchanged = unchanged

    def facts(self, identity: Callable[[], bytes], ask: Callable[[], Facts]) -> Facts:
        """See `Elsewhere.facts`. Its own process is not asked: that would move its memory."""
        key = key_of("facts", package_identity(), identity())
        return self._store.remember(Facts, key, ask, counted=False)

    def compile(self, asked: Compilation, identity: Callable[[], bytes]) -> Compiled | None:
        """Compile with a precompiled header, which is made if it is missing; see `Elsewhere`."""
        found = self._compile_with(asked, identity)
        if found is None and self._otherwise is not None:
            self._helper.end()
            return self._otherwise.compile(asked, identity)
        return found

    def _compile_with(self, asked: Compilation, identity: Callable[[], bytes]) -> Compiled | None:
        if _impossible.is_set() or self._headers is None:
            return None
        key = key_of("precompiled", identity(), self._headers, asked.options)
        with self._store.once(key):  # threads with the same headers wait for the one who reads them
            known = self._files.find(key)
            if known is None:
                return self._make(asked, key)
        with ThreadPoolExecutor(1) as pool:
            whole = pool.submit(self._files.is_whole, key)
            found = self._ask(asked, f"--use-pch={known}")
            if found is not None and whole.result():
                return found
        self._files.remove(key)
        return None

    def _make(self, asked: Compilation, key: bytes) -> Compiled | None:
        with self._files.new() as path:
            if path is None:
                return None
            made = self._ask(asked, f"--create-pch={path}")
            if made is not None and made.status == "NVRTC_SUCCESS" and self._unchanged():
                self._files.keep(key, path)
            return made

    def _ask(self, asked: Compilation, option: str) -> Compiled | None:
        """Compile in the helper, which does so once; None where that cannot be done.

        Parameters
        ----------
        option
            What is done with the precompiled header, in NVRTC's words.
        """
        if _impossible.is_set():
            return None
        try:
            found = self._helper.compile(
                asked, _NO_REMARK, option, timeout_seconds=_TIMEOUT_SECONDS
            )
        except (CustomDispatchError, struct.error):
            return None
        finally:
            self._helper.end()
        if isinstance(found, Completed):
            if found.returncode >= 0:  # what ended it was no signal, so it will end each time
                _impossible.set()
            return None
        if _UNFIT in found.log:
            _impossible.set()  # what it gave is right, but took the long way
        return replace(found, log=_REMARK.sub("", found.log).strip())


# Set where this machine does not let a program have its memory at the same addresses each time.
_impossible = threading.Event()
