"""What a declaration proves of a kernel's integers, and what it would have to require.

Triton compiles a kernel again for integers and addresses that are multiples of 16, with wide and
asynchronous copies; and for integers that are 1, which then are constants.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import combinations

from custom_dispatch.kernel.expr import Binary, Condition, Constant, Expr, Where, as_expr

DIVISOR = 16
_MOST = 3
"""Conditions of which every combination has a form of its own: eight of them."""


def is_multiple(expr: Expr, conditions: Sequence[Condition]) -> bool:
    """Whether an expression is a multiple of 16 wherever conditions hold."""
    return _factor(expr, _facts(conditions)) % DIVISOR == 0


def multiples(
    values: Sequence[Expr], conditions: Sequence[Condition]
) -> Iterator[tuple[Condition, ...]]:
    """What forms of a kernel may require beyond its conditions: most first, and at last nothing.

    - `values`: those that Triton would look at in each launch.
    """
    open_values: list[Expr] = []
    for value in values:
        known = is_multiple(value, conditions) or any(value.is_same(each) for each in open_values)
        if not known and not isinstance(value, Constant):
            open_values.append(value)
    required = [Condition("==", value % DIVISOR, as_expr(0)) for value in open_values]
    counts = range(len(required), -1, -1)
    for count in counts if len(required) <= _MOST else (counts[0], 0):
        yield from combinations(required, count)


def _facts(conditions: Sequence[Condition]) -> list[tuple[Expr, int]]:
    """Expressions that are multiples of a number: `n % 16 == 0`, `n == 4096`."""
    found = []
    for item in conditions:
        for left, right in ((item.left, item.right), (item.right, item.left)):
            if item.operator != "==" or not isinstance(right, Constant):
                continue
            found.append((left, right.value))
            match left:
                case Binary(operator="%", left=whole, right=Constant(value=value)):
                    if right.value % value == 0:
                        found.append((whole, value))
    return found


def _factor(expr: Expr, facts: Sequence[tuple[Expr, int]]) -> int:
    """A number that an expression is a multiple of; 0 where it is 0."""
    said = math.lcm(*(number for whole, number in facts if whole.is_same(expr)))
    match expr:
        case Constant(value=value):
            found = value
        case Binary(operator="*", left=left, right=right):
            found = _factor(left, facts) * _factor(right, facts)
        case (
            Binary(operator="+" | "-" | "%" | "minimum" | "maximum", left=left, right=right)
            | Where(if_true=left, if_false=right)
        ):
            found = math.gcd(_factor(left, facts), _factor(right, facts))
        case _:
            found = 1
    return math.lcm(found, said)
