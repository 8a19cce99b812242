"""The orders in which a model may have the operands of an operation of an example."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from iree.compiler import ir

from custom_dispatch.link.constants import element_of, number_of
from custom_dispatch.link.operations import kind_of

_COMMUTATIVE = {
    *(f"arith.{name}" for name in ("addf", "mulf", "addi", "muli", "andi", "ori", "xori")),
    *(f"arith.{kind}{sign}" for kind in ("max", "min") for sign in ("imumf", "numf", "si", "ui")),
    *(
        f"stablehlo.{name}"
        for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
    ),
    *(f"torch.aten.{name}" for name in ("add.Tensor", "mul.Tensor", "maximum", "minimum")),
    *(f"torch.aten.{name}.Tensor" for name in ("eq", "ne", "bitwise_and", "bitwise_or")),
    *(f"torch.aten.{name}" for name in ("bitwise_xor.Tensor", "logical_and", "logical_or")),
    "torch.aten.logical_xor",
    *(f"onnx.{name}" for name in ("Add", "Mul", "Equal", "Max", "Mean", "Min", "Sum")),
    *(f"onnx.{kind}{name}" for kind in ("", "Bitwise") for name in ("And", "Or", "Xor")),
}
_MOST_PERMUTED = 4


def orders_of(mine: ir.Operation, its: ir.Operation) -> list[tuple[int, ...]]:
    """For each order, which operand of the model each one of the example is.

    The inputs of `linalg.generic` are as good in any order as their indexing maps allow.
    """
    count = len(mine.operands)
    plain = tuple(range(count))
    kind = kind_of(mine)
    if kind in _COMMUTATIVE:
        # A third operand of PyTorch's is what the second is multiplied with.
        moved = 2 if kind.startswith("torch.") else count
        if moved <= _MOST_PERMUTED and all(map(_is_one, list(its.operands)[moved:])):
            return [(*order, *plain[moved:]) for order in itertools.permutations(range(moved))]
    if mine.name == "linalg.generic":
        inputs = count - len(mine.results)
        orders = [plain]
        if 1 < inputs <= _MOST_PERMUTED:
            rest = plain[inputs:]
            orders = [(*order, *rest) for order in itertools.permutations(range(inputs))]
        return [order for order in orders if _has_maps(mine, its, order)]
    return [plain]


def _is_one(value: ir.Value) -> bool:
    """Whether a factor says nothing: `torch.add(x, y, alpha=1)`."""
    element = element_of(value)
    return element is not None and number_of(element) == 1


def _has_maps(mine: ir.Operation, its: ir.Operation, order: tuple[int, ...]) -> bool:
    one, other = (_maps(op) for op in (mine, its))
    if len(one) != len(other):
        return False
    single: frozenset[int] | None = None
    for index, position in enumerate(order):
        if one[index] == other[position]:
            continue
        if single is None:
            single = _single_loops(its, other)
        if not _is_same(one[index], other[position], single):
            return False
    return True


def _maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [ir.AffineMapAttr(item).value for item in ir.ArrayAttr(op.attributes["indexing_maps"])]


def _single_loops(op: ir.Operation, maps: Sequence[ir.AffineMap]) -> frozenset[int]:
    """The loops of an operation that go once, as it says in a tensor's type."""
    found = set()
    for value, each in zip(op.operands, maps, strict=True):
        kind = value.type
        if not isinstance(kind, ir.RankedTensorType):
            continue
        for axis, expr in enumerate(each.results):
            if isinstance(expr, ir.AffineDimExpr) and kind.shape[axis] == 1:
                found.add(expr.position)
    return frozenset(found)


def _is_same(one: ir.AffineMap, other: ir.AffineMap, single: frozenset[int]) -> bool:
    """Whether two maps read the same: where a loop goes once, its number is 0."""
    mine, its = list(one.results), list(other.results)
    if one.n_dims != other.n_dims or len(mine) != len(its):
        return False
    return all(
        a == b or {_loop(a, single), _loop(b, single)} == {0}
        for a, b in zip(mine, its, strict=True)
    )


def _loop(expr: ir.AffineExpr, single: frozenset[int]) -> int | None:
    """The number that an expression is: 0 of a loop that goes once; None where it may be others."""
    if isinstance(expr, ir.AffineConstantExpr):
        return int(expr.value)
    is_single = isinstance(expr, ir.AffineDimExpr) and expr.position in single
    return 0 if is_single else None
