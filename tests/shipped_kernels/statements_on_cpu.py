"""Statements of CUDA for single elements, computed on the CPU, and a function that chains call."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import custom_dispatch as cd
from custom_dispatch.toolchain.produced import file_of

LIMITED_GELU = cd.Function(
    "limited_gelu",
    source=Path(__file__).with_name("epilogues.cuh"),
    entry="epilogues::limited_gelu",
    operands=[cd.Scalar("x", "f32"), cd.Scalar("limit", "f32")],
    result="f32",
)


def computed(statements: Sequence[str], results: Sequence[str], x: Any, y: Any) -> Any:
    """For each element of vectors `x` and `y` a row with the variables that statements give."""
    size, count = len(x), len(results)
    head = 'extern "C" __global__ void every(const float* xs, const float* ys, float* out) {'
    first = "const int i = threadIdx.x; const float x = xs[i], y = ys[i];"
    last = [f"out[i * {count} + {index}] = {name};" for index, name in enumerate(results)]
    kernel = cd.Kernel(
        "every",
        source=file_of("\n".join([head, first, *statements, *last, "}\n"]), ".cu"),
        operands=[
            cd.In("xs", "f32", [size]),
            cd.In("ys", "f32", [size]),
            cd.Out("out", "f32", [size, count]),
        ],
        block=size,
        grid=1,
    )
    return np.asarray(kernel.on("cpu")(x, y))
