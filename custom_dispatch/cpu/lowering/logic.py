"""Logic, shifts and bit fields (PTX ISA 9.0, sections 9.7.1, 9.7.8 and 9.7.9)."""

from __future__ import annotations

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.ptx import TYPE_BITS, Instruction, Integer


def lower_bitwise(frame: Frame, instruction: Instruction) -> None:
    """`and`, `or`, `xor`, `not` and `cnot`."""
    b = frame.b
    base, *modifiers, type_name = instruction.parts
    frame.check_modifiers(instruction, tuple(modifiers), frozenset())
    bits = TYPE_BITS[type_name]
    integer = int_type(bits)
    if base in ("not", "cnot"):
        d, a = frame.operands(instruction, 2)
        x = frame.integer(a, bits)
        if base == "not":
            value = b.binary("xor", x, b.const(-1, bits), integer)
        else:
            value = b.resize(b.icmp("eq", x, b.const(0, bits), integer), 1, bits)
    else:
        d, a, c = frame.operands(instruction, 3)
        value = b.binary(base, frame.integer(a, bits), frame.integer(c, bits), integer)
    frame.set_integer(d, value, bits)


def lower_lop3(frame: Frame, instruction: Instruction) -> None:
    """`lop3`: any function of three bits, by its truth table."""
    b = frame.b
    if instruction.opcode != "lop3.b32":
        raise frame.unsupported(instruction)
    d, *sources, table = frame.operands(instruction, 5)
    if not isinstance(table, Integer):
        raise frame.unsupported(instruction)
    values = [frame.integer(source, 32) for source in sources]
    inverted = [b.binary("xor", value, b.const(-1, 32), "i32") for value in values]
    result = b.const(0, 32)
    for row in range(8):
        if table.value >> row & 1:
            chosen = [values[k] if row >> (2 - k) & 1 else inverted[k] for k in range(3)]
            term = b.binary("and", b.binary("and", chosen[0], chosen[1], "i32"), chosen[2], "i32")
            result = b.binary("or", result, term, "i32")
    frame.set_integer(d, result, 32)


def lower_shift(frame: Frame, instruction: Instruction) -> None:
    """`shl` and `shr`: a shift by the width or more gives zero, or the sign for ``.s``."""
    b = frame.b
    base, *modifiers, type_name = instruction.parts
    frame.check_modifiers(instruction, tuple(modifiers), frozenset())
    d, a, c = frame.operands(instruction, 3)
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    integer = int_type(bits)
    x, amount = frame.integer(a, bits), frame.integer(c, 32)
    far = b.icmp("uge", amount, b.const(bits, 32), "i32")
    if base == "shr" and signed:
        amount = b.select(far, b.const(bits - 1, 32), amount, "i32")
        value = b.binary("ashr", x, b.resize(amount, 32, bits), integer)
    else:
        amount = b.select(far, b.const(0, 32), amount, "i32")
        operation = "shl" if base == "shl" else "lshr"
        value = b.binary(operation, x, b.resize(amount, 32, bits), integer)
        value = b.select(far, b.const(0, bits), value, integer)
    frame.set_integer(d, value, bits, signed=signed)


def lower_funnel_shift(frame: Frame, instruction: Instruction) -> None:
    """`shf`: shift the 64 bits of two registers and keep 32."""
    b = frame.b
    _, *modifiers, _ = instruction.parts
    frame.check_modifiers(instruction, tuple(modifiers), frozenset({"l", "r", "clamp", "wrap"}))
    d, low, high, c = frame.operands(instruction, 4)
    amount = frame.integer(c, 32)
    if "wrap" in modifiers:
        amount = b.binary("and", amount, b.const(31, 32), "i32")
    else:
        amount = at_most(frame, amount, 32)
    amount = b.resize(amount, 32, 64)
    both = _join(frame, frame.integer(low, 32), frame.integer(high, 32))
    if "l" in modifiers:
        value = b.binary("lshr", b.binary("shl", both, amount, "i64"), b.const(32, 64), "i64")
    else:
        value = b.binary("lshr", both, amount, "i64")
    frame.set_integer(d, b.resize(value, 64, 32), 32)


def at_most(frame: Frame, value: str, limit: int) -> str:
    """The smaller of an unsigned 32-bit value and a constant."""
    b = frame.b
    return b.call_intrinsic("llvm.umin", [value, b.const(limit, 32)], ["i32", "i32"], "i32")


def _join(frame: Frame, low: str, high: str) -> str:
    b = frame.b
    upper = b.binary("shl", b.resize(high, 32, 64), b.const(32, 64), "i64")
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


