"""Matrix operations of a warp on opaque fragments (PTX ISA 9.0, section 9.7.14.4, "wmma").

PTX leaves open which lane holds which elements. Here a lane holds neighbours: of A along its rows,
of B along its columns, of the sums along their rows, lane after lane. Registers that a GPU uses for
a second copy hold zeros.
"""

from dataclasses import dataclass
from typing import Final

from custom_dispatch.cpu.lowering import matrix
from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.text.builder import int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.ptx import SpecialRegister, elements_of

_SHAPES: Final = {
    "m16n16k16": (16, 16, 16),
    "m32n8k16": (32, 8, 16),
    "m8n32k16": (8, 32, 16),
    "m16n16k8": (16, 16, 8),
}


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a matrix lies in the lanes' registers."""

    rows: int
    length: int
    """So many rows (of B: columns), and elements in each."""
    bits: int
    """Of an element."""
    along_rows: bool
    """Whether its rows are the matrix's own, and not its columns."""

    @property
    def held(self) -> int:
        """Elements a lane holds, all of one row."""
        return self.rows * self.length // 32

    def place(self, lane: SsaValue) -> tuple[SsaValue, SsaValue]:
        """The row of a lane's elements, and the place of the first in it."""
        first = lane * self.held
        return first >> (self.length.bit_length() - 1), first & (self.length - 1)


def _layout(which: str, shape: str, kind: str) -> _Layout:
    m, n, k = _SHAPES[shape]
    bits = {"f32": 32, "s32": 32}.get(kind) or matrix.ELEMENT_BITS[kind]
    if which == "a":
        return _Layout(m, k, bits, along_rows=True)
    if which == "b":
        return _Layout(n, k, bits, along_rows=False)
    return _Layout(m, n, bits, along_rows=True)


def lower_move(frame: Frame) -> None:
    """`wmma.load.a.sync.aligned.layout.shape{.space}.type`, and `wmma.store.d`."""
    b, parts = frame.b, frame.parts
    is_load, which, order, shape, kind = parts[1] == "load", parts[2], *parts[5:7], parts[-1]
    layout = _layout(which, shape, kind)
    first, second, *given = frame.operands(2, 3)
    vector, address = (first, second) if is_load else (second, first)
    registers = elements_of(vector)
    words = layout.held * layout.bits // 32
    if len(registers) < words:
        raise frame.unsupported(f"a fragment of {len(registers)} registers")
    space = "shared" if parts[-2].startswith("shared") else "generic"
    base = frame.address(address, space)
    # Neighbours in the lane's registers are neighbours in memory, or a stride apart.
    neighbours = (order == "row") == layout.along_rows
    stride = b.const(layout.length if neighbours else layout.rows, 32)
    if given:
        stride = frame.integer(given[0], 32)
    row, column = layout.place(frame.integer(SpecialRegister("%laneid"), 32))
    size = layout.bits // 8
    per_word = 32 // layout.bits
    for word in range(words):
        places = []
        for part in range(per_word):
            at = column + (word * per_word + part)
            line, offset = (row, at) if neighbours else (at, row)
            index = (line * stride + offset).resize(64, signed=True)
            places.append(b.offset(base, index * size))
        frame.check_part(address, space, places, size)
        if is_load:
            loaded = [b.load(place, int_type(layout.bits), size) for place in places]
            frame.put(registers[word], join(loaded))
        else:
            elements = split(frame.integer(registers[word], 32), layout.bits)
            for element, place in zip(elements, places, strict=True):
                b.store(element, place, int_type(layout.bits), size)
    if is_load:
        for register in registers[words:]:
            frame.put(register, b.const(0, 32))


def lower_multiply(frame: Frame) -> None:
    """`wmma.mma.sync.aligned.alayout.blayout.shape.dtype{.atype.btype}.ctype`."""
    shape, d_type, *types, c_type = frame.parts[6:]
    kind = types[0] if types else "f16"
    left, right = _layout("a", shape, kind), _layout("b", shape, kind)
    d, *sources, c = frame.operands(4)
    words = []
    for operand, layout in zip(sources, (left, right), strict=True):
        registers = elements_of(operand)
        words += [frame.integer(r, 32) for r in registers[: layout.held * layout.bits // 32]]
    addends = matrix.fragment(frame, c, 4 if c_type == "f16" else 8)
    results = matrix.fragment(frame, d, 4 if d_type == "f16" else 8)
    waits = frame.waits()
    waits.meet_lanes(frame.b.const(-1, 32), words, keep=addends)
    total = matrix.unpack_sums(frame, addends, c_type)
    matrix.pack_sums(frame, results, _summed(frame, kind, (left, right), total), d_type)


def _summed(
    frame: Frame, kind: str, layouts: tuple[_Layout, _Layout], sums: list[SsaValue]
) -> list[SsaValue]:
    """Add the products to a lane's eight sums, neighbours in a row."""
    waits = frame.waits()
    left, right = layouts
    row, column = _Layout(left.rows, right.rows, 32, along_rows=True).place(waits.lane())
    per_word = 32 // left.bits
    before = left.held // per_word  # words of A, which are shown before those of B
    columns = [column + i for i in range(len(sums))]
    for k in range(0, left.length, per_word):
        x = matrix.numbers_in(waits.seen(_lane(left, row, k), k % left.held // per_word), kind)
        for index, place in enumerate(columns):
            word = before + k % right.held // per_word
            y = matrix.numbers_in(waits.seen(_lane(right, place, k), word), kind)
            for one, other in zip(x, y, strict=True):
                sums[index] = sums[index] + one * other
    return sums


def _lane(layout: _Layout, row: SsaValue, place: int) -> SsaValue:
    """The lane that holds an element of a row."""
    return row * (layout.length // layout.held) + place // layout.held
