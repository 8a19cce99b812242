"""Bit fields, permutations and truth tables (PTX ISA 9.0, sections 9.7.1, 9.7.8 and 9.7.9)."""

from collections.abc import Sequence

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import TYPE_BITS, Integer


def lower_lop3(frame: Frame) -> None:
    """`lop3`: any function of three bits, by its truth table."""
    d, *sources, table = frame.operands(5)
    if not isinstance(table, Integer):
        raise frame.unsupported()
    values = [frame.integer(source, 32) for source in sources]
    inverted = [~value for value in values]
    result = frame.b.const(0, 32)
    for row in range(8):
        if table.value >> row & 1:
            x, y, z = (values[k] if row >> (2 - k) & 1 else inverted[k] for k in range(3))
            result = result | x & y & z
    frame.put(d, result)


def lower_funnel_shift(frame: Frame) -> None:
    """`shf`: shift the 64 bits of two registers and keep 32."""
    d, low, high, c = frame.operands(4)
    amount = _limited(frame.integer(c, 32), frame.parts).resize(64)
    both = _joined(frame.integer(low, 32), frame.integer(high, 32))
    value = (both << amount) >> 32 if "l" in frame.parts else both >> amount
    frame.put(d, value.resize(32))


def _limited(amount: SsaValue, modifiers: Sequence[str]) -> SsaValue:
    """An amount of bits of a register: `.wrap` takes its low bits, and `.clamp` at most 32."""
    return amount & 31 if "wrap" in modifiers else amount.call("umin", 32)


def _joined(low: SsaValue, high: SsaValue) -> SsaValue:
    upper = high.resize(64) << 32
    return low.resize(64) | upper


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
    b, mode = frame.b, frame.parts[2:]
    d, low, high, c = frame.operands(4)
    both = _joined(frame.integer(low, 32), frame.integer(high, 32))
    selector = frame.integer(c, 32)
    if mode:  # as the selector of the default mode
        chosen = [b.const(int(picked[::-1], 16), 32) for picked in _PERMUTES[mode[0]]]
        odd, upper = (bit.resize(1) for bit in [selector >> i for i in range(2)])
        lower_pair = odd.select(chosen[1], chosen[0])
        selector = upper.select(odd.select(chosen[3], chosen[2]), lower_pair)
    result = b.const(0, 32)
    for index in range(4):
        nibble = selector >> 4 * index
        shift = ((nibble & 7) << 3).resize(64)
        byte = (both >> shift).resize(8)
        sign = byte.ashr(7)
        replicate = (nibble & 8).cmp("ne", 0)
        result = result | replicate.select(sign, byte).resize(32) << 8 * index
    frame.put(d, result)


def lower_find_highest(frame: Frame) -> None:
    """`bfind`: the place of the highest bit, or for signed numbers of that unlike the sign."""
    *modifiers, type_name = frame.parts
    d, (x,) = frame.taking(TYPE_BITS[type_name])
    if type_name.startswith("s"):
        x = x.cmp("slt", 0).select(~x, x)
    value = x.leading_zeros().resize(32)
    if "shiftamt" not in modifiers:
        value = x.bits - 1 - value
    frame.put(d, x.cmp("eq", 0).select(-1, value))


def lower_bit_field(frame: Frame) -> None:
    """`bfe` and `bfi`: positions and lengths are 8 bits wide and clamp at the register's end."""
    base, type_name = frame.parts
    bits, signed = TYPE_BITS[type_name], type_name.startswith("s")
    d, *sources, start, length = frame.operands(4 if base == "bfe" else 5)
    wide = 2 * bits
    position, size = (
        (frame.integer(c, 32) & 255).call("umin", bits).resize(wide) for c in (start, length)
    )
    mask = (1 << size) - 1
    if base == "bfi":
        field, target = (frame.integer(c, bits).resize(wide) for c in sources)
        mask = mask << position
        field = (field << position) & mask
        frame.put(d, (field | target & ~mask).resize(bits))
        return
    # Sign extension to twice the width puts the sign wherever the field runs past the end.
    x = frame.integer(sources[0], bits).resize(wide, signed=signed)
    if signed:
        value = x.ashr(position)
        unused = wide - size
        empty = size.cmp("eq", 0)
        unused = empty.select(0, unused)
        value = empty.select(0, (value << unused).ashr(unused))
    else:
        value = x >> position & mask
    frame.put(d, value.resize(bits), signed=signed)


def lower_bit_mask(frame: Frame) -> None:
    """`bmsk`: ones from a position on, so many."""
    d, values = frame.taking(32, 32)
    position, width = (_limited(value, frame.parts) for value in values)
    ones = (1 << width.resize(64)) - 1
    frame.put(d, (ones << position.resize(64)).resize(32))


def lower_extend(frame: Frame) -> None:
    """`szext`: keep so many of the low bits, extended by a sign or with zeros."""
    _, mode, kind = frame.parts
    d, a, c = frame.operands(3)
    x, count = frame.integer(a, 32).resize(64), frame.integer(c, 32)
    unused = 63 - _limited(count, [mode]).resize(64)
    # By one and by the rest, as a shift by 64 has no value.
    x = x << unused << 1
    x = x.ashr(unused).ashr(1) if kind == "s32" else x >> unused >> 1
    frame.put(d, x.resize(32))


def lower_find_nth(frame: Frame) -> None:
    """`fns`: the place of the n-th set bit from a base on, downwards if n is negative."""
    d, (mask, base, step) = frame.taking(32, 32, 32)
    zero = frame.b.const(0, 32)
    down = step.cmp("slt", zero)
    mask = down.select(mask.call("bitreverse"), mask)
    first = down.select(31 - base, base)
    inside = base.cmp("ule", 31)
    above = -1 << (first & 31)
    mask = inside.select(mask & above, zero)
    away = down.select(zero - step, step)
    count = away.call("umax", 1)
    found = count.cmp("ule", mask.call("ctpop"))
    # Halves the part of the mask that holds the bit, five times.
    place = zero
    for width in (16, 8, 4, 2, 1):
        ones = (mask >> place & ((1 << width) - 1)).call("ctpop")
        further = count.cmp("ugt", ones)
        moved = place + width
        count = further.select(count - ones, count)
        place = further.select(moved, place)
    # A step of zero asks for the bit at the base itself.
    here = place.cmp("eq", first) | step.cmp("ne", zero)
    found = found & here
    place = down.select(31 - place, place)
    frame.put(d, found.select(place, -1))
