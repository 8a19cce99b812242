"""Attention as products and a softmax, in place of IREE 3.13's own.

On CPUs that is wrong: the size that queries and keys are multiplied over is cut into tiles where it
is above 128 or open, and the softmax taken of what one tile gives. Rows whose mask hides every key
are NaN, also where it hides them by the lowest number of its type; PyTorch has 0 where it is
-infinity or false, and the mean of the values else. 16-bit queries are rounded once more. Where it
is right, it takes a hundred times as long as what is written here. Found by running.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, math

from custom_dispatch.errors import ModelError
from custom_dispatch.link.elementwise import Indexed, as_float, loops_over
from custom_dispatch.link.operations import copy_body, operations_of

_ATTENTION = "iree_linalg_ext.attention"
_ONLINE = "iree_linalg_ext.online_attention"
_MASK = 4
"""Its place among the operands, before the result, where there is one."""


def write_attention(module: ir.Module) -> None:
    """Replace each attention by products and a softmax."""
    if operations_of(module, _ONLINE):
        raise ModelError(
            f"The model has the operation `{_ONLINE}`, which IREE 3.13 computes wrongly on CPUs.",
            expected=f"`{_ATTENTION}`, for which products and a softmax are written",
            next_step="write it so, or with products and a softmax of the model's own.",
        )
    for op in operations_of(module, _ATTENTION):
        attention = _Attention.of(op)
        if attention is None:
            continue
        with ir.InsertionPoint(op), op.location:
            result = attention.write()
        op.result.replace_all_uses_with(result)
        op.erase()


@dataclass(frozen=True, slots=True)
class _Attention:
    op: ir.Operation
    query: Indexed
    key: Indexed
    value: Indexed
    scale: Any
    mask: Indexed | None
    out: Indexed

    @classmethod
    def of(cls, op: ir.Operation) -> _Attention | None:
        """An attention over tensors; None of one over buffers."""
        if len(op.results) != 1:
            return None
        maps = [item.value for item in ir.ArrayAttr(op.attributes["indexing_maps"])]
        axes = [tuple(ir.AffineDimExpr(item).position for item in each.results) for each in maps]
        tensors = [Indexed(*item) for item in zip(op.operands, axes, strict=True)]
        query, key, value, scale = tensors[:_MASK]
        mask = tensors[_MASK] if len(tensors) > _MASK + 1 else None
        return cls(op, query, key, value, scale.value, mask, tensors[-1])

    @property
    def _multiplied(self) -> set[int]:
        """The dims that queries and keys are multiplied over."""
        both = set(self.query.axes) & set(self.key.axes)
        return both - set(self.value.axes) - set(self.out.axes)

    def write(self) -> Any:
        """Make the operations; return the result."""
        kind = self.out.value.type.element_type
        wide = kind if kind == ir.F64Type.get() else ir.F32Type.get()
        keys = set(self.key.axes) & set(self.value.axes) - set(self.out.axes)
        rows = {*self.query.axes, *self.key.axes} - self._multiplied - keys
        places, axes = rows | keys, self.out.axes
        masks = () if self.mask is None else (self.mask,)
        sized = (self.query, self.key, self.value)
        lowest = float("-inf")

        def plus_product(first: Any, second: Any, total: Any) -> Any:
            return arith.addf(total, arith.mulf(as_float(first, wide), as_float(second, wide)))

        def loops(dims: Any, given: Any, body: Any, start: float | None = None) -> Indexed:
            return loops_over(dims, given, body, start, wide, sized)

        scores = loops(places, (self.query, self.key), plus_product, 0.0)
        scores = loops(places, (scores, *masks), lambda *x: self._score(*x[:-1]))
        highest = loops(rows, (scores,), arith.maximumf, lowest)
        weights = loops(places, (scores, highest), _weight)
        total = loops(rows, (weights,), arith.addf, 0.0)
        mixed = loops(axes, (weights, self.value), plus_product, 0.0)

        def mean(mixed: Any, total: Any, _: Any) -> Any:
            zero = arith.constant(wide, 0.0)
            quotient = arith.divf(mixed, total)
            return as_float(arith.select(_equal(total, zero), zero, quotient), kind)

        return loops_over(axes, (mixed, total), mean, None, kind, sized).value

    def _score(self, product: Any, mask: Any = None) -> Any:
        """A product of a query and a key, as the softmax takes it."""
        wide = product.type
        score = arith.mulf(product, as_float(self.scale, wide))
        block = self.op.regions[0].blocks[0]
        argument = block.arguments[0]
        (score,) = copy_body(block, {argument: as_float(score, argument.type)})
        score = as_float(score, wide)
        if mask is None:
            return score
        if isinstance(mask.type, ir.IntegerType):
            if mask.type.width != 1:
                mask = arith.trunci(ir.IntegerType.get_signless(1), mask)
            return arith.select(mask, score, arith.constant(wide, float("-inf")))
        return arith.addf(score, as_float(mask, wide))


def _weight(score: Any, highest: Any, _: Any) -> Any:
    """exp(score - highest), and 0 where no score is above -infinity."""
    zero, lowest = (arith.constant(score.type, number) for number in (0.0, float("-inf")))
    highest = arith.select(_equal(highest, lowest), zero, highest)
    return math.exp(arith.subf(score, highest))


def _equal(first: Any, second: Any) -> Any:
    return arith.cmpf(arith.CmpFPredicate.OEQ, first, second)
