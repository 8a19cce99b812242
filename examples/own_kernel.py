"""Write a kernel, run it, put it into a model, ship one file.

    python examples/own_kernel.py

Runs on the GPU if there is one, else on the CPU. clamp.cu, beside this file, is the kernel.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy

import custom_dispatch as cd

rows, columns = cd.dim("rows"), cd.dim("columns")
clamp = cd.Kernel(
    "clamp",
    source="clamp.cu",
    operands=[
        cd.In("x", "f32", [rows, columns]),
        cd.Out("y", "f32", [rows, columns]),
        cd.Scalar("low", "f32"),
        cd.Scalar("high", "f32"),
        cd.Scalar("count", "i32", rows * columns),
    ],
    block=256,
    grid=cd.ceildiv(rows * columns, 256),
    reference=lambda x, low, high: numpy.clip(x, numpy.float32(low), numpy.float32(high)),
)

MODEL = """
func.func private @clamp(tensor<?x?xf32>, f32, f32) -> tensor<?x?xf32>
func.func @relu6_squared(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %zero = arith.constant 0.0 : f32
  %six = arith.constant 6.0 : f32
  %y = call @clamp(%x, %zero, %six) : (tensor<?x?xf32>, f32, f32) -> tensor<?x?xf32>
  %squared = arith.mulf %y, %y : tensor<?x?xf32>
  return %squared : tensor<?x?xf32>
}
"""


def main() -> None:
    """Go the whole way."""
    x = numpy.linspace(-8, 8, 6, dtype=numpy.float32).reshape(2, 3)
    print(clamp(x, low=0.0, high=6.0))
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "model.vmfb"
        cd.compile(MODEL, [clamp]).save(path)
        print(cd.load(path).relu6_squared(x))  # all that is needed to run it is in the file


if __name__ == "__main__":
    main()
