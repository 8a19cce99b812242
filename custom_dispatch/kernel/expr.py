"""Integer expressions of dims: shapes, grids and scalar values, as data.

An expression is a small immutable tree. It can be evaluated with known dims
(`custom_dispatch.kernel.evaluation`), printed, and translated to IR by `custom_dispatch.ir`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import field
from types import FrameType
from typing import NoReturn

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import as_integer, check_name, shown
from custom_dispatch.kernel.size_arithmetic import DIVISIONS, MAX_VALUE, computed, divides_by_zero

MAX_NODES = 256
"""Parts an expression may have. Everything that reads one is recursive; and `e = e + e`, repeated,
is small in memory but endless to walk."""


def _operator(name: str) -> tuple[Callable[[Expr, Expr | int], Expr], Callable[[Expr, int], Expr]]:
    """The methods of an expression on the left, and on the right of a number."""

    def method(self: Expr, other: Expr | int) -> Expr:
        return binary(name, self, other)

    def reflected(self: Expr, other: int) -> Expr:
        return binary(name, other, self)

    return method, reflected


def _comparison(name: str) -> Callable[[Expr, Expr | int], Condition]:
    def method(self: Expr, other: Expr | int) -> Condition:
        return Condition(name, self, as_expr(other))

    return method


class Expr:
    """An integer expression of dims. Build them with `cd.dim`, operators and `cd.ceildiv`."""

    __slots__ = ("_kept_leaves",)
    _kept_leaves: tuple[Expr, ...]
    # numpy's numbers and arrays leave their operators to this class.
    __array_ufunc__ = None

    __add__, __radd__ = _operator("+")
    __sub__, __rsub__ = _operator("-")
    __mul__, __rmul__ = _operator("*")
    __floordiv__, __rfloordiv__ = _operator("//")
    __mod__, __rmod__ = _operator("%")
    __lt__, __le__ = _comparison("<"), _comparison("<=")
    __gt__, __ge__ = _comparison(">"), _comparison(">=")

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        found = _compared(other)
        return NotImplemented if found is None else _equality("==", self, found)

    def __ne__(self, other: object) -> Condition:  # type: ignore[override]
        found = _compared(other)
        return NotImplemented if found is None else _equality("!=", self, found)

    def __hash__(self) -> int:
        return hash((type(self), *self._parts))

    def is_same(self, other: Expr) -> bool:
        """Whether both are the same expression, whatever its value."""
        return self is other or (type(self) is type(other) and self._parts == other._parts)

    @property
    def _parts(self) -> tuple[object, ...]:
        names: tuple[str, ...] = getattr(self, "__match_args__", ())
        return tuple(getattr(self, name) for name in names)

    def __truediv__(self, other: object) -> NoReturn:
        raise DeclarationError(
            f"`/` is used on the dim expression {self}.",
            expected="integer division",
            next_step="write `//` to round down or cd.ceildiv(...) to round up.",
        )

    __rtruediv__ = __truediv__

    def __neg__(self) -> NoReturn:
        raise DeclarationError(
            f"The dim expression {self} is negated.",
            expected="sizes, which are never negative",
            next_step="write the difference itself, such as m - n.",
        )

    def __bool__(self) -> bool:
        raise DeclarationError(
            f"The dim expression {self} is used as a truth value, but has no value yet.",
            expected="an expression that is decided when the kernel is called",
            next_step="write cd.where(condition, a, b) instead of Python's if, and, or.",
        )

    def __int__(self) -> int:
        raise DeclarationError(
            f"The dim expression {self} is used as a number, but has no value yet.",
            expected="an expression that is computed when the kernel is called",
            next_step="use + - * // %, cd.ceildiv, cd.minimum, cd.maximum and cd.where on it.",
        )


Instruction = tuple[int, int]
"""One of a running function's: the frame's identity, and the place in its code."""


def _instruction_of(frame: FrameType) -> Instruction:
    """The instruction that a frame is at."""
    return id(frame), frame.f_lasti


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A comparison of two expressions, for `cd.where` and `requires=`.

    It has no truth value, which Python's `and`, `or`, `not` and `if` would ask for: `a or b` is b,
    and `0 < n < 8` is `n < 8`. Containers may ask whether two expressions are the same, so that
    these are found in lists, are keys, and parts of declarations that can be compared.
    """

    operator: str
    """One of < <= > >= == !=."""
    left: Expr
    right: Expr
    made_by: Instruction | None = field(default=None, repr=False, metadata={"not_in_keys": True})
    """What compares, for == and !=."""

    def __bool__(self) -> bool:
        # A list's `in`, a key or a tuple's `==` compares and asks within one instruction; what a
        # user writes, `n == 4 or m == 8`, compares first and asks in a later one. (Python 3.13 does
        # both in one for `if` and `not`, where the answer is that of a container.)
        if self.made_by is None or self.made_by != _instruction_of(sys._getframe(1)):
            raise DeclarationError(
                f"The condition {self} is used as a truth value, but has no value yet.",
                expected="a condition that is decided when the kernel is called",
                next_step="for `and` and for chains put each comparison into the list: "
                "requires=[n > 0, n < 8]; for `or` and `if` write cd.where(condition, a, b), or "
                "put a kernel for each case into a cd.Choice. a.is_same(b) says whether two "
                "expressions are one.",
            )
        return self.left.is_same(self.right) == (self.operator == "==")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and self._parts == other._parts

    def __hash__(self) -> int:
        return hash(self._parts)

    @property
    def _parts(self) -> tuple[object, ...]:
        return self.operator, self.left, self.right

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


