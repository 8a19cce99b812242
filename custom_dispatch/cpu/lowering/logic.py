"""Logic, shifts and bit fields (PTX ISA 9.0, sections 9.7.1, 9.7.8 and 9.7.9)."""

from __future__ import annotations

from collections.abc import Sequence

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.ptx import TYPE_BITS, Integer


def lower_bitwise(frame: Frame) -> None:
    """`and`, `or`, `xor`, `not` and `cnot`."""
    b = frame.b
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers)
    bits = TYPE_BITS[type_name]
    integer = int_type(bits)
    if base in ("not", "cnot"):
        d, a = frame.operands(2)
        x = frame.integer(a, bits)
        if base == "not":
            value = b.binary("xor", x, -1, integer)
        else:
            value = b.resize(b.icmp("eq", x, 0, integer), 1, bits)
    else:
        d, a, c = frame.operands(3)
        value = b.binary(base, frame.integer(a, bits), frame.integer(c, bits), integer)
    frame.set_integer(d, value, bits)


def lower_lop3(frame: Frame) -> None:
    """`lop3`: any function of three bits, by its truth table."""
    b = frame.b
    if frame.instruction.opcode != "lop3.b32":
        raise frame.unsupported()
    d, *sources, table = frame.operands(5)
    if not isinstance(table, Integer):
        raise frame.unsupported()
    values = [frame.integer(source, 32) for source in sources]
    inverted = [b.binary("xor", value, -1) for value in values]
    result = b.const(0, 32)
    for row in range(8):
        if table.value >> row & 1:
            chosen = [values[k] if row >> (2 - k) & 1 else inverted[k] for k in range(3)]
            term = b.binary("and", b.binary("and", chosen[0], chosen[1]), chosen[2])
            result = b.binary("or", result, term)
    frame.set_integer(d, result, 32)


def lower_shift(frame: Frame) -> None:
    """`shl` and `shr`: a shift by the width or more gives zero, or the sign for ``.s``."""
    b = frame.b
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers)
    d, a, c = frame.operands(3)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    integer = int_type(bits)
    x, amount = frame.integer(a, bits), frame.integer(c, 32)
    far = b.icmp("uge", amount, bits)
    if base == "shr" and signed:
        amount = b.select(far, bits - 1, amount)
        value = b.binary("ashr", x, b.resize(amount, 32, bits), integer)
    else:
        amount = b.select(far, 0, amount)
        operation = "shl" if base == "shl" else "lshr"
        value = b.binary(operation, x, b.resize(amount, 32, bits), integer)
        value = b.select(far, 0, value, integer)
    frame.set_integer(d, value, bits, signed=signed)


def lower_funnel_shift(frame: Frame) -> None:
    """`shf`: shift the 64 bits of two registers and keep 32."""
    b = frame.b
    _, *modifiers, _ = frame.parts
    frame.check_modifiers(modifiers, frozenset({"l", "r", "clamp", "wrap"}))
    d, low, high, c = frame.operands(4)
    amount = frame.integer(c, 32)
    amount = b.resize(_limited(frame, amount, modifiers), 32, 64)
    both = _join(frame, frame.integer(low, 32), frame.integer(high, 32))
    if "l" in modifiers:
        value = b.binary("lshr", b.binary("shl", both, amount, "i64"), 32, "i64")
    else:
        value = b.binary("lshr", both, amount, "i64")
    frame.set_integer(d, b.resize(value, 64, 32), 32)


def _limited(frame: Frame, amount: str, modifiers: Sequence[str]) -> str:
    """An amount of bits of a register: `.wrap` takes its low bits, and `.clamp` at most 32."""
    if "wrap" in modifiers:
        return frame.b.binary("and", amount, 31)
    return at_most(frame, amount, 32)


def at_most(frame: Frame, value: str, limit: int) -> str:
    """The smaller of an unsigned 32-bit value and a constant."""
    b = frame.b
    return b.call_intrinsic("llvm.umin", [value, limit])


def _join(frame: Frame, low: str, high: str) -> str:
    b = frame.b
    upper = b.binary("shl", b.resize(high, 32, 64), 32, "i64")
    return b.binary("or", b.resize(low, 32, 64), upper, "i64")


