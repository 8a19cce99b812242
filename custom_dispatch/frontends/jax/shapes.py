"""The shapes of a kernel's results while JAX traces a function: sizes may be symbols.

Symbols are JAX's own, of functions that are exported for any size; what cannot be told of them is
refused, since nobody would check it later than the compiled module.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from jax.extend.core import InconclusiveDimensionOperation

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.arithmetic import OPERATORS
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.expr import Binary, Expr, Where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.link.symbolic_shapes import SymbolicShapes, result_shapes

Size = Any
"""An int, or a symbolic dimension of JAX."""


def traced_shapes(
    kernel: Kernel, shapes: Mapping[str, Sequence[Size]]
) -> dict[str, tuple[Size, ...]]:
    """The shape of every result, by operand name.

    Parameters
    ----------
    shapes
        The shape of every input buffer, by operand name; one without elements where it is absent.

    Raises
    ------
    CallError
        The shapes do not fit the declaration.
    """

    def symbolic() -> _TracedShapes:
        absent = {
            item.name
            for item in kernel.inputs
            if isinstance(item, Buffer) and item.optional and 0 in shapes[item.name]
        }
        found = _TracedShapes(kernel)
        found.bind({name: shape for name, shape in shapes.items() if name not in absent})
        return found

    try:
        return result_shapes(kernel, shapes, symbolic)
    except InconclusiveDimensionOperation as error:
        raise CallError(
            f"Kernel `{kernel.name}`: JAX cannot tell something of its symbolic sizes.",
            expected="sizes whose relations follow from their names",
            next_step="use one name for what is the same size:",
            log=str(error),
        ) from None


class _TracedShapes(SymbolicShapes[Size]):
    def same(self, known: Size, found: Size, problem: str) -> Size:
        if known is found or known == found:
            return known
        raise CallError(
            f"Kernel `{self.kernel.name}`: {problem}: {known} and {found}.",
            expected="the same size, or one that JAX knows to be the same",
            next_step="use one name for what is the same size.",
        )

    def product(self, sizes: Sequence[Size]) -> Size:
        return math.prod(sizes)

    def computed(self, expr: Binary, left: Size, right: Size, *, checked: bool) -> Size:
        del checked  # the compiled module checks it
        if expr.operator in ("minimum", "maximum"):
            raise _no_value(expr)
        return OPERATORS[expr.operator](left, right)

    def chosen(self, expr: Where) -> Size:
        raise _no_value(expr)


def _no_value(expr: Expr) -> CallError:
    return CallError(
        f"{expr} has no value while sizes are symbols of JAX.",
        expected="sizes that are sums, products and quotients of dims",
        next_step="export the function for known sizes.",
    )
