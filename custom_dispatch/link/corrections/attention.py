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

from custom_dispatch.errors import ModelError
from custom_dispatch.link.elementwise import Arithmetic, Indexed, loops_over
from custom_dispatch.link.operations import create, operations_of

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
        of = Arithmetic(ir.F64Type.get() if kind == ir.F64Type.get() else ir.F32Type.get())
        keys = set(self.key.axes) & set(self.value.axes) - set(self.out.axes)
        rows = {*self.query.axes, *self.key.axes} - self._multiplied - keys
        places, axes = rows | keys, self.out.axes
        masks = () if self.mask is None else (self.mask,)
        sized = (self.query, self.key, self.value)
        lowest = float("-inf")

        def plus_product(first: Any, second: Any, total: Any) -> Any:
            product = of.compute("arith.mulf", of.widened(first), of.widened(second))
            return of.compute("arith.addf", total, product)

        def loops(dims: Any, given: Any, body: Any, start: float | None = None) -> Indexed:
            return loops_over(dims, given, body, start, of.kind, sized)

        scores = loops(places, (self.query, self.key), plus_product, 0.0)
        scores = loops(places, (scores, *masks), lambda *x: self._score(of, *x[:-1]))
        highest = loops(rows, (scores,), lambda *x: of.compute("arith.maximumf", *x), lowest)
        weights = loops(places, (scores, highest), lambda *x: _weight(of, *x[:-1]))
        total = loops(rows, (weights,), lambda *x: of.compute("arith.addf", *x), 0.0)
        mixed = loops(axes, (weights, self.value), plus_product, 0.0)

        def mean(first: Any, second: Any, _: Any) -> Any:
            return of.narrowed(_mean(of, first, second), kind)

        return loops_over(axes, (mixed, total), mean, None, kind, sized).value

    def _score(self, of: Arithmetic, product: Any, mask: Any = None) -> Any:
        """A product of a query and a key, as the softmax takes it."""
        score = of.compute("arith.mulf", product, of.widened(self.scale))
        block = self.op.regions[0].blocks[0]
        moved = {block.arguments[0]: of.narrowed(score, block.arguments[0].type)}
        for op in block.operations:
            if op.operation.name == "iree_linalg_ext.yield":
                score = of.widened(moved.get(op.operands[0], op.operands[0]))
                break
            copy = op.operation.clone()
            for index, item in enumerate(copy.operands):
                copy.operands[index] = moved.get(item, item)
            moved.update(zip(op.operation.results, copy.results, strict=True))
        if mask is None:
            return score
        if isinstance(mask.type, ir.IntegerType):
            if mask.type.width != 1:
                mask = create("arith.trunci", ir.IntegerType.get_signless(1), mask)
            return of.select(mask, score, of.constant(float("-inf")))
        return of.compute("arith.addf", score, of.widened(mask))


def _weight(of: Arithmetic, score: Any, highest: Any) -> Any:
    """exp(score - highest), and 0 where no score is above -infinity."""
    lowest = of.constant(float("-inf"))
    highest = of.select(of.equal(highest, lowest), of.constant(0.0), highest)
    return of.compute("math.exp", of.compute("arith.subf", score, highest))


def _mean(of: Arithmetic, mixed: Any, total: Any) -> Any:
    zero = of.constant(0.0)
    return of.select(of.equal(total, zero), zero, of.compute("arith.divf", mixed, total))
