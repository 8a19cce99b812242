"""The shapes of a kernel's results where sizes are numbers, names or unknown.

ONNX's shape inference knows a size by number, by a name that other tensors share (`dim_param`), or
not at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims, check_rank, output_shapes
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.evaluation import evaluate, for_values, holds
from custom_dispatch.kernel.expr import Binary, Constant, Dim, Expr, dims_of
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import declared_shapes, leading_dims, unfolded

Size = int | str | None
Shape = tuple[Size, ...]


def inferred_shapes(kernel: Kernel, shapes: Mapping[str, Sequence[Size]]) -> dict[str, Shape]:
    """The shape of every result, by operand name, as far as it is known.

    Parameters
    ----------
    shapes
        The shape of every input buffer, by operand name; none for one that is absent.

    Raises
    ------
    CallError
        The shapes do not fit the declaration, whatever the unknown sizes are.
    """
    numbers = {
        name: [size for size in shape if isinstance(size, int)] for name, shape in shapes.items()
    }
    if all(len(numbers[name]) == len(shape) for name, shape in shapes.items()):
        given = {
            operand.name: numbers.get(operand.name, [0] * operand.rank)
            for operand in kernel.inputs
            if isinstance(operand, Buffer)
        }
        sizes = output_shapes(kernel, bind_dims(kernel, given))
        known = leading_dims(kernel, given)
        return {item.name: unfolded(item, sizes[item.name], known) for item in kernel.outputs}
    binding = Binding(kernel)
    buffers = [item for item in kernel.inputs if isinstance(item, Buffer) and item.name in shapes]
    for operand in sorted(buffers, key=lambda item: item.optional):
        binding.take(operand, shapes[operand.name])
    binding.check()
    return {operand.name: binding.shape_of(operand) for operand in kernel.outputs}


def certain_shapes(kernel: Kernel, shapes: Mapping[str, Sequence[Size]]) -> dict[str, Shape]:
    """As `inferred_shapes`, for a place where the kernel is to stand in for others.

    Sizes that the kernel compares have to be known to be equal: where they are not, the others may
    broadcast, and compute something else.

    Raises
    ------
    CallError
        The shapes do not fit the declaration, or nobody knows whether they do.
    """
    found = inferred_shapes(kernel, shapes)
    binding = Binding(kernel, certain=True)
    for operand in kernel.inputs:
        if isinstance(operand, Buffer) and operand.name in shapes:
            binding.take(operand, shapes[operand.name])
    binding.check()
    return found


class Binding:
    """What is known of a kernel's dims.

    Parameters
    ----------
    certain
        Whether what is compared has to be known.
    """

    def __init__(self, kernel: Kernel, *, certain: bool = False) -> None:
        self._kernel = kernel
        self._certain = certain
        self._dims: dict[str, tuple[Size, str]] = {}
        self._leading: tuple[list[Size], str] | None = None
        self._others: list[tuple[Expr, Size, str]] = []

    def take(self, operand: Buffer, shape: Sequence[Size]) -> None:
        """Take what an operand's shape says.

        Raises
        ------
        CallError
            It has another rank, or says something else than another operand does.
        """
        check_rank(self._kernel, operand, [0] * len(shape))
        more = len(shape) - operand.least_rank
        exprs = list(operand.shape)
        if operand.batched:
            exprs = exprs[1:]
            self._take_leading(operand, list(shape[:more]))
        for axis, (expr, size) in enumerate(
            zip(exprs, shape[len(shape) - len(exprs) :], strict=True), len(shape) - len(exprs)
        ):
            here = f"`{operand.name}`.shape[{axis}]"
            if isinstance(expr, Dim):
                found, where = self._dims.setdefault(expr.name, (size, here))
                if where != here:
                    what = f"{where} and {here} disagree on dim {expr}"
                    self._dims[expr.name] = (self._same(found, size, what), where)
            else:
                self._others.append((expr, size, here))

    def _take_leading(self, operand: Buffer, found: list[Size]) -> None:
        if self._leading is None:
            self._leading = (found, operand.name)
            return
        known, first = self._leading
        what = f"the operands disagree on their leading dims: `{first}` and `{operand.name}`"
        if len(known) != len(found):
            raise self._refusal(what)
        both = [self._same(*pair, what) for pair in zip(known, found, strict=True)]
        self._leading = (both, first)

    def _same(self, known: Size, found: Size, what: str) -> Size:
        """Two sizes as one; numbers say more than names, and names more than nothing."""
        if isinstance(known, int) and isinstance(found, int) and known != found:
            raise self._refusal(f"{what}: {known} and {found}")
        if self._certain and (known is None or known != found):
            raise self._refusal(f"nobody knows whether {what}: {known or '?'} and {found or '?'}")
        if isinstance(known, int) or found is None:
            return known
        return found if isinstance(found, int) or known is None else known

    def _refusal(self, what: str) -> CallError:
        return CallError(
            f"Kernel `{self._kernel.name}`: {what}.",
            expected=f"sizes that agree: {declared_shapes(self._kernel)}",
            next_step="correct the model's sizes, or broadcast there.",
        )

    def check(self) -> None:
        """Compare what is known of expressions, and of what the kernel requires.

        Raises
        ------
        CallError
            A size differs or a requirement does not hold, or that cannot be known where it must.
        """
        for expr, size, here in self._others:
            wanted = self._value(expr)
            if isinstance(wanted, int) and isinstance(size, int) and wanted != size:
                raise self._refusal(f"{here} is {size}, and {expr} is {wanted}")
            if self._certain and (wanted is None or wanted != size):
                raise self._refusal(f"nobody knows whether {here} is {expr}")
        numbers = self._numbers()
        for condition in self._kernel.requires:
            dims = dims_of(condition.left, condition.right)
            known = all(dim.name in numbers for dim in dims)
            if self._certain and not known and not self._is_multiple_of_itself(condition):
                raise CallError(
                    f"nobody knows whether {condition}, which the kernel requires, holds"
                )
            if known and not holds(condition, numbers):
                raise CallError(
                    f"Kernel `{self._kernel.name}` requires {condition}, which does not hold"
                    f"{for_values(condition, numbers)}.",
                    expected=str(condition),
                )

    def _is_multiple_of_itself(self, condition: Condition) -> bool:
        """Whether it asks if a size is a multiple of 1, or of another that has the same name."""
        left, right = condition.left, condition.right
        if condition.operator != "==" or not isinstance(left, Binary) or left.operator != "%":
            return False
        if not isinstance(right, Constant) or right.value != 0:
            return False
        whole, part = self._value(left.left), self._value(left.right)
        return part == 1 or (part is not None and part == whole)

    def shape_of(self, operand: Buffer) -> Shape:
        """What is known of an operand's shape."""
        exprs = operand.shape
        if operand.batched and self._leading is not None:
            return (*self._leading[0], *map(self._value, exprs[1:]))
        return tuple(map(self._value, exprs))

    def _numbers(self) -> dict[str, int]:
        return {name: size for name, (size, _) in self._dims.items() if isinstance(size, int)}

    def _value(self, expr: Expr) -> Size:
        if isinstance(expr, Constant):
            return expr.value
        if isinstance(expr, Dim) and expr.name in self._dims:
            return self._dims[expr.name][0]
        numbers = self._numbers()
        if all(dim.name in numbers for dim in dims_of(expr)):
            return evaluate(expr, numbers)
        return None
