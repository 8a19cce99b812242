"""The operands of PTX instructions (PTX ISA 9.0, chapter 6, "Instruction Operands"), and the sizes
of fundamental types (section 5.2, "Types").

A predicate has no size in memory; it counts as one bit in a register.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from custom_dispatch.dataclass import dataclass

_BY_BITS: Final = {
    1: "pred",
    8: "b8 s8 u8",
    16: "b16 s16 u16 f16 bf16",
    32: "b32 s32 u32 f32 f16x2 bf16x2",
    64: "b64 s64 u64 f64",
    128: "b128",
}
TYPE_BITS: Final = {name: bits for bits, names in _BY_BITS.items() for name in names.split()}

OPAQUE_TYPES: Final = frozenset({"texref", "samplerref", "surfref", "tensormap"})
"""Types of handles: 64 bits (a tensormap: 128 bytes) that a program cannot look into."""


def type_size(name: str) -> int:
    """Bytes that one element of a type takes in memory.

    `name`: a fundamental or opaque type without its dot: ``"f32"``, ``"b8"``, ``"texref"``.
    """
    if name == "tensormap":
        return 128
    if name in OPAQUE_TYPES:
        return 8
    return (TYPE_BITS[name] + 7) // 8


@dataclass(frozen=True, slots=True)
class Register:
    """A declared register."""

    name: str
    """As written, followed by ``@`` and the scope's number when it was declared in a nested
    scope: two scopes may use one name for two registers."""
    type: str
    """The declared type without its dot, such as ``"b32"`` or ``"pred"``."""
    negated: bool = False
    """True for a predicate operand written ``!%p1``."""


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
    """A floating-point literal, by its bits."""

    bits: int
    """The IEEE 754 bit pattern."""
    width: int
    """32 for ``0f3F800000``, 64 for ``0d...`` and for decimal literals."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function or label by name, plus a constant number of bytes.

    A variable declared inside a nested scope carries ``@`` and the scope's number.
    """

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """A memory operand: ``[%rd1+16]``, ``[name]``, ``[32]``, or ``[map, {%r1, %r2}]``."""

    base: Operand | None
    """What the address starts from; None for an absolute address."""
    offset: int = 0
    """Constant bytes added to it."""
    extra: tuple[Operand, ...] = ()
    """What follows a comma inside the brackets: coordinates of textures and tensors."""

    @property
    def place(self) -> Symbol | None:
        """The place itself, where it is one in a variable or parameter that is named."""
        if not isinstance(self.base, Symbol) or self.extra:
            return None
        return Symbol(self.base.name, self.base.offset + self.offset)


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


def negated(literal: Integer | Float) -> Integer | Float:
    """A literal with a minus before it."""
    if isinstance(literal, Integer):
        return Integer(-literal.value)
    return Float(literal.bits ^ (1 << (literal.width - 1)), literal.width)


def leaves(*operands: Operand) -> Iterator[Operand]:
    """What operands are made of: registers, names and literals, in the order written."""
    for operand in operands:
        match operand:
            case Address(base, _, extra):
                yield from leaves(*(extra if base is None else (base, *extra)))
            case Vector(elements) | Group(elements):
                yield from leaves(*elements)
            case Pair(first, second):
                yield from leaves(first, second)
            case _:
                yield operand


def registers_in(*operands: Operand) -> Iterator[Register]:
    """Every register of some operands."""
    return (leaf for leaf in leaves(*operands) if isinstance(leaf, Register))


def elements_of(operand: Operand) -> tuple[Operand, ...]:
    """A vector's elements; any other operand is its only one."""
    return operand.elements if isinstance(operand, Vector) else (operand,)