def lower_permute(frame: Frame, instruction: Instruction) -> None:
    """`prmt`: pick four of eight bytes."""
    b = frame.b
    parts = instruction.parts
    if parts[:2] != ("prmt", "b32") or (len(parts) == 3 and parts[2] not in _PERMUTES):
        raise frame.unsupported(instruction)
    d, low, high, c = frame.operands(instruction, 4)
    both = _join(frame, frame.integer(low, 32), frame.integer(high, 32))
    selector = frame.integer(c, 32)
    if len(parts) == 3:  # as the selector of the default mode
        chosen = [b.const(int(picked[::-1], 16), 32) for picked in _PERMUTES[parts[2]]]
        bits = [b.binary("lshr", selector, b.const(i, 32), "i32") for i in range(2)]
        odd, upper = (b.resize(bit, 32, 1) for bit in bits)
        lower_pair = b.select(odd, chosen[1], chosen[0], "i32")
        upper_pair = b.select(odd, chosen[3], chosen[2], "i32")
        selector = b.select(upper, upper_pair, lower_pair, "i32")
    result = b.const(0, 32)
    for index in range(4):
        nibble = b.binary("lshr", selector, b.const(4 * index, 32), "i32")
        which = b.binary("and", nibble, b.const(7, 32), "i32")
        shift = b.resize(b.binary("shl", which, b.const(3, 32), "i32"), 32, 64)
        byte = b.resize(b.binary("lshr", both, shift, "i64"), 64, 8)
        sign = b.binary("ashr", byte, b.const(7, 8), "i8")
        replicate = b.binary("and", nibble, b.const(8, 32), "i32")
        replicate = b.icmp("ne", replicate, b.const(0, 32), "i32")
        byte = b.resize(b.select(replicate, sign, byte, "i8"), 8, 32)
        result = b.binary("or", result, b.binary("shl", byte, b.const(8 * index, 32), "i32"), "i32")
    frame.set_integer(d, result, 32)


def lower_count(frame: Frame, instruction: Instruction) -> None:
    """`popc`, `clz`, `brev` and `bfind`."""
    b = frame.b
    base, *modifiers, type_name = instruction.parts
    known = frozenset({"shiftamt"}) if base == "bfind" else frozenset[str]()
    frame.check_modifiers(instruction, tuple(modifiers), known)
    d, a = frame.operands(instruction, 2)
    bits = TYPE_BITS[type_name]
    integer = int_type(bits)
    x = frame.integer(a, bits)
    if base == "brev":
        value = b.call_intrinsic("llvm.bitreverse", [x], [integer], integer)
        frame.set_integer(d, value, bits)
    elif base == "popc":
        value = b.call_intrinsic("llvm.ctpop", [x], [integer], integer)
        frame.set_integer(d, b.resize(value, bits, 32), 32)
    elif base == "clz":
        frame.set_integer(d, _leading_zeros(frame, x, bits), 32)
    else:
        if type_name.startswith("s"):  # the highest bit that differs from the sign
            negative = b.icmp("slt", x, b.const(0, bits), integer)
            x = b.select(negative, b.binary("xor", x, b.const(-1, bits), integer), x, integer)
        value = _leading_zeros(frame, x, bits)
        if "shiftamt" not in modifiers:
            value = b.binary("sub", b.const(bits - 1, 32), value, "i32")
        none = b.icmp("eq", x, b.const(0, bits), integer)
        frame.set_integer(d, b.select(none, b.const(-1, 32), value, "i32"), 32)


def _leading_zeros(frame: Frame, x: str, bits: int) -> str:
    b = frame.b
    zeros = b.call_intrinsic(
        "llvm.ctlz", [x, b.const(0, 1)], [int_type(bits), "i1"], int_type(bits)
    )
    return b.resize(zeros, bits, 32)


def lower_bit_field(frame: Frame, instruction: Instruction) -> None:
    """`bfe` and `bfi`: positions and lengths are 8 bits wide and clamp at the register's end."""
    b = frame.b
    base, *modifiers, type_name = instruction.parts
    frame.check_modifiers(instruction, tuple(modifiers), frozenset())
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    d, *sources, start, length = frame.operands(instruction, 4 if base == "bfe" else 5)
    wide = 2 * bits
    integer = int_type(wide)
    position, size = (
        b.resize(
            at_most(frame, b.binary("and", frame.integer(c, 32), b.const(255, 32), "i32"), bits),
            32,
            wide,
        )
        for c in (start, length)
    )
    one = b.const(1, wide)
    mask = b.binary("sub", b.binary("shl", one, size, integer), one, integer)
    if base == "bfi":
        field, target = (b.resize(frame.integer(c, bits), bits, wide) for c in sources)
        mask = b.binary("shl", mask, position, integer)
        field = b.binary("and", b.binary("shl", field, position, integer), mask, integer)
        kept = b.binary("xor", mask, b.const(-1, wide), integer)
        value = b.binary("or", field, b.binary("and", target, kept, integer), integer)
        frame.set_integer(d, b.resize(value, wide, bits), bits)
        return
    # Sign extension to twice the width puts the sign wherever the field runs past the end.
    x = b.resize(frame.integer(sources[0], bits), bits, wide, signed=signed)
    value = b.binary("ashr" if signed else "lshr", x, position, integer)
    if signed:
        unused = b.binary("sub", b.const(wide, wide), size, integer)
        empty = b.icmp("eq", size, b.const(0, wide), integer)
        unused = b.select(empty, b.const(0, wide), unused, integer)
        value = b.binary("ashr", b.binary("shl", value, unused, integer), unused, integer)
        value = b.select(empty, b.const(0, wide), value, integer)
    else:
        value = b.binary("and", value, mask, integer)
    frame.set_integer(d, b.resize(value, wide, bits), bits, signed=signed)


