"""The shapes of a kernel's results while PyTorch traces a model: sizes may be symbols.

Each check becomes a fact that PyTorch notes of the model (`torch._check`): as long as it traces,
nobody knows the sizes.
"""

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from custom_dispatch.kernel.expr import Binary, Condition, Where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.shapes import Shapes
from custom_dispatch.kernel.size_arithmetic import DIVISIONS, OPERATORS, compared

_LEAST_CERTAIN = 2
_OPERATORS = {
    **OPERATORS,
    "ceildiv": lambda left, right: (left + right - 1) // right,
    "minimum": torch.sym_min,
    "maximum": torch.sym_max,
}
Size = Any
"""An int or a `torch.SymInt`."""


class TracedShapes(Shapes[Size]):
    """What is known of a kernel's dims while PyTorch traces.

    `certain`: whether it will be this kernel: where symbols leave that open, nothing is noted of
    what it requires.

    Raises `RuntimeError` where symbols do not fit: PyTorch does, with our sentence.
    """

    def __init__(self, kernel: Kernel, *, certain: bool) -> None:
        super().__init__(kernel)
        self._certain = certain

    def require(self) -> None:
        """Note what the kernel requires."""
        for condition in self.kernel.requires if self._certain else ():
            self.note(self.holds(condition), f"Kernel `{self.kernel.name}` requires {condition}")

    def note(self, condition: Any, problem: str) -> None:
        """Let PyTorch note what has to hold; it refuses what does not."""
        torch._check(condition, lambda: f"{problem}.")

    def same(self, known: Size, found: Size, problem: str) -> Size:
        """Two sizes, of which PyTorch notes that they are the same."""
        self.note(known == found, f"Kernel `{self.kernel.name}`: {problem}")
        return known

    def holds(self, condition: Condition) -> Any:
        """Whether a condition holds: a bool, or a `torch.SymBool`."""
        return compared(condition.operator, *self.sides(condition))

    def computed(self, expr: Binary, left: Size, right: Size, *, checked: bool) -> Size:
        """An operator's result; that it has one is noted."""
        if checked and expr.operator in DIVISIONS:
            self.note(right != 0, f"Kernel `{self.kernel.name}`: {expr} divides by zero")
        result = _OPERATORS[expr.operator](left, right)
        if checked and expr.operator == "-":
            self.note(result >= 0, f"Kernel `{self.kernel.name}`: {expr} is negative")
        return result

    def chosen(self, expr: Where) -> Size:
        """One of two sizes, or a symbol for it."""
        condition = self.holds(expr.condition)
        if_true = self.value(expr.if_true, checked=False)
        if_false = self.value(expr.if_false, checked=False)
        if isinstance(condition, bool):
            return if_true if condition else if_false
        if not all(statically_known_true(side >= _LEAST_CERTAIN) for side in (if_true, if_false)):
            # PyTorch asks of every size whether it is 0 or 1, which it cannot tell of a choice: it
            # takes one side then, and notes that the model holds for sizes of that side.
            return if_true if condition else if_false
        # It chooses between two symbols only.
        sides = [
            side if isinstance(side, torch.SymInt) else torch.SymInt(condition.node.wrap_int(side))
            for side in (if_true, if_false)
        ]
        return torch.sym_ite(condition, *sides)
