"""The operands of PTX instructions (PTX ISA 9.0, chapter 6, "Instruction Operands")."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register.

    Attributes
    ----------
    name
        As written, followed by ``@`` and the scope's number when it was declared in a nested
        scope: two scopes may use one name for two registers.
    type
        The declared type without its dot, such as ``"b32"`` or ``"pred"``.
    negated
        True for a predicate operand written ``!%p1``.
    """

    name: str
    type: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SpecialRegister:
    """A predefined register such as ``%tid.x`` (chapter 10), or an undeclared ``%`` name."""

    name: str


@dataclass(frozen=True, slots=True)
class Integer:
    """An integer literal."""

    value: int


@dataclass(frozen=True, slots=True)
class Float:
    """A floating-point literal, by its bits.

    Attributes
    ----------
    bits
        The IEEE 754 bit pattern.
    width
        32 for ``0f3F800000``, 64 for ``0d...`` and for decimal literals.
    """

    bits: int
    width: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function or label by name, plus a constant number of bytes.

    A variable declared inside a nested scope carries ``@`` and the scope's number.
    """

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """A memory operand: ``[%rd1+16]``, ``[name]``, ``[32]``, or ``[map, {%r1, %r2}]``.

    Attributes
    ----------
    base
        What the address starts from; None for an absolute address.
    offset
        Constant bytes added to it.
    extra
        What follows a comma inside the brackets: coordinates of textures and tensors.
    """

    base: Operand | None
    offset: int = 0
    extra: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """Elements in braces: ``{%f1, %f2}``."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Elements in parentheses: the results or arguments of ``call``."""

    elements: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two destinations: ``%p1|%p2``."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Expression:
    """An operand of any other shape, such as a constant expression, by its text."""

    text: str


Operand = (
    Register
    | SpecialRegister
    | Integer
    | Float
    | Symbol
    | Address
    | Vector
    | Group
    | Pair
    | Expression
)
