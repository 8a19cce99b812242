"""Reading operands and literals (PTX ISA 9.0, section 4.5 and chapter 6), and which register,
variable or label a name means (sections 4.4, 5.4.6 and 9.1).

Braces open a scope whose declarations hide outer ones; inline assembly uses them freely, with the
same names again and again. Names of nested scopes are made unique with ``@`` and a number, which no
PTX name can contain.
"""

from __future__ import annotations

import re
import struct

from custom_dispatch.ptx import operands
from custom_dispatch.ptx.stream import Kind, TokenStream, parse_integer

_NUMBERED = re.compile(r"(.*?)(0|[1-9][0-9]{0,9})", re.DOTALL)

MAX_DEPTH = 128
"""Scopes nested deeper than this are refused."""


class Scope:
    """The names declared between one pair of braces.

    - `parent`: the enclosing scope, or None for a function's own.
    - `number`: 0 for a function's own scope; unique within the function.
    """

    def __init__(self, parent: Scope | None, number: int) -> None:
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self._suffix = f"@{number}" if number else ""
        self._registers: dict[str, str] = {}
        self._banks: dict[str, tuple[int, str]] = {}
        self._symbols: set[str] = set()

    def declare_register(self, name: str, type_name: str) -> None:
        """Declare one register."""
        self._registers[name] = type_name

    def declare_bank(self, prefix: str, count: int, type_name: str) -> None:
        """Declare registers `prefix`0 to `prefix`(count - 1), as ``.reg .b32 %r<8>`` does."""
        self._banks[prefix] = (count, type_name)

    def declare_symbol(self, name: str) -> str:
        """Declare a variable or label; returns its unique name."""
        self._symbols.add(name)
        return name + self._suffix

    def register(self, name: str) -> tuple[str, str] | None:
        """The unique name and type of a register, or None when no scope declares it."""
        match = _NUMBERED.fullmatch(name)
        scope: Scope | None = self
        while scope is not None:
            type_name = scope._registers.get(name)
            if type_name is None and match is not None:
                count, bank_type = scope._banks.get(match.group(1), (0, ""))
                if int(match.group(2)) < count:
                    type_name = bank_type
            if type_name is not None:
                return name + scope._suffix, type_name
            if name in scope._symbols:
                return None
            scope = scope.parent
        return None

    def symbol(self, name: str) -> str:
        """The unique name of a variable or label; `name` itself when it is the module's."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope._symbols:
                return name + scope._suffix
            scope = scope.parent
        return name


_HEX_FLOAT = re.compile(r"0[fF][0-9a-fA-F]{8}|0[dD][0-9a-fA-F]{16}")
_DECIMAL_FLOAT = re.compile(
    r"[0-9]{1,40}\.[0-9]{0,40}(?:[eE][0-9]{1,3})?|[0-9]{1,40}[eE][0-9]{1,3}"
)
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_MOST_NESTED = 5


def parse_literal(text: str) -> operands.Integer | operands.Float | None:
    """The value of a literal, or None for any other text."""
    value = parse_integer(text)
    if value is not None:
        return operands.Integer(value)
    if _HEX_FLOAT.fullmatch(text):
        return operands.Float(int(text[2:], 16), 4 * len(text[2:]))
    if _DECIMAL_FLOAT.fullmatch(text):
        return operands.Float(int.from_bytes(struct.pack("<d", float(text)), "little"), 64)
    return None


def read_operand(stream: TokenStream, scope: Scope, depth: int = 0) -> operands.Operand:
    """Read one operand, up to the comma or closing mark after it.

    Shapes that no instruction of ordinary kernels has come back as `Expression`.
    """
    start = stream.position
    operand = _known_shape(stream, scope, depth) if depth < _MOST_NESTED else None
    if operand is not None and stream.peek().text in (",", ";", "}", "]", ")"):
        return operand
    stream.position = start
    return _expression(stream)


def _known_shape(stream: TokenStream, scope: Scope, depth: int) -> operands.Operand | None:
    token = stream.peek()
    if token.kind is Kind.MARK:
        if token.text in ("{", "("):
            elements = _elements(stream, scope, depth)
            made: type[operands.Vector | operands.Group] = (
                operands.Vector if token.text == "{" else operands.Group
            )
            return None if elements is None else made(elements)
        if token.text == "[":
            return _address(stream, scope, depth)
        if token.text == "!":
            stream.take()
            operand = _word(stream, scope)
            if isinstance(operand, operands.Register):
                return operands.Register(operand.name, operand.type, negated=True)
            return None
        if token.text == "-":
            stream.take()
            literal = _word(stream, scope)
            if isinstance(literal, operands.Integer | operands.Float):
                return operands.negated(literal)
        return None
    operand = _word(stream, scope)
    if isinstance(operand, operands.Symbol):
        offset = _offset(stream)
        return None if offset is None else operands.Symbol(operand.name, offset)
    if operand is not None and stream.accept("|"):
        second = _word(stream, scope)
        return None if second is None else operands.Pair(operand, second)
    return operand


def _word(stream: TokenStream, scope: Scope) -> operands.Operand | None:
    token = stream.peek()
    if token.kind is not Kind.WORD:
        return None
    stream.take()
    text = token.text
    if text[0].isdigit():
        return parse_literal(text)
    known = scope.register(text)
    if known is not None:
        return operands.Register(*known)
    if text[0] == "%":
        return operands.SpecialRegister(text)
    if text == "WARP_SZ":  # PTX ISA 9.0, section 4.4.2: the one predefined constant
        return operands.Integer(32)
    return None if text[0] in ".:" else operands.Symbol(scope.symbol(text))


def _offset(stream: TokenStream) -> int | None:
    """A constant after ``+`` or ``-``; 0 when there is none, None when it is not a literal."""
    sign = 1
    if stream.accept("-"):
        sign = -1
    elif stream.accept("+"):
        sign = -1 if stream.accept("-") else 1
    else:
        return 0
    value = parse_integer(stream.peek().text)
    if value is None:
        return None
    stream.take()
    return sign * value


def _elements(stream: TokenStream, scope: Scope, depth: int) -> tuple[operands.Operand, ...] | None:
    closing = _CLOSING[stream.take().text]
    if stream.accept(closing):
        return ()
    elements = stream.separated(lambda: read_operand(stream, scope, depth + 1))
    return tuple(elements) if stream.accept(closing) else None


def _address(stream: TokenStream, scope: Scope, depth: int) -> operands.Address | None:
    stream.take()
    base: operands.Operand | None = _word(stream, scope)
    offset: int | None = None
    if isinstance(base, operands.Integer):
        offset = base.value
        base = None
    elif isinstance(base, operands.Register | operands.Symbol | operands.SpecialRegister):
        offset = _offset(stream)
    if offset is None:
        return None
    extra: list[operands.Operand] = []
    while stream.accept(","):
        extra.append(read_operand(stream, scope, depth + 1))
    return operands.Address(base, offset, tuple(extra)) if stream.accept("]") else None


def _expression(stream: TokenStream) -> operands.Expression:
    """Everything up to the comma, semicolon or closing mark that ends the operand."""
    texts: list[str] = []
    awaited: list[str] = []
    while True:
        token = stream.peek()
        if token.kind is Kind.END or token.text == ";":
            break
        if token.kind is Kind.MARK:
            if token.text in _CLOSING:
                awaited.append(_CLOSING[token.text])
            elif awaited and token.text == awaited[-1]:
                awaited.pop()
            elif token.text in ("}", "]", ")") or (token.text == "," and not awaited):
                break
        texts.append(token.text)
        stream.take()
    if awaited:
        stream.fail(f"`{awaited[-1]}` in an operand")
    if not texts:
        stream.fail("an operand")
    return operands.Expression(" ".join(texts))
