"""Sums and products of 16-bit floats, which IREE 3.13 accumulates in 16 bits: 4096 ones are 2048.

PyTorch, JAX and ONNX's runtimes accumulate them in f32, and round once.
"""

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg

from custom_dispatch.link.elementwise import as_float
from custom_dispatch.link.operations import create, open_sizes, operations_of

_ACCUMULATE = ("arith.addf", "arith.mulf")
_WIDENED = (*_ACCUMULATE, "arith.subf", "arith.divf", "arith.negf", "arith.select", "math.")
"""Operations on 16-bit floats that become ones of f32 in the body of a sum."""
_SCAN = "iree_linalg_ext.scan"


def widen_sums(module: ir.Module) -> None:
    """Let sums and products accumulate in f32 what is of 16 bits."""
    for op in operations_of(module):
        if op.name.startswith("linalg.") or op.name == _SCAN:
            numbers = _accumulators(op)
            if numbers:
                with ir.InsertionPoint(op), op.location:
                    _widen(op, numbers)


def _accumulators(op: ir.Operation) -> list[int]:
    """The results that are sums or products of 16-bit floats, of an operation on tensors."""
    if len(op.regions) != 1 or not op.results:
        return []
    if op.name == "linalg.generic" and "reduction" not in str(op.attributes["iterator_types"]):
        return []
    block = op.regions[0].blocks[0]
    outs = list(block.arguments)[-len(op.results) :]
    return [
        index
        for index, argument in enumerate(outs)
        if _is_small(argument.type) and any(use.owner.name in _ACCUMULATE for use in argument.uses)
    ]


def _is_small(kind: ir.Type) -> bool:
    return isinstance(kind, ir.FloatType) and kind.width == 16


def _widen(op: ir.Operation, numbers: list[int]) -> None:
    inputs = len(op.operands) - len(op.results)
    block = op.regions[0].blocks[0]
    arguments, outs = list(block.arguments), list(block.arguments)[-len(op.results) :]
    for index in range(len(op.operands)) if op.name == _SCAN else [inputs + i for i in numbers]:
        op.operands[index] = _wide(op.operands[index])
    for argument in arguments if op.name == _SCAN else [outs[index] for index in numbers]:
        argument.set_type(ir.F32Type.get())
    types = [item.type for item in list(op.operands)[inputs:]]
    _widen_body(block, [each.element_type for each in types])
    for result, kind in zip(op.results, types, strict=True):
        narrow = result.type
        if narrow != kind:
            result.set_type(kind)
            with ir.InsertionPoint.after(op):
                narrowed = arith.truncf(narrow, result)
            result.replace_all_uses_except(narrowed, narrowed.owner.operation)


def _wide(value: Any) -> Any:
    """A tensor as one of f32, filled with a number if it is."""
    wide, owner = ir.F32Type.get(), value.owner
    kind = ir.RankedTensorType.get(value.type.shape, wide)
    if isinstance(owner, ir.Block) or owner.name != "linalg.fill":
        return arith.extf(kind, value)
    out = create("tensor.empty", kind, *open_sizes(value))
    return linalg.fill(as_float(owner.operands[0], wide), outs=[out])


def _widen_body(block: ir.Block, yielded: list[ir.Type]) -> None:
    """Compute in f32 what a block computes in 16 bits, but for what it yields as such."""
    wide, was = ir.F32Type.get(), dict[Any, ir.Type]()
    for op in [item.operation for item in block.operations]:
        is_wide = op.name.startswith(_WIDENED) and _is_small(op.result.type)
        is_end = op.name.endswith(".yield")
        with ir.InsertionPoint(op), op.location:
            for index, item in enumerate(op.operands):
                kind = yielded[index] if is_end else was.get(item, item.type)
                if is_wide and _is_small(kind):
                    kind = wide
                if isinstance(kind, ir.FloatType):
                    op.operands[index] = as_float(item, kind)
        if is_wide:
            was[op.result] = op.result.type
            op.result.set_type(wide)
