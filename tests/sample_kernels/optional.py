"""The declarations for `optional.cu`: buffers that may be absent."""

from __future__ import annotations

from typing import Any

import custom_dispatch as cd

n = cd.dim("n")
X, Y = cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])
LINE = cd.ceildiv(n, 64)
COUNT = cd.Scalar("count", "i32", n)


def _kernel(name: str, *operands: Any, grid: Any = LINE) -> cd.Kernel:
    return cd.Kernel(name, source="optional.cu", operands=operands, block=64, grid=grid)


def _maybe(name: str, *shape: Any) -> cd.In:
    return cd.In(name, "f32", shape or [n], optional=True)


ALL = [
    _kernel("scale_bias", X, _maybe("bias"), Y, COUNT),
    _kernel(
        "affine",
        Y,
        _maybe("weight"),
        cd.Scalar("shift", "f64"),
        _maybe("bias"),
        X,
        cd.Scalar("count", "i64", n),
    ),
    _kernel(
        "presence",
        cd.In("x", "f32", [n]),
        _maybe("a", 4),
        _maybe("b", n, 2 * n),
        cd.Out("y", "i32", [4]),
        grid=1,
    ),
]
