"""PTX text into tokens (PTX ISA 9.0, sections 4.1 to 4.5).

One pass, linear in the text. A word keeps its dots (``ld.global.f32``, ``%tid.x``) and its double
colons (``shared::cta``), because PTX gives neither a meaning of its own. A word that begins with a
dot ends before the next one: ``.reg.b32`` is two, as cuda_bf16.h writes it.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from custom_dispatch.errors import PtxError

_NEXT_STEP = "give PTX as nvcc -ptx, NVRTC or cuobjdump -ptx print it"

_TOKEN = re.compile(
    r"""
      (?P<space>[ \t\r\f\v\n]+)
    | (?P<comment>//[^\n]*)
    | (?P<block>/\*)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<word>\.(?:[A-Za-z0-9_$%]|::)*|(?:[A-Za-z0-9_$%.]|::)+)
    | (?P<mark>[-+*/~!@|&^?:;,=<>(){}\[\]#])
    """,
    re.VERBOSE,
)


class Kind(enum.Enum):
    """What a token is."""

    WORD = "word"
    STRING = "string"
    MARK = "mark"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
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
    length = len(text)
    while position < length:
        match = _TOKEN.match(text, position)
        if match is None:
            character = text[position]
            if character == '"':
                raise syntax_error(line, "a string without its end", 'a closing `"` on the line')
            raise syntax_error(line, f"the character {character!a}", "PTX, which is ASCII text")
        kind = match.lastgroup
        end = match.end()
        if kind == "block":
            close = text.find("*/", end)
            if close < 0:
                raise syntax_error(line, "a comment without its end", "a closing `*/`")
            end = close + 2
        elif kind == "word":
            tokens.append(Token(Kind.WORD, match.group(), line, position))
        elif kind == "mark":
            tokens.append(Token(Kind.MARK, match.group(), line, position))
        elif kind == "string":
            tokens.append(Token(Kind.STRING, match.group(), line, position))
        line += text.count("\n", position, end)
        position = end
    tokens.append(Token(Kind.END, "", line, length))
    return tokens
