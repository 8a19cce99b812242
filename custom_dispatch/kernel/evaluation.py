"""What dim expressions and conditions are once dims are known."""

from __future__ import annotations

from collections.abc import Mapping

from custom_dispatch.kernel.arithmetic import compared, computed
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.expr import (
    Binary,
    ComputeCapability,
    Constant,
    Dim,
    Expr,
    Where,
    dims_of,
)


def evaluate(expr: Expr, dims: Mapping[str, int], *, capability: int = 0) -> int:
    """The value of an expression.

    Parameters
    ----------
    dims
        The value of every dim in it, by name.
    capability
        The device's compute capability (major * 10 + minor); 0 on a CPU.

    Raises
    ------
    DeclarationError
        A division by zero, or a value anywhere that is negative or over 2**63 - 1 (IR computes
        in 64 bits without a sign, and would wrap).
    KeyError
        A dim without a value.
    """
    match expr:
        case Constant(value):
            return value
        case Dim(name):
            return dims[name]
        case ComputeCapability():
            return capability
        case Where(condition, if_true, if_false):
            chosen = if_true if holds(condition, dims, capability=capability) else if_false
            return evaluate(chosen, dims, capability=capability)
        case Binary(name, left_expr, right_expr):
            left = evaluate(left_expr, dims, capability=capability)
            right = evaluate(right_expr, dims, capability=capability)
            return computed(name, left, right, expr, lambda: for_values(expr, dims))
        case _:  # pragma: no cover - every kind of expression is above
            raise TypeError(f"not an expression: {expr!r}")


def holds(condition: Condition, dims: Mapping[str, int], *, capability: int = 0) -> bool:
    """Whether a condition holds; otherwise as `evaluate`."""
    left = evaluate(condition.left, dims, capability=capability)
    right = evaluate(condition.right, dims, capability=capability)
    return compared(condition.operator, left, right)


def for_values(expr: Expr | Condition, dims: Mapping[str, int]) -> str:
    """The values an expression was computed with, `" for n = 8, m = 4"`; empty without dims."""
    exprs = (expr.left, expr.right) if isinstance(expr, Condition) else (expr,)
    values = ", ".join(f"{dim.name} = {dims[dim.name]}" for dim in dims_of(*exprs))
    return f" for {values}" if values else ""
