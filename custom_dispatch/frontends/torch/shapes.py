"""The shapes of a kernel's results while PyTorch traces a model: sizes may be symbols.

Numbers take the way that they take in every call. For symbols, each check becomes a fact that
PyTorch notes of the model (`torch._check`): as long as it traces, nobody knows the sizes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from custom_dispatch.errors import CallError
from custom_dispatch.kernel.binding import bind_dims, check_rank, output_shapes
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.expr import Binary, Constant, Dim, Expr, Where
from custom_dispatch.kernel.kernel import Kernel
from custom_dispatch.kernel.leading import (
    declared_shapes,
    folded,
    leading_dims,
    leading_of,
    unfolded,
)

_LEAST_CERTAIN = 2
Size = Any
"""An int or a `torch.SymInt`."""


def traced_shapes(
    kernel: Kernel, shapes: Mapping[str, Sequence[Size]], *, chosen: bool = True
) -> dict[str, tuple[Size, ...]]:
    """The shape of every result, by operand name.

    Parameters
    ----------
    shapes
        The shape of every input buffer, by operand name; none for one that is absent.
    chosen
        Whether it will be this kernel: where symbols leave that open, nothing is noted of what it
        requires.

    Raises
    ------
    CallError
        The shapes do not fit the declaration.
    RuntimeError
        Symbols do not: PyTorch raises it, with our sentence.
    """
    if all(isinstance(size, int) for shape in shapes.values() for size in shape):
        given = {
            operand.name: shapes.get(operand.name, (0,) * operand.rank)
            for operand in kernel.inputs
            if isinstance(operand, Buffer)
        }
        sizes = output_shapes(kernel, bind_dims(kernel, given))
        leading: Sequence[Size] | None = leading_dims(kernel, given)
        return {item.name: unfolded(item, sizes[item.name], leading) for item in kernel.outputs}
    dims, leading = _bind(kernel, shapes)
    for condition in kernel.requires if chosen else ():
        _require(holds(kernel, condition, dims), f"Kernel `{kernel.name}` requires {condition}.")
    return {
        operand.name: unfolded(
            operand, [_value(kernel, size, dims) for size in operand.shape], leading
        )
        for operand in kernel.outputs
    }


def _bind(
    kernel: Kernel, shapes: Mapping[str, Sequence[Size]]
) -> tuple[dict[str, Size], Sequence[Size] | None]:
    """The value of every dim, and the leading dims."""
    dims: dict[str, Size] = {}
    first: dict[str, str] = {}
    leading: Sequence[Size] | None = None
    buffers = [op for op in kernel.inputs if isinstance(op, Buffer) and op.name in shapes]
    buffers.sort(key=lambda operand: operand.optional)
    others = []
    for operand in buffers:
        shape = shapes[operand.name]
        check_rank(kernel, operand, shape)
        more = len(shape) - operand.rank
        is_known = operand.batched and leading is not None
        if operand.batched:
            found = leading_of(operand, shape)
            if leading is None:
                leading, first["..."] = found, operand.name
            else:
                _require_same(kernel, (first["..."], leading), (operand.name, found))
        for axis, (expr, size) in enumerate(
            zip(operand.shape, folded(operand, shape), strict=True), more
        ):
            here = f"`{operand.name}`.shape[{axis}]"
            if is_known and axis == more:
                continue  # they were compared dim by dim
            if not isinstance(expr, Dim):
                others.append((expr, size, here))
            elif expr.name not in dims:
                dims[expr.name], first[expr.name] = size, here
            else:
                _require(
                    dims[expr.name] == size,
                    f"Kernel `{kernel.name}`: {first[expr.name]} and {here} disagree on dim "
                    f"{expr}.",
                )
    for expr, size, here in others:
        wanted = _value(kernel, expr, dims)
        _require(wanted == size, f"Kernel `{kernel.name}`: {here} is not {expr}.")
    return dims, leading


def _require_same(
    kernel: Kernel, first: tuple[str, Sequence[Size]], second: tuple[str, Sequence[Size]]
) -> None:
    """Require the same leading dims of two operands."""
    if len(first[1]) != len(second[1]):
        raise CallError(
            f"Kernel `{kernel.name}`: the operands disagree on their leading dims: `{first[0]}` "
            f"has {len(first[1])} of them, and `{second[0]}` {len(second[1])}.",
            expected=f"the same ones everywhere: {declared_shapes(kernel)}",
            next_step="pass tensors whose sizes agree, broadcast where they have to be.",
        )
    for axis, (left, right) in enumerate(zip(first[1], second[1], strict=True)):
        names = f"`{first[0]}`.shape[{axis}] and `{second[0]}`.shape[{axis}]"
        _require(left == right, f"Kernel `{kernel.name}`: {names} disagree.")


def _require(condition: Any, problem: str) -> None:
    torch._check(condition, lambda: problem)


def _value(kernel: Kernel, expr: Expr, dims: Mapping[str, Size], *, checked: bool = True) -> Size:
    """As `custom_dispatch.kernel.evaluation.evaluate`, on symbols.

    Parameters
    ----------
    checked
        Whether it must have a value. Of `where`, one side need not: the call checks that.
    """
    match expr:
        case Constant(value):
            return value
        case Dim(name):
            return dims[name]
        case Where(condition, if_true, if_false):
            return _choose(
                holds(kernel, condition, dims),
                _value(kernel, if_true, dims, checked=False),
                _value(kernel, if_false, dims, checked=False),
            )
        case Binary(operator, left_expr, right_expr):
            left = _value(kernel, left_expr, dims, checked=checked)
            right = _value(kernel, right_expr, dims, checked=checked)
            if checked and operator in ("//", "%", "ceildiv"):
                _require(right != 0, f"Kernel `{kernel.name}`: {expr} divides by zero.")
            result = _apply(operator, left, right)
            if checked and operator == "-":
                _require(result >= 0, f"Kernel `{kernel.name}`: {expr} is negative.")
            return result
        case _:  # pragma: no cover - a shape has no other kind of expression
            raise TypeError(f"not an expression of a shape: {expr!r}")


def _choose(condition: Any, if_true: Size, if_false: Size) -> Size:
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


def _apply(operator: str, left: Size, right: Size) -> Size:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "//":
            return left // right
        case "%":
            return left % right
        case "ceildiv":
            return (left + right - 1) // right
        case "minimum":
            return torch.sym_min(left, right)
        case _:
            return torch.sym_max(left, right)


def holds(kernel: Kernel, condition: Condition, dims: Mapping[str, Size]) -> Any:
    """Whether a condition holds: a bool, or a `torch.SymBool`."""
    left, right = (_value(kernel, side, dims) for side in (condition.left, condition.right))
    match condition.operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case ">=":
            return left >= right
        case "==":
            return left == right
        case _:
            return left != right
