"""The arithmetic of dim expressions: on non-negative 64-bit integers.

IR computes in 64 bits without a sign, where a difference below zero would wrap; so no value leaves
0 ... 2**63 - 1. Division rounds towards zero, which for such numbers is C's and CUDA's.
"""

import operator
from collections.abc import Callable
from typing import Any

from custom_dispatch.errors import DeclarationError

MAX_VALUE = 2**63 - 1
"""The largest value of an expression: IR computes in 64 bits, and tensor sizes have a sign."""
DIVISIONS = ("//", "%", "ceildiv")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "ceildiv": lambda a, b: -(-a // b),
    "minimum": min,
    "maximum": max,
}
"""All but the last two take symbols of frameworks, too."""
_COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def no_values() -> str:
    """What an error says of the values of dims where there are none."""
    return ""


def computed(
    name: str, left: int, right: int, text: object, values: Callable[[], str] = no_values
) -> int:
    """An operator's result for two sizes.

    - `name`: one of + - * // % ceildiv minimum maximum.
    - `text`: the expression as it is printed, for errors.
    - `values`: what its dims are, for errors: `" for n = 8"`. Asked only when there is one.
    """
    if name in DIVISIONS and right == 0:
        raise divides_by_zero(text, values)
    result: int = OPERATORS[name](left, right)
    if 0 <= result <= MAX_VALUE:
        return result
    raise DeclarationError(
        f"{text} is {result}{values()}.",
        expected="a size from 0 to 2**63 - 1: IR computes without a sign, and would wrap",
        next_step="write cd.maximum(a, b) - b for a difference that stops at zero."
        if result < 0
        else "use smaller sizes.",
    )


def compared(name: str, left: int, right: int) -> bool:
    """Whether two sizes compare so: one of < <= > >= == !=."""
    return _COMPARISONS[name](left, right)


def divides_by_zero(text: object, values: Callable[[], str] = no_values) -> DeclarationError:
    """The error for an expression, as it is printed, whose divisor is zero."""
    return DeclarationError(
        f"{text} divides by zero{values()}.",
        expected="a divisor of at least 1",
        next_step="guard it with cd.maximum(divisor, 1), or call with other sizes.",
    )
