"""Arithmetic of floating-point numbers (PTX ISA 9.0, sections 9.7.3 and 9.7.4).

Every rounding is exact (`numbers/rounded_arithmetic.py`). A NaN's payload may differ from the
GPU's. Of f16, bf16 and their pairs, sums and products are computed in f32 and rounded once more,
which gives the correctly rounded result because f32 has more than twice the digits. `fma` needs one
rounding of an exact sum: it is computed in f64 with the lost digits kept as an odd last bit.
"""

import operator
from collections.abc import Callable, Sequence
from typing import Final

from custom_dispatch.cpu.lowering.frame import FLOAT_BITS, Frame
from custom_dispatch.cpu.lowering.math import MATH
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounded_arithmetic import directed_f32, rounded_f64
from custom_dispatch.cpu.numbers.rounding import narrow, relu, round_odd, two_sum, widen
from custom_dispatch.cpu.numbers.subnormals import flushed, flushed_bits
from custom_dispatch.cpu.text.ssa_value import SsaValue

OPERATIONS: Final[dict[str, tuple[int, Callable[..., SsaValue]]]] = {
    "add": (2, operator.add),
    "sub": (2, operator.sub),
    "mul": (2, operator.mul),
    "div": (2, operator.truediv),
    **dict.fromkeys(("fma", "mad"), (3, lambda x, y, z: x.call("fma", y, z))),
    "min": (2, lambda x, y: x.call("minimumnum", y)),
    "max": (2, lambda x, y: x.call("maximumnum", y)),
    "min.NaN": (2, lambda x, y: x.call("minimum", y)),
    "max.NaN": (2, lambda x, y: x.call("maximum", y)),
    "abs": (1, lambda x: x.call("fabs")),
    "neg": (1, operator.neg),
    "copysign": (2, lambda sign, x: x.call("copysign", sign)),
    "sqrt": (1, lambda x: x.call("sqrt")),
    "rcp": (1, lambda x: 1 / x),
    "rsqrt": (1, lambda x: 1 / x.call("sqrt")),
    **{
        name: (1, lambda x, write=write: write(x.cast("fpext", "f64")).cast("fptrunc", "f32"))
        for name, write in MATH.items()
    },
}
"""By opcode: how many sources it has, and its result to nearest."""
_DIRECTED = ("rz", "rm", "rp")


def lower_float(frame: Frame) -> None:
    """Every f32 and f64 instruction that computes."""
    base, *modifiers, type_name = frame.parts
    rounding = next((m for m in modifiers if m in _DIRECTED), "rn")
    d, *sources = frame.operands(1 + OPERATIONS[base][0])
    ftz = "ftz" in modifiers and frame.thread.keeps_subnormals
    values = [frame.float(source, type_name) for source in sources]
    if ftz and base != "ex2":  # whose result for them is 1 in any case
        values = [flushed(value) for value in values]
    if type_name == "f64" and (rounding != "rn" or base == "fma"):
        value = frame.b.long_function(
            f"{base}_{rounding}_f64", values, lambda given: rounded_f64(base, given, rounding)
        )
    elif rounding != "rn":
        value = directed_f32(base, values, rounding)
    else:
        value = _compute(base, modifiers, values)
    if base == "mul" and frame.thread.is_apart(frame.instruction):
        value = value.call("arithmetic.fence")
    if ftz:
        value = flushed(value)
    if "sat" in modifiers:
        value = saturate(value)
    frame.put(d, value)


def _compute(base: str, modifiers: Sequence[str], values: list[SsaValue]) -> SsaValue:
    """An operation on values of ``f32`` or ``f64``, to nearest."""
    wants_nan = base in ("min", "max") and "NaN" in modifiers
    return OPERATIONS[f"{base}.NaN" if wants_nan else base][1](*values)


def saturate(value: SsaValue) -> SsaValue:
    """Clamp to [0, 1]; NaN becomes 0."""
    value = value.cmp("ogt", 0).select(value, 0)
    return value.cmp("olt", 1).select(value, 1)


def lower_testp(frame: Frame) -> None:
    """`testp`: what kind of number it is, from its bits."""
    b = frame.b
    _, kind, type_name = frame.parts
    d, a = frame.operands(2)
    bits = FLOAT_BITS[type_name]
    fraction = 23 if bits == 32 else 52
    infinity = b.const(((1 << (bits - 1)) - 1) >> fraction << fraction, bits)
    smallest_normal = b.const(1 << fraction, bits)
    magnitude = frame.integer(a, bits) & ((1 << (bits - 1)) - 1)
    is_finite = magnitude.cmp("ult", infinity)
    is_small = magnitude.cmp("ult", smallest_normal)
    conditions = {"infinite": "eq", "number": "ule", "notanumber": "ugt"}
    if kind == "finite":
        result = is_finite
    elif kind in conditions:
        result = magnitude.cmp(conditions[kind], infinity)
    else:
        result = is_small & magnitude.cmp("ne", 0)
        if kind == "normal":  # zeros are, as on an H200
            result = is_finite & ~result
    frame.put(d, result)


def lower_half(frame: Frame) -> None:
    """Every f16, bf16, f16x2 and bf16x2 instruction that computes."""
    base, *modifiers, type_name = frame.parts
    bits = 32 if type_name.endswith("x2") else 16
    d, sources = frame.taking(*[bits] * OPERATIONS[base][0])
    frame.put(d, packed(base, modifiers, sources, type_name))


def packed(
    base: str, modifiers: Sequence[str], sources: list[SsaValue], type_name: str
) -> SsaValue:
    """An operation on one or two elements, from and to an i16 or i32 that holds them."""
    element = type_name.removesuffix("x2")
    if element == type_name:
        return _compute_half(base, modifiers, sources, element)
    halves = zip(*(split(source, 16) for source in sources), strict=True)
    return join([_compute_half(base, modifiers, list(half), element) for half in halves])


def _compute_half(
    base: str, modifiers: Sequence[str], sources: list[SsaValue], element: str
) -> SsaValue:
    """One element: from i16 to i16."""
    if base == "neg":
        return sources[0] ^ 0x8000
    if base == "abs":
        return sources[0] & 0x7FFF
    ftz = "ftz" in modifiers and element == "f16"
    if ftz:
        sources = [flushed_bits(source, 10) for source in sources]
    values = [widen(source, element) for source in sources]
    if base == "fma":
        value = _odd_fma(*values)
    elif base == "mul" and element == "bf16":  # f32 has no digits to spare for small products
        x, y = (value.cast("fpext", "f64") for value in values)
        value = round_odd(x * y)
    else:
        value = _compute(base, modifiers, values)
    if "sat" in modifiers:
        value = saturate(value)
    if "relu" in modifiers:
        value = relu(value)
    result = narrow(value, element)
    return flushed_bits(result, 10) if ftz else result


def _odd_fma(*values: SsaValue) -> SsaValue:
    """``a * b + c`` as an f32 rounded to odd, which one rounding to 16 bits makes exact."""
    x, y, z = (value.cast("fpext", "f64") for value in values)
    total, error = two_sum(x * y, z)  # the product is exact: at most 22 digits
    bits = total.as_bits()
    inexact = error.cmp("one", 0)
    # An even sum moves towards the error by one; an odd one is already right.
    up = error.cmp("ogt", 0) ^ total.cmp("olt", 0)
    step = up.select(1, -1, "i64")
    even = ~bits.resize(1)
    moved = bits + step
    return round_odd((inexact & even).select(moved, bits).as_float())
