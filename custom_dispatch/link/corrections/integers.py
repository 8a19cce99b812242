"""Divisions of integers, by zero too, where a CPU would end the program, and a GPU gives anything.

A quotient by zero is -1, all bits ones, and the remainder the dividend: what RISC-V and XLA have.
The smallest integer by -1 is itself, and the remainder 0.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from custom_dispatch.link.constants import as_written
from custom_dispatch.link.elementwise import over_elements
from custom_dispatch.link.operations import EQUAL, compare_integers, create, integer

DIVISIONS = tuple(
    f"arith.{name}"
    for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
)


def divide_safely(op: ir.Operation) -> None:
    """Divide by one where there is no quotient, and give the result that is promised."""
    is_tensor = isinstance(op.result.type, ir.RankedTensorType)
    kind = op.result.type.element_type if is_tensor else op.result.type
    if not isinstance(kind, ir.IntegerType) or as_written(op.operands[1]) not in (None, 0, -1):
        return
    if is_tensor:
        with ir.InsertionPoint(op), op.location:
            op = over_elements(op).operation
    dividend, divisor = op.operands
    with ir.InsertionPoint(op), op.location:
        is_zero = has_none = _equal(divisor, 0)
        if "ui" not in op.name:
            is_least = _equal(dividend, -(2 ** (kind.width - 1)))
            overflows = create("arith.andi", is_zero.type, is_least, _equal(divisor, -1))
            has_none = create("arith.ori", is_zero.type, is_zero, overflows)
        op.operands[1] = create("arith.select", kind, has_none, integer(1, kind), divisor)
    with ir.InsertionPoint.after(op), op.location:
        promised = dividend if "rem" in op.name else integer(-1, kind)
        result = create("arith.select", kind, is_zero, promised, op.result)
        op.result.replace_all_uses_except(result, result.owner.operation)


def _equal(number: Any, other: int) -> Any:
    return compare_integers(EQUAL, number, integer(other, number.type))
