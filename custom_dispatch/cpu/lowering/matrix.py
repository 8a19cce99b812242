"""Matrix operations of a warp (PTX ISA 9.0, section 9.7.14, "mma", "ldmatrix", "stmatrix",
"movmatrix").

A lane shows its fragments of A and B, and works out the elements of D that are its own. Lane
`4 * g + t` holds rows `g` and `g + 8`; register by register, a fragment of A holds neighbouring
elements of row `g`, of row `g + 8`, then the same further along the row. Products are exact; they
are summed in f32, i32 or f64, in the order of k.
"""

from typing import Final

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounding import BYTES, narrow, widen
from custom_dispatch.cpu.text.builder import POINTER, int_type
from custom_dispatch.cpu.text.ssa_value import SsaValue
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.ptx import Operand, elements_of

ELEMENT_BITS: Final = {"f16": 16, "bf16": 16, "tf32": 32, **dict.fromkeys(("s8", "u8", *BYTES), 8)}
"""By an element's type, the bits it takes in a register."""


def fragment(frame: Frame, operand: Operand, count: int) -> tuple[Operand, ...]:
    """A fragment's registers, when there are as many as there must be."""
    elements = elements_of(operand)
    if len(elements) != count:
        raise frame.unsupported(f"a fragment of {len(elements)} registers")
    return elements


def unpack_sums(frame: Frame, operands: tuple[Operand, ...], type_name: str) -> list[SsaValue]:
    """Sums as f32, or i32 for `s32`."""
    if type_name == "s32":
        return [frame.integer(operand, 32) for operand in operands]
    if type_name == "f32":
        return [frame.float(operand, "f32") for operand in operands]
    halves = [half for o in operands for half in split(frame.integer(o, 32), 16)]
    return [widen(half, "f16") for half in halves]


def pack_sums(
    frame: Frame, operands: tuple[Operand, ...], values: list[SsaValue], type_name: str
) -> None:
    """Write sums to registers: of f16, two to each."""
    for index, operand in enumerate(operands):
        if type_name == "f16":
            halves = [narrow(value, "f16") for value in values[2 * index : 2 * index + 2]]
            frame.put(operand, join(halves))
        else:
            frame.put(operand, values[index])


def numbers_in(word: SsaValue, type_name: str) -> list[SsaValue]:
    """The numbers packed in a register, as f32 or i32."""
    parts = split(word, ELEMENT_BITS[type_name])
    if type_name in ("s8", "u8"):
        return [part.resize(32, signed=type_name == "s8") for part in parts]
    if type_name == "tf32":  # the last 13 bits do not count
        return [(parts[0] & -8192).as_float()]
    return [widen(part, type_name) for part in parts]


