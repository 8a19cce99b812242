"""f32 and f64 operations in roundings that processors have no instruction for.

Those of f32 are made from an f64 result and the sign of what it lacks, those of f64 in integer
arithmetic (`numbers/exact_f64.py`). Both are exact.
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.numbers import exact_f64
from custom_dispatch.cpu.numbers.rounding import round_directed, two_sum
from custom_dispatch.cpu.text.builder import Builder

ROUNDED: Final = frozenset({"add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"})
"""The instructions that take a rounding."""

_F64: Final = "f64"


def rounded_f64(b: Builder, base: str, values: list[str], rounding: str, *, fused: bool) -> str:
    """An f64 operation: a directed rounding, or an `fma`.

    Parameters
    ----------
    base
        One of `ROUNDED`.
    values
        Its sources.
    rounding
        ``"rn"`` for `fma` alone, or ``"rz"``, ``"rm"``, ``"rp"``.
    fused
        Whether the processor has an `fma` to nearest.
    """
    if base == "div":
        return exact_f64.divide(b, values[0], values[1], rounding, fused=fused)
    if base == "rcp":
        return exact_f64.divide(b, b.float_const(1, _F64), values[0], rounding, fused=fused)
    if base == "sqrt":
        return exact_f64.square_root(b, values[0], rounding, fused=fused)
    if base in ("fma", "mad"):
        x, y, z = values
        if rounding == "rn" and fused:
            return b.call_intrinsic("llvm.fma", [x, y, z], _F64)
    elif base == "mul":
        x, y = values
        # A zero of the product's own sign adds nothing to it.
        arguments = [b.float_const(0, _F64), b.binary("fmul", x, y, _F64)]
        z = b.call_intrinsic("llvm.copysign", arguments, _F64)
    else:
        x, y, z = values[0], b.float_const(1, _F64), values[1]
        z = b.unary("fneg", z, _F64) if base == "sub" else z
    return exact_f64.fma(b, x, y, z, rounding, fused=fused)


def directed_f32(b: Builder, base: str, values: list[str], rounding: str) -> str:
    """An f32 operation rounded ``"rz"``, ``"rm"`` or ``"rp"``."""
    wide = [b.cast("fpext", value, "f32", _F64) for value in values]
    if base in ("div", "rcp"):
        x, y = (wide[0], wide[1]) if base == "div" else (b.float_const(1, _F64), wide[0])
        total = b.binary("fdiv", x, y, _F64)
        return round_directed(b, total, _quotient_rest(b, x, y, total), rounding)
    if base == "sqrt":
        total = b.call_intrinsic("llvm.sqrt", wide, _F64)
        return round_directed(b, total, _root_rest(b, wide[0], total), rounding)
    if base == "mul":  # exact in f64, here and below
        total = b.binary("fmul", wide[0], wide[1], _F64)
        return round_directed(b, total, b.float_const(0, _F64), rounding)
    if base in ("fma", "mad"):
        x, y = b.binary("fmul", wide[0], wide[1], _F64), wide[2]
    else:
        x, y = wide[0], wide[1]
        y = b.unary("fneg", y, _F64) if base == "sub" else y
    total, error = two_sum(b, x, y)
    result = round_directed(b, total, error, rounding)
    if rounding != "rm":
        return result
    # Numbers that cancel out give minus zero.
    signs = [b.cast("bitcast", term, _F64, "i64") for term in (x, y)]
    unlike = b.icmp("slt", b.binary("xor", signs[0], signs[1], "i64"), 0, "i64")
    cancelled = b.fcmp("oeq", total, 0, _F64)
    cancelled = b.binary("and", cancelled, unlike, "i1")
    return b.select(cancelled, -0.0, result, "f32")


def _quotient_rest(b: Builder, x: str, y: str, quotient: str) -> str:
    """A number with the sign of ``x / y - quotient``, of f32 operands and an f64 quotient."""
    # The quotient in two parts, so that their products with y are exact.
    upper, lower = _split(b, quotient, 24)
    rest = b.binary("fsub", x, b.binary("fmul", upper, y, _F64), _F64)
    rest = b.binary("fsub", rest, b.binary("fmul", lower, y, _F64), _F64)
    return b.binary("fmul", rest, y, _F64)


def _root_rest(b: Builder, x: str, root: str) -> str:
    """A number with the sign of ``sqrt(x) - root``, of an f32 operand and an f64 root."""
    upper, lower = _split(b, root, 27)
    twice = b.binary("fadd", upper, upper, _F64)
    rest = b.binary("fsub", x, b.binary("fmul", upper, upper, _F64), _F64)
    rest = b.binary("fsub", rest, b.binary("fmul", twice, lower, _F64), _F64)
    return b.binary("fsub", rest, b.binary("fmul", lower, lower, _F64), _F64)


def _split(b: Builder, value: str, count: int) -> tuple[str, str]:
    """An f64 without its last digits, and those."""
    bits = b.cast("bitcast", value, _F64, "i64")
    upper = b.cast("bitcast", b.binary("and", bits, -1 << count, "i64"), "i64", _F64)
    return upper, b.binary("fsub", value, upper, _F64)
