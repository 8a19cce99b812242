"""Operations on lanes that are all constants."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Final

from custom_dispatch.cpu.warps.lane_values import Distances, Value, signed

BITWISE: Final = {"and": operator.and_, "or": operator.or_, "xor": operator.xor}
_CONDITIONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def from_constants(lanes: Distances, bits: int) -> Value:
    """The value whose lanes hold integers of a width."""
    lanes = tuple(signed(lane, bits) for lane in lanes)
    if len(set(lanes)) == 1:
        return Value("", known=lanes[0])
    return Value("", tuple(lane - lanes[0] for lane in lanes), known=lanes[0])


def fold(operation: str, x: Value, y: Value, bits: int) -> Value | None:
    """An operation on constants; None where it is left to LLVM."""
    lanes = []
    mask = (1 << bits) - 1
    for p, q in zip(x.constants(), y.constants(), strict=True):
        if operation in ("add", "sub", "mul"):
            lanes.append(getattr(operator, operation)(p, q))
        elif operation in BITWISE:
            lanes.append(BITWISE[operation](p, q))
        elif operation in ("shl", "lshr", "ashr") and 0 <= q < bits:
            if operation == "shl":
                lanes.append(p << q)
            else:
                lanes.append((p & mask if operation == "lshr" else signed(p, bits)) >> q)
        else:
            return None
    return from_constants(tuple(lanes), bits)


def compare(condition: str, left: Distances, right: Distances, bits: int) -> Distances:
    """Compare integers of a width; 1 where the condition holds."""
    mask = (1 << bits) - 1
    if condition[0] == "u":
        left, right = tuple(v & mask for v in left), tuple(v & mask for v in right)
    else:
        left = tuple(signed(v, bits) for v in left)
        right = tuple(signed(v, bits) for v in right)
    test = _CONDITIONS[condition[-2:]]
    return tuple(int(test(p, q)) for p, q in zip(left, right, strict=True))


def resized(operation: str, x: Value, source: int, target: int) -> Value:
    """``zext``, ``sext`` or ``trunc`` of constants, from one width to another."""
    mask = (1 << source) - 1
    lanes = x.constants()
    if operation == "zext":
        lanes = tuple(v & mask for v in lanes)
    elif operation == "sext":
        lanes = tuple(-(v & 1) if source == 1 else signed(v, source) for v in lanes)
    return from_constants(lanes, target)
