"""Arithmetic of floating-point numbers (PTX ISA 9.0, sections 9.7.3 and 9.7.4).

Every rounding is exact (`numbers/rounded_arithmetic.py`). A NaN's payload may differ from the
GPU's. Of f16, bf16 and their pairs, sums and products are computed in f32 and rounded once more,
which gives the correctly rounded result because f32 has more than twice the digits. `fma` needs one
rounding of an exact sum: it is computed in f64 with the lost digits kept as an odd last bit.
"""

from __future__ import annotations

from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame
from custom_dispatch.cpu.lowering.math import MATH
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounded_arithmetic import ROUNDED, directed_f32, rounded_f64
from custom_dispatch.cpu.numbers.rounding import narrow, relu, round_odd, two_sum, widen
from custom_dispatch.cpu.numbers.subnormals import flushed, flushed_bits
from custom_dispatch.cpu.text.builder import int_type

_MODIFIERS = frozenset({"rn", "ftz", "sat", "approx", "full", "NaN"})
_DIRECTED = frozenset({"rz", "rm", "rp"})
_ARITHMETIC = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}


def lower_float(frame: Frame) -> None:
    """Every f32 and f64 instruction that computes."""
    base, *modifiers, type_name = frame.parts
    rounding = next((m for m in modifiers if m in _DIRECTED), "rn")
    if rounding != "rn" and base not in ROUNDED:
        raise frame.unsupported()
    frame.check_modifiers(modifiers, _MODIFIERS | _DIRECTED)
    count = {"fma": 4, "mad": 4}.get(
        base, 3 if base in (*_ARITHMETIC, "min", "max", "copysign") else 2
    )
    d, *sources = frame.operands(count)
    ftz = "ftz" in modifiers and frame.thread.keeps_subnormals
    values = [frame.float(source, type_name) for source in sources]
    if ftz and base != "ex2":  # whose result for them is 1 in any case
        values = [flushed(frame.b, value, type_name) for value in values]
    if type_name == "f64" and (rounding != "rn" or base == "fma"):
        value = frame.b.long_function(
            f"{base}_{rounding}_f64",
            values,
            "f64",
            lambda b, given: rounded_f64(b, base, given, rounding, fused=b.processor.fused),
        )
    elif rounding != "rn":
        value = directed_f32(frame.b, base, values, rounding)
    else:
        is_nan_wanted = "NaN" in modifiers
        value = compute(frame, base, values, type_name, propagate_nan=is_nan_wanted)
    if base == "mul" and frame.thread.is_apart(frame.instruction):
        value = frame.b.call_intrinsic("llvm.arithmetic.fence", [value], type_name)
    if ftz:
        value = flushed(frame.b, value, type_name)
    if "sat" in modifiers:
        value = saturate(frame, value, type_name)
    frame.set_float(d, value, type_name)


def compute(
    frame: Frame,
    base: str,
    values: list[str],
    type_name: str,
    *,
    propagate_nan: bool,
) -> str:
    """An operation on values of ``f32`` or ``f64``.

    Parameters
    ----------
    propagate_nan
        Whether `min` and `max` return NaN when either source is one.
    """
    b = frame.b
    if base in _ARITHMETIC:
        return b.binary(_ARITHMETIC[base], values[0], values[1], type_name)
    if base in ("fma", "mad"):
        return b.call_intrinsic("llvm.fma", values, type_name)
    if base in ("min", "max"):
        name = f"llvm.{base}imum" + ("" if propagate_nan else "num")
        return b.call_intrinsic(name, values, type_name)
    if base == "neg":
        return b.unary("fneg", values[0], type_name)
    if base == "abs":
        return b.call_intrinsic("llvm.fabs", values, type_name)
    if base == "copysign":  # the sign of the first, the magnitude of the second
        return b.call_intrinsic("llvm.copysign", [values[1], values[0]], type_name)
    if base in ("sqrt", "rcp", "rsqrt"):
        value = values[0]
        if base != "rcp":
            value = b.call_intrinsic("llvm.sqrt", [value], type_name)
        if base == "sqrt":
            return value
        return b.binary("fdiv", 1, value, type_name)
    if base in MATH and type_name == "f32":
        wide = b.cast("fpext", values[0], "f32", "f64")
        return b.cast("fptrunc", MATH[base](b, wide), "f64", "f32")
    raise frame.unsupported()


def saturate(frame: Frame, value: str, type_name: str) -> str:
    """Clamp to [0, 1]; NaN becomes 0."""
    b = frame.b
    value = b.select(b.fcmp("ogt", value, 0, type_name), value, 0, type_name)
    return b.select(b.fcmp("olt", value, 1, type_name), value, 1, type_name)


