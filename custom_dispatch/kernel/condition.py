"""Comparisons of dim expressions: decided when a kernel is called, not where they are written."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import is_list, shown

if TYPE_CHECKING:
    from custom_dispatch.kernel.expr import Expr

Instruction = tuple[int, int]
"""One of a running function's: the frame's identity, and the place in its code."""


def instruction_of(frame: FrameType) -> Instruction:
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
    made_by: Instruction | None = field(default=None, repr=False)
    """What compares, for == and !=."""

    def __bool__(self) -> bool:
        # A list's `in`, a key or a tuple's `==` compares and asks within one instruction; what a
        # user writes, `n == 4 or m == 8`, compares first and asks in a later one. (Python 3.13 does
        # both in one for `if` and `not`, where the answer is that of a container.)
        if self.made_by is None or self.made_by != instruction_of(sys._getframe(1)):
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


def check_requires(kernel: str, requires: Sequence[Condition]) -> tuple[Condition, ...]:
    """Read a kernel's conditions on dims.

    Raises
    ------
    DeclarationError
        An item is not a comparison of dims.
    """
    example = "requires=[n % 4 == 0, n <= 8192]"
    if not is_list(requires):
        raise DeclarationError(
            f"Kernel `{kernel}`: requires is {_said(requires)}.",
            expected="a list of comparisons of dims, all of which must hold",
            next_step=f"write {example}.",
        )
    for condition in requires:
        if not isinstance(condition, Condition):
            raise DeclarationError(
                f"Kernel `{kernel}`: requires has {_said(condition)} in it.",
                expected="comparisons of dims",
                next_step=f"write {example}.",
            )
    return tuple(requires)


def _said(value: object) -> str:
    is_ours = isinstance(value, Condition) or hasattr(value, "is_same")
    return str(value) if is_ours else shown(value)
