"""Integer arithmetic (PTX ISA 9.0, sections 9.7.1, 9.7.2, "Extended-Precision Integer Arithmetic",
and 9.7.15, "Video Instructions"), logic and shifts.

Of the video instructions these are the ones on two or four numbers at once, without masks and byte
selection; nvcc emits `vabsdiff2` and `vabsdiff4`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.lowering.frame import CARRY, Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import TYPE_BITS


@dataclass(frozen=True, slots=True)
class _Operation:
    """What an instruction without modifiers computes."""

    write: Callable[..., SsaValue]
    """Its result, from whether its type is signed and its sources."""
    sources: tuple[int, ...] = (0, 0)
    """The sources' widths; 0 for that of the type."""


def _shift_left(_: bool, x: SsaValue, amount: SsaValue) -> SsaValue:
    """A shift by the width or more gives zero."""
    far = amount.cmp("uge", x.bits)
    return far.select(0, x << far.select(0, amount).resize(x.bits))


def _shift_right(signed: bool, x: SsaValue, amount: SsaValue) -> SsaValue:
    """A shift by the width or more gives zero, or the sign."""
    far = amount.cmp("uge", x.bits)
    if signed:
        return x.ashr(far.select(x.bits - 1, amount).resize(x.bits))
    return far.select(0, x >> far.select(0, amount).resize(x.bits))


def _absolute(_: bool, x: SsaValue) -> SsaValue:
    negated = -x
    return x.cmp("slt", 0).select(negated, x)


def _add_difference(signed: bool, x: SsaValue, y: SsaValue, z: SsaValue) -> SsaValue:
    less = x.cmp("slt" if signed else "ult", y)
    up, down = y - x, x - y
    return z + less.select(up, down)


OPERATIONS: Final = {
    "and": _Operation(lambda _, x, y: x & y),
    "or": _Operation(lambda _, x, y: x | y),
    "xor": _Operation(lambda _, x, y: x ^ y),
    "not": _Operation(lambda _, x: ~x, (0,)),
    "cnot": _Operation(lambda _, x: x.cmp("eq", 0).resize(x.bits), (0,)),
    "shl": _Operation(_shift_left, (0, 32)),
    "shr": _Operation(_shift_right, (0, 32)),
    "popc": _Operation(lambda _, x: x.call("ctpop").resize(32), (0,)),
    "clz": _Operation(lambda _, x: x.leading_zeros().resize(32), (0,)),
    "brev": _Operation(lambda _, x: x.call("bitreverse"), (0,)),
    "neg": _Operation(lambda _, x: -x, (0,)),
    "abs": _Operation(_absolute, (0,)),
    "sad": _Operation(_add_difference, (0, 0, 0)),
}


def lower_operation(frame: Frame) -> None:
    """One of `OPERATIONS`."""
    base, type_name = frame.parts
    operation, bits = OPERATIONS[base], TYPE_BITS[type_name]
    d, sources = frame.taking(*(width or bits for width in operation.sources))
    signed = type_name.startswith("s")
    frame.put(d, operation.write(signed, *sources), signed=signed)


def lower_add_sub(frame: Frame) -> None:
    """`add`, `sub`, `addc`, `subc`: carries go through one flag a thread."""
    base, *modifiers, type_name = frame.parts
    d, (x, y) = frame.taking(*[TYPE_BITS[type_name]] * 2)
    operation = base[:3]
    if "sat" in modifiers:
        value = x.call(f"s{operation}.sat", y)
    elif base.endswith("c") or "cc" in modifiers:
        value = _with_carry(frame, operation, x, y)
    else:
        value = frame.b.binary(operation, x, y, x.type)
    frame.put(d, value)


def _with_carry(frame: Frame, operation: str, x: SsaValue, y: SsaValue) -> SsaValue:
    """Add or subtract in twice the width; the bit behind the result's is the carry or borrow."""
    b, bits, wide = frame.b, x.bits, f"i{2 * x.bits}"
    value = b.binary(operation, x.resize(2 * bits), y.resize(2 * bits), wide)
    if frame.parts[0].endswith("c"):
        value = b.binary(operation, value, frame.read(CARRY).resize(2 * bits), wide)
    if "cc" in frame.parts:
        frame.write(CARRY, (value >> bits).resize(1))
    return value.resize(bits)


def lower_multiply(frame: Frame) -> None:
    """`mul`, `mad`, `madc`, `mul24` and `mad24`."""
    base, *modifiers, type_name = frame.parts
    with_add, of_24 = base.startswith("mad"), base.endswith("24")
    d, *sources = frame.operands(4 if with_add else 3)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    x, y = (frame.integer(source, bits) for source in sources[:2])
    if of_24:
        x, y = (value.resize(24).resize(bits, signed=signed) for value in (x, y))
    if "lo" in modifiers and not of_24:
        value = x * y
    else:
        x, y = (value.resize(2 * bits, signed=signed) for value in (x, y))
        value = x * y
        if "hi" in modifiers:
            # mul24.hi keeps the upper 32 of the product's 48 bits
            value = value >> (16 if of_24 else bits)
        if "wide" not in modifiers:
            value = value.resize(bits)
    if with_add:
        addend = frame.integer(sources[2], value.bits)
        if base == "madc" or "cc" in modifiers:
            value = _with_carry(frame, "add", value, addend)
        else:
            value = value.call("sadd.sat", addend) if "sat" in modifiers else value + addend
    frame.put(d, value, signed=signed)