def lower_bit_mask(frame: Frame, instruction: Instruction) -> None:
    """`bmsk`: ones from a position on, so many."""
    b = frame.b
    if instruction.parts[1:] not in (("clamp", "b32"), ("wrap", "b32")):
        raise frame.unsupported(instruction)
    d, a, c = frame.operands(instruction, 3)
    position, width = (frame.integer(operand, 32) for operand in (a, c))
    if "clamp" in instruction.parts:
        position, width = at_most(frame, position, 32), at_most(frame, width, 32)
    else:
        position, width = (
            b.binary("and", value, b.const(31, 32), "i32") for value in (position, width)
        )
    one = b.const(1, 64)
    ones = b.binary("sub", b.binary("shl", one, b.resize(width, 32, 64), "i64"), one, "i64")
    mask = b.binary("shl", ones, b.resize(position, 32, 64), "i64")
    frame.set_integer(d, b.resize(mask, 64, 32), 32)


def lower_extend(frame: Frame, instruction: Instruction) -> None:
    """`szext`: keep so many of the low bits, extended by a sign or with zeros."""
    b = frame.b
    mode, kind = (*instruction.parts[1:], "", "")[:2]
    if mode not in ("clamp", "wrap") or kind not in ("u32", "s32"):
        raise frame.unsupported(instruction)
    d, a, c = frame.operands(instruction, 3)
    x, count = b.resize(frame.integer(a, 32), 32, 64), frame.integer(c, 32)
    if mode == "clamp":
        count = at_most(frame, count, 32)
    else:
        count = b.binary("and", count, b.const(31, 32), "i32")
    unused = b.binary("sub", b.const(63, 64), b.resize(count, 32, 64), "i64")
    # By one and by the rest, as a shift by 64 has no value.
    x = b.binary("shl", b.binary("shl", x, unused, "i64"), b.const(1, 64), "i64")
    back = "ashr" if kind == "s32" else "lshr"
    x = b.binary(back, b.binary(back, x, unused, "i64"), b.const(1, 64), "i64")
    frame.set_integer(d, b.resize(x, 64, 32), 32)


def lower_find_nth(frame: Frame, instruction: Instruction) -> None:
    """`fns`: the place of the n-th set bit from a base on, downwards if n is negative."""
    b = frame.b
    if instruction.opcode != "fns.b32":
        raise frame.unsupported(instruction)
    d, *sources = frame.operands(instruction, 4)
    mask, base, step = (frame.integer(source, 32) for source in sources)
    zero, one, last = b.const(0, 32), b.const(1, 32), b.const(31, 32)
    down = b.icmp("slt", step, zero, "i32")
    reverse = b.call_intrinsic("llvm.bitreverse", [mask], ["i32"], "i32")
    mask = b.select(down, reverse, mask, "i32")
    first = b.select(down, b.binary("sub", last, base, "i32"), base, "i32")
    inside = b.icmp("ule", base, last, "i32")
    above = b.binary("shl", b.const(-1, 32), b.binary("and", first, last, "i32"), "i32")
    mask = b.select(inside, b.binary("and", mask, above, "i32"), zero, "i32")
    away = b.select(down, b.binary("sub", zero, step, "i32"), step, "i32")
    count = b.call_intrinsic("llvm.umax", [away, one], ["i32"] * 2, "i32")
    ones = b.call_intrinsic("llvm.ctpop", [mask], ["i32"], "i32")
    found = b.icmp("ule", count, ones, "i32")
    # Halves the part of the mask that holds the bit, five times.
    place = zero
    for width in (16, 8, 4, 2, 1):
        part = b.binary("lshr", mask, place, "i32")
        part = b.binary("and", part, b.const((1 << width) - 1, 32), "i32")
        ones = b.call_intrinsic("llvm.ctpop", [part], ["i32"], "i32")
        further = b.icmp("ugt", count, ones, "i32")
        moved = b.binary("add", place, b.const(width, 32), "i32")
        count = b.select(further, b.binary("sub", count, ones, "i32"), count, "i32")
        place = b.select(further, moved, place, "i32")
    # A step of zero asks for the bit at the base itself.
    here = b.icmp("eq", place, first, "i32")
    here = b.binary("or", here, b.icmp("ne", step, zero, "i32"), "i1")
    found = b.binary("and", found, here, "i1")
    place = b.select(down, b.binary("sub", last, place, "i32"), place, "i32")
    frame.set_integer(d, b.select(found, place, b.const(-1, 32), "i32"), 32)
