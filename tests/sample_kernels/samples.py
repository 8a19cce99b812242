"""The declarations for `samples.cu`, with what each kernel computes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

import custom_dispatch as cd

n = cd.dim("n")
rows, columns = cd.dim("rows"), cd.dim("columns")
LINE = {"block": (64, 1, 1), "grid": (cd.ceildiv(n, 64), 1, 1), "source": "samples.cu"}
COUNT = cd.Scalar("count", "i32", n)

report_arch = cd.Kernel(
    "report_arch", operands=[cd.In("like", "f32", [n]), cd.Out("found", "i32", [n]), COUNT], **LINE
)

scale = cd.Kernel(
    "scale",
    operands=[
        cd.In("x", "f32", [n]),
        cd.Out("y", "f32", [n]),
        cd.Scalar("alpha", "f32"),
        cd.Scalar("beta", "i32"),
        COUNT,
    ],
    reference=lambda x, alpha, beta: np.float32(alpha) * x + np.float32(beta),
    **LINE,
)

narrow_scalars = cd.Kernel(
    "narrow_scalars",
    operands=[
        cd.In("x", "f32", [n]),
        cd.Out("y", "f32", [n]),
        cd.Scalar("byte", "i8"),
        cd.Scalar("word", "u16"),
        cd.Scalar("flag", "bool"),
        COUNT,
    ],
    **LINE,
)

drop_first = cd.Kernel(
    "drop_first",
    operands=[
        cd.In("x", "f32", [n]),
        cd.Out("y", "f32", [n - 1]),
        cd.Scalar("count", "i32", n - 1),
    ],
    source="samples.cu",
    block=(32,),
    grid=(cd.ceildiv(n - 1, 32),),
    reference=lambda x: x[1:],
)

row_sums = cd.Kernel(
    "row_sums",
    operands=[
        cd.In("x", "f32", [rows, columns]),
        cd.Out("sums", "f32", [rows]),
        cd.Scalar("columns", "i32", columns),
    ],
    source="samples.cu",
    block=1,
    grid=rows,
    reference=lambda x: x.sum(axis=1, dtype=np.float32),
)

sum_and_difference = cd.Kernel(
    "sum_and_difference",
    operands=[
        cd.In("pairs", "f32", [n, 2]),
        cd.Out("sums", "f32", [n]),
        cd.Out("differences", "f32", [n]),
        COUNT,
    ],
    reference=lambda pairs: (pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]),
    **LINE,
)

exchange = cd.Kernel(
    "exchange",
    operands=[cd.InOut("left", "f32", [n]), cd.InOut("right", "f32", [n]), COUNT],
    reference=lambda left, right: (right, left),
    **LINE,
)

accumulate = cd.Kernel(
    "accumulate",
    operands=[
        cd.In("x", "f32", [n]),
        cd.InOut("total", "f32", [n]),
        cd.Out("before", "f32", [n]),
        COUNT,
    ],
    reference=lambda x, total: (total + x, total),
    **LINE,
)

increment = cd.Kernel(
    "increment",
    operands=[cd.InOut("x", "f64", [n]), COUNT],
    reference=lambda x: x + 1,
    **LINE,
)

iota = cd.Kernel(
    "iota",
    operands=[cd.Out("y", "i32", [16]), cd.Scalar("first", "i32")],
    source="samples.cu",
    block=16,
    grid=1,
    reference=lambda first: np.arange(first, first + 16, dtype=np.int32),
)

grid_size = cd.Kernel(
    "grid_size",
    operands=[cd.In("like", "f32", [n]), cd.Out("blocks", "i32", [n]), COUNT],
    source="samples.cu",
    block=(32, 1, 1),
    # Another grid on Hopper and later: a grid may ask for the device.
    grid=(
        cd.minimum(cd.ceildiv(n, 32), cd.where(cd.compute_capability >= 90, 7, 3)),
        1,
        1,
    ),
)

coordinates = cd.Kernel(
    "coordinates",
    operands=[
        cd.In("like", "f32", [rows, columns]),
        cd.In("x", "f32", []),
        cd.Out("y", "f32", [rows, columns]),
        cd.Scalar("rows", "i32", rows),
        cd.Scalar("columns", "i32", columns),
    ],
    source="samples.cu",
    block=(16, 4),
    grid=(cd.ceildiv(columns, 16), cd.ceildiv(rows, 4)),
    reference=lambda like, x: (
        1000 * np.arange(like.shape[0])[:, None] + np.arange(like.shape[1])[None, :] + x
    ).astype(np.float32),
)


def _double(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return (x + x).astype(x.dtype)


def _doubling(dtype: str) -> cd.Kernel:
    return cd.Kernel(
        f"double_{dtype}",
        operands=[cd.In("x", dtype, [n]), cd.Out("y", dtype, [n]), COUNT],
        reference=_double,
        **LINE,
    )


DOUBLED_DTYPES = (
    "f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64",
)  # fmt: skip
doubling = {dtype: _doubling(dtype) for dtype in DOUBLED_DTYPES}

negate_bool = cd.Kernel(
    "negate_bool",
    operands=[cd.In("x", "bool", [n]), cd.Out("y", "bool", [n]), COUNT],
    reference=np.logical_not,
    **LINE,
)

ALL = [
    report_arch,
    scale,
    narrow_scalars,
    drop_first,
    row_sums,
    sum_and_difference,
    exchange,
    accumulate,
    increment,
    iota,
    grid_size,
    coordinates,
    *doubling.values(),
    negate_bool,
]


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The numpy dtype of an element type's name."""
    return np.dtype(ml_dtypes.bfloat16) if name == "bf16" else np.dtype(
        {"f": "f", "i": "i", "u": "u"}[name[0]] + str(int(name[1:]) // 8)
    )  # fmt: skip
