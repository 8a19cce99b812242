"""Matrix operations of a warp (PTX ISA 9.0, section 9.7.14, "mma", "ldmatrix", "stmatrix",
"movmatrix").

A lane shows its fragments of A and B, and works out the elements of D that are its own. Lane
`4 * g + t` holds rows `g` and `g + 8`; register by register, a fragment of A holds neighbouring
elements of row `g`, of row `g + 8`, then the same further along the row. Products are exact; they
are summed in f32, or i32, in the order of k.
"""

from __future__ import annotations

from typing import Final

from custom_dispatch.cpu.lowering.frame import Frame
from custom_dispatch.cpu.numbers.fields import join, split
from custom_dispatch.cpu.numbers.rounding import BYTES, narrow, widen
from custom_dispatch.cpu.text.builder import Builder
from custom_dispatch.cpu.threads.block_memory import MEMORY
from custom_dispatch.ptx import Operand, elements_of

ELEMENT_BITS: Final = {
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    **dict.fromkeys(("s8", "u8", *BYTES), 8),
}
"""By an element's type, the bits it takes in a register."""


def fragment(frame: Frame, operand: Operand, count: int) -> tuple[Operand, ...]:
    """A fragment's registers, when there are as many as there must be."""
    elements = elements_of(operand)
    if len(elements) != count:
        raise frame.unsupported(f"a fragment of {len(elements)} registers")
    return elements


def unpack_sums(frame: Frame, operands: tuple[Operand, ...], type_name: str) -> list[str]:
    """Sums as f32, or i32 for `s32`."""
    if type_name == "s32":
        return [frame.integer(operand, 32) for operand in operands]
    if type_name == "f32":
        return [frame.float(operand, "f32") for operand in operands]
    halves = [half for o in operands for half in split(frame.b, frame.integer(o, 32), 16)]
    return [widen(frame.b, half, "f16") for half in halves]


def pack_sums(
    frame: Frame, operands: tuple[Operand, ...], values: list[str], type_name: str
) -> None:
    """Write sums to registers: of f16, two to each."""
    b = frame.b
    for index, operand in enumerate(operands):
        if type_name == "s32":
            frame.set_integer(operand, values[index], 32)
        elif type_name == "f32":
            frame.set_float(operand, values[index], "f32")
        else:
            halves = [narrow(b, value, "f16") for value in values[2 * index : 2 * index + 2]]
            frame.set_integer(operand, join(b, halves, 16), 32)


def add_product(b: Builder, total: str, x: str, y: str, type_name: str) -> str:
    """A product of two numbers and a sum, rounded by themselves."""
    if type_name in ("s8", "u8"):
        return b.binary("add", total, b.binary("mul", x, y))
    return b.binary("fadd", total, b.binary("fmul", x, y, "f32"), "f32")


def numbers_in(b: Builder, word: str, type_name: str) -> list[str]:
    """The numbers packed in a register, as f32 or i32."""
    parts = split(b, word, ELEMENT_BITS[type_name])
    if type_name in ("s8", "u8"):
        return [b.resize(part, 8, 32, signed=type_name == "s8") for part in parts]
    if type_name == "tf32":  # the last 13 bits do not count
        kept = b.binary("and", parts[0], -8192)
        return [b.cast("bitcast", kept, "i32", "f32")]
    return [widen(b, part, type_name) for part in parts]


_SHAPES: Final = {
    ("m16n8k8", "f16"): 2,
    ("m16n8k16", "f16"): 4,
    ("m16n8k8", "bf16"): 2,
    ("m16n8k16", "bf16"): 4,
    ("m16n8k4", "tf32"): 2,
    ("m16n8k8", "tf32"): 4,
    ("m16n8k16", "s8"): 2,
    ("m16n8k32", "s8"): 4,
    ("m16n8k16", "u8"): 2,
    ("m16n8k32", "u8"): 4,
    ("m16n8k32", "e4m3"): 4,
    ("m16n8k32", "e5m2"): 4,
}
"""Shape and type of A: how many registers a fragment of A has; one of B has half as many."""
_MIXED: Final = ({"s8", "u8"}, set(BYTES))
"""Types of A and B that go together without being the same."""


def lower_multiply_matrices(frame: Frame) -> None:
    """`mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype`."""
    parts = frame.parts
    if parts[1:3] != ("sync", "aligned") or len(parts) != 10 or parts[4:6] != ("row", "col"):
        raise frame.unsupported()
    shape, (d_type, a_type, b_type, c_type) = parts[3], parts[6:]
    count = _SHAPES.get((shape, a_type))
    is_integer = a_type in ("s8", "u8")
    sums = ("s32",) if is_integer else ("f32", "f16") if a_type == "f16" else ("f32",)
    same = a_type == b_type or any({a_type, b_type} <= types for types in _MIXED)
    if count is None or not same or d_type not in sums or d_type != c_type:
        raise frame.unsupported()
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
    values = _multiply(frame, (a_type, b_type), count, values)
    pack_sums(frame, results, values, d_type)


