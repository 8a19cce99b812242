"""PTX text into tokens (PTX ISA 9.0, sections 4.1 to 4.5).

One pass, linear in the text. A word keeps its dots (``ld.global.f32``, ``%tid.x``) and its double
colons (``shared::cta``), because PTX gives neither a meaning of its own. A word that begins with a
dot ends before the next one: ``.reg.b32`` is two, as cuda_bf16.h writes it.
"""

from __future__ import annotations

import enum
import re
from typing import NamedTuple

from custom_dispatch.errors import PtxError

_NEXT_STEP = "give PTX as nvcc -ptx, NVRTC or cuobjdump -ptx print it"

_SPACE = " \t\r\f\v\n"
_TOKEN = re.compile(
    r"""
    [ \t\r\f\v\n]*+
    (?:
      (?P<comment>//[^\n]*)
    | (?P<block>/\*)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<word>\.(?:[A-Za-z0-9_$%]++|::)*+|(?:[A-Za-z0-9_$%.]++|::)++)
    | (?P<mark>[-+*/~!@|&^?:;,=<>(){}\[\]#])
    | (?P<end>\Z)
    )
    """,
    re.VERBOSE,
)


class Kind(enum.Enum):
    """What a token is."""

    WORD = "word"
    STRING = "string"
    MARK = "mark"
    END = "end"


class Token(NamedTuple):
    """One token: its kind, text, line (from 1) and the offset of its first character."""

    kind: Kind
    text: str
    line: int
    start: int

    @property
    def end(self) -> int:
        """Offset just after the token."""
        return self.start + len(self.text)

    def __str__(self) -> str:
        if self.kind is Kind.END:
            return "the end of the text"
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return f"`{shown}`"


_KINDS = {kind.value: kind for kind in Kind}


def syntax_error(line: int, found: str, expected: str) -> PtxError:
    """The error for PTX that cannot be read: where, what was found, what was expected."""
    return PtxError(
        f"PTX line {line}: found {found}", expected=expected, next_step=f"{_NEXT_STEP}, complete"
    )


def tokenize(text: str) -> list[Token]:
    """Split PTX text into tokens, ending with one of kind END.

    Raises
    ------
    PtxError
        The text holds a character that is not PTX, or a comment or string does not end.
    """
    tokens: list[Token] = []
    position, line = 0, 1
    while True:
        match = _TOKEN.match(text, position)
        if match is None:
            start = len(text) - len(text[position:].lstrip(_SPACE))
            line += text.count("\n", position, start)
            character = text[start]
            if character == '"':
                raise syntax_error(line, "a string without its end", 'a closing `"` on the line')
            raise syntax_error(line, f"the character {character!a}", "PTX, which is ASCII text")
        kind = match.lastgroup or ""
        start, end = match.span(kind)
        line += text.count("\n", position, start)
        token_kind = _KINDS.get(kind)
        if token_kind is not None:
            tokens.append(Token(token_kind, match[kind], line, start))
        if kind == "end":
            return tokens
        if kind == "block":
            close = text.find("*/", end)
            if close < 0:
                raise syntax_error(line, "a comment without its end", "a closing `*/`")
            end = close + 2
            line += text.count("\n", start, end)
        position = end
