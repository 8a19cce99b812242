"""Instructions against independent definitions, on random operands: many in one kernel.

A `Table` holds instructions that take the same operands; each table becomes one PTX entry, whose
thread i applies every instruction to row i. The operands are random but the same at every run;
`PROPERTY_SEED=n` gives others.
"""

from __future__ import annotations

import operator
import os
import pickle
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cpu_harness import Launch, Runner
from exact import Format

GENERIC = pytest.param("generic", marks=pytest.mark.thorough)
X86_64_V3 = pytest.param("x86-64-v3", marks=pytest.mark.thorough)
"""One of two processors that a test has, where it is for thorough tests alone."""
SEED = int(os.environ.get("PROPERTY_SEED", "0"))
KEPT = os.environ.get("PROPERTY_KEEP", "")
"""A directory for what was run, so that a GPU can run it too:
benchmarks/cpu/instructions_against_gpu.py."""
ROWS = 256
_HEADER = f""".version 9.0
.target sm_90
.address_size 64
.global .align 16 .b8 cells[{16 * ROWS}];
"""
_UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


@dataclass(frozen=True)
class Op:
    """An instruction and what it gives.

    Attributes
    ----------
    text
        PTX that reads %a, %b, %c and writes %d. %p and %q are predicates, %e and %f have 32 bits.
        Each row has 16 bytes of memory: global at %g, shared at %s, which is %x as a generic
        address.
    want
        From the operands' bits to the result's, as Python ints.
    agrees
        Whether a result is as good as the one wanted: equal, if nothing else is said.
    of_warp
        Whether `want` takes the operands of a warp's 32 rows, each as a list, and gives a list;
        None in it stands for a result that may be anything.
    """

    text: str
    want: Callable[..., Any]
    agrees: Callable[[int, int], bool] = operator.eq
    of_warp: bool = False


@dataclass(frozen=True)
class Table:
    """Instructions with the same operands, and the bits of their results."""

    sources: Sequence[np.ndarray]
    bits: int
    ops: list[Op] = field(default_factory=list)

    def add(
        self, text: str, want: Callable[..., int], agrees: Callable[[int, int], bool] = operator.eq
    ) -> None:
        self.ops.append(Op(text, want, agrees))

    def add_of_warp(self, text: str, want: Callable[..., list[int | None]]) -> None:
        self.ops.append(Op(text, want, of_warp=True))


def generator(name: str) -> np.random.Generator:
    """Random numbers that depend on the seed and on what they are for."""
    return np.random.default_rng([SEED, zlib.crc32(name.encode())])


def _entry(index: int, table: Table) -> str:
    widths = [source.dtype.itemsize for source in table.sources]
    lines = [
        f".visible .entry k{index}("
        + ", ".join(f".param .u64 k{index}_{i}" for i in range(len(widths) + 1))
        + ")",
        "{",
        ".reg .pred %p, %q;",
        ".reg .b32 %i, %e, %f;",
        ".reg .b64 %at, %off, %g, %x;",
        ".reg .b32 %s;",
        f".reg .b{max(table.bits, 16)} %d;",
        "mov.u32 %i, %tid.x;",
        "mov.u32 %e, %ctaid.x;",
        "mad.lo.s32 %i, %e, 64, %i;",
    ]
    if any("[%" in op.text for op in table.ops):
        lines += [
            ".shared .align 16 .b8 place[1024];",
            "mov.u64 %g, cells;",
            "mad.wide.u32 %g, %i, 16, %g;",
            "mov.u32 %s, place;",
            "mov.u32 %e, %tid.x;",
            "mad.lo.u32 %s, %e, 16, %s;",
            "cvt.u64.u32 %x, %s;",
            "cvta.shared.u64 %x, %x;",
        ]
    for letter, width, number in zip("abc", widths, range(3), strict=False):
        lines += [
            f".reg .b{max(8 * width, 16)} %{letter};",
            f"ld.param.u64 %at, [k{index}_{number}];",
            f"mul.wide.u32 %off, %i, {width};",
            "add.s64 %at, %at, %off;",
            f"ld.global.b{8 * width} %{letter}, [%at];",
        ]
    size = table.bits // 8
    lines += [
        f"ld.param.u64 %at, [k{index}_{len(widths)}];",
        f"mul.wide.u32 %off, %i, {size};",
        "add.s64 %at, %at, %off;",
    ]
    for place, op in enumerate(table.ops):
        lines += [op.text, f"st.global.b{table.bits} [%at+{place * ROWS * size}], %d;"]
    return "\n".join([*lines, "ret;", "}"])