def _multiply(frame: Frame, types: tuple[str, str], count: int, sums: list[str]) -> list[str]:
    """Add the products to a lane's four sums: two rows, two columns."""
    b, waits = frame.b, frame.waits()
    lane = waits.lane()
    row_lanes = b.binary("and", lane, 28)
    column = b.binary("shl", b.binary("and", lane, 3), 1)
    for chunk in range(count // 2):
        for member in range(4):
            source = b.binary("or", row_lanes, member)
            rows = [waits.seen(source, 2 * chunk + half) for half in range(2)]
            columns = []
            for side in range(2):
                group = b.binary("add", column, side)
                source = b.binary("shl", group, 2)
                source = b.binary("or", source, member)
                columns.append(waits.seen(source, count + chunk))
            left = [numbers_in(b, word, types[0]) for word in rows]
            right = [numbers_in(b, word, types[1]) for word in columns]
            for k in range(len(left[0])):
                for index in range(4):
                    x, y = left[index // 2][k], right[index % 2][k]
                    sums[index] = add_product(b, sums[index], x, y, types[0])
    return sums


def _matrix_count(frame: Frame) -> tuple[int, bool]:
    """How many 8x8 matrices of 16-bit elements a load or store moves, and whether transposed."""
    modifiers = list(frame.parts[1:])
    known = ["sync", "aligned", "m8n8", "b16"]
    counts = [m for m in modifiers if m in ("x1", "x2", "x4")]
    spaces = [m for m in modifiers if m in ("shared", "shared::cta")]
    transposed = "trans" in modifiers
    rest = [m for m in modifiers if m not in (*counts, *spaces, "trans")]
    if rest != known or len(counts) != 1:
        raise frame.unsupported()
    return int(counts[0][1]), transposed


def lower_load_matrix(frame: Frame) -> None:
    """`ldmatrix`: lanes 8i to 8i+7 give the addresses of the rows of matrix i."""
    b = frame.b
    count, transposed = _matrix_count(frame)
    d, source = frame.operands(2)
    targets = fragment(frame, d, count)
    waits = frame.waits()
    waits.meet_lanes(b.const(-1, 32), [_row_address(frame, source)])
    for index, target in enumerate(targets):
        if transposed:
            column = b.binary("lshr", waits.lane(), 2)
            halves = []
            for side in range(2):
                row = _within_quad(b, waits.lane(), side)
                place = _place(frame, index, row, column)
                halves.append(b.load(place, "i16"))
            value = join(b, halves, 16)
        else:
            row = b.binary("lshr", waits.lane(), 2)
            place = _place(frame, index, row, _within_quad(b, waits.lane(), 0))
            value = b.load(place)
        frame.set_integer(target, value, 32)


def lower_store_matrix(frame: Frame) -> None:
    """`stmatrix`: the other way round."""
    b = frame.b
    count, transposed = _matrix_count(frame)
    target, source = frame.operands(2)
    sources = fragment(frame, source, count)
    waits = frame.waits()
    address = _row_address(frame, target)
    waits.meet_lanes(b.const(-1, 32), [address], keep=sources)
    for index, operand in enumerate(sources):
        value = frame.integer(operand, 32)
        if transposed:
            column = b.binary("lshr", waits.lane(), 2)
            for side, half in enumerate(split(b, value, 16)):
                row = _within_quad(b, waits.lane(), side)
                b.store(half, _place(frame, index, row, column), "i16")
        else:
            row = b.binary("lshr", waits.lane(), 2)
            place = _place(frame, index, row, _within_quad(b, waits.lane(), 0))
            b.store(value, place)


def _row_address(frame: Frame, operand: Operand) -> str:
    """An address as bytes from the start of shared memory."""
    b = frame.b
    is_shared = any(part.startswith("shared") for part in frame.parts)
    pointer = frame.address(operand, "shared" if is_shared else "generic")
    start = b.value(f"llvm.ptrtoint {MEMORY} : !llvm.ptr to i64")
    number = b.value(f"llvm.ptrtoint {pointer} : !llvm.ptr to i64")
    return b.resize(b.binary("sub", number, start, "i64"), 64, 32)


def _within_quad(b: Builder, lane: str, more: int) -> str:
    """Twice a lane's number in its group of four, plus some."""
    member = b.binary("and", lane, 3)
    doubled = b.binary("shl", member, 1)
    return b.binary("add", doubled, more)


def _place(frame: Frame, matrix: int, row: str, column: str) -> str:
    """The pointer of an element of a matrix."""
    b = frame.b
    lane = b.binary("add", row, 8 * matrix)
    start = b.resize(frame.waits().seen(lane, 0), 32, 64)
    offset = b.binary("shl", b.resize(column, 32, 64), 1, "i64")
    return b.offset(MEMORY, b.binary("add", start, offset, "i64"))


def lower_transpose_matrix(frame: Frame) -> None:
    """`movmatrix`: transpose an 8x8 matrix of 16-bit elements spread over the lanes."""
    b = frame.b
    if frame.instruction.opcode != "movmatrix.sync.aligned.m8n8.trans.b16":
        raise frame.unsupported()
    d, a = frame.operands(2)
    waits = frame.waits()
    waits.meet_lanes(b.const(-1, 32), [frame.integer(a, 32)])
    lane = waits.lane()
    column = b.binary("lshr", lane, 2)
    halves = []
    for side in range(2):
        row = _within_quad(b, lane, side)
        source = b.binary("shl", row, 2)
        source = b.binary("add", source, b.binary("lshr", column, 1))
        word = waits.seen(source, 0)
        shift = b.binary("shl", b.binary("and", column, 1), 4)
        halves.append(b.binary("and", b.binary("lshr", word, shift), 65535))
    high = b.binary("shl", halves[1], 16)
    frame.set_integer(d, b.binary("or", halves[0], high), 32)