def lower_multiply_matrices(frame: Frame) -> None:
    """`mma.sync.aligned.shape.row.col{.satfinite}.dtype.atype.btype.ctype`."""
    shape, (d_type, a_type, b_type, _) = frame.parts[3], frame.parts[-4:]
    if d_type == "f64":
        _multiply_doubles(frame)
        return
    # Registers of a fragment of A, the elements of which 32 lanes share; one of B has half as many.
    count = 16 * int(shape.partition("k")[2]) * ELEMENT_BITS[a_type] // 32 // 32
    d, a, b_operand, c = frame.operands(4)
    outputs = 2 if d_type == "f16" else 4
    left = fragment(frame, a, count)
    right = fragment(frame, b_operand, count // 2)
    addends = fragment(frame, c, outputs)
    results = fragment(frame, d, outputs)
    waits = frame.waits()
    words = [frame.integer(operand, 32) for operand in (*left, *right)]
    waits.meet_lanes(frame.b.const(-1, 32), words, keep=addends)
    values = unpack_sums(frame, addends, d_type)
    if "satfinite" in frame.parts:  # only adding to what was there may overflow
        products = _multiply(frame, (a_type, b_type), count, [frame.b.const(0, 32)] * outputs)
        values = [v.call("sadd.sat", p) for v, p in zip(values, products, strict=True)]
    else:
        values = _multiply(frame, (a_type, b_type), count, values)
    pack_sums(frame, results, values, d_type)


def _multiply_doubles(frame: Frame) -> None:
    """Lane `4 * g + t` holds A's element (g, t), B's (t, g), and two of row g of D."""
    fragments = zip(frame.operands(4), (2, 1, 1, 2), strict=True)
    d, a, b, c = (fragment(frame, operand, count) for operand, count in fragments)
    waits = frame.waits()
    words = [word for operand in (*a, *b) for word in split(frame.integer(operand, 64), 32)]
    waits.meet_lanes(frame.b.const(-1, 32), words, keep=c)
    lane, sums = waits.lane(), [frame.float(addend, "f64") for addend in c]
    for k in range(4):
        sources = (lane & 28 | k, *(((lane & 3) << 1 | side) << 2 | k for side in range(2)))
        left, *right = (
            join([waits.seen(source, first + half) for half in range(2)], 64).as_float()
            for source, first in zip(sources, (0, 2, 2), strict=True)
        )
        sums = [left.call("fma", each, total) for each, total in zip(right, sums, strict=True)]
    for target, total in zip(d, sums, strict=True):
        frame.put(target, total)


def _multiply(
    frame: Frame, types: tuple[str, str], count: int, sums: list[SsaValue]
) -> list[SsaValue]:
    """Add the products to a lane's four sums: two rows, two columns."""
    waits = frame.waits()
    lane = waits.lane()
    row_lanes = lane & 28
    column = (lane & 3) << 1
    for chunk in range(count // 2):
        for member in range(4):
            source = row_lanes | member
            rows = [waits.seen(source, 2 * chunk + half) for half in range(2)]
            columns = [
                waits.seen((column + side) << 2 | member, count + chunk) for side in range(2)
            ]
            left = [numbers_in(word, types[0]) for word in rows]
            right = [numbers_in(word, types[1]) for word in columns]
            for k in range(len(left[0])):
                for index in range(4):
                    product = left[index // 2][k] * right[index % 2][k]
                    sums[index] = sums[index] + product
    return sums


def lower_move_matrices(frame: Frame) -> None:
    """`ldmatrix` and `stmatrix`: lanes 8i to 8i+7 give the addresses of the rows of matrix i, an
    8x8 matrix of 16-bit elements.
    """
    b, is_load = frame.b, frame.parts[0] == "ldmatrix"
    vector, address = frame.operands(2) if is_load else frame.operands(2)[::-1]
    registers = fragment(frame, vector, int(frame.parts[4].removeprefix("x")))
    waits = frame.waits()
    row = _row_address(frame, address)
    waits.meet_lanes(b.const(-1, 32), [row], keep=() if is_load else registers)
    for index, register in enumerate(registers):
        places = _places(frame, index)
        bits = 32 // len(places)
        if is_load:
            frame.put(register, join([b.load(place, int_type(bits)) for place in places]))
            continue
        parts = split(frame.integer(register, 32), bits)
        for part, place in zip(parts, places, strict=True):
            b.store(part, place, int_type(bits))


def _row_address(frame: Frame, operand: Operand) -> SsaValue:
    """An address as bytes from the start of shared memory."""
    is_shared = any(part.startswith("shared") for part in frame.parts)
    pointer = frame.address(operand, "shared" if is_shared else "generic")
    start = frame.b.named(MEMORY, POINTER).cast("ptrtoint", "i64")
    return (pointer.cast("ptrtoint", "i64") - start).resize(32)


def _places(frame: Frame, matrix: int) -> list[SsaValue]:
    """The pointers of a lane's two neighbouring elements of a matrix; one where they are
    neighbours in memory too, as they are but for `.trans`.
    """
    waits, transposed = frame.waits(), "trans" in frame.parts
    group = waits.lane() >> 2

    def place(side: int) -> SsaValue:
        within = _within_quad(waits.lane(), side)
        row, column = (within, group) if transposed else (group, within)
        start = waits.seen(row + 8 * matrix, 0).resize(64)
        return frame.b.offset(MEMORY, start + (column.resize(64) << 1))

    return [place(side) for side in range(2 if transposed else 1)]


def _within_quad(lane: SsaValue, more: int) -> SsaValue:
    """Twice a lane's number in its group of four, plus some."""
    return ((lane & 3) << 1) + more


def lower_transpose_matrix(frame: Frame) -> None:
    """`movmatrix`: transpose an 8x8 matrix of 16-bit elements spread over the lanes."""
    d, a = frame.operands(2)
    waits = frame.waits()
    waits.meet_lanes(frame.b.const(-1, 32), [frame.integer(a, 32)])
    lane = waits.lane()
    column = lane >> 2
    halves = []
    for side in range(2):
        source = _within_quad(lane, side) << 2
        source = source + (column >> 1)
        word = waits.seen(source, 0)
        shift = (column & 1) << 4
        halves.append(word >> shift & 65535)
    high = halves[1] << 16
    frame.put(d, halves[0] | high)
