"""The orders in which a model may have the operands of an operation of an example."""

from __future__ import annotations

import itertools

from iree.compiler import ir

_COMMUTATIVE = {
    *(f"arith.{name}" for name in ("addf", "mulf", "addi", "muli", "andi", "ori", "xori")),
    *(f"arith.{kind}{sign}" for kind in ("max", "min") for sign in ("imumf", "numf", "si", "ui")),
    *(
        f"stablehlo.{name}"
        for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
    ),
    *(f"torch.aten.{name}" for name in ("mul.Tensor", "maximum", "minimum")),
}
_MOST_PERMUTED = 4


def orders_of(mine: ir.Operation, its: ir.Operation) -> list[tuple[int, ...]]:
    """For each order, which operand of the model each one of the example is.

    The inputs of `linalg.generic` are as good in any order as their indexing maps allow.
    """
    count = len(mine.operands)
    plain = tuple(range(count))
    if mine.name in _COMMUTATIVE and count == 2:
        return [plain, (1, 0)]
    if mine.name == "linalg.generic":
        inputs = count - len(mine.results)
        orders = [plain]
        if 1 < inputs <= _MOST_PERMUTED:
            rest = plain[inputs:]
            orders = [(*order, *rest) for order in itertools.permutations(range(inputs))]
        return [order for order in orders if _has_maps(mine, its, order)]
    return [plain]


def _has_maps(mine: ir.Operation, its: ir.Operation, order: tuple[int, ...]) -> bool:
    one = list(ir.ArrayAttr(mine.attributes["indexing_maps"]))
    other = list(ir.ArrayAttr(its.attributes["indexing_maps"]))
    return len(one) == len(other) and all(one[i] == other[j] for i, j in enumerate(order))
