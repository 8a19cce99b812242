"""What a compilation follows from besides its source: the files that it read, and those that it
would have read first if they were there.

Compilers say which files they read, and not where they looked in vain. But they look for a name in
the places that options give, and beside the file that asks for it. So every such place of every
name that the files spell counts, also in comments and in branches that are not taken: that is more
than is looked at. Where a name cannot be told, there is no answer, and the compilation is not kept.
`tests/toolchain/test_includes.py` compares with the files that NVRTC opens.
"""

import os
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from custom_dispatch.store import Closure
from custom_dispatch.store.key import read_whole

# Spaces and comments, which may stand between the parts of a directive. What each part may match
# tells it from the next, so no text makes the search slow; possessive quantifiers would say so, but
# Python before 3.11.5 matches them wrongly.
_GAP = rb"(?:[ \t\f\v\r]|/\*[^*]*(?:\*(?!/)[^*]*)*\*/)*"
_INCLUDE = rb"#" + _GAP + rb"(?:include(?:_next)?|import)\b" + _GAP
_SPELLED = re.compile(_INCLUDE + rb'(?:<([^>\n]+)>|"([^"\n]+)")')
# A name that macros make. Only where a directive may stand, else every remark would be one.
_COMPUTED = re.compile(rb"(?:^|\*/)" + _GAP + _INCLUDE + rb'[^<"\s/]', re.MULTILINE)
_HAS_INCLUDE = rb"__has_include(?:_next)?"
# A macro with a parameter; and where it asks for the header that its parameter names, the words
# before that.
_MACRO = re.compile(
    rb"define[ \t]+(\w+)\([ \t]*(\w*)[^)\n]{0,200}\)"
    rb"(?:([^\n]{0,200})" + _HAS_INCLUDE + rb"\s*\(\s*\2\s*\))?"
)
_TIME = re.compile(rb"__(?:DATE|TIME|TIMESTAMP)__|__has_embed|#" + _GAP + rb"embed\b")
_CONTINUED = re.compile(rb"\\[ \t]*\r?\n")


@dataclass(frozen=True, slots=True)
class SearchPath:
    """Where a compiler looks for headers."""

    directories: tuple[str, ...]
    """For every name; a name in quotes first beside the including file."""
    forced: tuple[str, ...] = ()
    """Headers that are included before the source; looked up in the working directory first."""


def closure_of(
    source: bytes, path: Path, read: Collection[str], search: SearchPath
) -> Closure | None:
    """Every file that compiling a source read, and every place where it may have looked in vain.

    - `source`, `path`: the source's content, and its file, which is not part of the answer.
    - `read`: the other files, as the compiler says.

    Returns: None where the names cannot be told, or the result depends on the time of day.
    """
    try:
        files = [(str(path), source), *((name, read_whole(name)) for name in read)]
    except OSError:
        return None
    # The compiler joins texts, and so is done here.
    texts = [(os.path.dirname(name), _plain(content)) for name, content in files]  # noqa: PTH120
    if any(_TIME.search(text) or b"\0" in text for _, text in texts):
        return None
    names = _names(texts, _SPELLED) | {(name, "") for name in search.forced}
    asked = _names([(place, _MACRO.sub(rb"\3", text)) for place, text in texts], _questions(texts))
    if any(not name for name, _ in asked):
        return None
    names |= asked
    spelled = {name for name, _ in names}
    for name in read:
        if spelled.isdisjoint(_tails(name)):  # macros made the name that led to it
            places = {None, *(place for place, text in texts if _COMPUTED.search(text))}
            names |= {(tail, place) for tail in _tails(name) for place in places}
    looked_for = set(_places(names, search.directories)).difference(read)
    return Closure(tuple(sorted(read)), tuple(sorted(looked_for)))


def _plain(content: bytes) -> bytes:
    """The text with each line whole and `#` spelled in one way."""
    if b"\\" in content:
        content = _CONTINUED.sub(b"", content)
    return content.replace(b"%:", b"#").replace(b"??=", b"#")


def _questions(texts: Iterable[tuple[str, bytes]]) -> re.Pattern[bytes]:
    """`__has_include`, also through a macro: the answer depends on whether there is such a file."""
    macros = {
        match[1] for _, text in texts for match in _MACRO.finditer(text) if match[3] is not None
    }
    asking = b"|".join((_HAS_INCLUDE, *macros))
    return re.compile(
        rb"\b(?:" + asking + rb")" + _GAP + rb"\(" + _GAP + rb'(?:<([^>\n]+)>|"([^"\n]+)")?'
    )


def _names(
    texts: Iterable[tuple[str, bytes]], pattern: re.Pattern[bytes]
) -> set[tuple[str, str | None]]:
    """What is asked for, with the directory in which a name in quotes is looked up first."""
    return {
        (os.fsdecode((match[1] or match[2] or b"").strip()), directory if match[2] else None)
        for directory, text in texts
        for match in pattern.finditer(text)
    }


def _tails(path: str) -> list[str]:
    """The names that may lead to a file."""
    parts = path.split("/")
    return ["/".join(parts[start:]) for start in range(len(parts))]


def _places(names: Iterable[tuple[str, str | None]], directories: tuple[str, ...]) -> Iterator[str]:
    """Where the names may be: the whole path, or the part of it that is not there, as hundreds of
    names share a few of these.
    """
    is_there = cache(os.path.exists)
    for name, beside in names:
        # Where a name has no extension, NVRTC 13.0 looks for `NAME.stdh` too (seen).
        spellings = (name,) if "." in os.path.basename(name) else (name, f"{name}.stdh")  # noqa: PTH119
        for place in directories if beside is None else (beside, *directories):
            for spelled in spellings:
                path = os.path.join(place, spelled)  # noqa: PTH118
                parts = [] if ".." in spelled or spelled.startswith("/") else spelled.split("/")
                part = place
                for each in parts:
                    part = os.path.join(part, each)  # noqa: PTH118
                    if not is_there(part):
                        path = part
                        break
                yield path
