"""Matrix operations of a warp, with the fragments as the PTX manual draws them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from cpu_harness import Launch, Runner
from properties import ROWS, Table, check_tables, generator, integers

Place = tuple[int, int]
_DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "tf32": np.float32,
    "s8": np.int8,
    "u8": np.uint8,
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "f32": np.float32,
    "s32": np.int32,
}


@dataclass(frozen=True)
class Shape:
    """An `mma`: the depth, and the types of A, B and the sums."""

    k: int
    a: str
    b: str
    sums: str
    saturates: bool = False

    @property
    def opcode(self) -> str:
        types = f"{self.sums}.{self.a}.{self.b}.{self.sums}"
        modifier = "satfinite." if self.saturates else ""
        return f"mma.sync.aligned.m16n8k{self.k}.row.col.{modifier}{types}"

    @property
    def width(self) -> int:
        """Elements of A or B in a register."""
        return 4 // np.dtype(_DTYPES[self.a]).itemsize

    def place_in_a(self, lane: int, i: int) -> Place:
        """Row and column of a lane's element i: by register, row g, g + 8, then further along."""
        register, part = divmod(i, self.width)
        row = lane // 4 + 8 * (register % 2)
        return row, lane % 4 * self.width + part + 4 * self.width * (register // 2)

    def place_in_b(self, lane: int, i: int) -> Place:
        register, part = divmod(i, self.width)
        return lane % 4 * self.width + part + 4 * self.width * register, lane // 4


def place_in_sums(lane: int, i: int) -> Place:
    return lane // 4 + 8 * (i // 2), lane % 4 * 2 + i % 2


SHAPES = [
    *(Shape(k, kind, kind, "f32") for kind in ("f16", "bf16") for k in (8, 16)),
    *(Shape(k, "f16", "f16", "f16") for k in (8, 16)),
    *(Shape(k, "tf32", "tf32", "f32") for k in (4, 8)),
    *(Shape(k, a, b, "s32") for k in (16, 32) for a in ("s8", "u8") for b in ("s8", "u8")),
    *(Shape(k, a, "s8", "s32", saturates=True) for k, a in ((16, "u8"), (32, "s8"))),
    *(Shape(32, a, b, "f32") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
]


def fragments(matrix: np.ndarray, place: Callable[[int, int], Place]) -> np.ndarray:
    """A matrix's elements as each lane holds them: words of 32 bits, (lanes, registers)."""
    count = matrix.size // 32
    rows = [[matrix[place(lane, i)] for i in range(count)] for lane in range(32)]
    return np.array(rows, matrix.dtype).view(np.uint32)


def gathered(words: np.ndarray, dtype: type) -> np.ndarray:
    """The 16 x 8 matrix of sums that the lanes' words make."""
    elements = words.view(dtype)
    found = np.zeros((16, 8), dtype)
    for lane in range(32):
        for i in range(4):
            found[place_in_sums(lane, i)] = elements[lane, i]
    return found


def entry(index: int, shape: Shape, counts: Sequence[int]) -> str:
    """A kernel that loads three fragments, multiplies, and stores the sums."""
    lines = [".reg .b32 %i, %a<4>, %b<2>, %c<4>;", ".reg .b64 %at, %off;"]
    lines += ["mov.u32 %i, %ctaid.x;", "shl.b32 %i, %i, 5;", "mov.u32 %b0, %tid.x;"]
    lines += ["add.u32 %i, %i, %b0;"]
    for number, (name, count) in enumerate(zip("abcc", (*counts, counts[2]), strict=True)):
        registers = ",".join(f"%{name}{i}" for i in range(count))
        if number == 3:
            lines.append(
                f"{shape.opcode} {{{registers}}}, {{{','.join(f'%a{i}' for i in range(counts[0]))}"
                f"}}, {{{','.join(f'%b{i}' for i in range(counts[1]))}}}, {{{registers}}};"
            )
        lines += [
            f"ld.param.u64 %at, [k{index}_{number}];",
            f"mul.wide.u32 %off, %i, {4 * count};",
            "add.s64 %at, %at, %off;",
        ]
        for i in range(count):
            access = f"st.global.b32 [%at+{4 * i}], %{name}{i};"
            if number < 3:
                access = f"ld.global.b32 %{name}{i}, [%at+{4 * i}];"
            lines.append(access)
    parameters = ", ".join(f".param .u64 k{index}_{i}" for i in range(4))
    return f".visible .entry k{index}({parameters}) {{\n" + "\n".join([*lines, "ret;", "}"])


def matrices(shape: Shape, values: str) -> list[np.ndarray]:
    """A, B and what is added: small integers, numbers around one, or with infinities and NaN."""
    random = generator(f"{shape} {values}")
    found = []
    for size, kind in (((16, shape.k), shape.a), ((shape.k, 8), shape.b), ((16, 8), shape.sums)):
        dtype = _DTYPES[kind]
        if shape.saturates and kind == "s32":
            ends = np.iinfo(np.int32)
            matrix = random.choice(np.array([ends.min, ends.max], np.int32), size)
        elif kind in ("s8", "u8", "s32"):
            wide = random.integers(-(1 << 31), 1 << 31, size)
            matrix = wide.astype(np.int32).astype(dtype)
        elif values == "exact":
            matrix = random.integers(-4 if kind != "u8" else 0, 5, size).astype(dtype)
        else:
            matrix = random.standard_normal(size).astype(dtype)
        if values == "special" and kind in ("f16", "bf16", "tf32", "f32"):
            matrix.flat[random.integers(0, matrix.size, 3)] = np.array([np.inf, -np.inf, np.nan])
        if kind == "tf32":
            matrix = (matrix.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
        found.append(matrix)
    return found


KINDS = ("exact", "random", "special")
FEW = [shape for shape in SHAPES if shape.k in (8, 16) and shape.a in ("f16", "bf16", "s8")]


@pytest.mark.parametrize(
    ("cpu", "shapes"),
    [("x86-64-v3", SHAPES), pytest.param("generic", FEW, marks=pytest.mark.thorough)],
)
def test_products_of_matrices(run_ptx: Runner, cpu: str, shapes: list[Shape]) -> None:
    """Block i of each kernel multiplies matrices of the i-th kind."""
    ptx = ".version 9.0\n.target sm_90\n.address_size 64\n"
    launches = []
    for index, shape in enumerate(shapes):
        blocks = [
            (
                fragments(a, shape.place_in_a),
                fragments(b, shape.place_in_b),
                fragments(c, place_in_sums),
            )
            for a, b, c in (matrices(shape, kind) for kind in KINDS)
        ]
        words = [np.stack(parts) for parts in zip(*blocks, strict=True)]
        ptx += entry(index, shape, [w.shape[2] for w in words]) + "\n"
        arrays = [*words, np.zeros_like(words[2])]
        launches.append(Launch(f"k{index}", arrays, [3], block=(32, 1, 1), grid=(3, 1, 1)))
    for shape, (got,) in zip(shapes, run_ptx(ptx, launches, cpu), strict=True):
        for kind, words in zip(KINDS, got, strict=True):
            compare(shape, kind, gathered(words, _DTYPES[shape.sums]))


def compare(shape: Shape, values: str, found: np.ndarray) -> None:
    """With the product in f64, or exactly where every sum is an integer."""
    kind = np.int64 if shape.sums == "s32" else np.float64
    a, b, c = (matrix.astype(kind) for matrix in matrices(shape, values))
    with np.errstate(invalid="ignore"):
        want, size = a @ b + c, np.abs(a) @ np.abs(b) + np.abs(c)
    if shape.saturates:
        want = want.clip(-(1 << 31), (1 << 31) - 1)
    what = f"{shape.opcode}, {values} values"
    if shape.sums == "s32" or values == "exact":
        with np.errstate(invalid="ignore"):
            np.testing.assert_array_equal(found, want.astype(found.dtype), err_msg=what)
        return
    finite = np.isfinite(want)
    np.testing.assert_array_equal(found[~finite], want[~finite], err_msg=what)
    error = np.abs(found[finite].astype(np.float64) - want[finite])
    digits = 10 if shape.sums == "f16" else 22
    assert (error <= 2.0**-digits * size[finite]).all(), what


def test_products_of_doubles(run_ptx: Runner) -> None:
    """Of integers that f32 does not hold; C's two columns come from %c and %a."""
    random = generator("doubles")
    sources = [random.integers(-(1 << 24), 1 << 24, ROWS).astype(np.float64) for _ in "abc"]
    table = Table([source.view(np.uint64) for source in sources], 64)

    def product(side: int) -> Callable[..., list[int | None]]:
        def want(*words: list[int]) -> list[int | None]:
            a, b, c = (np.array(word, np.uint64).view(np.float64) for word in words)
            whole = a.reshape(8, 4) @ b.reshape(8, 4).T  # of columns that lie one after another
            mine = [whole[lane // 4, lane % 4 * 2 + side] for lane in range(32)]
            return (mine + (a if side else c)).view(np.uint64).tolist()

        return want

    opcode = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
    for side, taken in enumerate(("{%d, where}", "{where, %d}")):
        text = f"{{ .reg .b64 where; {opcode} {taken}, {{%a}}, {{%b}}, {{%c, %a}}; }}"
        table.add_of_warp(text, product(side))
    check_tables(run_ptx, [table])


TAKEN = (
    "st.shared.v4.b32 [%s], {%a, %b, %c, %a}; mov.u32 %e, %tid.x; xor.b32 %e, %e, 5;"
    "mov.u32 %f, place; mad.lo.u32 %e, %e, 16, %f; bar.warp.sync -1;"
)
"""Each lane fills its row of 16 bytes, and names that of another lane."""


def rows_named(*sources: list[int]) -> list[list[int]]:
    """By the lane that names it, a row's eight elements of 16 bits."""
    words = list(zip(*sources, strict=True))
    named = [[*words[lane ^ 5], words[lane ^ 5][0]] for lane in range(32)]
    return [[word >> shift & 0xFFFF for word in row for shift in (0, 16)] for row in named]


def loaded(matrix: int, transposed: bool) -> Callable[..., list[int | None]]:
    def want(*sources: list[int]) -> list[int | None]:
        rows = rows_named(*sources)[8 * matrix : 8 * matrix + 8]
        found: list[int | None] = []
        for lane in range(32):
            row, column = lane // 4, lane % 4 * 2
            pair = [(row, column), (row, column + 1)]
            low, high = (rows[j][i] if transposed else rows[i][j] for i, j in pair)
            found.append(high << 16 | low)
        return found

    return want


def stored(word: int, count: int, transposed: bool) -> Callable[..., list[int | None]]:
    """A word of each lane's row, after matrix i was stored from %a, %b, %c and %a."""

    def want(a: list[int], b: list[int], c: list[int]) -> list[int | None]:
        registers = [a, b, c, a]
        found: list[int | None] = []
        for lane in range(32):
            matrix, row = divmod(lane ^ 5, 8)
            if matrix >= count:
                found.append(None)
                continue
            halves = []
            for column in (2 * word, 2 * word + 1):
                i, j = (column, row) if transposed else (row, column)
                value = registers[matrix][4 * i + j // 2]
                halves.append(value >> 16 * (j % 2) & 0xFFFF)
            found.append(halves[1] << 16 | halves[0])
        return found

    return want


def test_matrices_are_moved_between_shared_memory_and_lanes(run_ptx: Runner) -> None:
    table = Table([integers(f"matrix {letter}", 32) for letter in "abc"], 32)
    for count in (1, 2, 4):
        for trans in (False, True):
            dot = ".trans" if trans else ""
            load = f"ldmatrix.sync.aligned.m8n8.x{count}{dot}"
            registers = ",".join(f"r{i}" for i in range(count))
            for space in (".shared", ".shared::cta"):
                for matrix in range(count):
                    table.add_of_warp(
                        f"{TAKEN} {{ .reg .b32 r<4>; {load}{space}.b16 {{{registers}}}, [%e];"
                        f"mov.b32 %d, r{matrix}; }} bar.warp.sync -1;",
                        loaded(matrix, trans),
                    )
            sources = ",".join(["%a", "%b", "%c", "%a"][:count])
            for word in range(4):
                table.add_of_warp(
                    f"{TAKEN} stmatrix.sync.aligned.m8n8.x{count}{dot}.shared.b16 [%e], {{{sources}"
                    f"}}; bar.warp.sync -1; ld.shared.b32 %d, [%s+{4 * word}]; bar.warp.sync -1;",
                    stored(word, count, trans),
                )
    table.add_of_warp("movmatrix.sync.aligned.m8n8.trans.b16 %d, %a;", transposed)
    assert ROWS % 32 == 0
    check_tables(run_ptx, [table])


def transposed(a: list[int], *_: list[int]) -> list[int | None]:
    found: list[int | None] = []
    for lane in range(32):
        halves = []
        for row in (lane % 4 * 2, lane % 4 * 2 + 1):
            column = lane // 4
            halves.append(a[4 * row + column // 2] >> 16 * (column % 2) & 0xFFFF)
        found.append(halves[1] << 16 | halves[0])
    return found
