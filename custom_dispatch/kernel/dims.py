"""Where a declaration uses dims, and that a call says what each of them is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.buffer import Buffer
from custom_dispatch.kernel.expr import Dim, Expr, dims_of, uses_device
from custom_dispatch.kernel.operand import Scalar

if TYPE_CHECKING:
    from custom_dispatch.kernel.kernel import Kernel


def expressions_of(kernel: Kernel) -> list[tuple[Expr, str]]:
    """Every expression of a declaration, with a description of where it stands."""
    found: list[tuple[Expr, str]] = []
    for operand in kernel.operands:
        if isinstance(operand, Buffer):
            found += [(size, f"the shape of `{operand.name}`") for size in operand.shape]
        elif isinstance(operand, Scalar) and operand.value is not None:
            found.append((operand.value, f"the value of `{operand.name}`"))
    found += [(size, "grid") for size in kernel.grid]
    found += [(side, "requires") for item in kernel.requires for side in (item.left, item.right)]
    return found + ([] if kernel.flops is None else [(kernel.flops, "flops")])


def check_dims(kernel: Kernel) -> None:
    """Require a buffer that says what each dim is, wherever it is used.

    Raises
    ------
    DeclarationError
        No call could know a dim, or the leading dims; or a condition depends on the device.
    """
    _check_leading(kernel)
    for condition in kernel.requires:
        if uses_device(condition.left) or uses_device(condition.right):
            raise DeclarationError(
                f"Kernel `{kernel.name}`: requires depends on the device ({condition}).",
                expected="dims and integers only: what a kernel takes is the same everywhere",
                next_step="use cd.compute_capability in `grid` alone.",
            )
    known = {
        size
        for operand in kernel.inputs
        if isinstance(operand, Buffer) and not operand.optional
        for size in operand.shape
        if isinstance(size, Dim)
    }
    for expr, where in expressions_of(kernel):
        for dim in dims_of(expr):
            if dim not in known:
                raise DeclarationError(
                    f"Kernel `{kernel.name}`: dim `{dim}`, used in {where}, has no value.",
                    expected="every dim to stand by itself in the shape of an In or InOut that "
                    "is not optional, where a call can read it",
                    next_step=f"declare an input with a size that is `{dim}`, or write a "
                    "number in its place.",
                )


def _check_leading(kernel: Kernel) -> None:
    """Require a buffer that says what the leading dims of the others are."""
    buffers = [item for item in kernel.operands if isinstance(item, Buffer) and item.batched]
    if not buffers or any(item in kernel.inputs and not item.optional for item in buffers):
        return
    raise DeclarationError(
        f"Kernel `{kernel.name}`: `...`, in the shape of `{buffers[0].name}`, has no value.",
        expected="an In or InOut that is not optional and whose shape begins with `...`",
        next_step="declare an input with leading dims, or write a dim in the place of `...`.",
    )
