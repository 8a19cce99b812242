"""Functions that IREE 3.13 computes wrongly, written as `functions.mlir` has them."""

from pathlib import Path
from typing import Any

from iree.compiler import ir, passmanager
from iree.compiler.dialects import arith

from custom_dispatch.link.constants import as_written
from custom_dispatch.link.elementwise import as_float, over_elements
from custom_dispatch.link.operations import copy_body, integer

_TYPES = {
    "f32": "!float = f32\n!whole = i32\n#all_even = 16777216.0 : f32\n"
    "#infinity = 0x7F800000 : f32\n#nan = 0x7FC00000 : f32\n",
    "f64": "!float = f64\n!whole = i64\n#all_even = 9007199254740992.0 : f64\n"
    "#infinity = 0x7FF0000000000000 : f64\n#nan = 0x7FF8000000000000 : f64\n",
}
"""What the names of types and numbers stand for in `functions.mlir`, by the type of floats."""
OF_FLOATS = tuple(
    f"math.{name}" for name in ("acosh", "asinh", "atan2", "cos", "fpowi", "powf", "sin", "tan")
)
"""Operations that are functions there: of floats of 32 or 64 bits, as which smaller ones are
computed."""
_OF_F32 = ("math.cos", "math.sin", "math.tan")
"""IREE has no code for those of f64, and refuses them."""
_EXPANDED = (-2.0, -1.0, 0.0, 1.0, 2.0, 3.0)
"""Constant exponents of `math.powf` with which IREE is right."""


class Functions:
    """Writes the functions into a model."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, str], ir.Module] = {}

    def write(self, name: str, *operands: Any, exponent: str = "i32") -> Any:
        """Write one where the insertion point is; return its result.

        `exponent`: the type of an integer exponent.
        """
        floats = "f64" if any(str(item.type) == "f64" for item in operands) else "f32"
        key = (floats, exponent)
        if key not in self._read:
            text = Path(__file__).with_suffix(".mlir").read_text()
            module = ir.Module.parse(f"{_TYPES[floats]}!integer = {exponent}\n{text}")
            passmanager.PassManager.parse("builtin.module(inline)").run(module.operation)
            self._read[key] = module
        block = ir.SymbolTable(self._read[key].operation)[name].regions[0].blocks[0]
        (result,) = copy_body(block, dict(zip(block.arguments, operands, strict=True)))
        return result


def write_function(op: ir.Operation, functions: Functions) -> None:
    """Write a function in the place of an operation, unless IREE computes that one rightly."""
    is_tensor = isinstance(op.result.type, ir.RankedTensorType)
    kind = op.result.type.element_type if is_tensor else op.result.type
    if not isinstance(kind, ir.FloatType) or (kind.width > 32 and op.name in _OF_F32):
        return
    name, power = op.name, as_written(op.operands[len(op.operands) - 1])
    if name == "math.powf" and power in _EXPANDED:
        return
    constant = power if name == "math.fpowi" else None
    if constant is not None and constant >= 0:  # IREE makes products of it
        return
    op = over_elements(op)
    with ir.InsertionPoint(op), op.location:
        wide = kind if kind.width >= 32 else ir.F32Type.get()
        given = [as_float(x, wide) if x.type == kind else x for x in op.operands]
        exponent = str(given[1].type) if name.endswith("fpowi") else "i32"
        if constant is not None:
            name, given[1] = "reciprocal_power", integer(-int(constant), given[1].type)
        result = as_float(functions.write(name, *given, exponent=exponent), kind)
    op.result.replace_all_uses_with(result)
    op.erase()


DIVISIONS = tuple(
    f"arith.{name}"
    for name in ("divsi", "divui", "remsi", "remui", "floordivsi", "ceildivsi", "ceildivui")
)


def divide_safely(op: ir.Operation) -> None:
    """Divide by one where there is no quotient, and give the result that is promised.

    A quotient by zero is -1, all bits ones, and the remainder the dividend: what RISC-V and XLA
    have. The smallest integer by -1 is itself, and the remainder 0.
    """
    is_tensor = isinstance(op.result.type, ir.RankedTensorType)
    kind = op.result.type.element_type if is_tensor else op.result.type
    if not isinstance(kind, ir.IntegerType) or as_written(op.operands[1]) not in (None, 0, -1):
        return
    op = over_elements(op)
    dividend, divisor = op.operands
    with ir.InsertionPoint(op), op.location:
        is_zero = has_none = _equal(divisor, 0)
        if "ui" not in op.name:
            overflows = arith.andi(_equal(dividend, -(2 ** (kind.width - 1))), _equal(divisor, -1))
            has_none = arith.ori(is_zero, overflows)
        op.operands[1] = arith.select(has_none, integer(1, kind), divisor)
    with ir.InsertionPoint.after(op), op.location:
        promised = dividend if "rem" in op.name else integer(-1, kind)
        result = arith.select(is_zero, promised, op.result)
        op.result.replace_all_uses_except(result, result.owner.operation)


def _equal(number: Any, other: int) -> Any:
    return arith.cmpi(arith.CmpIPredicate.eq, number, integer(other, number.type))
