"""Operators of PyTorch and ONNX that IREE 3.13 converts into others that are not the same."""

from __future__ import annotations

import re
from typing import Any

from iree.compiler import ir

from custom_dispatch.frontends.operations import create, operations_of

_IN_F32 = re.compile(
    r"torch\.aten\.("
    r"(?P<typed>linalg_vector_norm|mean|mean\.dim|cumsum|cumprod)|norm\..*|std.*|mse_loss"
    r"|(native_)?(layer|group|batch|instance|rms)_norm|(adaptive_)?avg_pool.*"
    r"|cosine_similarity|lerp\..*|round\.decimals)"
    r"|onnx\.((Layer|Group|Instance|Batch|Lp|RMS)Normalization|MeanVarianceNormalization"
    r"|Reduce(Mean|L1|L2|LogSum|LogSumExp|SumSquare)|(Global)?AveragePool|(Global)?LpPool|CumSum)"
)
"""Those that round once in 16 bits, though they take several steps; and which have a type last."""
_SMALL = re.compile(r"(!torch\.vtensor<\[[^\]]*\],)b?f16>")
_FLOAT = 6
"""torch.float32, as the torch dialect counts its types."""
_TYPES = {"f16": 5, "bf16": 15}


def correct_operators(module: ir.Module, *, in_f32: bool) -> None:
    """Write operators that IREE converts rightly for those that it does not.

    Parameters
    ----------
    in_f32
        Whether operators of 16 bits compute in f32. Patterns over MLIR have them as IREE converts
        them, in 16 bits.
    """
    for op in operations_of(module):
        is_operator = op.name == "torch.operator"
        name = str(ir.StringAttr(op.attributes["name"]).value) if is_operator else op.name
        match = _IN_F32.fullmatch(name) if in_f32 else None
        if match:
            _compute_in_f32(op, is_typed=bool(match["typed"]))


def _compute_in_f32(op: ir.Operation, *, is_typed: bool) -> None:
    """Cast what is of 16 bits, and the results back."""
    last = len(op.operands) - 1
    is_small = any(_wide(result.type) != result.type for result in op.results)
    with ir.InsertionPoint(op), op.location:
        if is_typed and is_small and str(op.operands[last].type) == "!torch.int":
            op.operands[last] = _integer(_FLOAT)
        for index, value in enumerate(op.operands):
            op.operands[index] = _cast(value, _wide(value.type))
    for result in op.results:
        kind = result.type
        if _wide(kind) != kind:
            result.set_type(_wide(kind))
            with ir.InsertionPoint.after(op), op.location:
                narrow = _cast(result, kind)
            result.replace_all_uses_except(narrow, narrow.owner.operation)


def _wide(kind: ir.Type) -> ir.Type:
    return ir.Type.parse(_SMALL.sub(r"\1f32>", str(kind)))


def _cast(value: Any, kind: ir.Type) -> Any:
    if value.type == kind:
        return value
    element = str(kind).rpartition(",")[2].removesuffix(">")
    dtype = _integer(_TYPES.get(element, _FLOAT))
    return create("torch.prims.convert_element_type", kind, value, dtype)


def _integer(number: int) -> Any:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
    return create("torch.constant.int", ir.Type.parse("!torch.int"), value=attribute)
