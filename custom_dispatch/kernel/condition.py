"""Comparisons of dim expressions: decided when a kernel is called, not where they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.names import is_list, shown

if TYPE_CHECKING:
    from custom_dispatch.kernel.expr import Expr

_EQUALITY = ("==", "!=")


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison of two expressions, for `cd.where` and `requires=`.

    As a truth value `==` says whether both are the same expression, and `!=` whether they are not:
    so expressions can be compared, found in lists and used as keys. No other comparison has one.
    """

    operator: str
    """One of < <= > >= == !=."""
    left: Expr
    right: Expr
    was_asked: bool = field(default=False, init=False, compare=False, repr=False)
    """Whether it was used as a truth value: it may be what is left of `a == b and c == d`."""

    def __bool__(self) -> bool:
        if self.operator not in _EQUALITY:
            raise DeclarationError(
                f"The condition {self} is used as a truth value, but has no value yet.",
                expected="a condition that is decided when the kernel is called",
                next_step="write cd.where(condition, a, b) instead of Python's if, and, or; "
                "`requires` takes a list, all of which must hold.",
            )
        object.__setattr__(self, "was_asked", True)
        return self.left.is_same(self.right) == (self.operator == "==")

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right}"


def check_requires(kernel: str, requires: Sequence[Condition]) -> tuple[Condition, ...]:
    """Read a kernel's conditions on dims.

    Raises
    ------
    DeclarationError
        One is none, or is what Python made of several.
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
        if condition.was_asked:
            raise DeclarationError(
                f"Kernel `{kernel}`: requires has {condition} in it, which was used as a truth "
                "value: Python's `and`, and chains such as `n == m == 8`, keep one comparison.",
                expected="one comparison each",
                next_step=f"put each into the list: {example}.",
            )
    return tuple(requires)


def _said(value: object) -> str:
    is_ours = isinstance(value, Condition) or hasattr(value, "is_same")
    return str(value) if is_ours else shown(value)
