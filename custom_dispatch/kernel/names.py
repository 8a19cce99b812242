"""Names from users: checked once, here, before they reach IR, PTX look-up, or a file's name."""

from __future__ import annotations

import re

from custom_dispatch.errors import DeclarationError

# IREE replaces every other character of an exported name by "_" but looks the original up at run
# time, so such a kernel would compile and never be found (iree/compiler/.../sanitizeSymbolName).
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_NAME_LENGTH = 200
"""Characters: with an architecture and a suffix the file name stays below the 255 bytes that file
systems allow."""


def check_name(name: object, what: str) -> str:
    """Return `name` if it is an identifier of ASCII letters, digits and underscores.

    Parameters
    ----------
    name
        The name as the user gave it.
    what
        What it names, for the error: "kernel", "operand of kernel `simple_mul`".

    Raises
    ------
    DeclarationError
        It is no such identifier, or is too long.
    """
    if not isinstance(name, str):
        raise DeclarationError(
            f"The name of a {what} is given as {type(name).__name__}.",
            expected="text",
            next_step="quote the name.",
        )
    if _IDENTIFIER.fullmatch(name) is None:
        raise DeclarationError(
            f"{name!r} cannot name a {what}.",
            expected="ASCII letters, digits and underscores, not beginning with a digit",
            next_step='rename it; a C++ kernel can be declared `extern "C"` to get a plain name.',
        )
    if len(name) > MAX_NAME_LENGTH:
        raise DeclarationError(
            f"The name of a {what} has {len(name)} characters ({name[:40]}...).",
            expected=f"at most {MAX_NAME_LENGTH} characters",
            next_step="choose a shorter name.",
        )
    return name
