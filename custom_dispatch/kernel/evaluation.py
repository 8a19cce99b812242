"""What dim expressions are made of, and what they are once dims are known."""

from collections.abc import Mapping

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expr import (
    Binary,
    ComputeCapability,
    Condition,
    Constant,
    Dim,
    Expr,
    Where,
)
from custom_dispatch.kernel.size_arithmetic import compared, computed


def evaluate(expr: Expr, dims: Mapping[str, int], *, capability: int = 0) -> int:
    """The value of an expression.

    - `dims`: the value of every dim in it, by name.
    - `capability`: the device's compute capability (major * 10 + minor); 0 on a CPU.

    Raises `DeclarationError`: a division by zero, or a value anywhere that is negative or over
    2**63 - 1 (IR computes in 64 bits without a sign, and would wrap).
    Raises `KeyError`: a dim without a value.
    """
    match expr:  # the most frequent first: tables evaluate thousands
        case Binary(name, left_expr, right_expr):
            left = evaluate(left_expr, dims, capability=capability)
            right = evaluate(right_expr, dims, capability=capability)
            return computed(name, left, right, expr, lambda: for_values(expr, dims))
        case Constant(value):
            return value
        case Dim(name):
            return dims[name]
        case ComputeCapability():
            return capability
        case Where(condition, if_true, if_false):
            chosen = if_true if holds(condition, dims, capability=capability) else if_false
            return evaluate(chosen, dims, capability=capability)
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


def children(expr: Expr) -> tuple[Expr, ...]:
    """The expressions directly inside one."""
    if isinstance(expr, Binary):
        return expr.left, expr.right
    if isinstance(expr, Where):
        return expr.condition.left, expr.condition.right, expr.if_true, expr.if_false
    return ()


def dims_of(*exprs: Expr) -> tuple[Dim, ...]:
    """The dims that expressions are made of, each once, in order of appearance."""
    found: dict[Dim, None] = {}
    for expr in exprs:
        if isinstance(expr, Dim):  # as most are
            found[expr] = None
        else:
            found.update({leaf: None for leaf in _leaves(expr) if isinstance(leaf, Dim)})
    return tuple(found)


def _leaves(expr: Expr) -> tuple[Expr, ...]:
    """The dims and properties of the device that an expression, which keeps them, is made of.

    They are asked for many times: packages declare thousands of kernels.
    """
    if isinstance(expr, Dim | ComputeCapability):
        return (expr,)
    if not isinstance(expr, Binary | Where):
        return ()
    try:
        return expr._kept_leaves
    except AttributeError:
        leaves = dict.fromkeys(leaf for part in children(expr) for leaf in _leaves(part))
        object.__setattr__(expr, "_kept_leaves", tuple(leaves))
        return expr._kept_leaves


def refuse_device(what: str, *exprs: Expr, why: str = "", said: object = None) -> None:
    """Refuse expressions that ask for a property of the device.

    - `what`: what they are, for the error: "Operand `x`: its shape".
    - `why`: what is the same everywhere.
    - `said`: what is shown, if not the expression.
    """
    for expr in exprs:
        if uses_device(expr):
            raise DeclarationError(
                f"{what} depends on the device ({expr if said is None else said}).",
                expected="dims and integers only"
                + (f": {why} is the same everywhere" if why else ""),
                next_step="use cd.compute_capability in `grid` alone.",
            )


def uses_device(expr: Expr) -> bool:
    """Whether the expression asks for a property of the device."""
    return any(isinstance(leaf, ComputeCapability) for leaf in _leaves(expr))
