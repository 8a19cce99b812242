"""Sizes of a model as expressions of those that its tensors come with, however they are written.

A size is a number or a tree of tuples. Sizes are not negative, and their products do not overflow:
so what is multiplied and divided by one number is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from iree.compiler import ir

from custom_dispatch.kernel.condition import Condition
from custom_dispatch.kernel.expr import Binary, Constant, Dim
from custom_dispatch.link.constants import element_of, is_splat, number_of, owner_of

Size = Any
"""A number, or a tree of tuples that names values of the IR."""
ANY = ("any",)
"""What an example has where every size will do: `ub.poison`."""
_CONVERSIONS = ("arith.index_cast", "arith.index_castui")
_TO_FLOAT = ("arith.sitofp", "arith.uitofp")
_SIGNED_LESS = 2
"""The predicate `slt` of `arith.cmpi`."""
_PRODUCT, _DIVISIONS = "arith.muli", ("arith.divui", "arith.divsi")
_LARGER = ("arith.maxui", "arith.maxsi")
_COMMUTATIVE = ("arith.addi", _PRODUCT, *_LARGER)
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.divui": lambda left, right: left // right if right else 0,
    "arith.divsi": lambda left, right: left // right if right else 0,
    "arith.maxui": max,
    "arith.maxsi": max,
}


def size_of(value: ir.Value) -> Size:
    """An index, or an integer or float computed of some: a number, or where it comes from."""
    element = element_of(value)
    if element is not None:
        return number_of(element)
    op = owner_of(value)
    if op is None:
        return ("value", value)
    if op.name == "ub.poison":
        return ANY
    if op.name == "tensor.dim":
        axis = size_of(op.operands[1])
        return extent_of(op.operands[0], axis) if isinstance(axis, int) else ("value", value)
    if op.name in _CONVERSIONS:
        return size_of(op.operands[0])
    if op.name in _TO_FLOAT:
        return as_float(size_of(op.operands[0]))
    if op.name in _FOLDED:
        return combined(op.name, [size_of(operand) for operand in op.operands])
    if op.name == "affine.apply":
        found = _applied(op)
        return ("value", value) if found is None else found
    if op.name == "arith.select" and _is_below_zero(op.operands[0]):
        return size_of(op.operands[2])  # no size of a tensor is
    return ("value", value)


def _applied(op: ir.Operation) -> Size | None:
    """The result of an affine map of one size and a number; None for others."""
    each = ir.AffineMapAttr(op.attributes["map"]).value
    expr = each.results[0]
    inputs = (ir.AffineDimExpr, ir.AffineSymbolExpr)
    if len(op.operands) != 1 or not isinstance(expr, ir.AffineMulExpr):
        return None
    if not isinstance(expr.lhs, inputs) or not isinstance(expr.rhs, ir.AffineConstantExpr):
        return None
    return combined(_PRODUCT, [size_of(op.operands[0]), int(expr.rhs.value)])


def _is_below_zero(condition: ir.Value) -> bool:
    """Whether a condition asks if a tensor's size is less than zero, as torch-mlir does."""
    op = owner_of(condition)
    if op is None or op.name != "arith.cmpi":
        return False
    if int(ir.IntegerAttr(op.attributes["predicate"]).value) != _SIGNED_LESS:
        return False
    left, right = map(size_of, op.operands)
    return right == 0 and isinstance(left, tuple) and left[0] == "extent"


def as_float(size: Size) -> Size:
    """A size as a float."""
    return float(size) if isinstance(size, int) else ("float", size)