_PERMUTES = {
    # by the selector's last two bits, the bytes to pick, lowest first
    "f4e": ("0123", "1234", "2345", "3456"),
    "b4e": ("0765", "1076", "2107", "3210"),
    "rc8": ("0000", "1111", "2222", "3333"),
    "ecl": ("0123", "1123", "2223", "3333"),
    "ecr": ("0000", "0111", "0122", "0123"),
    "rc16": ("0101", "2323", "0101", "2323"),
}


def lower_permute(frame: Frame) -> None:
    """`prmt`: pick four of eight bytes."""
    b = frame.b
    parts = frame.parts
    if parts[:2] != ("prmt", "b32") or (len(parts) == 3 and parts[2] not in _PERMUTES):
        raise frame.unsupported()
    d, low, high, c = frame.operands(4)
    both = _join(frame, frame.integer(low, 32), frame.integer(high, 32))
    selector = frame.integer(c, 32)
    if len(parts) == 3:  # as the selector of the default mode
        chosen = [b.const(int(picked[::-1], 16), 32) for picked in _PERMUTES[parts[2]]]
        bits = [b.binary("lshr", selector, i) for i in range(2)]
        odd, upper = (b.resize(bit, 32, 1) for bit in bits)
        lower_pair = b.select(odd, chosen[1], chosen[0])
        upper_pair = b.select(odd, chosen[3], chosen[2])
        selector = b.select(upper, upper_pair, lower_pair)
    result = b.const(0, 32)
    for index in range(4):
        nibble = b.binary("lshr", selector, 4 * index)
        which = b.binary("and", nibble, 7)
        shift = b.resize(b.binary("shl", which, 3), 32, 64)
        byte = b.resize(b.binary("lshr", both, shift, "i64"), 64, 8)
        sign = b.binary("ashr", byte, 7, "i8")
        replicate = b.binary("and", nibble, 8)
        replicate = b.icmp("ne", replicate, 0)
        byte = b.resize(b.select(replicate, sign, byte, "i8"), 8, 32)
        result = b.binary("or", result, b.binary("shl", byte, 8 * index))
    frame.set_integer(d, result, 32)


def lower_count(frame: Frame) -> None:
    """`popc`, `clz`, `brev` and `bfind`."""
    b = frame.b
    base, *modifiers, type_name = frame.parts
    known = frozenset({"shiftamt"}) if base == "bfind" else frozenset[str]()
    frame.check_modifiers(modifiers, known)
    d, a = frame.operands(2)
    bits = TYPE_BITS[type_name]
    integer = int_type(bits)
    x = frame.integer(a, bits)
    if base == "brev":
        value = b.call_intrinsic("llvm.bitreverse", [x], integer)
        frame.set_integer(d, value, bits)
    elif base == "popc":
        value = b.call_intrinsic("llvm.ctpop", [x], integer)
        frame.set_integer(d, b.resize(value, bits, 32), 32)
    elif base == "clz":
        frame.set_integer(d, _leading_zeros(frame, x, bits), 32)
    else:
        if type_name.startswith("s"):  # the highest bit that differs from the sign
            negative = b.icmp("slt", x, 0, integer)
            x = b.select(negative, b.binary("xor", x, -1, integer), x, integer)
        value = _leading_zeros(frame, x, bits)
        if "shiftamt" not in modifiers:
            value = b.binary("sub", bits - 1, value)
        none = b.icmp("eq", x, 0, integer)
        frame.set_integer(d, b.select(none, -1, value), 32)


def _leading_zeros(frame: Frame, x: str, bits: int) -> str:
    b = frame.b
    zeros = b.call_intrinsic("llvm.ctlz", [x, 0], int_type(bits), [int_type(bits), "i1"])
    return b.resize(zeros, bits, 32)


def lower_bit_field(frame: Frame) -> None:
    """`bfe` and `bfi`: positions and lengths are 8 bits wide and clamp at the register's end."""
    b = frame.b
    base, *modifiers, type_name = frame.parts
    frame.check_modifiers(modifiers)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    d, *sources, start, length = frame.operands(4 if base == "bfe" else 5)
    wide = 2 * bits
    integer = int_type(wide)
    position, size = (
        b.resize(at_most(frame, b.binary("and", frame.integer(c, 32), 255), bits), 32, wide)
        for c in (start, length)
    )
    mask = b.binary("sub", b.binary("shl", 1, size, integer), 1, integer)
    if base == "bfi":
        field, target = (b.resize(frame.integer(c, bits), bits, wide) for c in sources)
        mask = b.binary("shl", mask, position, integer)
        field = b.binary("and", b.binary("shl", field, position, integer), mask, integer)
        kept = b.binary("xor", mask, -1, integer)
        value = b.binary("or", field, b.binary("and", target, kept, integer), integer)
        frame.set_integer(d, b.resize(value, wide, bits), bits)
        return
    # Sign extension to twice the width puts the sign wherever the field runs past the end.
    x = b.resize(frame.integer(sources[0], bits), bits, wide, signed=signed)
    value = b.binary("ashr" if signed else "lshr", x, position, integer)
    if signed:
        unused = b.binary("sub", wide, size, integer)
        empty = b.icmp("eq", size, 0, integer)
        unused = b.select(empty, 0, unused, integer)
        value = b.binary("ashr", b.binary("shl", value, unused, integer), unused, integer)
        value = b.select(empty, 0, value, integer)
    else:
        value = b.binary("and", value, mask, integer)
    frame.set_integer(d, b.resize(value, wide, bits), bits, signed=signed)


