"""The declarations for `signatures.cu`: every C signature in its own order."""

from __future__ import annotations

from typing import Any

import custom_dispatch as cd

n = cd.dim("n")
rows, columns = cd.dim("rows"), cd.dim("columns")
COUNT = cd.Scalar("count", "i32", n)
X, Y = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])
X64, Y64 = cd.In("x", "f64", [n]), cd.Out("y", "f64", [n])
INTS = cd.In("x", "i32", [n])
LINE = cd.ceildiv(n, 64)


def _kernel(name: str, *operands: Any, grid: Any = LINE) -> cd.Kernel:
    return cd.Kernel(name, source="signatures.cu", operands=operands, block=64, grid=grid)


def _mixed(name: str) -> cd.Struct:
    return cd.Struct(name, a="f32", b="i32", c="i16")


def _padded(name: str) -> cd.Struct:
    return cd.Struct(name, tag="i8", weight="f64", shift="i16", factor="i32", last="u8")


def _table(name: str) -> cd.Struct:
    return cd.Struct(name, length="i32", values=("f32", 9), offset="i64")


def _range(name: str) -> cd.Struct:
    return cd.Struct(name, low="f32", high="f32")


def _count(dtype: str) -> cd.Scalar:
    return cd.Scalar("count", dtype, n)


ALL = [
    _kernel(
        "mixed",
        COUNT,
        cd.Scalar("d", "f64"),
        X,
        cd.Scalar("w", "i64"),
        _mixed("p"),
        Y,
        cd.Scalar("flag", "bool"),
    ),
    _kernel("out_first", Y, X, COUNT),
    _kernel("scalars_first", cd.Scalar("alpha", "f32"), COUNT, X, Y),
    _kernel("size_count", X, Y, _count("u64")),
    _kernel(
        "out_in_inout",
        cd.Out("difference", "f32", [n]),
        X,
        cd.InOut("total", "f32", [n]),
        _count("u64"),
    ),
    _kernel(
        "axpby",
        Y64,
        cd.Scalar("a", "f64"),
        X64,
        cd.Scalar("b", "f64"),
        cd.In("z", "f64", [n]),
        _count("i64"),
    ),
    _kernel("padded_struct", _padded("p"), X64, Y64, COUNT),
    _kernel("table_lookup", INTS, _table("table"), Y, COUNT),
    _kernel("grid_constant", _table("table"), INTS, COUNT, Y),
    _kernel("polynomial", Y64, cd.Struct("curve", c=("f64", 6), degree="i32"), X64, COUNT),
    _kernel("two_structs", _range("range"), X, _mixed("p"), Y, _range("again"), COUNT),
    _kernel("vector4", cd.Struct("v", 16, x="f32", y="f32", z="f32", w="f32"), X, Y, COUNT),
    _kernel(
        "vectors",
        COUNT,
        X64,
        cd.Struct("v", 16, x="f64", y="f64"),
        cd.Struct("cell", x="u32", y="u32", z="u32"),
        Y64,
        cd.Struct("pair", 4, x="i16", y="i16"),
    ),
    _kernel(
        "bytes",
        cd.Scalar("a", "i8"),
        cd.Scalar("b", "u8"),
        cd.Scalar("c", "i16"),
        cd.Scalar("d", "u16"),
        cd.Scalar("e", "i8"),
        INTS,
        cd.Out("y", "i32", [n]),
        COUNT,
    ),
    _kernel(
        "unused",
        cd.Scalar("nothing", "f64"),
        X,
        cd.Scalar("also_nothing", "i64"),
        _padded("neither"),
        Y,
        COUNT,
    ),
    _kernel(
        "flags",
        cd.Scalar("negate", "bool"),
        X,
        cd.Scalar("twice", "bool"),
        Y,
        cd.Scalar("shift", "bool"),
        COUNT,
    ),
    _kernel(
        "strided",
        cd.In("x", "f32", [rows, columns]),
        cd.Scalar("row_stride", "i64", 1),
        cd.Scalar("column_stride", "i64", rows),
        cd.Out("y", "f32", [rows, columns]),
        cd.Scalar("y_stride", "i64", columns),
        cd.Scalar("rows", "i32", rows),
        cd.Scalar("columns", "i32", columns),
        grid=cd.ceildiv(rows * columns, 64),
    ),
    _kernel(
        "momentum_step",
        cd.Scalar("rate", "f32"),
        cd.InOut("weights", "f32", [n]),
        cd.In("gradient", "f32", [n]),
        cd.Scalar("beta", "f32"),
        cd.InOut("momentum", "f32", [n]),
        _count("u64"),
    ),
    _kernel("hash", cd.Scalar("seed", "u64"), INTS, COUNT, cd.Out("y", "i32", [n])),
    _kernel(
        "gather_strided",
        X,
        cd.Struct("info", sizes=("i64", 3), strides=("i64", 3), dims="i32", contiguous="bool"),
        Y,
        _count("u32"),
    ),
    _kernel(
        "odd_struct",
        cd.Struct("colour", r="u8", g="u8", b="u8"),
        INTS,
        cd.Out("y", "i32", [n]),
        COUNT,
    ),
    _kernel("changed_copy", INTS, _table("table"), Y, COUNT),
    _kernel(
        "nested",
        cd.Struct("w", value="f32"),
        Y,
        cd.Struct("p", low="f32", high="f32", factor="f32", k="i32", s="i16"),
        X,
        COUNT,
    ),
    _kernel(
        "line_of_points",
        cd.Scalar("start", "f64"),
        cd.Scalar("step", "f64"),
        cd.Out("y", "f32", [100]),
        cd.Scalar("count", "i64", 100),
        grid=2,
    ),
    _kernel(
        "half_scalars",
        cd.Scalar("a", "f16"),
        X,
        cd.Struct("pair", 4, low="f16", high="f16"),
        cd.Scalar("b", "bf16"),
        Y,
        COUNT,
    ),
    _kernel("two_tables", _table("a"), INTS, _table("b"), Y, COUNT),
    _kernel("loaded_twice", X64, cd.Scalar("scale", "f64"), Y64, cd.Scalar("shift", "i64"), COUNT),
    _kernel("generic_address", Y, _table("table"), INTS, COUNT),
]
