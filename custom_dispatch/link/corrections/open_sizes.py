"""Sizes that an ONNX model leaves open, compared where IREE takes them for equal.

Of two operands with an open size each, IREE 3.13's conversion of ONNX takes the second's for the
first's: it neither broadcasts a size of 1 nor refuses others, but reads beside the operand. Sizes
that are the same by the model's own operations fold, and cost nothing.
"""

from collections.abc import Iterator
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, scf

from custom_dispatch.ir.guards import INVALID_ARGUMENT
from custom_dispatch.link import operations

_ORIGIN = "torch.onnx_meta.ir_version"
"""What IREE's importer writes on the functions of an ONNX model."""
_MARK = "custom_dispatch.compares_sizes"
_LOOPS = {
    "linalg.matmul": ((0, 2), (2, 1)),
    "linalg.batch_matmul": ((0, 1, 3), (0, 3, 2)),
    "linalg.dot": ((0,), (0,)),
    "linalg.matvec": ((0, 1), (1,)),
    "linalg.vecmat": ((1,), (1, 0)),
}
"""By operation, the loop that each axis of each input belongs to."""
_MESSAGE = (
    "model `{}`: two operands of an operation differ in a size that the model leaves open, which "
    "IREE does not broadcast"
)


def is_from_onnx(module: ir.Module) -> bool:
    """Whether IREE's importer made a module of an ONNX model."""
    return any(_ORIGIN in op.attributes for op in operations.functions_of(module))


def compare_open_sizes(module: ir.Module) -> None:
    """Let calls fail where operands' sizes differ that IREE takes for equal."""
    for function in operations.functions_of(module):
        for op in operations.operations_of(function, "linalg.generic", *_LOOPS):
            with ir.InsertionPoint(op), op.location:
                for first, second in _pairs(op):
                    _require_same(first, second, _MESSAGE.format(operations.name_of(function)))


def drop_comparisons(function: ir.Operation) -> None:
    """Drop them from a function whose preflight makes them."""
    for op in operations.operations_of(function, "scf.if"):
        if _MARK in op.attributes:
            op.erase()


def _pairs(op: ir.Operation) -> Iterator[tuple[tuple[Any, int], tuple[Any, int]]]:
    """Sizes of operands that have to be the same, as operands with an axis each."""
    first: dict[int, tuple[Any, int]] = {}
    for operand, loops in zip(op.operands, _loops_of(op), strict=False):  # results come last
        if not isinstance(operand.type, ir.RankedTensorType):
            continue
        for axis, loop in enumerate(loops):
            if loop is None:
                continue
            known = first.setdefault(loop, (operand, axis))
            if known != (operand, axis) and (_is_open(*known) or _is_open(operand, axis)):
                yield known, (operand, axis)


def _loops_of(op: ir.Operation) -> list[tuple[int | None, ...]]:
    """The loop of each axis of each input; None for an axis that is none by itself."""
    if op.name in _LOOPS:
        return list(_LOOPS[op.name])
    maps = [ir.AffineMapAttr(item).value for item in op.attributes["indexing_maps"]]
    return [
        tuple(
            expr.position if isinstance(expr, ir.AffineDimExpr) else None for expr in item.results
        )
        for item in maps[: len(op.operands) - len(op.results)]
    ]


def _is_open(operand: Any, axis: int) -> bool:
    return bool(operand.type.is_dynamic_dim(axis))


def _require_same(first: tuple[Any, int], second: tuple[Any, int], message: str) -> None:
    differ = arith.cmpi(
        arith.CmpIPredicate.ne, operations.size_of(*first), operations.size_of(*second)
    )
    branch = scf.IfOp(differ)
    branch.attributes[_MARK] = ir.UnitAttr.get()
    with ir.InsertionPoint(branch.then_block):
        status = operations.integer(INVALID_ARGUMENT, ir.IntegerType.get_signless(32))
        ir.Operation.create(
            "util.status.check_ok",
            operands=[status],
            attributes={"message": ir.StringAttr.get(message)},
        )
        scf.YieldOp([])