def lower_testp(frame: Frame) -> None:
    """`testp`: what kind of number it is, from its bits."""
    b = frame.b
    _, kind, type_name = (*frame.parts, "", "")[:3]
    if type_name not in ("f32", "f64"):
        raise frame.unsupported()
    d, a = frame.operands(2)
    bits = FLOAT_BITS[type_name]
    integer = int_type(bits)
    fraction = 23 if bits == 32 else 52
    infinity = b.const(((1 << (bits - 1)) - 1) >> fraction << fraction, bits)
    smallest_normal = b.const(1 << fraction, bits)
    magnitude = b.binary("and", frame.integer(a, bits), (1 << (bits - 1)) - 1, integer)
    is_finite = b.icmp("ult", magnitude, infinity, integer)
    is_small = b.icmp("ult", magnitude, smallest_normal, integer)
    if kind == "finite":
        result = is_finite
    elif kind == "infinite":
        result = b.icmp("eq", magnitude, infinity, integer)
    elif kind == "number":
        result = b.icmp("ule", magnitude, infinity, integer)
    elif kind == "notanumber":
        result = b.icmp("ugt", magnitude, infinity, integer)
    elif kind == "normal":  # zeros are, as on an H200
        nonzero = b.icmp("ne", magnitude, 0, integer)
        is_small = b.binary("and", is_small, nonzero, "i1")
        not_small = b.binary("xor", is_small, 1, "i1")
        result = b.binary("and", is_finite, not_small, "i1")
    elif kind == "subnormal":
        nonzero = b.icmp("ne", magnitude, 0, integer)
        result = b.binary("and", is_small, nonzero, "i1")
    else:
        raise frame.unsupported()
    frame.set_integer(d, result, 1)


_HALF_MODIFIERS = frozenset({"rn", "ftz", "sat", "approx", "NaN", "relu"})
_SOURCES = {"fma": 3, "add": 2, "sub": 2, "mul": 2, "min": 2, "max": 2}
_OPERATIONS = frozenset({*_SOURCES, "abs", "neg", "ex2", "tanh"})


def lower_half(frame: Frame) -> None:
    """Every f16, bf16, f16x2 and bf16x2 instruction that computes."""
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers, _HALF_MODIFIERS)
    if base not in _OPERATIONS:
        raise frame.unsupported()
    d, *sources = frame.operands(1 + _SOURCES.get(base, 1))
    whole = [frame.integer(source, 16 if type_name[-2:] != "x2" else 32) for source in sources]
    result = packed(frame, base, tuple(modifiers), whole, type_name)
    frame.set_integer(d, result, 32 if type_name.endswith("x2") else 16)


def packed(
    frame: Frame,
    base: str,
    modifiers: tuple[str, ...],
    sources: list[str],
    type_name: str,
) -> str:
    """An operation on one or two elements, from and to an i16 or i32 that holds them."""
    element = type_name.removesuffix("x2")
    if element == type_name:
        return _compute(frame, base, modifiers, sources, element)
    halves = zip(*(split(frame.b, source, 16) for source in sources), strict=True)
    return join(frame.b, [_compute(frame, base, modifiers, list(h), element) for h in halves], 16)


def _compute(
    frame: Frame,
    base: str,
    modifiers: tuple[str, ...],
    sources: list[str],
    element: str,
) -> str:
    """One element: from i16 to i16."""
    b = frame.b
    if base in ("neg", "abs"):
        mask = b.const(0x8000 if base == "neg" else 0x7FFF, 16)
        return b.binary("xor" if base == "neg" else "and", sources[0], mask, "i16")
    ftz = "ftz" in modifiers and element == "f16"
    if ftz:
        sources = [flushed_bits(b, source, 16, 10) for source in sources]
    values = [widen(b, source, element) for source in sources]
    if base == "fma":
        value = _odd_fma(frame, values)
    elif base == "mul" and element == "bf16":  # f32 has no digits to spare for small products
        wide = [b.cast("fpext", value, "f32", "f64") for value in values]
        value = round_odd(b, b.binary("fmul", wide[0], wide[1], "f64"))
    else:
        value = compute(frame, base, values, "f32", propagate_nan="NaN" in modifiers)
    if "sat" in modifiers:
        value = saturate(frame, value, "f32")
    if "relu" in modifiers:
        value = relu(b, value)
    result = narrow(b, value, element)
    return flushed_bits(b, result, 16, 10) if ftz else result


def _odd_fma(frame: Frame, values: list[str]) -> str:
    """``a * b + c`` as an f32 rounded to odd, which one rounding to 16 bits makes exact."""
    b = frame.b
    x, y, z = (b.cast("fpext", value, "f32", "f64") for value in values)
    product = b.binary("fmul", x, y, "f64")  # exact: at most 22 digits
    total, error = two_sum(b, product, z)
    bits = b.cast("bitcast", total, "f64", "i64")
    inexact = b.fcmp("one", error, 0, "f64")
    # An even sum moves towards the error by one; an odd one is already right.
    up = b.binary("xor", b.fcmp("ogt", error, 0, "f64"), b.fcmp("olt", total, 0, "f64"), "i1")
    step = b.select(up, 1, -1, "i64")
    even = b.binary("xor", b.resize(bits, 64, 1), 1, "i1")
    moved = b.binary("add", bits, step, "i64")
    bits = b.select(b.binary("and", inexact, even, "i1"), moved, bits, "i64")
    return round_odd(b, b.cast("bitcast", bits, "i64", "f64"))
