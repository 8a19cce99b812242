"""The shapes of a kernel's results where sizes may be symbols: for every front end.

Numbers take the way that they take in every call. What a front end's symbols are, how they are
compared and computed with, its own class says.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from custom_dispatch.errors import CallError
from custom_dispatch.kernel import binding
from custom_dispatch.kernel.expr import Binary, Condition, Constant, Dim, Expr, Where
from custom_dispatch.kernel.kernel import Kernel

Size = TypeVar("Size")


class SymbolicShapes(Generic[Size]):
    """What is known of a kernel's dims."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.dims: dict[str, Any] = {}
        self.leading: tuple[Size, ...] | None = None

    # -- a front end's own

    def same(self, known: Size, found: Size, problem: str) -> Size:
        """Two sizes that have to be the same, as one.

        `problem`: what is wrong where they are not: "`a`.shape[0] and `b`.shape[1] disagree on dim
        n".
        """
        raise NotImplementedError

    def computed(self, expr: Binary, left: Size, right: Size, *, checked: bool) -> Size:
        """An operator's result; `checked` as of `value`."""
        raise NotImplementedError

    def chosen(self, expr: Where) -> Size:
        """The value of one of two expressions, by a condition."""
        raise NotImplementedError

    def product(self, sizes: Sequence[Size]) -> Size:
        """Leading dims as one."""
        of_any: Sequence[Any] = sizes
        found: Size = math.prod(of_any)
        return found

    def require(self) -> None:
        """See to what the kernel requires, when all operands are bound."""

    # -- for all

    def of(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, tuple[Any, ...]]:
        """The shape of every result, by operand name; arguments and errors as of `bind`."""
        if not all(isinstance(size, int) for shape in shapes.values() for size in shape):
            self.bind(shapes)
            self.require()
            return self.results()
        kernel = self.kernel
        given: dict[str, Any] = {
            item.name: tuple(shapes.get(item.name, (0,) * item.rank)) for item in kernel.buffers
        }
        sizes, leading = (
            binding.output_shapes(kernel, binding.bind_dims(kernel, given)),
            binding.leading_dims(kernel, given),
        )
        return {
            item.name: binding.unfolded(item, sizes[item.name], leading) for item in kernel.outputs
        }

    def bind(self, shapes: Mapping[str, Sequence[Size]]) -> None:
        """Take what the operands' shapes say.

        `shapes`: the shape of every input buffer, by operand name; none for one that is absent.
        """
        first: dict[str, str] = {}
        others: list[tuple[Expr, Size, str]] = []
        buffers = [operand for operand in self.kernel.buffers if operand.name in shapes]
        for operand in sorted(buffers, key=lambda operand: operand.optional):
            shape: Any = tuple(shapes[operand.name])
            binding.check_rank(self.kernel, operand, shape)
            more, exprs = 0, operand.shape
            if operand.batched:
                mine: Any = binding.leading_of(operand, shape)
                self._bind_leading(operand.name, mine, first)
                more, exprs = len(mine), operand.shape[1:]
            for axis, (expr, size) in enumerate(zip(exprs, shape[more:], strict=True), more):
                here = f"`{operand.name}`.shape[{axis}]"
                if not isinstance(expr, Dim):
                    others.append((expr, size, here))
                elif expr.name in self.dims:
                    problem = f"{first[expr.name]} and {here} disagree on dim {expr}"
                    self.dims[expr.name] = self.same(self.dims[expr.name], size, problem)
                else:
                    self.dims[expr.name], first[expr.name] = size, here
        if self.leading is not None:
            batch = next(op.shape[0] for op in buffers if op.batched)
            self.dims[str(batch)] = self.product(self.leading)
        for expr, size, here in others:
            self.same(self.value(expr), size, f"{here} differs from {expr}")

    def _bind_leading(self, name: str, found: tuple[Size, ...], first: dict[str, str]) -> None:
        if self.leading is None:
            self.leading, first["..."] = found, name
            return
        other = first["..."]
        if len(self.leading) != len(found):
            raise CallError(
                f"Kernel `{self.kernel.name}`: the operands disagree on their leading dims: "
                f"`{other}` has {len(self.leading)} of them, and `{name}` {len(found)}.",
                expected=f"the same ones everywhere: {binding.declared_shapes(self.kernel)}",
                next_step="pass tensors whose sizes agree, broadcast where they have to be.",
            )
        self.leading = tuple(
            self.same(*pair, f"`{other}`.shape[{axis}] and `{name}`.shape[{axis}] disagree")
            for axis, pair in enumerate(zip(self.leading, found, strict=True))
        )

    def value(self, expr: Expr, *, checked: bool = True) -> Any:
        """As `custom_dispatch.kernel.evaluation.evaluate`, on symbols.

        `checked`: whether it must have a value. Of `where`, one side need not: the call checks
        that.
        """
        match expr:
            case Constant(value):
                return value
            case Dim(name):
                return self.dims[name]
            case Where():
                return self.chosen(expr)
            case Binary(_, left, right):
                sides = (self.value(side, checked=checked) for side in (left, right))
                return self.computed(expr, *sides, checked=checked)
            case _:  # pragma: no cover - a shape has no other kind of expression
                raise TypeError(f"not an expression of a shape: {expr!r}")

    def sides(self, condition: Condition) -> tuple[Any, Any]:
        """What a condition compares."""
        return self.value(condition.left), self.value(condition.right)

    def results(self) -> dict[str, tuple[Any, ...]]:
        """The shape of every result, by operand name."""
        return {
            item.name: binding.unfolded(item, tuple(map(self.value, item.shape)), self.leading)  # type: ignore[arg-type]
            for item in self.kernel.outputs
        }