def lower_bit_mask(frame: Frame) -> None:
    """`bmsk`: ones from a position on, so many."""
    b = frame.b
    if frame.parts[1:] not in (("clamp", "b32"), ("wrap", "b32")):
        raise frame.unsupported()
    d, a, c = frame.operands(3)
    position, width = (frame.integer(operand, 32) for operand in (a, c))
    position, width = (_limited(frame, value, frame.parts) for value in (position, width))
    ones = b.binary("sub", b.binary("shl", 1, b.resize(width, 32, 64), "i64"), 1, "i64")
    mask = b.binary("shl", ones, b.resize(position, 32, 64), "i64")
    frame.set_integer(d, b.resize(mask, 64, 32), 32)


def lower_extend(frame: Frame) -> None:
    """`szext`: keep so many of the low bits, extended by a sign or with zeros."""
    b = frame.b
    mode, kind = (*frame.parts[1:], "", "")[:2]
    if mode not in ("clamp", "wrap") or kind not in ("u32", "s32"):
        raise frame.unsupported()
    d, a, c = frame.operands(3)
    x, count = b.resize(frame.integer(a, 32), 32, 64), frame.integer(c, 32)
    count = _limited(frame, count, [mode])
    unused = b.binary("sub", 63, b.resize(count, 32, 64), "i64")
    # By one and by the rest, as a shift by 64 has no value.
    x = b.binary("shl", b.binary("shl", x, unused, "i64"), 1, "i64")
    back = "ashr" if kind == "s32" else "lshr"
    x = b.binary(back, b.binary(back, x, unused, "i64"), 1, "i64")
    frame.set_integer(d, b.resize(x, 64, 32), 32)


def lower_find_nth(frame: Frame) -> None:
    """`fns`: the place of the n-th set bit from a base on, downwards if n is negative."""
    b = frame.b
    if frame.instruction.opcode != "fns.b32":
        raise frame.unsupported()
    d, *sources = frame.operands(4)
    mask, base, step = (frame.integer(source, 32) for source in sources)
    zero = b.const(0, 32)
    down = b.icmp("slt", step, zero)
    reverse = b.call_intrinsic("llvm.bitreverse", [mask])
    mask = b.select(down, reverse, mask)
    first = b.select(down, b.binary("sub", 31, base), base)
    inside = b.icmp("ule", base, 31)
    above = b.binary("shl", -1, b.binary("and", first, 31))
    mask = b.select(inside, b.binary("and", mask, above), zero)
    away = b.select(down, b.binary("sub", zero, step), step)
    count = b.call_intrinsic("llvm.umax", [away, 1])
    ones = b.call_intrinsic("llvm.ctpop", [mask])
    found = b.icmp("ule", count, ones)
    # Halves the part of the mask that holds the bit, five times.
    place = zero
    for width in (16, 8, 4, 2, 1):
        part = b.binary("lshr", mask, place)
        part = b.binary("and", part, (1 << width) - 1)
        ones = b.call_intrinsic("llvm.ctpop", [part])
        further = b.icmp("ugt", count, ones)
        moved = b.binary("add", place, width)
        count = b.select(further, b.binary("sub", count, ones), count)
        place = b.select(further, moved, place)
    # A step of zero asks for the bit at the base itself.
    here = b.icmp("eq", place, first)
    here = b.binary("or", here, b.icmp("ne", step, zero), "i1")
    found = b.binary("and", found, here, "i1")
    place = b.select(down, b.binary("sub", 31, place), place)
    frame.set_integer(d, b.select(found, place, -1), 32)
