"""What integer operations make of the bounds of their operands.

A block's size is known when a kernel is lowered, and so what `%tid` is at most. Much that is
computed from it follows: what nvcc adds to a signed number before it divides is zero, and a
comparison that holds for all threads is a constant.
"""

from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.text.builder import POINTER

Bounds = tuple[int, int]
"""The least and the greatest that a signed integer may be."""

_HOLDS: Final[dict[str, Callable[[Bounds, Bounds], bool]]] = {
    "lt": lambda x, y: x[1] < y[0],
    "le": lambda x, y: x[1] <= y[0],
    "gt": lambda x, y: x[0] > y[1],
    "ge": lambda x, y: x[0] >= y[1],
    "eq": lambda x, y: x[0] == x[1] == y[0] == y[1],
    "ne": lambda x, y: x[1] < y[0] or y[1] < x[0],
}
_OPPOSITE: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


def within(low: int, high: int, bits: int) -> Bounds | None:
    """Bounds of a signed integer of a width; None where it may wrap around."""
    end = 1 << (bits - 1)
    return (low, high) if -end <= low and high < end else None


def bounds_of(operation: str, x: Bounds | None, y: Bounds | None, bits: int) -> Bounds | None:
    """The bounds of what an operation gives; None where they are not known.

    - `operation`: LLVM's name, such as ``add``.
    - `x`, `y`: the operands' bounds, where they are known.
    """
    if operation == "and":
        return _masked(x, y)
    if x is None or y is None:
        return None
    if operation == "add":
        return within(x[0] + y[0], x[1] + y[1], bits)
    if operation == "sub":
        return within(x[0] - y[1], x[1] - y[0], bits)
    if operation == "mul":
        ends = [p * q for p in x for q in y]
        return within(min(ends), max(ends), bits)
    if operation in ("shl", "lshr", "ashr"):
        return _shifted(operation, x, y, bits)
    if x[0] < 0 or y[0] < 0:
        return None
    if operation in ("or", "xor"):
        return 0, _ones(x[1] | y[1])
    if y[0] > 0 and operation in ("udiv", "sdiv"):
        return x[0] // y[1], x[1] // y[0]
    if y[0] > 0 and operation in ("urem", "srem"):
        return x if x[1] < y[0] else (0, min(x[1], y[1] - 1))
    return None


def resized(operation: str, x: Bounds | None, source: str, target: str) -> Bounds | None:
    """The bounds of what ``zext``, ``sext`` or ``trunc`` makes of an integer.

    - `x`: its bounds, where they are known.
    - `source`, `target`: the types, such as ``i32``. Of truth values, whose sign is no sign,
      nothing is said.
    """
    if x is None or not {"i1", POINTER}.isdisjoint((source, target)):
        return None
    return None if operation == "zext" and x[0] < 0 else within(x[0], x[1], int(target[1:]))


def compared(condition: str, x: Bounds | None, y: Bounds | None) -> bool | None:
    """Whether integers compare so, whichever they are; None where that depends."""
    if x is None or y is None or (condition[0] == "u" and (x[0] < 0 or y[0] < 0)):
        return None
    how = condition[-2:]
    if _HOLDS[how](x, y):
        return True
    return False if _HOLDS[_OPPOSITE[how]](x, y) else None


def _shifted(operation: str, x: Bounds, y: Bounds, bits: int) -> Bounds | None:
    amount = y[0]
    if amount != y[1] or not 0 <= amount < bits or (operation == "lshr" and x[0] < 0):
        return None
    if operation == "shl":
        return within(x[0] << amount, x[1] << amount, bits)
    return x[0] >> amount, x[1] >> amount


def _masked(x: Bounds | None, y: Bounds | None) -> Bounds | None:
    """The bounds of the bits that both have: at most those of either that is not negative."""
    most = [operand[1] for operand in (x, y) if operand is not None and operand[0] >= 0]
    if not most:
        return None
    high = min(most)
    for operand in (x, y):
        if operand is not None and operand[0] == operand[1]:
            high = min(high, _ones(high) & operand[0])
    return 0, high


def _ones(number: int) -> int:
    """The least number of ones alone that is as large."""
    return (1 << number.bit_length()) - 1
