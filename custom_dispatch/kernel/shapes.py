"""The sizes of a kernel's operands and results: read from shapes, compared, and computed.

Sizes are numbers in a call. While a model is compiled they may be symbols of a framework, or not
known: how these are compared and computed with, a class of their own says.

Leading dims are what `...` stands for in a shape such as `[..., n]`. A kernel sees them as one dim,
`cd.batch`. Arrays are dense, so to make one dim of several, or several of one, is to look at the
same memory in another way.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Generic, TypeVar

from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.evaluation import evaluate, for_values, holds
from custom_dispatch.kernel.expr import Binary, Condition, Constant, Dim, Expr, Where, batch
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.operand import Buffer, Scratch

Size = TypeVar("Size")
Shape = tuple[int, ...]
Known = int | str | None


class Shapes(Generic[Size]):
    """What is known of a kernel's dims."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.dims: dict[str, Any] = {}
        self.leading: tuple[Size, ...] | None = None
        """The leading dims; None for a kernel without `...`."""
        self.sources: dict[str, str] = {}
        """Which size each dim is: "`x`.shape[2]"."""
        self.reading: Buffer
        """The operand whose sizes are compared with what is known."""
        self._leading_in = ""

    # -- what depends on the kind of sizes

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
        found: Size = prod(of_any)
        return found

    def fit(self, operand: Buffer, axis: int, expr: Expr, size: Size) -> None:
        """Compare a size of an operand with the expression that it is declared as."""
        self.same(self.value(expr), size, f"`{operand.name}`.shape[{axis}] differs from {expr}")

    def require(self) -> None:
        """See to what the kernel requires, when all operands are bound."""

    # -- for all

    def of(self, shapes: Mapping[str, Sequence[Size]]) -> dict[str, tuple[Any, ...]]:
        """The shape of every result, by operand name; arguments and errors as of `bind`.

        Numbers take the way that they take in every call.
        """
        every = (size for shape in shapes.values() for size in shape)
        found: Shapes[Any] = KnownShapes(self.kernel) if all(map(_is_number, every)) else self
        found.bind(shapes)
        found.require()
        return found.results()

    def bind(self, shapes: Mapping[str, Sequence[Size]]) -> None:
        """Take what the operands' shapes say.

        `shapes`: the shape of every input buffer, by operand name, with any leading dims where it
        has `...`; none, or one without elements, for an optional one that is absent.
        """
        # One that may be absent gives no sizes to others.
        given = [operand for operand in self.kernel.buffers if operand.name in shapes]
        there: list[tuple[Buffer, tuple[Size, ...]]] = []
        for operand in sorted(given, key=lambda operand: operand.optional):
            shape = tuple(shapes[operand.name])
            check_rank(self.kernel, operand, shape)
            if not (operand.optional and any(_is_number(size) and size == 0 for size in shape)):
                there.append((operand, shape))
        for operand, shape in there:
            if operand.batched:
                self.leading = self.same_leading(operand, leading_of(operand, shape))
        if self.leading is not None:
            self.dims[batch.name] = self.product(self.leading)
            name, count = f"`{self._leading_in}`.shape", len(self.leading)
            of = f"{name}[0]" if count == 1 else f"the product of {name}[:{count}]"
            self.sources[batch.name] = of
        others: list[tuple[Buffer, int, Expr, Size]] = []
        for operand, shape in there:
            more = len(shape) - operand.least_rank if operand.batched else 0
            for axis, size in enumerate(shape[more:], more):
                expr = operand.shape[axis - len(shape)]
                if isinstance(expr, Dim):
                    self._bind_dim(expr.name, size, operand, axis)
                else:
                    others.append((operand, axis, expr, size))
        for each in others:
            self.fit(*each)

    def _bind_dim(self, name: str, size: Size, operand: Buffer, axis: int) -> None:
        here = f"`{operand.name}`.shape[{axis}]"
        if name in self.dims:
            self.reading = operand
            problem = f"{self.sources[name]} and {here} disagree on dim {name}"
            self.dims[name] = self.same(self.dims[name], size, problem)
        else:
            self.dims[name], self.sources[name] = size, here

    def same_leading(self, operand: Buffer, found: tuple[Size, ...]) -> tuple[Size, ...]:
        """The leading dims, which have to be the same in an operand."""
        if self.leading is None:
            self._leading_in = operand.name
            return found
        first, name = self._leading_in, operand.name
        if len(self.leading) != len(found):
            raise CallError(
                f"Kernel `{self.kernel.name}`: the operands disagree on their leading dims: "
                f"`{first}` has {len(self.leading)} of them, and `{name}` {len(found)}.",
                expected=f"the same ones everywhere: {declared_shapes(self.kernel)}",
                next_step="pass tensors whose sizes agree, broadcast where they have to be.",
            )
        self.reading = operand
        disagree = "disagree, which are leading dims"
        return tuple(
            self.same(*pair, f"`{first}`.shape[{axis}] and `{name}`.shape[{axis}] {disagree}")
            for axis, pair in enumerate(zip(self.leading, found, strict=True))
        )

    def value(self, expr: Expr, *, checked: bool = True) -> Any:
        """As `custom_dispatch.kernel.evaluation.evaluate`, on these sizes.

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
            item.name: unfolded(item, tuple(map(self.value, item.shape)), self.leading)
            for item in self.kernel.outputs
        }


class KnownShapes(Shapes[Any]):
    """Of sizes that are known as numbers, by names that others share, or not at all.

    In a call they are numbers. Raises `CallError` for numbers that do not fit.
    """

    @property
    def numbers(self) -> dict[str, int]:
        """The dims that are known as numbers."""
        return {name: size for name, size in self.dims.items() if isinstance(size, int)}

    def same(self, known: Known, found: Known, problem: str) -> Known:
        """Numbers say more than names, and names more than nothing."""
        if isinstance(known, int) and isinstance(found, int) and known != found:
            raise CallError(
                f"Kernel `{self.kernel.name}`: {problem}: {known} and {found}.",
                expected=f"sizes that agree: {declared_shapes(self.kernel)}",
                next_step="pass arrays whose sizes agree, broadcast where they have to be.",
            )
        if isinstance(known, int) or found is None:
            return known
        return found if isinstance(found, int) or known is None else known

    def product(self, sizes: Sequence[Known]) -> Known:
        """Leading dims as one."""
        if len(sizes) == 1:
            return sizes[0]
        numbers = [size for size in sizes if isinstance(size, int)]
        return prod(numbers) if len(numbers) == len(sizes) else None

    def value(self, expr: Expr, *, checked: bool = True) -> Known:
        """A number, a name or None."""
        del checked  # numbers are
        try:
            return evaluate(expr, self.numbers)
        except KeyError:
            return self.dims.get(expr.name) if isinstance(expr, Dim) else None

    def fit(self, operand: Buffer, axis: int, expr: Expr, size: Known) -> None:
        """Compare a size of an operand with the expression that it is declared as."""
        what = f"Kernel `{self.kernel.name}`: operand `{operand.name}`"
        try:
            wanted = self.value(expr)
        except DeclarationError as error:
            found = f"{what} has no size in dimension {axis}: {error.found}"
            raise error.saying(found, "pass arrays of other sizes.", kind=CallError) from None
        if isinstance(size, int) and isinstance(wanted, int) and size != wanted:
            raise CallError(
                f"{what} has size {size} in dimension {axis}.",
                expected=str(wanted)
                if isinstance(expr, Constant)
                else f"{expr} = {wanted}{for_values(expr, self.numbers)}",
                next_step="pass an array of that size.",
            )

    def require(self) -> None:
        """Refuse what the kernel does."""
        name, numbers = self.kernel.name, self.numbers
        for condition in self.kernel.requires:
            try:
                if holds(condition, numbers):
                    continue
            except KeyError:
                continue  # nobody knows
            except DeclarationError as error:
                found = f"Kernel `{name}` requires {condition}, which has no value: {error.found}"
                raise error.saying(found, "pass arrays of other sizes.", kind=CallError) from None
            raise CallError(
                f"Kernel `{name}` requires {condition}, which does not hold"
                f"{for_values(condition, numbers)}.",
                expected=", ".join(map(str, self.kernel.requires)),
                next_step="pass arrays of such sizes, or put a kernel that takes these beside it, "
                "in a cd.Choice.",
            )


def _is_number(size: object) -> bool:
    return isinstance(size, int)


def leading_of(operand: Buffer, shape: Sequence[Size]) -> tuple[Size, ...]:
    """The leading dims in a shape."""
    return tuple(shape[: len(shape) - operand.least_rank])


def folded(operand: Buffer, shape: Sequence[Any]) -> tuple[Any, ...]:
    """A shape as the kernel sees it: leading dims as one; None where one of them is not known."""
    if not operand.batched:
        return tuple(shape)
    leading = leading_of(operand, shape)
    return (None if None in leading else prod(leading), *shape[len(leading) :])


def unfolded(
    operand: Buffer, shape: Sequence[Size], leading: Sequence[Size] | None
) -> tuple[Size, ...]:
    """A shape as the caller sees it, from the kernel's."""
    if not operand.batched or leading is None:
        return tuple(shape)
    return (*leading, *shape[1:])


def declared_shapes(kernel: Kernel) -> str:
    """The shapes of a call's buffers as they are declared: "x[..., n], y[..., n]"."""
    return ", ".join(
        f"{operand.name}[{operand.declared_shape}]"
        for operand in kernel.operands
        if isinstance(operand, Buffer) and not isinstance(operand, Scratch)
    )


def check_rank(kernel: Kernel, operand: Buffer, shape: Sequence[object]) -> None:
    """Require an operand's rank."""
    if not operand.has_rank(len(shape)):
        least = f"{operand.least_rank} or more" if operand.batched else str(operand.rank)
        raise CallError(
            f"Kernel `{kernel.name}`: operand `{operand.name}` has shape {list(shape)}, which is "
            f"rank {len(shape)}.",
            expected=f"rank {least}: [{operand.declared_shape}]",
            next_step="reshape the array.",
        )
