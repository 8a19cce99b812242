"""Conversions of 8-bit floats, written with integers.

IREE 3.13 has none for GPUs. On CPUs it makes zero of what rounds up to the least normal number, NaN
of what is more than 448 where e4m3 is to saturate, and -480 of a NaN. Found by running.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from custom_dispatch.link.elementwise import Arithmetic, over_elements
from custom_dispatch.link.operations import EQUAL, compare_integers, create, integer

CONVERSIONS = ("arith.truncf", "arith.extf")
_LESS = 2
"""`arith.cmpi`'s predicate of signed integers."""
_NAN, _SIGN, _SIZE, _INFINITY = 0x7F, 0x80, 0x7FFFFFFF, 0x7F800000


@dataclass(frozen=True, slots=True)
class _Format:
    """An 8-bit float (OCP 8-bit Floating Point Specification, 1.0, table 1)."""

    fraction: int
    bias: int
    largest: int
    """The code of the largest number, or of infinity: above are NaN."""
    infinity: int | None = None


_FORMATS = {"f8E4M3FN": _Format(3, 7, 0x7E), "f8E5M2": _Format(2, 15, 0x7C, infinity=0x7C)}


def convert_eights(op: ir.Operation, *, saturate: bool) -> None:
    """Write a conversion from or to an 8-bit float; others stay.

    `saturate`: whether what is too large for e4m3 becomes the largest number, as in PyTorch and
    ONNX, and not NaN, as in JAX.
    """
    is_tensor = isinstance(op.result.type, ir.RankedTensorType)
    values = (op.operands[0], op.result)
    types = [value.type.element_type if is_tensor else value.type for value in values]
    of, to = (_FORMATS.get(str(kind)) for kind in types)
    if (of is None) == (to is None):
        return
    with ir.InsertionPoint(op), op.location:
        op = over_elements(op) if is_tensor else op
    with ir.InsertionPoint(op), op.location:
        f32, x, kind = Arithmetic(ir.F32Type.get()), op.operands[0], types[1]
        if to is not None:
            wide = f32.narrowed(x, f32.kind) if types[0].width > 32 else f32.widened(x)
            result = create("arith.bitcast", kind, _encoded(f32, wide, to, saturate))
        elif of is not None:
            wide = _decoded(f32, x, of)
            result = Arithmetic(kind).widened(wide) if kind.width > 32 else f32.narrowed(wide, kind)
    op.result.replace_all_uses_with(result)
    op.operation.erase()


def _of(name: str, first: Any, second: int | Any) -> Any:
    """An operation on integers of 32 bits."""
    other = integer(second, first.type) if isinstance(second, int) else second
    return create(f"arith.{name}", first.type, first, other)


def _encoded(f32: Arithmetic, x: Any, to: _Format, saturate: bool) -> Any:
    """The code of an f32, as i8: rounded to nearest, ties to even."""
    i32, drop = ir.IntegerType.get_signless(32), 23 - to.fraction
    bits = create("arith.bitcast", i32, x)
    size = _of("andi", bits, _SIZE)
    # The bits that are left out of a normal number round up those above, and its exponent.
    odd = _of("andi", _of("shrui", size, drop), 1)
    normal = _of("shrui", _of("addi", _of("addi", size, (1 << drop - 1) - 1), odd), drop)
    normal = _of("subi", normal, (127 - to.bias) << to.fraction)
    # Others are counted in steps of the least one, which are those of f32 from here on.
    start = 1.5 * 2.0 ** (24 - to.fraction - to.bias)
    small = f32.add(create("arith.bitcast", f32.kind, size), f32.constant(start))
    known = struct.unpack("<i", struct.pack("<f", start))[0]
    small = _of("subi", create("arith.bitcast", i32, small), known)
    is_small = compare_integers(_LESS, size, integer((128 - to.bias) << 23, i32))
    code = create("arith.select", i32, is_small, small, normal)
    code = _of("minsi", code, to.largest if saturate or to.infinity is not None else _NAN)
    is_nan = compare_integers(_LESS, integer(_INFINITY, i32), size)
    code = create("arith.select", i32, is_nan, integer(_NAN, i32), code)
    code = _of("ori", code, _of("andi", _of("shrui", bits, 24), _SIGN))
    return create("arith.trunci", ir.IntegerType.get_signless(8), code)


def _decoded(f32: Arithmetic, x: Any, of: _Format) -> Any:
    """A number as f32."""
    i8, i32 = map(ir.IntegerType.get_signless, (8, 32))
    code = create("arith.extui", i32, create("arith.bitcast", i8, x))
    size = _of("andi", code, _NAN)
    bits = _of("addi", _of("shli", size, 23 - of.fraction), (127 - of.bias) << 23)
    step = f32.constant(2.0 ** (1 - of.bias - of.fraction))
    small = f32.multiply(f32.compute("arith.sitofp", size), step)
    is_small = compare_integers(_LESS, size, integer(1 << of.fraction, i32))
    number = f32.select(is_small, small, create("arith.bitcast", f32.kind, bits))
    if of.infinity is not None:
        is_infinite = compare_integers(EQUAL, size, integer(of.infinity, i32))
        number = f32.select(is_infinite, f32.constant(math.inf), number)
    is_nan = compare_integers(_LESS, integer(of.largest, i32), size)
    number = create("arith.bitcast", i32, f32.select(is_nan, f32.constant(math.nan), number))
    sign = _of("shli", _of("andi", code, _SIGN), 24)
    return create("arith.bitcast", f32.kind, _of("ori", number, sign))
