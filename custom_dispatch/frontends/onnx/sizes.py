"""The shapes of a kernel's results where sizes are numbers, names or unknown.

ONNX's shape inference knows a size by number, by a name that other tensors share (`dim_param`), or
not at all.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.arithmetic import compared, computed
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.evaluation import for_values
from custom_dispatch.kernel.expr import Binary, Where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import declared_shapes
from custom_dispatch.link.symbolic_shapes import SymbolicShapes, result_shapes

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
    return result_shapes(kernel, shapes, lambda: _InferredShapes(kernel, shapes))


class _InferredShapes(SymbolicShapes[Size]):
    """What is known of a kernel's dims."""

    def __init__(self, kernel: Kernel, shapes: Mapping[str, Sequence[Size]]) -> None:
        super().__init__(kernel)
        self.dims: dict[str, Size] = defaultdict(lambda: None)
        self.bind(shapes)
        for condition in kernel.requires:
            self._require(condition)

    def same(self, known: Size, found: Size, problem: str) -> Size:
        """Numbers say more than names, and names more than nothing."""
        if isinstance(known, int) and isinstance(found, int) and known != found:
            raise self._refusal(f"{problem}: {known} and {found}")
        if isinstance(known, int) or found is None:
            return known
        return found if isinstance(found, int) or known is None else known

    def computed(self, expr: Binary, left: Size, right: Size, *, checked: bool) -> Size:
        del checked  # numbers are
        if isinstance(left, int) and isinstance(right, int):
            return computed(expr.operator, left, right, expr)
        return None

    def chosen(self, expr: Where) -> Size:
        holds = self._holds(expr.condition)
        return None if holds is None else self.value(expr.if_true if holds else expr.if_false)

    def product(self, sizes: Sequence[Size]) -> Size:
        numbers = [size for size in sizes if isinstance(size, int)]
        return math.prod(numbers) if len(numbers) == len(sizes) else None

    def _holds(self, condition: Condition) -> bool | None:
        """Whether a condition holds; None where nobody knows."""
        left, right = self.sides(condition)
        if isinstance(left, int) and isinstance(right, int):
            return compared(condition.operator, left, right)
        return None

    def _refusal(self, what: str) -> CallError:
        return CallError(
            f"Kernel `{self.kernel.name}`: {what}.",
            expected=f"sizes that agree: {declared_shapes(self.kernel)}",
            next_step="correct the model's sizes, or broadcast there.",
        )

    def _require(self, condition: Condition) -> None:
        holds = self._holds(condition)
        if holds is False:
            numbers = {name: size for name, size in self.dims.items() if isinstance(size, int)}
            raise CallError(
                f"Kernel `{self.kernel.name}` requires {condition}, which does not hold"
                f"{for_values(condition, numbers)}.",
                expected=str(condition),
            )