def lower_divide(frame: Frame) -> None:
    """`div` and `rem`.

    PTX leaves division by zero without a defined value; here quotient and remainder are all ones,
    as an H200 gives, and the smallest integer divided by -1 is itself. A CPU's divide
    instruction would trap on both.
    """
    base, type_name = frame.parts
    signed = type_name.startswith("s")
    d, (x, y) = frame.taking(*[TYPE_BITS[type_name]] * 2)
    harmful = by_zero = y.cmp("eq", 0)
    if frame.checks is not None:
        frame.checks.division(frame.b, frame.instruction, by_zero)
    if signed:
        by_minus_one = y.cmp("eq", -1)
        harmful = by_zero | by_minus_one
    safe = harmful.select(1, y)
    value = frame.b.binary(("s" if signed else "u") + base, x, safe, x.type)
    if signed and base == "div":
        value = by_minus_one.select(-x, value)
    frame.put(d, by_zero.select(-1, value), signed=signed)


def lower_min_max(frame: Frame) -> None:
    """`min` and `max` of integers."""
    base, *modifiers, type_name = frame.parts
    d, (x, y) = frame.taking(*[TYPE_BITS[type_name]] * 2)
    signed = type_name.startswith("s")
    value = x.call(("s" if signed else "u") + base, y)
    if "relu" in modifiers:
        value = value.call("smax", 0)
    frame.put(d, value, signed=signed)


def lower_dot_product(frame: Frame) -> None:
    """`dp4a` and `dp2a`: products of bytes (and halves), summed into 32 bits."""
    d, (x, y, total) = frame.taking(32, 32, 32)
    x_signed, y_signed = (name == "s32" for name in frame.parts[-2:])
    lefts = _numbers(x, 8 if frame.parts[0] == "dp4a" else 16, signed=x_signed)
    rights = _numbers(y, 8, signed=y_signed)[2 if "hi" in frame.parts else 0 :]
    for left, right in zip(lefts, rights, strict=False):
        total = total + left * right
    frame.put(d, total)


def lower_pairs(frame: Frame) -> None:
    """`add`, `min` and `max` of ``.s16x2`` and ``.u16x2``."""
    base, *modifiers, type_name = frame.parts
    d, *operands = frame.operands(3)
    signed = type_name == "s16x2"
    rows = [_numbers(frame.integer(operand, 32), 16, signed=signed) for operand in operands]
    results = [_compute(base, x, y, signed=signed) for x, y in zip(*rows, strict=True)]
    if "relu" in modifiers:
        results = [result.call("smax", frame.b.const(0, 32)) for result in results]
    frame.put(d, _packed(results, 16))


def lower_video(frame: Frame) -> None:
    """`vadd2`, `vabsdiff4` and so on: with `.add`, the results' sum is added to a third operand."""
    base, *types = frame.parts
    d, a, c, e = frame.operands(4)
    target, *signs = (name == "s32" for name in types[:3])
    bits = 32 // int(base[-1])
    lefts, rights = (
        _numbers(frame.integer(operand, 32), bits, signed=signed)
        for operand, signed in zip((a, c), signs, strict=True)
    )
    results = []
    for x, y in zip(lefts, rights, strict=True):
        result = _compute(base[1:-1], x, y, signed=True)  # all fit into 32 bits with a sign
        if "sat" in frame.parts:
            low = -(1 << (bits - 1)) if target else 0
            high = (1 << (bits - target)) - 1
            result = result.call("smax", low).call("smin", high)
        results.append(result)
    if "add" not in frame.parts:
        frame.put(d, _packed(results, bits))
        return
    total = frame.integer(e, 32)
    for result in results:  # with all their bits, as an H200 adds them
        total = total + result
    frame.put(d, total)


def _compute(operation: str, x: SsaValue, y: SsaValue, *, signed: bool) -> SsaValue:
    if operation in ("add", "sub"):
        return x.b.binary(operation, x, y)
    if operation in ("min", "max"):
        return x.call(("s" if signed else "u") + operation, y)
    return x.call("smax", y) - x.call("smin", y)


def _numbers(word: SsaValue, bits: int, *, signed: bool) -> list[SsaValue]:
    """The numbers in a word, lowest first, each as an i32."""
    return [part.resize(32, signed=signed) for part in split(word, bits)]


def _packed(numbers: list[SsaValue], bits: int) -> SsaValue:
    """The low bits of i32 values in one word."""
    return join([number.resize(bits) for number in numbers])
