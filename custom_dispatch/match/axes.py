"""Operands and results that a model has otherwise than the kernel: other axes, or bools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from custom_dispatch.kernel.operand import Buffer
from custom_dispatch.link.dialects.torch_types import builtin_type, constant
from custom_dispatch.link.operations import create, size_of
from custom_dispatch.match.pattern import Replaceable

Axes = Sequence[int]
"""As of `numpy.transpose`: for each axis of what comes out, the one that it was."""


def inverse(axes: Axes) -> tuple[int, ...]:
    """What puts transposed axes back."""
    return tuple(sorted(range(len(axes)), key=lambda axis: axes[axis]))


def as_the_kernels(kind: ir.Type, axes: Axes | None) -> ir.Type:
    """The type that a tensor of the model has for the kernel.

    Parameters
    ----------
    axes
        What the model has done to the kernel's axes; None for nothing.
    """
    if axes is None or not isinstance(builtin_type(kind), ir.RankedTensorType):
        return kind
    return _transposed(kind, inverse(axes))


def transpose(value: ir.Value, axes: Axes | None, dialect: str) -> ir.Value:
    """A tensor with its axes in another order, where the insertion point is.

    Parameters
    ----------
    dialect
        Of the operations around it: "stablehlo", or others, among which linalg's are.
    """
    if axes is None:
        return value
    kind = _transposed(value.type, axes)
    if dialect == "torch":
        permuted: ir.Value = create("torch.aten.permute", kind, value, constant(axes))
        return permuted
    if dialect == "stablehlo":
        order = ir.DenseI64ArrayAttr.get(list(axes))
        found: ir.Value = create("stablehlo.transpose", kind, value, permutation=order)
        return found
    sizes = [size_of(value, axes[axis]) for axis in range(kind.rank) if kind.is_dynamic_dim(axis)]
    to = create("tensor.empty", kind, *sizes)
    done: ir.Value = linalg.transpose(value, outs=[to], permutation=list(axes)).operation.results[0]
    return done


def dialect_of(op: Any) -> str:
    """Of an operation, by its name."""
    return str(op.name).partition(".")[0]


def _transposed(kind: ir.Type, axes: Axes) -> ir.Type:
    tensor = ir.RankedTensorType(builtin_type(kind))
    shape = [tensor.shape[axis] for axis in axes]
    if kind == tensor:
        return ir.RankedTensorType.get(shape, tensor.element_type)
    sizes = ",".join("?" if ir.ShapedType.is_dynamic_size(size) else str(size) for size in shape)
    return ir.Type.parse(re.sub(r"\[.*\]", f"[{sizes}]", str(kind)))


def type_of_operand(pattern: Replaceable, item: Any, value: ir.Value) -> ir.Type:
    """The type that a tensor of the model has when the kernel gets it."""
    given = as_the_kernels(value.type, pattern.axes.get(item.name))
    kind = builtin_type(given) or given
    if item.name not in pattern.bools:
        return kind
    return ir.RankedTensorType.get(ir.RankedTensorType(kind).shape, _element(item))


def as_numbers(value: ir.Value, item: Buffer, of_false: float) -> ir.Value:
    """Bools as an operand's numbers, in StableHLO, where the insertion point is."""
    kind = ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, _element(item))
    sides = []
    for number in (0.0, of_false):
        every = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(_element(item), number))
        sides.append(create("stablehlo.constant", kind, value=every))
    found: ir.Value = create("stablehlo.select", kind, value, *sides)
    return found


def _element(item: Buffer) -> ir.Type:
    return ir.Type.parse(item.dtype.mlir)
