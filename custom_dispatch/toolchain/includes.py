"""Which files a compilation may read: its `#include`s followed, in every branch of every `#if`.

NVRTC does not say which headers it read. What is found here is at least what it reads: directives
in comments and in branches not taken count too, and each name is looked up as the compiler does,
with every place that is passed over on the way. Where a name cannot be told without preprocessing,
there is no answer, and the compilation is not kept. `tests/toolchain/test_includes.py` compares
with the files that NVRTC opens.

A toolkit's own headers are not followed: what leads into their directory takes all of it as one
input, together with every place where one of them would look before it.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from custom_dispatch.store import Closure, Snapshot
from custom_dispatch.store.closure import spelled_names
from custom_dispatch.store.key import read_whole

MAX_FILES = 20_000
_MAX_SPELLINGS = 64
"""How many names one directive with macros may stand for."""

# Spaces and comments, which may stand between the parts of a directive. What each part may match
# tells it from the next, so no text makes the search slow; possessive quantifiers would say so, but
# Python before 3.11.5 matches them wrongly.
_GAP = rb"(?:[ \t\f\v\r]|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*"
_INCLUDE = re.compile(
    rb"#" + _GAP + rb"(?:include(?:_next)?|import)" + _GAP + rb'(?:<([^>\n]+)>|"([^"\n]+)")'
)
# A name that macros make. Only where a directive may stand, else every remark would be one.
_COMPUTED = re.compile(
    rb"(?:^|\*/)"
    + _GAP
    + rb"#"
    + _GAP
    + rb"(?:include(?:_next)?|import)\b"
    + _GAP
    + rb'([^<"\s/][^\n]*)',
    re.MULTILINE,
)
_NEXT = re.compile(rb"include_next|#" + _GAP + rb"import")
_DEFINE = re.compile(
    rb"^" + _GAP + rb"#" + _GAP + rb"define[ \t]+(\w+)[ \t]+([^\n]*)", re.MULTILINE
)
_ASK = re.compile(rb"__has_include(?:_next)?" + _GAP + rb"\(" + _GAP + rb"([^)\n]*)")
_ASKING_MACRO = re.compile(
    rb"define[ \t]+(\w+)\((\w+)\)[^\n]*__has_include(?:_next)?\s*\(\s*(\w+)\s*\)"
)
_NAME = re.compile(rb'\s*(?:<([^>\n]+)>|"([^"\n]+)")')
_WORD = re.compile(rb"\w+")
_TIME = re.compile(rb"__(?:DATE|TIME|TIMESTAMP)__|__has_embed|#" + _GAP + rb"embed\b")
_CONTINUED = re.compile(rb"\\[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class SearchPath:
    """Where a compiler looks for headers."""

    directories: tuple[str, ...]
    """For every name, in this order; a name in quotes first beside the including file."""
    trees: tuple[str, ...] = ()
    """Directories that are inputs as a whole; some of `directories` are these or lie below them."""
    forced: tuple[str, ...] = ()
    """Headers that options include before the source; looked up in the working directory first."""
    macros: tuple[tuple[str, str], ...] = ()
    """Names and values of macros that options define."""
    before_host: tuple[str, ...] = ()
    """Those of a compiler that says what it read, where that would be found first."""


def find_includes(
    source: bytes, path: Path, search: SearchPath, snapshot: Snapshot
) -> Closure | None:
    """Every file that compiling a source may read, and every place where it may look in vain.

    - `source`, `path`: the source's content, and its file, which is not part of the answer.
    - `snapshot`: where the content of trees is known.

    Returns: None where the names cannot be told, or the result depends on the time of day.
    """
    scan = _Scan(search, snapshot)
    for name, value in search.macros:
        scan.define(name.encode(), value.encode())
    try:
        scan.read(os.path.dirname(path), source)  # noqa: PTH120 - the compiler joins texts too
        for name in search.forced:
            scan.follow(name)
        scan.finish()
    except (_UntoldError, OSError):
        return None
    return Closure(tuple(sorted(scan.found)), tuple(sorted(scan.absent)), tuple(sorted(scan.trees)))


def before_headers(headers: Sequence[str], search: SearchPath) -> tuple[str, ...] | None:
    """Where the headers that some headers include would be found first, if they were there; None
    where one of these cannot be read.
    """
    absent = set()
    try:
        names = {name for path in headers for name in spelled_names(read_whole(path))}
    except OSError:
        return None
    for name in names:
        for place in search.before_host:
            # A name that is there was followed, or will be when it is read.
            spelled = os.path.join(place, name)  # noqa: PTH118
            if not os.path.lexists(spelled):
                absent.add(spelled)
    return tuple(sorted(absent))


class _UntoldError(Exception):
    """What is included depends on more than the text."""


@dataclass
class _Scan:
    search: SearchPath
    snapshot: Snapshot
    found: set[str] = field(default_factory=set)
    absent: set[str] = field(default_factory=set)
    trees: set[str] = field(default_factory=set)
    _texts: list[tuple[str, bytes]] = field(default_factory=list)
    _looked_up: set[tuple[str, str]] = field(default_factory=set)
    _is_file: Callable[[str], bool] = field(default_factory=lambda: cache(os.path.isfile))
    _is_there: Callable[[str], bool] = field(default_factory=lambda: cache(os.path.lexists))
    _is_link: Callable[[str], bool] = field(default_factory=lambda: cache(os.path.islink))
    _macros: dict[bytes, set[bytes]] = field(default_factory=dict)
    _computed: list[tuple[str, bytes]] = field(default_factory=list)
    _asking: set[bytes] = field(default_factory=set)

    def define(self, name: bytes, value: bytes) -> None:
        """Remember a macro; a name may have several values, in different branches."""
        self._macros.setdefault(name, set()).add(value.strip())

    def read(self, directory: str, content: bytes) -> None:
        """Follow a file and all that it includes."""
        pending = [(directory, content)]
        while pending:
            directory, content = pending.pop()
            text = _plain(content)
            self._texts.append((directory, text))
            if len(self._texts) > MAX_FILES or b"\0" in text or _TIME.search(text):
                raise _UntoldError
            for match in _DEFINE.finditer(text):
                self.define(match[1], match[2])
            every = _NEXT.search(text) is not None
            for match in _INCLUDE.finditer(text):
                pending += self._look_up(_named(match), directory, bool(match[2]), every=every)
            self._computed += [(directory, m[1]) for m in _COMPUTED.finditer(text)]
            if b"__has_include" in text:
                pending += self._follow_questions(directory, text)

    def follow(self, name: str, directory: str = "", *, quoted: bool = True) -> None:
        """Follow the files of a name."""
        for beside, content in self._look_up(name, directory, quoted):
            self.read(beside, content)

    def finish(self) -> None:
        """Follow the names that macros make, and the questions asked through macros."""
        done: set[tuple[str, bytes]] = set()
        asked: set[tuple[bytes, str]] = set()
        while True:
            before = len(self._texts), len(self._macros), len(self._asking)
            for directory, text in list(self._computed):
                for spelling in self._spellings(text):
                    if (directory, spelling) not in done:
                        done.add((directory, spelling))
                        self._follow_spelling(directory, spelling)
            for word in list(self._asking):
                for directory, text in list(self._texts):
                    if word in text:
                        self._follow_asking(word, directory, text, asked)
            if before == (len(self._texts), len(self._macros), len(self._asking)):
                return

    def _follow_questions(self, directory: str, text: bytes) -> Iterator[tuple[str, bytes]]:
        """`__has_include`: the answer depends on whether there is such a file."""
        wrapped = set()
        for match in _ASKING_MACRO.finditer(text):
            if match[2] == match[3]:
                self._asking.add(match[1])
                wrapped.add(match[2])
        for match in _ASK.finditer(text):
            name = _NAME.match(match[1])
            if name is not None:
                yield from self._look_up(_named(name), directory, bool(name[2]), every=True)
            elif match[1].strip() not in wrapped:
                self._computed.append((directory, match[1]))

    def _follow_asking(
        self, word: bytes, directory: str, text: bytes, asked: set[tuple[bytes, str]]
    ) -> None:
        for match in re.finditer(rb"\b" + word + rb'\s*\(\s*(?:<([^>\n]+)>|"([^"\n]+)")', text):
            if (match[0], directory) not in asked:
                asked.add((match[0], directory))
                self.follow(_named(match), directory, quoted=bool(match[2]))

    def _follow_spelling(self, directory: str, spelling: bytes) -> None:
        name = _NAME.match(spelling)
        if name is None:
            raise _UntoldError
        self.follow(_named(name), directory, quoted=bool(name[2]))

    def _spellings(self, text: bytes) -> list[bytes]:
        """What a directive's words may become, with each known value of each macro in them."""
        found, pending = [], [text.strip()]
        seen: set[bytes] = set(pending)
        while pending:
            current = pending.pop()
            for word in _WORD.findall(current):
                values = self._macros.get(word)
                if values:
                    pattern = re.compile(rb"\b" + word + rb"\b")
                    new = {value.join(pattern.split(current)) for value in values}
                    break
            else:
                found.append(current)
                continue
            pending += new - seen
            seen |= new
            if len(seen) > _MAX_SPELLINGS:
                raise _UntoldError
        return found

    def _look_up(
        self, name: str, directory: str, quoted: bool, *, every: bool = False
    ) -> Iterator[tuple[str, bytes]]:
        """Look a name up; give the files found that are new, with their directories.

        `every`: go on after the first: the file may ask for the next one of that name.
        """
        if not quoted:
            directory = ""
        key = (name, directory if quoted else "<")
        if key in self._looked_up and not every:
            return
        self._looked_up.add(key)
        places: Iterable[str] = self.search.directories
        if quoted:
            places = (directory, *places)
        for place in places:
            for spelled in _spelled(name):
                path = os.path.join(place, spelled)  # noqa: PTH118 - as the compiler forms it
                if not self._is_file(path):
                    self.absent.add(self._first_absent(place, spelled))
                    continue
                path = self._without_detours(path)
                tree = self._tree_of(path)
                if tree is not None:
                    yield from self._enter(tree)
                elif path not in self.found:
                    self.found.add(path)
                    yield os.path.dirname(path), read_whole(path)  # noqa: PTH120
                if not every:
                    return

    def _tree_of(self, path: str) -> str | None:
        return next((tree for tree in self.search.trees if path.startswith(f"{tree}/")), None)

    def _enter(self, tree: str) -> Iterator[tuple[str, bytes]]:
        """Take a whole tree, and look up what its files include in the directories before it."""
        if tree in self.trees:
            return
        self.trees.add(tree)
        before = self.search.directories[0]
        if self._tree_of(f"{before}/") == tree:
            return  # nothing is looked up before it
        names = self.snapshot.names(tree)
        if names is None:
            raise _UntoldError
        for name in names:
            yield from self._look_up(name, "", quoted=False)

    def _without_detours(self, path: str) -> str:
        """A file's path without `x/..`, unless x is a link; a header that names itself through such
        a path, as in a remark, would have ever longer ones.
        """
        if "/../" not in path:
            return path
        parts: list[str] = []
        for part in path.split("/"):
            is_detour = part == ".." and parts and parts[-1] not in ("", ".", "..")
            if is_detour and not self._is_link("/".join(parts)):
                parts.pop()
            else:
                parts.append(part)
        return "/".join(parts)

    def _first_absent(self, place: str, name: str) -> str:
        """The shortest part of a path that is not there: hundreds of names share a few."""
        path = place
        if ".." not in name and not name.startswith("/"):
            for part in name.split("/"):
                path = os.path.join(path, part)  # noqa: PTH118
                if not self._is_there(path):
                    return path
        return os.path.join(place, name)  # noqa: PTH118


def _plain(content: bytes) -> bytes:
    """The text with each line whole and `#` spelled in one way."""
    if b"\\" in content:
        content = _CONTINUED.sub(b"", content)
    return content.replace(b"%:", b"#").replace(b"??=", b"#")


def _named(match: re.Match[bytes]) -> str:
    return os.fsdecode((match[1] or match[2]).strip())


def _spelled(name: str) -> Sequence[str]:
    """Where a name has no extension, NVRTC 13.0 looks for `NAME.stdh` too (seen)."""
    return (name,) if "." in os.path.basename(name) else (name, f"{name}.stdh")  # noqa: PTH119