@dataclass(frozen=True, slots=True, eq=False)
class Constant(Expr):
    """A known integer."""

    value: int

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, slots=True, eq=False)
class Dim(Expr):
    """A symbolic size, known when the kernel is called."""

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, "dim")

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class ComputeCapability(Expr):
    """major * 10 + minor of the GPU the kernel is launched on; 0 on a CPU."""

    def __str__(self) -> str:
        return "compute_capability"


@dataclass(frozen=True, slots=True, eq=False)
class Binary(Expr):
    """An operator applied to two expressions."""

    operator: str
    """One of + - * // % ceildiv minimum maximum."""
    left: Expr
    right: Expr
    nodes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", _count(self.left, self.right))

    def __str__(self) -> str:
        if self.operator.isalpha():
            return f"{self.operator}({self.left}, {self.right})"
        return f"{_nested(self.left)} {self.operator} {_nested(self.right)}"


@dataclass(frozen=True, slots=True, eq=False)
class Where(Expr):
    """One of two expressions, by a condition."""

    condition: Condition
    if_true: Expr
    if_false: Expr
    nodes: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        condition = self.condition
        parts = (condition.left, condition.right, self.if_true, self.if_false)
        object.__setattr__(self, "nodes", _count(*parts))

    def __str__(self) -> str:
        return f"where({self.condition}, {self.if_true}, {self.if_false})"


def _nested(expr: Expr) -> str:
    plain = isinstance(expr, Binary) and not expr.operator.isalpha()
    return f"({expr})" if plain else str(expr)


def _count(*parts: Expr) -> int:
    """How many parts an expression has; refused before it is too large to be walked."""
    nodes = 1 + sum(part.nodes if isinstance(part, Binary | Where) else 1 for part in parts)
    if nodes > MAX_NODES:
        raise DeclarationError(
            f"A dim expression has {nodes} parts.",
            expected=f"at most {MAX_NODES}: numbers, dims and operators together",
            next_step="compute a part of it in the kernel, or pass it as a cd.Scalar.",
        )
    return nodes


def binary(name: str, left: Expr | int, right: Expr | int) -> Expr:
    """Apply an operator; what is known already is computed, and so checked, at once."""
    expr = Binary(name, as_expr(left), as_expr(right))
    divisor = expr.right
    if name in DIVISIONS and isinstance(divisor, Constant) and divisor.value == 0:
        raise divides_by_zero(expr)
    if isinstance(expr.left, Constant) and isinstance(divisor, Constant):
        return Constant(computed(name, expr.left.value, divisor.value, expr))
    return expr


compute_capability = ComputeCapability()
"""The GPU's compute capability as major * 10 + minor, for grid expressions."""

batch = Dim("batch")
"""How many elements the leading dims have together, in a kernel with an operand of shape
`[..., n]`: the dim of that name."""


def dim(name: str) -> Dim:
    """Declare a symbolic size.

    Two dims of the same name are the same dim.

    Raises `DeclarationError`: the name is not an identifier.
    """
    return Dim(name)


def ceildiv(numerator: Expr | int, denominator: Expr | int) -> Expr:
    """Divide and round up."""
    return binary("ceildiv", numerator, denominator)


def minimum(left: Expr | int, right: Expr | int) -> Expr:
    """The smaller of two expressions."""
    return binary("minimum", left, right)


def maximum(left: Expr | int, right: Expr | int) -> Expr:
    """The larger of two expressions."""
    return binary("maximum", left, right)


def where(condition: Condition, if_true: Expr | int, if_false: Expr | int) -> Expr:
    """`if_true` when the condition holds, else `if_false`."""
    if not isinstance(condition, Condition):
        raise DeclarationError(
            f"cd.where was given {shown(condition)} as its condition.",
            expected="a comparison of dim expressions, such as n >= 1024",
            next_step="compare with <, <=, >, >=, == or !=.",
        )
    return Where(condition, as_expr(if_true), as_expr(if_false))


def _equality(name: str, left: Expr, right: Expr) -> Condition:
    """What the function that calls our caller compares with `==` or `!=`."""
    return Condition(name, left, right, made_by=_instruction_of(sys._getframe(2)))


def _compared(value: object) -> Expr | None:
    """What an expression is compared with; None for what is neither an expression nor a size."""
    if isinstance(value, Expr):
        return value
    number = as_integer(value)
    return None if number is None else as_expr(number)


def as_expr(value: Expr | int, *, where: str = "A dim expression") -> Expr:
    """Make an expression of an integer; an expression stays what it is."""
    if isinstance(value, Expr):
        return value
    number = as_integer(value)
    if number is None:
        raise DeclarationError(
            f"{where} is given as {shown(value)}.",
            expected="an integer, a dim, or an expression of dims",
            next_step='declare sizes with n = cd.dim("n") and combine them with + - * // %.',
        )
    if not 0 <= number <= MAX_VALUE:
        raise DeclarationError(
            f"{where} is given as {shown(number)}.",
            expected="an integer from 0 to 2**63 - 1",
            next_step="correct the number.",
        )
    return Constant(number)
