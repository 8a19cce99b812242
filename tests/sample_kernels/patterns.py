"""Kernels that tests put into models: the declarations for `patterns.cu`."""

from __future__ import annotations

from functools import reduce
from operator import mul
from typing import Any

import custom_dispatch as cd

SIZES = [cd.dim(name) for name in ("a", "b", "c", "d")]
SOURCE = "patterns.cu"


def squared_relu(rank: int) -> cd.Kernel:
    """Elementwise, of one rank."""
    shape: list[Any] = SIZES[:rank]
    count = reduce(mul, shape)
    return cd.Kernel(
        f"squared_relu_{rank}",
        source=SOURCE,
        entry="squared_relu",
        operands=[
            cd.In("x", "f32", shape),
            cd.Scalar("scale", "f32"),
            cd.Out("y", "f32", shape),
            cd.Scalar("count", "i32", count),
        ],
        block=64,
        grid=cd.ceildiv(count, 64),
    )


a, b, c, d = SIZES
keys = cd.dim("keys")

add_relu = cd.Kernel(
    "add_relu",
    source=SOURCE,
    operands=[
        cd.In("x", "f32", [a, b]),
        cd.In("residual", "f32", [a, b]),
        cd.Out("sum", "f32", [a, b]),
        cd.Out("y", "f32", [a, b]),
        cd.Scalar("count", "i32", a * b),
    ],
    block=64,
    grid=cd.ceildiv(a * b, 64),
)

attention = cd.Kernel(
    "attention",
    source=SOURCE,
    operands=[
        cd.In("q", "f32", [a, b, c, d]),
        cd.In("k", "f32", [a, b, keys, d]),
        cd.In("v", "f32", [a, b, keys, d]),
        cd.Out("out", "f32", [a, b, c, d]),
        cd.Scalar("scale", "f32"),
        cd.Scalar("causal", "bool"),
        cd.Scalar("queries", "i32", c),
        cd.Scalar("keys", "i32", keys),
        cd.Scalar("dim", "i32", d),
    ],
    block=64,
    grid=a * b * c,
)

rotary = cd.Kernel(
    "rotary",
    source=SOURCE,
    operands=[
        cd.In("x", "f32", [a, b, c, d]),
        cd.In("cosine", "f32", [a, c, d]),
        cd.In("sine", "f32", [a, c, d]),
        cd.Out("y", "f32", [a, b, c, d]),
        cd.Scalar("heads", "i32", b),
        cd.Scalar("rows", "i32", c),
        cd.Scalar("dim", "i32", d),
    ],
    block=64,
    grid=a * b * c,
)
