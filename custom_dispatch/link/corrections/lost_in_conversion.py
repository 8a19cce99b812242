"""What IREE 3.13 loses when it converts a model, most of it of models of PyTorch and ONNX.

PyTorch and numpy have NaN for the maximum of NaN and a number, and sort it behind every number. A
comparison that a model itself makes is another operation by then, and stays as it is.
"""

import math
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith

from custom_dispatch.link.constants import as_written, element_of, owner_of
from custom_dispatch.link.corrections.functions import Functions
from custom_dispatch.link.elementwise import as_float
from custom_dispatch.link.operations import copy_body, integer, last_of, operations_of

_EQUAL = 1
_LESS, _STRICT = (4, 5, 11, 12), (2, 4, 9, 11)
_GREATER = (2, 3, 9, 10)
_UNORDERED = 8
"""`arith.cmpf`'s predicates from here on are true of NaN."""
_EXTREMES = ("arith.maximumf", "arith.minimumf")
SORT, TOP_K = "iree_linalg_ext.sort", "iree_linalg_ext.topk"
_SINGLE = 32
"""The width of an f32."""
_INACCURATE = 0.797724
"""What the conversion takes for sqrt(2/pi) in `gelu(approximate="tanh")`."""


def correct_converted(module: ir.Module, functions: Functions) -> None:
    """Write what the model's operators compute for what IREE made of some."""
    keep_nans(module, "linalg.generic", "iree_linalg_ext.arg_compare", SORT)
    for op in operations_of(module, "math.tanh"):
        _correct_gelu(op)
    for op in operations_of(module, "arith.fptosi"):
        _compute_in_integers(op)
    for op in operations_of(module, "math.floor"):
        _round_down(op, functions)
    for op in operations_of(module, "arith.select"):
        _find_nan(op)
    for op in operations_of(module, "linalg.map"):
        for inner in operations_of(op, "arith.divsi"):  # of a mean, which PyTorch rounds down
            with ir.InsertionPoint(inner), inner.location:
                mean = arith.floordivsi(*inner.operands)
            inner.result.replace_all_uses_with(mean)


def keep_nans(module: ir.Module, *names: str) -> None:
    """Let NaN go through maxima and minima, and sort it last, or first where the largest is."""
    for op in operations_of(module, *names):
        for inner in [item.operation for item in op.regions[0].blocks[0].operations]:
            condition = _comparison(inner)
            if condition is not None:
                with ir.InsertionPoint(inner), inner.location:
                    _keep(inner, condition, op.name in (SORT, TOP_K))


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
    predicate = _predicate(comparison)
    if op.name == "arith.select" and isinstance(op.result.type, ir.FloatType):
        is_kept = predicate >= _UNORDERED and element_of(op.operands[2]) is not None
        if set(op.operands[1:]) == {first, second} and not is_kept:
            is_maximum = (predicate in _GREATER) == (op.operands[1] == first)
            extreme = arith.maximumf if is_maximum else arith.minimumf
            op.result.replace_all_uses_with(extreme(first, second))
        return
    if op.name == "arith.select" and not any(use.owner.name in _EXTREMES for use in first.uses):
        return
    if is_sort and predicate in _LESS:
        first, second = second, first
    is_before = _is_nan(first)
    if not is_sort or predicate in _STRICT:
        is_number = arith.cmpf(arith.CmpFPredicate.OEQ, second, second)
        is_before = arith.andi(is_before, is_number)
    op.operands[0] = arith.ori(comparison.result, is_before)


def _is_nan(number: Any) -> Any:
    return arith.cmpf(arith.CmpFPredicate.UNE, number, number)


def _correct_gelu(op: ir.Operation) -> None:
    product = _made_by(op.operands[0], "arith.mulf")
    number = product and as_written(product.operands[1])
    if product and number and abs(number - _INACCURATE) < 1e-6:
        with ir.InsertionPoint(product), product.location:
            product.operands[1] = arith.constant(op.result.type, math.sqrt(2 / math.pi))


def _made_by(value: Any, *names: str) -> ir.Operation | None:
    """The operation that a value comes from through others, by their names from the last one on."""
    op = None
    for name in names:
        op = owner_of(op.operands[0] if op else value)
        if op is None or op.name != name:
            return None
    return op


def _compute_in_integers(op: ir.Operation) -> None:
    """-x, and the floor of x / y, of integers that are converted to floats for it, and back."""
    kind, exact = op.result.type, None
    number = _made_by(op.operands[0], "arith.negf", "arith.sitofp")
    quotient = _made_by(op.operands[0], "math.floor", "arith.divf")
    with ir.InsertionPoint(op), op.location:
        if number and number.operands[0].type == kind:
            exact = arith.subi(integer(0, kind), number.operands[0])
        elif quotient and _is_result(op):
            casts = [_made_by(item, "arith.sitofp") for item in quotient.operands]
            numbers = [item.operands[0] for item in casts if item]
            if len(numbers) == len(casts):
                wide = [x if x.type == kind else arith.extsi(kind, x) for x in numbers]
                exact = arith.floordivsi(*wide)
    if exact is not None:
        op.result.replace_all_uses_with(exact)


def _round_down(op: ir.Operation, functions: Functions) -> None:
    """The floor of a quotient of floats, which may have been rounded up to an integer."""
    quotient = _made_by(op.operands[0], "arith.divf")
    if quotient and _is_result(op):
        kind = op.result.type
        wide = kind if kind.width >= _SINGLE else ir.F32Type.get()
        with ir.InsertionPoint(op), op.location:
            operands = [as_float(item, wide) for item in quotient.operands]
            exact = as_float(functions.write("floor_of_quotient", *operands), kind)
        op.result.replace_all_uses_with(exact)


def _is_result(op: ir.Operation) -> bool:
    """Whether an operator's result is this, and nothing else of the operator reads it."""
    return all(use.owner.name == "linalg.yield" for use in op.result.uses)


def _find_nan(op: ir.Operation) -> None:
    """The place of a pool's maximum: that of its last NaN, which equals nothing."""
    comparison = _made_by(op.operands[0], "arith.cmpf")
    choices = [op, *(use.owner.operation for use in op.result.uses)]
    is_place = comparison and _made_by(comparison.operands[0], "tensor.extract")
    if comparison and is_place and _predicate(comparison) == _EQUAL:
        number = comparison.operands[0]
        for choice in choices if {item.name for item in choices} == {op.name} else ():
            with ir.InsertionPoint(choice), choice.location:
                choice.operands[0] = arith.ori(choice.operands[0], _is_nan(number))


def sort_stably(op: ir.Operation) -> None:
    """Let what is equal stay in its order: IREE swaps two neighbours unless one is less."""
    block = op.regions[0].blocks[0]
    arguments = list(block.arguments)
    swapped = {item: arguments[at ^ 1] for at, item in enumerate(arguments)}
    end = last_of(block)
    with ir.InsertionPoint(end), end.location:
        is_before = end.operands[0]
        (is_after,) = copy_body(block, swapped)
        end.operands[0] = arith.ori(is_before, arith.xori(is_after, integer(1, is_after.type)))
