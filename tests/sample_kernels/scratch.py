"""The declarations for `scratch.cu`: memory that IREE allocates for a kernel alone."""

from __future__ import annotations

from typing import Any

import custom_dispatch as cd

n = cd.dim("n")
X = cd.In("x", "f32", [n])
COUNT = cd.Scalar("count", "i32", n)


def _kernel(name: str, *operands: Any, grid: Any = cd.ceildiv(n, 64), block: int = 64) -> cd.Kernel:  # noqa: B008
    return cd.Kernel(name, source="scratch.cu", operands=operands, block=block, grid=grid)


ALL = [
    _kernel("reversed", X, cd.Scratch("staged", "f32", [n]), cd.Out("y", "f32", [n]), COUNT),
    _kernel(
        "alignments",
        X,
        cd.Out("alignment", "i32", [4]),
        cd.Scratch("first", "u8", [13]),
        cd.Scratch("second", "f64", [3]),
        cd.Scratch("third", "i64", [n, 2]),
        grid=1,
        block=1,
    ),
    _kernel("incremented", cd.Scratch("before", "f32", [n]), cd.InOut("x", "f32", [n]), COUNT),
]
