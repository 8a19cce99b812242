"""PTX text as tokens (PTX ISA 9.0, sections 4.1 to 4.5), and reading them one after another.

One pass, linear in the text. A word keeps its dots (``ld.global.f32``, ``%tid.x``) and its double
colons (``shared::cta``), because PTX gives neither a meaning of its own. A word that begins with a
dot ends before the next one: ``.reg.b32`` is two, as cuda_bf16.h writes it. Lines for debuggers
that PTX ISA 9.0 does not have (``.language``, ``.loc_intermediate``) are comments.
"""

import enum
import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from custom_dispatch.errors import PtxError

T = TypeVar("T")

_NEXT_STEP = "give PTX as nvcc -ptx, NVRTC or cuobjdump -ptx print it"

FOR_DEBUGGERS = r"\.(?:language|loc_intermediate)\b[^\n]*"
_SPACE = " \t\r\f\v\n"
_TOKEN = re.compile(
    rf"""
    [ \t\r\f\v\n]*+
    (?:
      (?P<comment>//[^\n]*|{FOR_DEBUGGERS})
    | (?P<block>/\*)
    | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
    | (?P<word>\.(?:[A-Za-z0-9_$%]++|::)*+|(?:[A-Za-z0-9_$%.]++|::)++)
    | (?P<mark>[-+*/~!@|&^?:;,=<>(){{}}\[\]#])
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
    """Split PTX text into tokens, ending with one of kind END."""
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


_INTEGER = re.compile(
    r"(?:0[xX](?P<hex>[0-9a-fA-F]{1,32})|0[bB](?P<bin>[01]{1,128})"
    r"|(?P<oct>0[0-7]{0,43})|(?P<dec>[1-9][0-9]{0,38}))U?"
)


_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}


def parse_integer(text: str) -> int | None:
    """The value of an integer literal (PTX ISA, section 4.5.1), or None for any other text."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    return int(match[match.lastgroup or 0], _BASES[match.lastgroup or ""])


class TokenStream:
    """A cursor over tokens; the last one is of kind END and is never passed."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self.position = 0
        """Index of the next token; may be set back to an earlier value."""

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or one further ahead, without taking it."""
        if not ahead:
            return self._tokens[self.position]
        return self._tokens[min(self.position + ahead, len(self._tokens) - 1)]

    def take(self) -> Token:
        """The next token, taken."""
        token = self.peek()
        if token.kind is not Kind.END:
            self.position += 1
        return token

    def previous_end(self) -> int:
        """Offset just after the token taken last."""
        return self._tokens[self.position - 1].end if self.position else 0

    def at(self, text: str) -> bool:
        """Whether the next token is this mark or word."""
        token = self._tokens[self.position]
        return token.text == text and (token.kind is Kind.MARK or token.kind is Kind.WORD)

    def accept(self, text: str) -> bool:
        """Take the next token if it is this mark or word."""
        if self.at(text):
            self.position += 1
            return True
        return False

    def fail(self, expected: str) -> NoReturn:
        """Raise a `PtxError` about the next token."""
        token = self.peek()
        raise syntax_error(token.line, str(token), expected)

    def expect(self, text: str, where: str) -> Token:
        """Take this mark or word, or raise a `PtxError`."""
        if not self.at(text):
            self.fail(f"`{text}` {where}")
        return self.take()

    def word(self, expected: str) -> str:
        """Take a word, or raise a `PtxError`."""
        if self.peek().kind is not Kind.WORD:
            self.fail(expected)
        return self.take().text

    def name(self, expected: str) -> str:
        """Take an identifier: a word that is neither a directive nor a number."""
        token = self.peek()
        if token.kind is not Kind.WORD or token.text[0] in ".:0123456789":
            self.fail(expected)
        return self.take().text

    def integer(self, expected: str) -> int:
        """Take an integer literal, or raise a `PtxError`."""
        value = parse_integer(self.peek().text) if self.peek().kind is Kind.WORD else None
        if value is None:
            self.fail(expected)
        self.take()
        return value

    def separated(self, read: Callable[[], T]) -> list[T]:
        """What a function reads once, and again after each comma."""
        found = [read()]
        while self.accept(","):
            found.append(read())
        return found

    def skip_directive(self) -> None:
        """Take everything up to and including the next semicolon."""
        while not self.at(";"):
            if self.take().kind is Kind.END:
                self.fail("`;` after a directive")
        self.take()

    def skip_balanced(self, opening: str, closing: str, where: str) -> None:
        """Take everything from an opening mark to the closing one that belongs to it."""
        self.expect(opening, where)
        depth = 1
        while depth:
            token = self.take()
            if token.kind is Kind.END:
                self.fail(f"`{closing}` {where}")
            if token.kind is Kind.MARK:
                depth += (token.text == opening) - (token.text == closing)
