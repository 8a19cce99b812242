"""Constants of a model by value, however they are written, and what operations read."""

import math

import numpy
from iree.compiler import ir

from custom_dispatch.link.operations import kind_of, operations_of

_CONSTANTS = {
    **dict.fromkeys(("arith.constant", "stablehlo.constant", "torch.vtensor.literal"), "value"),
    "onnx.Constant": "torch.onnx.value",
}
"""Operations that hold tensors and numbers, and the attribute that they are in."""
_NUMBERS = ("torch.constant.float", "torch.constant.int", "torch.constant.bool")
_NOTHING = "torch.constant.none"
_SPREADING = (
    "stablehlo.broadcast_in_dim",
    "stablehlo.broadcast",
    "stablehlo.reshape",
    "tensor.splat",
)
"""They give tensors of their first operand's elements."""
_OF_ANOTHER_WIDTH = ("arith.truncf", "arith.extf")
_MOST_SINGLE = float(numpy.finfo(numpy.float32).max)


def owner_of(value: ir.Value) -> ir.Operation | None:
    """The operation that a value is a result of; None for an argument of a block."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def values_of(op: ir.Operation) -> list[ir.Value]:
    """What an operation reads: its operands, and what its regions take from outside of it."""
    found = list(op.operands)
    if not op.regions or not any(len(region.blocks) for region in op.regions):
        return found
    *within, _ = operations_of(op)  # itself comes last
    inside = {op, *within}
    blocks = [block for inner in inside for region in inner.regions for block in region.blocks]
    for value in (value for inner in within for value in inner.operands):
        up = owner_of(value)
        if (up not in inside) if up is not None else not any(value.owner == b for b in blocks):
            found.append(value)
    return found


def spread_from(value: ir.Value) -> ir.Value:
    """The value whose elements all those of a tensor are, through broadcasts of one element."""
    op = owner_of(value)
    while op is not None and _is_spreading(op):
        source = op.operands[0]
        kind = source.type
        is_single = isinstance(kind, ir.RankedTensorType) and kind.rank == 0
        if op.name != "tensor.splat" and not is_single and not is_splat(source):
            break
        value, op = source, owner_of(source)
    return value


def _is_spreading(op: ir.Operation) -> bool:
    """Whether an operation gives a tensor of its first operand's elements."""
    if op.name != "linalg.generic":
        return op.name in _SPREADING
    block = op.regions[0].blocks[0]
    first = block.operations[0]
    return first.name == "linalg.yield" and list(first.operands) == list(block.arguments)[:1]


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
    if _is_spreading(op):
        return element_of(op.operands[0])
    if op.name in _OF_ANOTHER_WIDTH:  # an epsilon of f64, converted where it is used
        given = element_of(op.operands[0])
        if given is None or isinstance(op.result.type, ir.RankedTensorType):
            return None
        return ir.FloatAttr.get(op.result.type, ir.FloatAttr(given).value)
    attribute = constant_value(op)
    if isinstance(attribute, ir.DenseElementsAttr):
        return attribute.get_splat_value() if attribute.is_splat else None
    return attribute if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr | ir.BoolAttr) else None


def constant_value(op: ir.Operation) -> ir.Attribute | None:
    """What an operation that only holds a constant holds; None for another one."""
    name = _CONSTANTS.get(kind_of(op))
    return None if name is None else op.attributes.get(name)


def is_constant(op: ir.Operation) -> bool:
    """Whether an operation only holds a value."""
    if op.name in _OF_ANOTHER_WIDTH:
        return element_of(op.result) is not None
    return kind_of(op) in _CONSTANTS or op.name in _NUMBERS or op.name == _NOTHING


def as_written(value: ir.Value) -> float | int | bool | None:
    """A constant as the model's source has it, before it is rounded to where it is used."""
    op = owner_of(value)
    if op is not None and op.name in _OF_ANOTHER_WIDTH:
        value = op.operands[0]
    element = element_of(value)
    return None if element is None else number_of(element)


def number_of(element: ir.Attribute, as_f32: bool = False) -> float | int | bool:
    """A number's attribute as Python's, floats as f32 holds them if that is asked for."""
    if isinstance(element, ir.BoolAttr):
        return bool(element.value)
    if isinstance(element, ir.FloatAttr):
        with numpy.errstate(over="ignore"):
            return float(numpy.float32(element.value) if as_f32 else element.value)
    value = int(ir.IntegerAttr(element).value)
    return bool(value) if str(element.type) == "i1" else value


def shortest(number: float | int | bool) -> float | int | bool:
    """A number with as few digits as tell it from other floats of 32 bits: 1e-05."""
    if isinstance(number, float) and math.isfinite(number) and abs(number) < _MOST_SINGLE:
        single = numpy.float32(number)
        return float(str(single)) if float(single) == number else number
    return number
