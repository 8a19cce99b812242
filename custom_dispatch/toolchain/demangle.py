"""Finding a declared C++ name among the mangled entries of an object that was built elsewhere.

Such an object says nothing of names but its symbols. They are demangled by the C++ runtime library
of this machine (`__cxa_demangle` of the Itanium C++ ABI, which CUDA's names follow) and compared by
their tokens. A typedef or alias in a declared name is not seen through: the symbols do not have it.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from custom_dispatch.kernel.entry import CppName, cpp_name
from custom_dispatch.toolchain.entry_point import EntryPoint

_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1")
_MAX_LENGTH = 10_000
_TOKEN = re.compile(r"\w+|\S", re.ASCII)
_SUFFIX = re.compile(r"(?<=[0-9])[uUlL]+", re.ASCII)


def find_entries(
    names: Sequence[str], symbols: Sequence[str], notes: Sequence[EntryPoint] = ()
) -> tuple[EntryPoint, ...]:
    """Which symbol each declared entry is, for those that are none themselves or are told of.

    Parameters
    ----------
    names
        Declared entries.
    symbols
        The entries of an object; none where they cannot be read.
    notes
        What the object itself says of them.
    """
    told = {note.name: note for note in notes if not symbols or note.symbol in symbols}
    takes = {note.symbol: note.parameters for note in told.values()}
    known: list[tuple[str, str | None]] | None = None
    found = []
    for name in names:
        if name in told:
            found.append(told[name])
        if name in told or name in symbols:
            continue
        if known is None:
            known = [(symbol, demangle(symbol)) for symbol in symbols]
        function = cpp_name(name)
        fitting = [symbol for symbol, text in known if text and _is(function, text)]
        if len(fitting) == 1:
            found.append(EntryPoint(name, fitting[0], None, takes.get(fitting[0], ())))
    return tuple(found)


def demangle(symbol: str) -> str | None:
    """A C++ function's name and parameters; None for any other symbol, or without a library."""
    library = _library()
    if library is None or not symbol.startswith("_Z") or len(symbol) > _MAX_LENGTH:
        return None
    status = ctypes.c_int()
    text = library.__cxa_demangle(symbol.encode(), None, None, ctypes.byref(status))
    if not text:
        return None
    try:
        return ctypes.string_at(text).decode("utf-8", "replace")
    finally:
        library.free(text)


@cache
def _library() -> Any:
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
            library.__cxa_demangle.restype = ctypes.c_void_p
            library.free.argtypes = [ctypes.c_void_p]
        except (OSError, AttributeError):
            continue
        return library
    return None


def _is(function: CppName, demangled: str) -> bool:
    """Whether a demangled function, "void ns::scale<int>(int const*)", is the one declared."""
    end = demangled.rfind(")")
    start = end
    depth = 0
    while start >= 0:
        depth += (demangled[start] == ")") - (demangled[start] == "(")
        if depth == 0:
            break
        start -= 1
    name = demangled[:start].removeprefix("void ")
    if _tokens(name) != _tokens(function.function.removeprefix("::")):
        return False
    if function.parameters is None:
        return True
    return _types(demangled[start + 1 : end]) == _types(function.parameters)


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(_SUFFIX.sub("", text))


def _types(parameters: str) -> list[Counter[str]]:
    """The tokens of each type in any order: `const float*` is `float const*`."""
    types: list[Counter[str]] = [Counter()]
    depth = 0
    for part in _tokens(parameters):
        depth += (part in "<(") - (part in ">)")
        if part == "," and depth == 0:
            types.append(Counter())
        elif part not in ("__restrict__", "int"):  # `unsigned` is `unsigned int`
            types[-1][part] += 1
    return types
