"""Names and other values from users, before they reach IR, PTX look-up, a file or an error."""

import operator
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from custom_dispatch.errors import CallError, CustomDispatchError, DeclarationError

# IREE replaces every other character of an exported name by "_" but looks the original up at run
# time, so such a kernel would compile and never be found (iree/compiler/.../sanitizeSymbolName).
_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_MAX_SHOWN = 80
_FRAMEWORKS = ("torch", "jax", "onnx")
Found = TypeVar("Found")
MAX_NAME_LENGTH = 200
"""Characters: with an architecture and a suffix the file name stays below the 255 bytes that file
systems allow."""


def check_name(name: object, what: str) -> str:
    """Return `name` if it is an identifier of ASCII letters, digits and underscores.

    - `name`: the name as the user gave it.
    - `what`: what it names, for the error: "kernel", "operand of kernel `simple_mul`".
    """
    article = "an" if what[0] in "aeiou" else "a"
    if not isinstance(name, str):
        raise DeclarationError(
            f"The name of {article} {what} is given as {shown(name)}.",
            expected="text",
            next_step="quote the name.",
        )
    if re.fullmatch(_IDENTIFIER, name) is None:
        raise DeclarationError(
            f"{shown(name)} cannot name {article} {what}.",
            expected="ASCII letters, digits and underscores, not beginning with a digit",
            next_step='rename it; a C++ kernel can be declared `extern "C"` to get a plain name.',
        )
    if len(name) > MAX_NAME_LENGTH:
        raise DeclarationError(
            f"The name of {article} {what} has {len(name)} characters ({name[:40]}...).",
            expected=f"at most {MAX_NAME_LENGTH} characters",
            next_step="choose a shorter name.",
        )
    return str(name)


def as_integer(value: object) -> int | None:
    """The value of an integer of Python or numpy; None for anything else, bools among it."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def is_list(value: object) -> bool:
    """Whether a value is a sequence of things.

    A text would be iterated over by its letters, a mapping or a set in some order, and a generator
    once.
    """
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_one_of(value: object, words: Collection[str]) -> bool:
    """Whether a value is one of some words; an array is not asked, which compares by element."""
    return isinstance(value, str) and value in words


def chosen(
    owner: str, found: Mapping[str, Found], name: str | None, kind: str, option: str
) -> Found:
    """One of several things by its name; without a name the only one that there is.

    - `owner`: what has them, and the verb, for errors: "`kernels.py` declares".
    - `kind`: what each is: "kernel".
    - `option`: how its name is given: "--kernel NAME".
    """
    if name is None and len(found) == 1:
        return next(iter(found.values()))
    if name is not None and is_one_of(name, found):
        return found[name]
    known = ", ".join(found)
    if name is None and found:
        raise CallError(
            f"{owner} {len(found)} {kind}s: {known}.",
            expected="one of them to be chosen",
            next_step=f"give {option}.",
        )
    raise CallError(
        f"{owner} no {kind}" + ("." if name is None else f" `{name}`."),
        expected=f"one of {known}" if found else f"at least one {kind}",
        next_step="correct the name." if found else f"give what has a {kind}.",
    )


def check_switch(value: object, name: str) -> bool:
    """Return what an argument is that turns something on or off.

    A text would be true, `"off"` too.

    `name`: the argument's: "store".
    """
    if not isinstance(value, bool):
        raise DeclarationError(
            f"{name} is given as {shown(value)}.",
            expected="True or False",
            next_step=f"give {name}=True or {name}=False.",
        )
    return value


def as_path(value: object, what: str, error: type[CustomDispatchError]) -> Path:
    """The path that a user gave.

    - `what`: what it leads to, for the error: "The module".
    - `error`: the class to raise.
    """
    try:
        text = os.fspath(value)  # type: ignore[call-overload]
        if isinstance(text, str) and b"\0" not in os.fsencode(text):
            return Path(text)
    except (TypeError, ValueError):  # ValueError: characters that no name has
        pass
    raise error(
        f"{what} is given as {shown(value)}.",
        expected="a path, as text or a pathlib.Path",
        next_step="name the file or directory.",
    )


def several(values: Any) -> list[Any] | None:
    """The values of anything that has some, except a text; else None."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return None
    try:
        return list(values)
    except TypeError:  # an array without dimensions
        return None


def shown(value: object) -> str:
    """A value as an error shows it: its `repr`, or its type where that is long or fails.

    What is wrong about a value may be just that it cannot be printed: an integer of 5000 digits
    has no `repr` in Python, and an array has one of many lines.
    """
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - any code may stand behind `repr`
        return f"a value of type {type_name(value)}"
    if len(text) <= _MAX_SHOWN and "\n" not in text:
        return text
    if isinstance(value, str | bytes):
        return f"{text[:40]}... ({len(value)} long)"
    return f"a value of type {type_name(value)}"


def type_name(value: object) -> str:
    """A type's name; of this package's as users write it: "cd.torch.Pattern"."""
    kind = type(value)
    package, *inside = kind.__module__.split(".")
    if package != __name__.partition(".")[0]:
        return kind.__name__
    framework = [part for part in inside if part in _FRAMEWORKS][:1]
    return ".".join(["cd", *framework, kind.__name__])


_MOST_NAMES = 3


def listed(kernels: Sequence[str]) -> str:
    """Kernels in a message: "`a`, `b`, `c` and 16 more"."""
    names = [f"`{name}`" for name in kernels]
    if len(names) > _MOST_NAMES + 1:
        names = [", ".join(names[:_MOST_NAMES]), f"{len(names) - _MOST_NAMES} more"]
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
