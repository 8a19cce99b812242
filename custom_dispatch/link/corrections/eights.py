"""Conversions of 8-bit floats, which IREE 3.13 does not have for GPUs: see `functions.mlir`."""

from iree.compiler import ir
from iree.compiler.dialects import arith

from custom_dispatch.link.corrections.functions import Functions
from custom_dispatch.link.elementwise import as_float, over_elements
from custom_dispatch.link.operations import integer

CONVERSIONS = ("arith.truncf", "arith.extf")
_FORMATS = {"f8E4M3FN": (3, 7, 0x7E, False), "f8E5M2": (2, 15, 0x7C, True)}
"""Of each type its bits of fraction, its bias, the code of its largest number or, if it has one, of
infinity, and whether it has."""
_NAN = 0x7F


def convert_eights(op: ir.Operation, functions: Functions, *, saturate: bool) -> None:
    """Write a conversion from or to an 8-bit float; others stay.

    `saturate`: whether what is too large for e4m3 becomes the largest number, as in PyTorch and
    ONNX, and not NaN, as in JAX.
    """
    source, kind = (getattr(x.type, "element_type", x.type) for x in (op.operands[0], op.result))
    encodes = str(kind) in _FORMATS
    if encodes == (str(source) in _FORMATS):
        return
    fraction, bias, largest, has_infinity = _FORMATS[str(kind if encodes else source)]
    op = over_elements(op)
    with ir.InsertionPoint(op), op.location:
        i1, i8, i32 = map(ir.IntegerType.get_signless, (1, 8, 32))
        given = [integer(number, i32) for number in (fraction, bias)]
        if encodes:
            most = largest if saturate or has_infinity else _NAN
            number = as_float(op.operands[0], ir.F32Type.get())
            code = functions.write("encoded", number, *given, integer(most, i32))
            result = arith.bitcast(kind, code)
        else:
            given += [integer(largest, i32), integer(has_infinity, i1)]
            code = arith.bitcast(i8, op.operands[0])
            result = as_float(functions.write("decoded", code, *given), kind)
    op.result.replace_all_uses_with(result)
    op.erase()
