"""Constants and sizes of a model by value, whatever operations they are written with."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
from iree.compiler import ir

_CONSTANTS = ("arith.constant", "stablehlo.constant", "torch.vtensor.literal")
_NUMBERS = ("torch.constant.float", "torch.constant.int", "torch.constant.bool")
_SPREADING = (
    "stablehlo.broadcast_in_dim",
    "stablehlo.broadcast",
    "stablehlo.reshape",
    "tensor.splat",
)
"""They give tensors of their first operand's elements."""
_OF_ANOTHER_WIDTH = ("arith.truncf", "arith.extf")
_CONVERSIONS = ("arith.index_cast", "arith.index_castui")
_TO_FLOAT = ("arith.sitofp", "arith.uitofp")
_SIGNED_LESS = 2
"""The predicate `slt` of `arith.cmpi`."""
_MOST_SINGLE = float(numpy.finfo(numpy.float32).max)
_COMMUTATIVE = ("arith.addi", "arith.muli")
_FOLDED: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda left, right: left + right,
    "arith.subi": lambda left, right: left - right,
    "arith.muli": lambda left, right: left * right,
    "arith.divui": lambda left, right: left // right if right else 0,
    "arith.divsi": lambda left, right: left // right if right else 0,
}
Size = Any
"""A number, or a tree of tuples that names values of the IR."""
ANY = ("any",)
"""What an example has where every size will do: `ub.poison`."""


def owner_of(value: ir.Value) -> ir.Operation | None:
    """The operation that a value is a result of; None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def spread_from(value: ir.Value) -> ir.Value:
    """The value whose elements all those of a tensor are, through broadcasts of one element."""
    op = owner_of(value)
    while op is not None and op.name in _SPREADING:
        source = op.operands[0]
        if op.name != "tensor.splat" and not is_splat(source) and not _is_single(source.type):
            break
        value, op = source, owner_of(source)
    return value


def _is_single(kind: ir.Type) -> bool:
    return isinstance(kind, ir.RankedTensorType) and kind.rank == 0


def is_splat(value: ir.Value) -> bool:
    """Whether a value is a constant number, or a tensor of one."""
    return element_of(value) is not None


def element_of(value: ir.Value) -> ir.Attribute | None:
    """The one number that a constant value consists of; None where it is not so."""
    op = owner_of(value)
    if op is None:
        return None
    if op.name in _NUMBERS:
        return op.attributes["value"]
    if op.name in _SPREADING:
        return element_of(op.operands[0])
    if op.name in _OF_ANOTHER_WIDTH:  # an epsilon of f64, converted where it is used
        given = element_of(op.operands[0])
        if given is None or isinstance(op.result.type, ir.RankedTensorType):
            return None
        return ir.FloatAttr.get(op.result.type, ir.FloatAttr(given).value)
    if op.name not in _CONSTANTS:
        return None
    attribute = op.attributes["value"]
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value() if attribute.is_splat else None
    return attribute if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr) else None


def is_constant(op: ir.Operation) -> bool:
    """Whether an operation only holds a value."""
    if op.name in _OF_ANOTHER_WIDTH:
        return element_of(op.result) is not None
    return op.name in _CONSTANTS or op.name in _NUMBERS


def as_written(value: ir.Value) -> float | int | bool | None:
    """A constant as the model's source has it, before it is rounded to where it is used."""
    op = owner_of(value)
    if op is not None and op.name in _OF_ANOTHER_WIDTH:
        value = op.operands[0]
    element = element_of(value)
    return None if element is None else number_of(element)


def number_of(element: ir.Attribute) -> float | int | bool:
    """A number's attribute as Python's."""
    if isinstance(element, ir.BoolAttr):
        return bool(element.value)
    if isinstance(element, ir.FloatAttr):
        return float(element.value)
    value = int(ir.IntegerAttr(element).value)
    return bool(value) if str(element.type) == "i1" else value


def shortest(number: float | int | bool) -> float | int | bool:
    """A number with as few digits as tell it from other floats of 32 bits: 1e-05."""
    if isinstance(number, float) and math.isfinite(number) and abs(number) < _MOST_SINGLE:
        single = numpy.float32(number)
        return float(str(single)) if float(single) == number else number
    return number


# -- sizes


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
    if op.name == "arith.select" and _is_below_zero(op.operands[0]):
        return size_of(op.operands[2])  # no size of a tensor is
    return ("value", value)


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
    if name in _COMMUTATIVE and hash(right) < hash(left):  # the same for the same values
        left, right = right, left
    return (name, left, right)


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
        sizes = owner_of(op.operands[1])
        if sizes is not None and sizes.name == "tensor.from_elements":
            return size_of(sizes.operands[axis])
    if op.name == "tensor.collapse_shape":
        group = ir.ArrayAttr(ir.ArrayAttr(op.attributes["reassociation"])[axis])
        if len(group) == 1:
            return extent_of(op.operands[0], int(ir.IntegerAttr(group[0]).value))
    if op.name.startswith("linalg.") and len(op.operands) >= len(op.results):
        # Each result has the type and the sizes of its `outs`, which come last.
        index = ir.OpResult(tensor).result_number
        return extent_of(op.operands[len(op.operands) - len(op.results) + index], axis)
    return ("extent", tensor, axis)