def combined(name: str, sizes: list[Size]) -> Size:
    """An operation of two sizes."""
    left, right = sizes
    if ANY in sizes:
        return ANY
    if isinstance(left, int) and isinstance(right, int):
        return _FOLDED[name](left, right)
    if name == _PRODUCT:
        (one, count), (other, more) = _factors(left), _factors(right)
        if one is None or other is None:
            return _times(other if one is None else one, count * more)
        if hash(other) < hash(one):
            one, other = other, one
        return _times((name, one, other), count * more)
    if name in _DIVISIONS:
        (one, count), (other, by) = _factors(left), _factors(right)
        if by and count % by == 0 and (other is None or one == other):
            return _times(one, count // by) if other is None else count // by
    if name in _LARGER and left == right:
        return left
    if name in _COMMUTATIVE and hash(right) < hash(left):  # the same for the same values
        left, right = right, left
    return (name, left, right)


def _factors(size: Size) -> tuple[Size | None, int]:
    """What a size is of, and how many times; None for a number."""
    if isinstance(size, int):
        return None, size
    if isinstance(size, tuple) and size[0] == _PRODUCT and isinstance(size[2], int):
        return size[1], size[2]
    return size, 1


def _times(size: Size, count: int) -> Size:
    return size if count == 1 else (_PRODUCT, size, count)


def is_certain(condition: Condition, sizes: Mapping[str, Size]) -> bool:
    """Whether one dim is known to be a multiple of another, which is what a condition asks.

    Parameters
    ----------
    sizes
        Of the kernel's dims in the model.
    """
    rest, zero = condition.left, condition.right
    if condition.operator != "==" or not isinstance(rest, Binary) or rest.operator != "%":
        return False
    if not isinstance(zero, Constant) or zero.value != 0:
        return False
    if not isinstance(rest.left, Dim) or not isinstance(rest.right, Dim):
        return False
    if not {rest.left.name, rest.right.name} <= sizes.keys():
        return False
    left, right = sizes[rest.left.name], sizes[rest.right.name]
    (one, count), (other, by) = _factors(left), _factors(right)
    return bool(by) and count % by == 0 and (other is None or one == other)


def is_size(value: ir.Value) -> bool:
    """Whether a value is computed of nothing but sizes and constants."""
    op = owner_of(value)
    if op is not None and op.name == "linalg.index":  # which element it is
        return False
    if str(value.type) == "index":
        return True
    if op is None:
        return False
    if op.name in (*_CONVERSIONS, *_TO_FLOAT, *_FOLDED):
        return all(is_size(operand) or is_splat(operand) for operand in op.operands)
    return False


def extent_of(tensor: ir.Value, axis: int) -> Size:
    """A tensor's size in one dimension."""
    kind = tensor.type
    if not isinstance(kind, ir.RankedTensorType) or axis >= kind.rank:
        return ("extent", tensor, axis)
    if not kind.is_dynamic_dim(axis):
        return int(kind.get_dim_size(axis))
    op = owner_of(tensor)
    if op is None:
        return ("extent", tensor, axis)
    if op.name == "tensor.empty":
        before = sum(kind.is_dynamic_dim(other) for other in range(axis))
        return size_of(op.operands[before])
    if op.name == "tensor.cast":
        return extent_of(op.operands[0], axis)
    if op.name == "tensor.reshape":
        given = owner_of(op.operands[1])
        if given is not None and given.name == "tensor.from_elements":
            return size_of(given.operands[axis])
    if op.name == "tensor.collapse_shape":
        group = ir.ArrayAttr(ir.ArrayAttr(op.attributes["reassociation"])[axis])
        sizes = [extent_of(op.operands[0], int(ir.IntegerAttr(item).value)) for item in group]
        size = sizes[0]
        for other in sizes[1:]:
            size = combined(_PRODUCT, [size, other])
        return size
    if op.name == "tensor.expand_shape":
        before = sum(kind.is_dynamic_dim(other) for other in range(axis))
        return size_of(op.operands[1 + before])
    if op.name == "tensor.extract_slice":
        static = list(ir.DenseI64ArrayAttr(op.attributes["static_sizes"]))
        offsets = list(ir.DenseI64ArrayAttr(op.attributes["static_offsets"]))
        if len(static) == kind.rank:
            dynamic = ir.ShapedType.get_dynamic_size()
            return size_of(op.operands[1 + offsets.count(dynamic) + static[:axis].count(dynamic)])
    if op.name.startswith("linalg.") and len(op.operands) >= len(op.results):
        # Each result has the type and the sizes of its `outs`, which come last.
        index = ir.OpResult(tensor).result_number
        return extent_of(op.operands[len(op.operands) - len(op.results) + index], axis)
    return ("extent", tensor, axis)
