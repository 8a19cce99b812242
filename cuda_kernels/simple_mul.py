"""Elementwise multiplication, out of place and in place: the declarations for `simple_mul.cu`."""

from __future__ import annotations

import numpy

import custom_dispatch as cd

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[numpy.float32]]


def _product(lhs: Array, rhs: Array) -> Array:
    return numpy.multiply(lhs, rhs, dtype=numpy.float32)


n = cd.dim("n")

simple_mul = cd.Kernel(
    "simple_mul",
    source="simple_mul.cu",
    operands=[
        cd.In("lhs", "f32", [n]),
        cd.In("rhs", "f32", [n]),
        cd.Out("product", "f32", [n]),
        cd.Scalar("count", "i32", n),
    ],
    block=(64, 1, 1),
    grid=(cd.ceildiv(n, 64), 1, 1),
    reference=_product,
)

simple_mul_inplace = cd.Kernel(
    "simple_mul_inplace",
    source="simple_mul.cu",
    operands=[
        cd.In("lhs", "f32", [n]),
        cd.InOut("rhs", "f32", [n]),
        cd.Scalar("count", "i32", n),
    ],
    block=(64, 1, 1),
    grid=(cd.ceildiv(n, 64), 1, 1),
    reference=_product,
)
