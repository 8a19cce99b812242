"""Logic, shifts, bit fields and selection (PTX ISA 9.0, sections 9.7.1, 9.7.6 to 9.7.9)."""

from __future__ import annotations

from custom_dispatch.cpu.builder import int_type
from custom_dispatch.cpu.frame import FLOAT_BITS, Frame, value_type
from custom_dispatch.ptx import TYPE_BITS, Instruction, Integer, Operand, Pair

_FLOAT_CONDITIONS = {
    "eq": "oeq",
    "ne": "one",
    "lt": "olt",
    "le": "ole",
    "gt": "ogt",
    "ge": "oge",
    "equ": "ueq",
    "neu": "une",
    "ltu": "ult",
    "leu": "ule",
    "gtu": "ugt",
    "geu": "uge",
    "num": "ord",
    "nan": "uno",
}
_UNSIGNED_CONDITIONS = {"lo": "ult", "ls": "ule", "hi": "ugt", "hs": "uge"}


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


def lower_compare(frame: Frame, instruction: Instruction) -> None:
    """`setp` and `set`, with a second destination and with a predicate to combine with."""
    b = frame.b
    base, condition, *modifiers, type_name = instruction.parts
    target = modifiers.pop() if base == "set" else "pred"
    if "ftz" in modifiers:
        modifiers.remove("ftz")
    combine = modifiers.pop(0) if modifiers else ""
    if modifiers or combine not in ("", "and", "or", "xor"):
        raise frame.unsupported(instruction)
    d, a, c, *rest = frame.operands(instruction, 4 if combine else 3)
    holds = compare(frame, instruction, condition, type_name, a, c)
    fails = b.binary("xor", holds, b.const(1, 1), "i1")
    if combine:
        with_predicate = frame.predicate(rest[0])
        holds = b.binary(combine, holds, with_predicate, "i1")
        fails = b.binary(combine, fails, with_predicate, "i1")
    if base == "setp":
        if isinstance(d, Pair):
            frame.set_integer(d.first, holds, 1)
            frame.set_integer(d.second, fails, 1)
        else:
            frame.set_integer(d, holds, 1)
    elif target == "f32":
        frame.set_integer(d, b.select(holds, b.const(0x3F800000, 32), b.const(0, 32), "i32"), 32)
    elif target in ("u32", "s32"):
        frame.set_integer(d, b.resize(holds, 1, 32, signed=True), 32)
    else:
        raise frame.unsupported(instruction)


def compare(
    frame: Frame,
    instruction: Instruction,
    condition: str,
    type_name: str,
    a: Operand,
    c: Operand,
) -> str:
    """Compare two operands; the result is an i1."""
    if type_name in FLOAT_BITS:
        if condition not in _FLOAT_CONDITIONS:
            raise frame.unsupported(instruction)
        x, y = frame.float(a, type_name), frame.float(c, type_name)
        return frame.b.fcmp(_FLOAT_CONDITIONS[condition], x, y, value_type(type_name))
    if type_name not in TYPE_BITS or type_name in ("f16x2", "bf16x2"):
        raise frame.unsupported(instruction)
    bits = TYPE_BITS[type_name]
    if condition in ("lt", "le", "gt", "ge"):
        condition = ("s" if type_name.startswith("s") else "u") + condition
    elif condition in _UNSIGNED_CONDITIONS:
        condition = _UNSIGNED_CONDITIONS[condition]
    elif condition not in ("eq", "ne"):
        raise frame.unsupported(instruction)
    return frame.b.icmp(condition, frame.integer(a, bits), frame.integer(c, bits), int_type(bits))


def lower_select(frame: Frame, instruction: Instruction) -> None:
    """`selp`, by a predicate, and `slct`, by a sign."""
    b = frame.b
    base, *modifiers = instruction.parts
    d, a, c, by = frame.operands(instruction, 4)
    bits = TYPE_BITS[modifiers[-1] if base == "selp" else modifiers[-2]]
    if base == "selp":
        frame.check_modifiers(instruction, tuple(modifiers[:-1]), frozenset())
        condition = frame.predicate(by)
    elif modifiers[-1] == "f32":
        condition = b.fcmp("oge", frame.float(by, "f32"), b.float_const(0, "f32"), "f32")
    else:
        condition = b.icmp("sge", frame.integer(by, 32), b.const(0, 32), "i32")
    value = b.select(condition, frame.integer(a, bits), frame.integer(c, bits), int_type(bits))
    frame.set_integer(d, value, bits)
