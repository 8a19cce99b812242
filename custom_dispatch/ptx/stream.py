"""Reading tokens one after another, with the errors a reader gives when they do not fit."""

from __future__ import annotations

import re
from typing import NoReturn

from custom_dispatch.ptx.lexer import Kind, Token, syntax_error

_INTEGER = re.compile(
    r"(?:0[xX](?P<hex>[0-9a-fA-F]{1,32})|0[bB](?P<bin>[01]{1,128})"
    r"|(?P<oct>0[0-7]{0,43})|(?P<dec>[1-9][0-9]{0,38}))U?"
)


def parse_integer(text: str) -> int | None:
    """The value of an integer literal (PTX ISA, section 4.5.1), or None for any other text."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        return None
    for group, base in (("hex", 16), ("bin", 2), ("oct", 8), ("dec", 10)):
        digits = match.group(group)
        if digits is not None:
            return int(digits, base)
    return None


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
