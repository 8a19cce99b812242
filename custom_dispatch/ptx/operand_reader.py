"""Reading operands and literals (PTX ISA 9.0, section 4.5 and chapter 6)."""

from __future__ import annotations

import re
import struct

from custom_dispatch.ptx.operand import (
    Address,
    Expression,
    Float,
    Group,
    Integer,
    Operand,
    Pair,
    Register,
    SpecialRegister,
    Symbol,
    Vector,
)
from custom_dispatch.ptx.scope import Scope
from custom_dispatch.ptx.stream import Kind, TokenStream, parse_integer

_HEX_FLOAT = re.compile(r"0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})")
_DECIMAL_FLOAT = re.compile(
    r"[0-9]{1,40}\.[0-9]{0,40}(?:[eE][0-9]{1,3})?|[0-9]{1,40}[eE][0-9]{1,3}"
)
_CLOSING = {"{": "}", "[": "]", "(": ")"}
_MAX_DEPTH = 5


def parse_float(text: str) -> Float | None:
    """The value of a floating-point literal, or None for any other text."""
    match = _HEX_FLOAT.fullmatch(text)
    if match is not None:
        if match.group(1) is not None:
            return Float(int(match.group(1), 16), 32)
        return Float(int(match.group(2), 16), 64)
    if _DECIMAL_FLOAT.fullmatch(text):
        return Float(int.from_bytes(struct.pack("<d", float(text)), "little"), 64)
    return None


def read_operand(stream: TokenStream, scope: Scope, depth: int = 0) -> Operand:
    """Read one operand, up to the comma or closing mark after it.

    Shapes that no instruction of ordinary kernels has come back as `Expression`.

    Raises
    ------
    PtxError
        There is no operand here.
    """
    start = stream.position
    operand = _known_shape(stream, scope, depth) if depth < _MAX_DEPTH else None
    if operand is not None and stream.peek().text in (",", ";", "}", "]", ")"):
        return operand
    stream.position = start
    return _expression(stream)


def _known_shape(stream: TokenStream, scope: Scope, depth: int) -> Operand | None:
    token = stream.peek()
    if token.kind is Kind.MARK:
        if token.text == "{":
            elements = _elements(stream, scope, depth)
            return None if elements is None else Vector(elements)
        if token.text == "(":
            elements = _elements(stream, scope, depth)
            return None if elements is None else Group(elements)
        if token.text == "[":
            return _address(stream, scope, depth)
        if token.text == "!":
            stream.take()
            operand = _word(stream, scope)
            if isinstance(operand, Register):
                return Register(operand.name, operand.type, negated=True)
            return None
        if token.text == "-":
            stream.take()
            literal = _word(stream, scope)
            if isinstance(literal, Integer):
                return Integer(-literal.value)
            if isinstance(literal, Float):
                return Float(literal.bits ^ (1 << (literal.width - 1)), literal.width)
        return None
    operand = _word(stream, scope)
    if isinstance(operand, Symbol):
        offset = _offset(stream)
        return None if offset is None else Symbol(operand.name, offset)
    if operand is not None and stream.accept("|"):
        second = _word(stream, scope)
        return None if second is None else Pair(operand, second)
    return operand


def _word(stream: TokenStream, scope: Scope) -> Operand | None:
    token = stream.peek()
    if token.kind is not Kind.WORD:
        return None
    stream.take()
    text = token.text
    if text[0].isdigit():
        value = parse_integer(text)
        return Integer(value) if value is not None else parse_float(text)
    known = scope.register(text)
    if known is not None:
        return Register(*known)
    if text[0] == "%":
        return SpecialRegister(text)
    if text == "WARP_SZ":  # PTX ISA 9.0, section 4.4.2: the one predefined constant
        return Integer(32)
    return None if text[0] in ".:" else Symbol(scope.symbol(text))


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


def _elements(stream: TokenStream, scope: Scope, depth: int) -> tuple[Operand, ...] | None:
    closing = _CLOSING[stream.take().text]
    elements: list[Operand] = []
    if stream.accept(closing):
        return ()
    while True:
        elements.append(read_operand(stream, scope, depth + 1))
        if stream.accept(closing):
            return tuple(elements)
        if not stream.accept(","):
            return None


def _address(stream: TokenStream, scope: Scope, depth: int) -> Address | None:
    stream.take()
    base: Operand | None = _word(stream, scope)
    offset: int | None
    if isinstance(base, Integer):
        offset = base.value
        base = None
    elif isinstance(base, Register | Symbol | SpecialRegister):
        offset = _offset(stream)
        if offset is None:
            return None
    else:
        return None
    extra: list[Operand] = []
    while stream.accept(","):
        extra.append(read_operand(stream, scope, depth + 1))
    return Address(base, offset, tuple(extra)) if stream.accept("]") else None


def _expression(stream: TokenStream) -> Expression:
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
    return Expression(" ".join(texts))
