"""The name of a `__global__` function, as a declaration's `entry=` may give it.

A plain identifier, or a C++ name: `ns::scale`, `rms_norm<float, 256>`, and, to choose one of
several overloads, with its parameter types: `scale(const float*, float*, int)`. It goes into C++
source that is compiled, so nothing passes but what such a name is made of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import shown

_MAX_LENGTH = 10_000
"""Characters; names of CUTLASS's kernels have thousands."""
_TOKEN = re.compile(r"[A-Za-z_]\w*|[0-9][\w.]*|::|[<>(),*&+-]", re.ASCII)
_WORD = re.compile(r"\w", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_CLOSES = {"<": ">", "(": ")"}


@dataclass(frozen=True, slots=True)
class CppName:
    """A function's C++ name, taken apart."""

    function: str
    """The name with its namespaces and template arguments: "ns::scale<float>"."""
    parameters: str | None
    """The parameter types that choose an overload: "const float*, int"; None where not given."""

    @property
    def is_identifier(self) -> bool:
        """Whether it is a plain name, which a C function may have as well."""
        return self.parameters is None and _IDENTIFIER.fullmatch(self.function) is not None

    @property
    def address(self) -> str:
        """A C++ constant expression: the function's address."""
        if self.parameters is None:
            return f"&{self.function}"
        return f"static_cast<void (*)({self.parameters})>(&{self.function})"

    def __str__(self) -> str:
        return self.function + ("" if self.parameters is None else f"({self.parameters})")


def check_entry(kernel: str, entry: object) -> str:
    """Return a declared entry with its blanks as this package writes them.

    Raises
    ------
    DeclarationError
        It is neither an identifier nor a C++ name.
    """
    found = _read(entry) if isinstance(entry, str) else None
    if found is None:
        raise DeclarationError(
            f"Kernel `{kernel}`: entry {shown(entry)} is not the name of a function.",
            expected="a name such as scale, ns::scale or rms_norm<float, 256>, or, to choose an "
            "overload, scale(const float*, int)",
            next_step="name the __global__ function as C++ code would; simplify template "
            "arguments with an alias in the source.",
        )
    return str(found)


def cpp_name(entry: str) -> CppName:
    """A checked entry, taken apart."""
    found = _read(entry)
    if found is None:  # pragma: no cover - `check_entry` let it pass
        raise TypeError(f"not an entry: {entry}")
    return found


def _read(entry: str) -> CppName | None:
    tokens = _TOKEN.findall(entry)
    if len(entry) > _MAX_LENGTH or "".join(tokens) != entry.replace(" ", ""):
        return None  # something else than tokens and blanks is in it
    position = 1 if tokens[:1] == ["::"] else 0
    while True:
        if position == len(tokens) or _IDENTIFIER.fullmatch(tokens[position]) is None:
            return None
        position += 1
        if tokens[position : position + 1] == ["<"]:
            end = _end_of_group(tokens, position)
            if end is None:
                return None
            position = end
        if tokens[position : position + 1] != ["::"]:
            break
        position += 1
    function, rest = _joined(tokens[:position]), tokens[position:]
    if not rest:
        return CppName(function, None)
    if rest[0] != "(" or _end_of_group(rest, 0) != len(rest):
        return None
    return CppName(function, _joined(rest[1:-1]))


def _end_of_group(tokens: list[str], start: int) -> int | None:
    """The position behind the bracket that closes the one at `start`."""
    waiting: list[str] = []
    for position in range(start, len(tokens)):
        token = tokens[position]
        if token in _CLOSES:
            waiting.append(_CLOSES[token])
        elif token in _CLOSES.values():
            if waiting.pop() != token:
                return None
            if not waiting:
                return position + 1
    return None


def _joined(tokens: list[str]) -> str:
    text = ""
    for token in tokens:
        if text.endswith(",") or (
            _WORD.match(token) and re.fullmatch(r"[\w*&>]", text[-1:], re.ASCII)
        ):
            text += " "
        text += token
    return text
