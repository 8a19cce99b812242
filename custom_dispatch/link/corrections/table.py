"""What IREE 3.13 computes wrongly, by the names of its operations, and what is written for it.

A new entry is a function that makes other operations of an operation's operands. All of them are
for every front end and target: where one module serves a CPU and a GPU, both run what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.corrections import eights, functions, lost_in_conversion
from custom_dispatch.link.corrections.attention import write_attention
from custom_dispatch.link.corrections.functions import (
    DIVISIONS,
    divide_safely,
    integer_power,
    power,
)
from custom_dispatch.link.corrections.sums import widen_sums
from custom_dispatch.link.elementwise import Arithmetic, over_elements
from custom_dispatch.link.operations import operations_of

_OF_FLOATS: Mapping[str, Callable[..., Any | None]] = {
    "math.acosh": functions.area_cosine,
    "math.asinh": functions.area_sine,
    "math.atan2": functions.angle_of,
    "math.cos": functions.cosine,
    "math.fpowi": integer_power,
    "math.powf": power,
    "math.sin": functions.sine,
    "math.tan": functions.tangent,
}
"""What makes the operations that compute each: of floats of 32 or 64 bits, as which smaller ones
are computed. None is for what IREE computes rightly."""
_OF_F32 = ("math.cos", "math.sin", "math.tan")
"""IREE has no code for those of f64, and refuses them."""


def correct(module: ir.Module, *, from_torch: bool) -> None:
    """Write operations that IREE computes rightly for those that it does not.

    `from_torch`: whether IREE converted the model from the torch dialect.
    """
    if from_torch:
        lost_in_conversion.correct_converted(module)
    write_attention(module)
    widen_sums(module)
    lost_in_conversion.keep_nans(module, lost_in_conversion.TOP_K)
    for op in operations_of(module, lost_in_conversion.SORT):
        lost_in_conversion.sort_stably(op)
    for op in operations_of(module, *DIVISIONS):
        divide_safely(op)
    for op in operations_of(module, *_OF_FLOATS):
        _write_function(op)
    for op in operations_of(module, *eights.CONVERSIONS):
        eights.convert_eights(op, saturate=from_torch)


def _write_function(op: ir.Operation) -> None:
    is_tensor = isinstance(op.result.type, ir.RankedTensorType)
    kind = op.result.type.element_type if is_tensor else op.result.type
    if not isinstance(kind, ir.FloatType) or (kind.width > 32 and op.name in _OF_F32):
        return
    of = Arithmetic(kind if kind.width >= 32 else ir.F32Type.get())
    if is_tensor:
        with ir.InsertionPoint(op), op.location:
            op = over_elements(op)
    with ir.InsertionPoint(op), op.location:
        floats = [of.widened(x) if x.type == kind else x for x in op.operands]
        result = _OF_FLOATS[op.name](of, *floats)
        if result is None:
            return
        result = of.narrowed(result, kind)
    op.result.replace_all_uses_with(result)
    op.operation.erase()