def check_tables(run: Runner, tables: Sequence[Table], cpu: str = "generic") -> None:
    """Compile all tables as one module, run them, and compare every row of every instruction."""
    ptx = _HEADER + "\n".join(_entry(index, table) for index, table in enumerate(tables))
    launches = []
    for index, table in enumerate(tables):
        assert all(len(source) == ROWS for source in table.sources)
        out = np.zeros((len(table.ops), ROWS), _UNSIGNED[table.bits])
        arrays = [*table.sources, out]
        launches.append(Launch(f"k{index}", arrays, [len(table.sources)], grid=(ROWS // 64, 1, 1)))
    failures = []
    outputs = run(ptx, launches, cpu)
    if KEPT:
        _keep(ptx, tables, launches, outputs)
    for table, (got,) in zip(tables, outputs, strict=True):
        rows = list(zip(*(source.tolist() for source in table.sources), strict=True))
        for op, results in zip(table.ops, got.tolist(), strict=True):
            failures += _wrong(op, rows, results, table.bits)
    assert not failures, f"seed {SEED}, CPU {cpu}:\n" + "\n".join(failures)


def _keep(
    ptx: str,
    tables: Sequence[Table],
    launches: Sequence[Launch],
    outputs: Sequence[Sequence[np.ndarray]],
) -> None:
    kept = [
        {"texts": [op.text for op in table.ops], **vars(launch), "result": result}
        for table, launch, (result,) in zip(tables, launches, outputs, strict=True)
    ]
    name = f"{zlib.crc32(ptx.encode()):08x}"
    (Path(KEPT) / f"{name}.ptx").write_text(ptx)
    (Path(KEPT) / f"{name}.pickle").write_bytes(pickle.dumps(kept))


def _wrong(op: Op, rows: Sequence[tuple[int, ...]], results: Sequence[int], bits: int) -> list[str]:
    wrong = []
    if op.of_warp:
        warps = [rows[start : start + 32] for start in range(0, ROWS, 32)]
        wanted = [want for warp in warps for want in op.want(*map(list, zip(*warp, strict=True)))]
    else:
        wanted = [op.want(*row) for row in rows]
    for row, got, want in zip(rows, results, wanted, strict=True):
        if want is None:
            continue
        want &= (1 << bits) - 1
        if not op.agrees(got, want):
            shown = ", ".join(f"{value:#x}" for value in row)
            wrong.append(f"{op.text} of ({shown}) gave {got:#x}, not {want:#x}")
    if len(wrong) > 4:
        return [*wrong[:4], f"... and {len(wrong) - 4} more of {len(rows)} rows"]
    return wrong


# ---- operands


def integers(name: str, bits: int) -> np.ndarray:
    """Random bits, one row in two with an edge value: small numbers, ends, powers of two."""
    random = generator(f"{name} {bits}")
    edges = [*range(9), *(1 << k for k in range(bits)), *((1 << k) - 1 for k in range(bits))]
    edges += [(1 << bits) - k for k in range(1, 9)]
    edges += [0xFF, 0x80, 31, 33, 63, 65, 255, 256, 0x01010101, 0x80808080, 0x7F7F7F7F]
    chosen = np.array([e & ((1 << bits) - 1) for e in edges], _UNSIGNED[bits])
    anything = random.integers(0, 1 << bits, ROWS, dtype=_UNSIGNED[bits])
    return np.where(random.random(ROWS) < 0.5, anything, random.choice(chosen, ROWS))


def edge_numbers(f: Format) -> list[int]:
    """Codes: zeros, subnormals, one and its neighbours, halves, the largest, infinities, NaNs."""
    one = f.bias << f.digits
    codes = [0, 1, 2, f.smallest_normal - 1, f.smallest_normal, f.smallest_normal + 1]
    codes += [f.smallest_normal >> 1, one - 1, one, one + 1, one + (1 << f.digits)]
    codes += [one - (1 << f.digits), one | 1 << (f.digits - 1), f.largest, f.largest - 1]
    codes += [f.infinity, f.infinity + 1, f.nan]
    return [code | sign for code in codes for sign in (0, f.sign)]


def numbers(name: str, f: Format) -> np.ndarray:
    """Edge values; any bits at all; and numbers within a few powers of two of one."""
    random = generator(f"{name} {f.name}")
    dtype = _UNSIGNED[f.bits]
    anything = random.integers(0, 1 << f.bits, ROWS, dtype=dtype)
    spread = min(6, f.bias)
    exponents = random.integers(f.bias - spread, f.bias + spread, ROWS).astype(dtype)
    mild = (anything & dtype(f.sign | (f.smallest_normal - 1))) | exponents << dtype(f.digits)
    edges = random.choice(np.array(edge_numbers(f), dtype), ROWS)
    kind = random.random(ROWS)
    return np.select([kind < 0.25, kind < 0.5], [edges, anything], mild)


def close_to(name: str, f: Format, codes: Sequence[int]) -> np.ndarray:
    """For one row in two, a number within three of the given one; else as `numbers`."""
    random = generator(f"{name} close {f.name}")
    moved = (np.array(codes, object) + random.integers(-3, 4, ROWS)) & ((1 << f.bits) - 1)
    near = np.array(moved.tolist(), _UNSIGNED[f.bits])
    return np.where(random.random(ROWS) < 0.5, near, numbers(name, f))


def same_number(f: Format) -> Callable[[int, int], bool]:
    """Equal bits, or two NaNs."""
    return lambda got, want: got == want or (f.is_nan(got) and f.is_nan(want))


def signed(value: int, bits: int) -> int:
    """Bits as a two's complement number."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
