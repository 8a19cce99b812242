"""What IREE 3.13 computes wrongly, by the names of its operations, and what is written for it.

A new entry is a function of `functions.mlir`, or one in Python that makes other operations of an
operation's operands. All of them are for every front end and target: where one module serves a CPU
and a GPU, both run what is written.
"""

from iree.compiler import ir

from custom_dispatch.link.corrections import lost_in_conversion
from custom_dispatch.link.corrections.attention import write_attention
from custom_dispatch.link.corrections.eights import CONVERSIONS, convert_eights
from custom_dispatch.link.corrections.functions import (
    DIVISIONS,
    OF_FLOATS,
    Functions,
    divide_safely,
    write_function,
)
from custom_dispatch.link.corrections.sums import widen_sums
from custom_dispatch.link.operations import operations_of


def correct(module: ir.Module, *, from_torch: bool) -> None:
    """Write operations that IREE computes rightly for those that it does not.

    `from_torch`: whether IREE converted the model from the torch dialect.
    """
    functions = Functions()
    if from_torch:
        lost_in_conversion.correct_converted(module, functions)
    write_attention(module)
    widen_sums(module)
    lost_in_conversion.keep_nans(module, lost_in_conversion.TOP_K)
    for op in operations_of(module, lost_in_conversion.SORT):
        lost_in_conversion.sort_stably(op)
    for op in operations_of(module, *DIVISIONS):
        divide_safely(op)
    for op in operations_of(module, *OF_FLOATS):
        write_function(op, functions)
    for op in operations_of(module, *CONVERSIONS):
        convert_eights(op, functions, saturate=from_torch)
