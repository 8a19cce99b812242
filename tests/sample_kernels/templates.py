"""The declarations for `templates.cu`: kernels that have C++ names."""

from __future__ import annotations

from typing import Any

import custom_dispatch as cd

n = cd.dim("n")
rows, columns = cd.dim("rows"), cd.dim("columns")
COUNT = cd.Scalar("count", "i32", n)


def _kernel(name: str, entry: str | None, *operands: Any, grid: Any, block: int = 64) -> cd.Kernel:
    return cd.Kernel(
        name, source="templates.cu", entry=entry, operands=operands, block=block, grid=grid
    )


def _row_sums(dtype: str, entry: str, block: int) -> cd.Kernel:
    return _kernel(
        f"row_sums_{dtype}",
        entry,
        cd.In("x", dtype, [rows, columns]),
        cd.Out("y", "f32", [rows]),
        cd.Scalar("columns", "i32", columns),
        grid=rows,
        block=block,
    )


def _apply(name: str, entry: str, dtype: str) -> cd.Kernel:
    return _kernel(
        name,
        entry,
        cd.Out("y", dtype, [n]),
        cd.Scalar("count", "i64", n),
        cd.In("x", dtype, [n]),
        grid=cd.ceildiv(n, 64),
    )


def _add(name: str, entry: str, dtype: str) -> cd.Kernel:
    x, y = cd.In("x", dtype, [n]), cd.Out("y", dtype, [n])
    return _kernel(name, entry, x, y, cd.Scalar("amount", dtype), COUNT, grid=cd.ceildiv(n, 64))


ALL = [
    _row_sums("f32", "maths::row_sums<float, 128>", 128),
    _row_sums("f16", "maths::row_sums<__half, 32>", 32),
    _row_sums("bf16", "maths::row_sums<__nv_bfloat16, 64>", 64),
    _apply("twice", "maths::apply<maths::Twice, double>", "f64"),
    _apply("square", "maths::apply<maths::Square, int>", "i32"),
    _add("add_floats", "add(const float*, float*, float, int)", "f32"),
    _add("add_ints", "add(const int*, int*, int, int)", "i32"),
    _kernel(
        "negate",
        None,
        cd.In("x", "f32", [n]),
        cd.Out("y", "f32", [n]),
        COUNT,
        grid=cd.ceildiv(n, 64),
    ),
]
