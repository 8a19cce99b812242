"""What IREE 3.13 loses when it converts a model from the torch dialect, PyTorch's or ONNX's.

PyTorch and numpy have NaN for the maximum of NaN and a number, and sort it behind every number. A
comparison that a model itself makes is another operation by then, and stays as it is.
"""

from __future__ import annotations

import math

from iree.compiler import ir

from custom_dispatch.frontends.elementwise import Arithmetic
from custom_dispatch.frontends.operations import create, integer, operations_of
from custom_dispatch.frontends.patterns.constants import as_written, element_of, owner_of

_LESS, _STRICT = (4, 5, 11, 12), (2, 4, 9, 11)
_GREATER = (2, 3, 9, 10)
_UNORDERED = 8
"""`arith.cmpf`'s predicates from here on are true of NaN."""
_EXTREMES = {True: "arith.maximumf", False: "arith.minimumf"}
_SORT = "iree_linalg_ext.sort"
_INACCURATE = 0.797724
"""What the conversion takes for sqrt(2/pi) in `gelu(approximate="tanh")`."""


def correct_converted(module: ir.Module) -> None:
    """Write what the model's operators compute for what IREE made of some."""
    _keep_nans(module)
    for op in operations_of(module, "math.tanh"):
        _correct_gelu(op)
    for op in operations_of(module, "arith.fptosi"):
        _negate_exactly(op)


def _keep_nans(module: ir.Module) -> None:
    """Let NaN go through maxima and minima, and sort it last."""
    for op in operations_of(module, "linalg.generic", "iree_linalg_ext.arg_compare", _SORT):
        for inner in [item.operation for item in op.regions[0].blocks[0].operations]:
            condition = _comparison(inner)
            if condition is not None:
                with ir.InsertionPoint(inner), inner.location:
                    _keep(inner, condition, op.name == _SORT)


def _comparison(op: ir.Operation) -> ir.Operation | None:
    """The comparison of floats that a choice or the order of a sort follows."""
    if op.name not in ("arith.select", "iree_linalg_ext.yield"):
        return None
    owner = owner_of(op.operands[0])
    if owner is None or owner.name != "arith.cmpf":
        return None
    return owner if _predicate(owner) in (*_LESS, *_GREATER) else None


def _predicate(op: ir.Operation) -> int:
    return int(op.attributes["predicate"].value)


def _keep(op: ir.Operation, comparison: ir.Operation, is_sort: bool) -> None:
    first, second = comparison.operands
    of = Arithmetic(first.type)
    predicate = _predicate(comparison)
    if op.name == "arith.select" and isinstance(op.result.type, ir.FloatType):
        is_kept = predicate >= _UNORDERED and element_of(op.operands[2]) is not None
        if set(op.operands[1:]) == {first, second} and not is_kept:
            is_maximum = (predicate in _GREATER) == (op.operands[1] == first)
            result = of.compute(_EXTREMES[is_maximum], first, second)
            op.result.replace_all_uses_with(result)
        return
    if op.name == "arith.select" and not any(
        use.owner.name in _EXTREMES.values() for use in first.uses
    ):
        return
    if is_sort and predicate in _LESS:
        first, second = second, first
    is_before = of.unequal(first, first)
    if not is_sort or predicate in _STRICT:
        is_before = of.both(is_before, of.equal(second, second))
    op.operands[0] = of.either(comparison.result, is_before)


def _correct_gelu(op: ir.Operation) -> None:
    product = owner_of(op.operands[0])
    if product is None or product.name != "arith.mulf":
        return
    number = as_written(product.operands[1])
    if number is not None and abs(number - _INACCURATE) < 1e-6:
        with ir.InsertionPoint(product), product.location:
            exact = Arithmetic(op.result.type).constant(math.sqrt(2 / math.pi))
        product.operands[1] = exact


def _negate_exactly(op: ir.Operation) -> None:
    """-x of an integer, which is converted to a float for it, and back."""
    opposite = owner_of(op.operands[0])
    if opposite is None or opposite.name != "arith.negf":
        return
    number = owner_of(opposite.operands[0])
    if number is None or number.name != "arith.sitofp":
        return
    kind = op.result.type
    if number.operands[0].type == kind:
        with ir.InsertionPoint(op), op.location:
            exact = create("arith.subi", kind, integer(0, kind), number.operands[0])
        op.result.replace_all_uses_with(exact)
