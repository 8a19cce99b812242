"""Rows in order, and where their elements were: the declarations for `sort.cu`."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.lazily import TYPES, lazily

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
SORTED = (*TYPES, "i32", "i64")
"""Element types."""
_C_TYPES = {**C_TYPES, "i32": "int", "i64": "long long"}
FEW, MANY = 128, 1024
"""Threads of a block, for short rows and for long ones."""
_SHORT = 2048

n = cd.dim("n")


def _sorted(x: Array, descending: bool) -> tuple[Array, Array]:
    wide = x if x.dtype.kind == "i" else x.astype(numpy.float64)
    if descending:
        # Back to front twice, so that equal elements keep their order; NaN is first then.
        found = numpy.argsort(wide[..., ::-1], axis=-1, kind="stable")[..., ::-1]
        indices = x.shape[-1] - 1 - found
    else:
        indices = numpy.argsort(wide, axis=-1, kind="stable")
    return numpy.take_along_axis(x, indices, -1), indices.astype(numpy.int64)


def declare(dtype: str, threads: int) -> cd.Kernel:
    """The kernel for an element type, with so many threads a block."""

    def entry(count: int) -> str:
        return f"cuda_kernels::sort_rows<{_C_TYPES[dtype]}, {count}>"

    return cd.Kernel(
        f"sort_{dtype}_{threads}",
        source="sort.cu",
        entry=entry(threads),
        operands=[
            cd.In("x", dtype, [..., n]),
            cd.Out("values", dtype, [..., n]),
            cd.Out("indices", "i64", [..., n]),
            cd.Scratch("keys", "u64", [2 * cd.batch * n]),
            cd.Scratch("places", "i32", [2 * cd.batch * n]),
            cd.Scalar("descending", "bool"),
            cd.Scalar("n", "i32", n),
        ],
        block=threads,
        grid=cd.batch,
        implementations={"cpu": cd.Implementation(source="sort.cu", entry=entry(32), block=32)},
        reference=_sorted,
    )


@cache
def choice(dtype: str) -> cd.Choice:
    """Both kernels of an element type."""
    short, long = declare(dtype, FEW), declare(dtype, MANY)
    return cd.Choice(f"sort_{dtype}", [short, long], rules={short.name: [n <= _SHORT]})


__getattr__, __dir__ = lazily(
    globals(), {f"sort_{dtype}": partial(choice, dtype) for dtype in SORTED}
)
