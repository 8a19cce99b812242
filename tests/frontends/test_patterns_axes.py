"""Patterns whose axes a model has in another order, and maps of dims of one element."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels.norms import softmax_f32
from custom_dispatch.errors import DeclarationError, LinkError
from custom_dispatch.frontends.mlir import place

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sample_kernels.patterns import squared_relu

# scale * relu(x)^2 for each element; the maps of what goes in and comes out, and their types.
LINALG = """
func.func @main(%x: IN, %scale: f32) -> OUT {
  %zero = arith.constant 0.0 : f32
SIZES
  %y = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> FROM>,
                                        affine_map<(a, b, c) -> TO>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : IN) outs(%e : OUT) {
  ^bb0(%v: f32, %u: f32):
    %m = arith.maximumf %v, %zero : f32
    %p = arith.mulf %m, %m : f32
    %q = arith.mulf %p, %scale : f32
    linalg.yield %q : f32
  } -> OUT
  return %y : OUT
}
"""
OPEN = """  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %x, %c0 : IN
  %n1 = tensor.dim %x, %c1 : IN
  %n2 = tensor.dim %x, %c2 : IN
  %e = tensor.empty(ORDER) : OUT"""
STABLEHLO = """
func.func @main(%x: tensor<4x5x3xf32>) -> tensor<3x4x5xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<3x4x5xf32>
  %t = stablehlo.transpose %x, dims = [2, 0, 1] : (tensor<4x5x3xf32>) -> tensor<3x4x5xf32>
  %m = stablehlo.maximum %t, %zero : tensor<3x4x5xf32>
  %p = stablehlo.multiply %m, %m : tensor<3x4x5xf32>
  return %p : tensor<3x4x5xf32>
}
"""


def linalg(kinds: tuple[str, str], maps: tuple[str, str], sizes: str) -> str:
    text = LINALG.replace("SIZES", sizes).replace("FROM", maps[0]).replace("TO", maps[1])
    return text.replace("IN", kinds[0]).replace("OUT", kinds[1])


def compiled(model: str, pattern: cd.Pattern) -> Any:
    return cd.load(cd.compile(model, [], ["cpu"], replace=[pattern]), "cpu").main


@pytest.mark.parametrize(
    ("maps", "order", "axes"),
    [
        (("(b, c, a)", "(a, b, c)"), "%n2, %n0, %n1", {"x": (1, 2, 0)}),
        pytest.param(
            ("(a, b, c)", "(c, a, b)"),
            "%n2, %n0, %n1",
            {"y": (2, 0, 1)},
            marks=pytest.mark.thorough,
        ),
    ],
)
@pytest.mark.parametrize("is_open", [False, True])
def test_operands_and_results_are_transposed_around_the_kernel(
    maps: tuple[str, str], order: str, axes: dict[str, tuple[int, ...]], is_open: bool
) -> None:
    any_size = ("tensor<?x?x?xf32>", "tensor<?x?x?xf32>")
    example = linalg(any_size, maps, OPEN.replace("ORDER", order))
    known = ("tensor<4x5x3xf32>", "tensor<3x4x5xf32>")
    model = linalg(known, maps, "  %e = tensor.empty() : tensor<3x4x5xf32>")
    main = compiled(example if is_open else model, cd.Pattern(squared_relu(3), example, axes=axes))
    x = numpy.random.default_rng(2).standard_normal((4, 5, 3)).astype(numpy.float32)
    want = 1.5 * numpy.maximum(x, 0) ** 2
    result = main(x, numpy.float32(1.5))
    numpy.testing.assert_allclose(result, want.transpose(2, 0, 1), rtol=1e-6)


def test_so_they_are_in_stablehlo() -> None:
    axes = {"x": (1, 2, 0)}
    pattern = cd.Pattern(squared_relu(3), STABLEHLO, fixed={"scale": 1.0}, axes=axes)
    x = numpy.random.default_rng(2).standard_normal((4, 5, 3)).astype(numpy.float32)
    result = compiled(STABLEHLO, pattern)(x)
    numpy.testing.assert_allclose(result, numpy.maximum(x, 0).transpose(2, 0, 1) ** 2, rtol=1e-6)


def test_so_they_are_in_pytorch() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return torch.relu(x).square() * 1.5

    def computes(x: Any, scale: float) -> Any:
        return torch.relu(x).square() * scale

    axes = {"x": (1, 2, 0), "y": (1, 2, 0)}
    pattern = cd.torch.Pattern(squared_relu(3), computes, axes=axes)
    x = torch.randn(4, 5, 3)
    module = cd.torch.compile(Model(), (x,), ["cpu"], replace=[pattern])
    assert len(module.replaced) == 1
    torch.testing.assert_close(torch.from_dlpack(cd.load(module, "cpu").main(x)), Model()(x))
    with pytest.raises(DeclarationError, match="each of 0 to 2 once"):
        cd.torch.Pattern(squared_relu(3), computes, axes={"x": (0, 1)})


@pytest.mark.parametrize(
    ("axes", "found", "expected"),
    [
        ({"z": (0, 1, 2)}, "has axes of `z`", "an operand or result of a known rank: x, y"),
        ({"x": (0, 1)}, "has `x` with the axes (0, 1)", "each of 0 to 2 once"),
        ({"y": (0, 1, 1)}, "has `y` with the axes (0, 1, 1)", "each of 0 to 2 once"),
        ({"y": 3}, "has `y` with the axes 3", "each of 0 to 2 once"),
        ([1], "has the axes [1]", 'orders by name: {"k": (0, 2, 1)}'),
    ],
)
def test_axes_that_are_none_are_refused(axes: Any, found: str, expected: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        cd.Pattern(squared_relu(3), STABLEHLO, axes=axes)
    assert caught.value.found == f"The pattern of kernel `squared_relu_3` {found}."
    assert caught.value.expected == expected


def test_leading_dims_have_no_axes() -> None:
    with pytest.raises(DeclarationError, match="has axes of `x`"):
        cd.Pattern(softmax_f32, STABLEHLO, axes={"x": (1, 0)})


@pytest.mark.parametrize(("rows", "is_taken"), [(1, True), (3, False)])
def test_a_dim_of_one_element_is_read_alike_with_and_without_its_loop(
    rows: int, is_taken: bool
) -> None:
    """Front ends write 0 for it; where the loop goes on, that is a broadcast, and another thing."""
    kinds = ("tensor<1x4x5xf32>", f"tensor<{rows}x4x5xf32>")
    sizes = f"  %e = tensor.empty() : {kinds[1]}"
    model = linalg(kinds, ("(0, b, c)", "(a, b, c)"), sizes)
    any_size = ("tensor<?x?x?xf32>", "tensor<?x?x?xf32>")
    maps = ("(a, b, c)", "(a, b, c)")
    example = linalg(any_size, maps, OPEN.replace("ORDER", "%n0, %n1, %n2"))
    pattern = cd.Pattern(squared_relu(3), example)
    if not is_taken:
        with pytest.raises(LinkError, match=r"has the maps .*\(0, d1, d2\)"):
            place(model, [], [pattern])
        return
    replaced = place(model, [], [pattern]).replaced
    assert replaced is not None
    assert len(replaced) == 1
