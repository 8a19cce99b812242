"""Types of a model against those of a pattern."""

import math
import re
import sys
from collections.abc import Container, Sequence
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from custom_dispatch.link.dialects.torch_types import TENSOR, builtin_type, constant
from custom_dispatch.link.operations import create, size_of

_ANY_RANK = re.compile(r"!torch\.vtensor(?:<\*,(?P<element>\w+)>)?")


EVERY = range(sys.maxsize)
"""Every size."""


def fits(wanted: ir.Type, found: ir.Type, *, any_sizes: Container[int] = ()) -> bool:
    """Whether a type is one that a pattern's stands for: the same, with any size for each `?`.

    `any_sizes`: sizes of the pattern that stand for any, too.
    """
    if wanted == found:
        return True
    open_ = _ANY_RANK.fullmatch(str(wanted))
    if open_ is not None:
        tensor = TENSOR.fullmatch(str(found))
        return tensor is not None and open_["element"] in (None, tensor["element"])
    mine, its = builtin_type(wanted), builtin_type(found)
    if not isinstance(mine, ir.RankedTensorType) or not isinstance(its, ir.RankedTensorType):
        return False
    if mine.element_type != its.element_type:
        return False
    return (mine.rank, mine.encoding) == (its.rank, its.encoding) and all(
        mine.is_dynamic_dim(axis)
        or mine.get_dim_size(axis) in any_sizes
        or (not its.is_dynamic_dim(axis) and mine.get_dim_size(axis) == its.get_dim_size(axis))
        for axis in range(mine.rank)
    )


def is_of_any_rank(kind: ir.Type) -> bool:
    """Whether a type of the torch dialect stands for tensors of every rank."""
    return _ANY_RANK.fullmatch(str(kind)) is not None


def as_text(kind: ir.Type) -> str:
    """A type in a sentence: those of torch's tensors as MLIR's own are written."""
    any_rank = _ANY_RANK.fullmatch(str(kind))
    if any_rank is not None:
        return f"tensor<*x{any_rank['element'] or 'any'}>"
    return str(builtin_type(kind) or kind)


def fits_number(wanted: ir.Type, found: ir.Type, *, any_sizes: Container[int] = ()) -> bool:
    """Whether a constant of equal elements has a type that the one of a pattern stands for.

    In the torch dialect numbers are broadcast: one of one element is as good as one without dims.
    """
    if is_of_any_rank(wanted):
        return _count(found) == 1
    if fits(wanted, found, any_sizes=any_sizes):
        return True
    mine, its = (TENSOR.fullmatch(str(kind)) for kind in (wanted, found))
    if mine is None or its is None or mine["element"] != its["element"]:
        return False
    # One of more dims would give what it is combined with more dims.
    ranks = [len(kind["sizes"].split(",")) for kind in (mine, its)]
    return _count(wanted) == _count(found) == 1 and ranks[1] <= ranks[0]


def _count(kind: ir.Type) -> int | None:
    """How many elements a tensor has; None where it does not say so."""
    plain = builtin_type(kind)
    if not isinstance(plain, ir.RankedTensorType) or not plain.has_static_shape:
        return None
    return math.prod(int(size) for size in plain.shape)


Axes = Sequence[int]
"""As of `numpy.transpose`: for each axis of what comes out, the one that it was."""


def inverse(axes: Axes) -> tuple[int, ...]:
    """What puts transposed axes back."""
    return tuple(sorted(range(len(axes)), key=lambda axis: axes[axis]))


def as_the_kernels(kind: ir.Type, axes: Axes | None) -> ir.Type:
    """The type that a tensor of the model has for the kernel.

    `axes`: what the model has done to the kernel's axes; None for nothing.
    """
    found = builtin_type(kind)
    if axes is None or not isinstance(found, ir.RankedTensorType) or found.rank != len(axes):
        return kind
    return _transposed(kind, inverse(axes))


def transpose(value: ir.Value, axes: Axes | None, dialect: str) -> ir.Value:
    """A tensor with its axes in another order, where the insertion point is.

    `dialect`: of the operations around it: "stablehlo", or others, among which linalg's are.
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
