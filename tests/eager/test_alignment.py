"""Operands begin at multiples of 16 bytes, wherever what is passed begins."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import custom_dispatch as cd

n = cd.dim("n")
SOURCE = """\
extern "C" __global__ void rest(const float* x, float* y) {
  y[threadIdx.x] = (unsigned long long)x % 16;
}
"""
MODEL = """
func.func private @rest(tensor<8xf32>) -> tensor<8xf32>
func.func @of_argument(%x: tensor<65xf32>) -> tensor<8xf32> {
  %s = tensor.extract_slice %x[1] [8] [1] : tensor<65xf32> to tensor<8xf32>
  %y = call @rest(%s) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @of_computed(%x: tensor<65xf32>) -> tensor<8xf32> {
  %e = math.sqrt %x : tensor<65xf32>
  %s = tensor.extract_slice %e[1] [8] [1] : tensor<65xf32> to tensor<8xf32>
  %y = call @rest(%s) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
func.func @of_open_place(%x: tensor<65xf32>, %at: i32) -> tensor<8xf32> {
  %i = arith.index_cast %at : i32 to index
  %e = math.sqrt %x : tensor<65xf32>
  %s = tensor.extract_slice %e[%i] [8] [1] : tensor<65xf32> to tensor<8xf32>
  %y = call @rest(%s) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
"""


@pytest.fixture
def rest(tmp_path: Path) -> cd.Kernel:
    source = tmp_path / "rest.cu"
    source.write_text(SOURCE)
    operands = [cd.In("x", "f32", [n]), cd.Out("y", "f32", [n])]
    return cd.Kernel("rest", source=source, operands=operands, block=8, grid=1)


def test_slices_in_models_are_aligned(rest: cd.Kernel, tmp_path: Path) -> None:
    module = cd.compile(MODEL, [rest], ["cpu:host"])
    program = cd.load(module.save(tmp_path / "slices.vmfb"), device="cpu")
    x = numpy.ones(65, numpy.float32)
    for y in (program.of_argument(x), program.of_computed(x), program.of_open_place(x, 3)):
        assert not numpy.asarray(y).any()


def test_views_of_arrays_are_aligned(rest: cd.Kernel) -> None:
    x = numpy.ones(65, numpy.float32)
    for start in (1, 2, 3, 5):
        assert not numpy.asarray(rest.on("cpu")(x[start : start + 8])).any()
