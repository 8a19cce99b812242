"""Integer arithmetic (PTX ISA 9.0, sections 9.7.1, 9.7.2, "Extended-Precision Integer Arithmetic",
and 9.7.15, "Video Instructions").

Of the video instructions these are the ones on two or four numbers at once, without masks and byte
selection; nvcc emits `vabsdiff2` and `vabsdiff4`.
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.text.builder import Builder, int_type
from custom_dispatch.ptx import TYPE_BITS

_MULTIPLY = frozenset({"lo", "hi", "wide", "cc", "sat"})


def lower_add_sub(frame: Frame) -> None:
    """`add`, `sub`, `addc`, `subc`: carries go through one flag a thread."""
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers, frozenset({"sat", "cc"}))
    d, a, c = frame.operands(3)
    bits = TYPE_BITS[type_name]
    x, y = frame.integer(a, bits), frame.integer(c, bits)
    operation = base[:3]
    if "sat" in modifiers:
        if type_name != "s32":
            raise frame.unsupported()
        value = frame.b.call_intrinsic(f"llvm.s{operation}.sat", [x, y])
    elif base.endswith("c") or "cc" in modifiers:
        value = add_with_carry(
            frame, operation, x, y, bits, carry_in=base.endswith("c"), carry_out="cc" in modifiers
        )
    else:
        value = frame.b.binary(operation, x, y, int_type(bits))
    frame.set_integer(d, value, bits)


def add_with_carry(
    frame: Frame, operation: str, x: str, y: str, bits: int, *, carry_in: bool, carry_out: bool
) -> str:
    """Add or subtract in twice the width; bit `bits` of the result is the carry or borrow."""
    b = frame.b
    wide = int_type(2 * bits)
    value = b.binary(operation, b.resize(x, bits, 2 * bits), b.resize(y, bits, 2 * bits), wide)
    if carry_in:
        carry = b.resize(frame.carry(), 1, 2 * bits)
        value = b.binary(operation, value, carry, wide)
    if carry_out:
        shifted = b.binary("lshr", value, bits, wide)
        frame.set_carry(b.resize(shifted, 2 * bits, 1))
    return b.resize(value, 2 * bits, bits)


def lower_multiply(frame: Frame) -> None:
    """`mul`, `mad`, `madc`, `mul24` and `mad24`."""
    b = frame.b
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers, _MULTIPLY)
    if "sat" in modifiers and frame.instruction.opcode not in (
        "mad.hi.sat.s32",
        "mad24.hi.sat.s32",
    ):
        raise frame.unsupported()
    with_add = base.startswith("mad")
    d, *sources = frame.operands(4 if with_add else 3)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    x, y = (frame.integer(source, bits) for source in sources[:2])
    if base.endswith("24"):
        x, y = (b.resize(b.resize(value, 32, 24), 24, 32, signed=signed) for value in (x, y))
    if "lo" in modifiers and not base.endswith("24"):
        value, width = b.binary("mul", x, y, int_type(bits)), bits
    else:
        double = int_type(2 * bits)
        x, y = (b.resize(value, bits, 2 * bits, signed=signed) for value in (x, y))
        value, width = b.binary("mul", x, y, double), 2 * bits
        if "hi" in modifiers:
            # mul24.hi keeps the upper 32 of the product's 48 bits
            shift = 16 if base.endswith("24") else bits
            value = b.binary("lshr", value, shift, double)
        if "wide" not in modifiers:
            value, width = b.resize(value, 2 * bits, bits), bits
    if with_add:
        addend = frame.integer(sources[2], width)
        if base == "madc" or "cc" in modifiers:
            value = add_with_carry(
                frame,
                "add",
                value,
                addend,
                width,
                carry_in=base == "madc",
                carry_out="cc" in modifiers,
            )
        elif "sat" in modifiers:
            value = b.call_intrinsic("llvm.sadd.sat", [value, addend])
        else:
            value = b.binary("add", value, addend, int_type(width))
    frame.set_integer(d, value, width, signed=signed)


def lower_divide(frame: Frame) -> None:
    """`div` and `rem`.

    PTX leaves division by zero without a defined value; here quotient and remainder are all ones,
    as an H200 gives, and the smallest integer divided by -1 is itself. A CPU's divide
    instruction would trap on both.
    """
    b = frame.b
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers)
    d, a, c = frame.operands(3)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    integer = int_type(bits)
    x, y = frame.integer(a, bits), frame.integer(c, bits)
    by_zero = b.icmp("eq", y, 0, integer)
    if frame.checks is not None:
        frame.checks.division(b, frame.instruction, by_zero)
    harmful = by_zero
    if signed:
        by_minus_one = b.icmp("eq", y, -1, integer)
        harmful = b.binary("or", by_zero, by_minus_one, "i1")
    safe = b.select(harmful, 1, y, integer)
    value = b.binary(("s" if signed else "u") + base, x, safe, integer)
    if base == "div":
        if signed:
            value = b.select(by_minus_one, b.binary("sub", 0, x, integer), value, integer)
        value = b.select(by_zero, -1, value, integer)
    else:
        value = b.select(by_zero, -1, value, integer)
    frame.set_integer(d, value, bits, signed=signed)


def lower_min_max(frame: Frame) -> None:
    """`min` and `max` of integers."""
    base, *modifiers = frame.parts
    type_name = next((m for m in reversed(modifiers) if m != "relu"), "")
    modifiers.remove(type_name)
    known = frozenset({"relu"}) if type_name == "s32" else frozenset[str]()
    frame.check_modifiers(modifiers, known)
    d, a, c = frame.operands(3)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    integer = int_type(bits)
    name = f"llvm.{'s' if signed else 'u'}{base}"
    x, y = frame.integer(a, bits), frame.integer(c, bits)
    value = frame.b.call_intrinsic(name, [x, y], integer)
    if "relu" in modifiers:
        value = frame.b.call_intrinsic("llvm.smax", [value, 0], integer)
    frame.set_integer(d, value, bits, signed=signed)


def lower_abs_neg(frame: Frame) -> None:
    """`abs` and `neg` of integers."""
    b = frame.b
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers)
    d, a = frame.operands(2)
    bits = TYPE_BITS[type_name]
    integer = int_type(bits)
    x = frame.integer(a, bits)
    value = b.binary("sub", 0, x, integer)
    if base == "abs":
        value = b.select(b.icmp("slt", x, 0, integer), value, x, integer)
    frame.set_integer(d, value, bits, signed=True)


def lower_sad(frame: Frame) -> None:
    """`sad`: the absolute difference of two integers, plus a third."""
    b = frame.b
    _, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers)
    d, *sources = frame.operands(4)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    integer = int_type(bits)
    x, y, z = (frame.integer(source, bits) for source in sources)
    less = b.icmp("slt" if signed else "ult", x, y, integer)
    up, down = b.binary("sub", y, x, integer), b.binary("sub", x, y, integer)
    difference = b.select(less, up, down, integer)
    frame.set_integer(d, b.binary("add", z, difference, integer), bits)


def lower_dot_product(frame: Frame) -> None:
    """`dp4a` and `dp2a`: products of bytes (and halves), summed into 32 bits."""
    b = frame.b
    base, *modifiers = frame.parts
    d, a, c, e = frame.operands(4)
    x, y, total = frame.integer(a, 32), frame.integer(c, 32), frame.integer(e, 32)
    half = modifiers.pop(0) if base == "dp2a" else ""
    if (
        len(modifiers) != 2
        or not {"u32", "s32"}.issuperset(modifiers)
        or half not in ("", "lo", "hi")
    ):
        raise frame.unsupported()
    x_signed, y_signed = (name == "s32" for name in modifiers)
    width = 8 if base == "dp4a" else 16
    lefts = _numbers(b, x, width, signed=x_signed)
    rights = _numbers(b, y, 8, signed=y_signed)[2 if half == "hi" else 0 :]
    for left, right in zip(lefts, rights, strict=False):
        total = b.binary("add", total, b.binary("mul", left, right))
    frame.set_integer(d, total, 32)


VIDEO: Final = frozenset(
    f"{operation}{count}"
    for operation in ("vadd", "vsub", "vabsdiff", "vmin", "vmax")
    for count in (2, 4)
)


def lower_pairs(frame: Frame) -> None:
    """`add`, `min` and `max` of ``.s16x2`` and ``.u16x2``."""
    base, *modifiers, type_name = frame.parts
    known = frozenset({"relu"}) if type_name == "s16x2" and base != "add" else frozenset[str]()
    frame.check_modifiers(modifiers, known)
    d, a, c = frame.operands(3)
    signed = type_name == "s16x2"
    results = [
        _compute(frame.b, base, x, y, signed=signed)
        for x, y in zip(
            _numbers(frame.b, frame.integer(a, 32), 16, signed=signed),
            _numbers(frame.b, frame.integer(c, 32), 16, signed=signed),
            strict=True,
        )
    ]
    if "relu" in modifiers:
        results = [_call(frame.b, "llvm.smax", r, frame.b.const(0, 32)) for r in results]
    frame.set_integer(d, _packed(frame.b, results, 16), 32)


def lower_video(frame: Frame) -> None:
    """`vadd2`, `vabsdiff4` and so on: with `.add`, the results' sum is added to a third operand."""
    b = frame.b
    base, *modifiers = frame.parts
    types, rest = modifiers[:3], modifiers[3:]
    known = len(types) == 3 and {"u32", "s32"}.issuperset(types)
    if not known or rest not in ([], ["sat"], ["add"]):
        raise frame.unsupported()
    d, a, c, e = frame.operands(4)
    target, left, right = (name == "s32" for name in types)
    bits = 32 // int(base[-1])
    results = []
    for x, y in zip(
        _numbers(b, frame.integer(a, 32), bits, signed=left),
        _numbers(b, frame.integer(c, 32), bits, signed=right),
        strict=True,
    ):
        result = _compute(b, base[1:-1], x, y, signed=True)  # all fit into 32 bits with a sign
        if rest == ["sat"]:
            low = -(1 << (bits - 1)) if target else 0
            high = (1 << (bits - target)) - 1
            result = _call(b, "llvm.smax", result, b.const(low, 32))
            result = _call(b, "llvm.smin", result, b.const(high, 32))
        results.append(result)
    if rest != ["add"]:
        frame.set_integer(d, _packed(b, results, bits), 32)
        return
    total = frame.integer(e, 32)
    for result in results:  # with all their bits, as an H200 adds them
        total = b.binary("add", total, result)
    frame.set_integer(d, total, 32)


def _compute(b: Builder, operation: str, x: str, y: str, *, signed: bool) -> str:
    if operation in ("add", "sub"):
        return b.binary(operation, x, y)
    if operation in ("min", "max"):
        return _call(b, f"llvm.{'s' if signed else 'u'}{operation}", x, y)
    larger, smaller = _call(b, "llvm.smax", x, y), _call(b, "llvm.smin", x, y)
    return b.binary("sub", larger, smaller)


def _call(b: Builder, name: str, x: str, y: str) -> str:
    return b.call_intrinsic(name, [x, y])


def _numbers(b: Builder, word: str, bits: int, *, signed: bool) -> list[str]:
    """The numbers in a word, lowest first, each as an i32."""
    return [b.resize(part, bits, 32, signed=signed) for part in split(b, word, bits)]


def _packed(b: Builder, numbers: list[str], bits: int) -> str:
    """The low bits of i32 values in one word."""
    return join(b, [b.resize(number, 32, bits) for number in numbers], bits)
