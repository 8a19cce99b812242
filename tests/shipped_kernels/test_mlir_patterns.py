"""The patterns of MLIR that ship, in a model: which kernel goes where, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels import gemm, mlir_patterns
from custom_dispatch import compilation
from custom_dispatch.errors import LinkError
from custom_dispatch.frontends.mlir import place

TILE_F32 = gemm.TileF32(32, 32, 16, 2, 2, 1)
MAPS = {
    "generic": "affine_map<(i, j, l) -> (i, l)>, affine_map<(i, j, l) -> (j, l)>, "
    "affine_map<(i, j, l) -> (i, j)>",
    "all": "affine_map<(i, j) -> (i, j)>",
    "last": "affine_map<(i, j) -> (j)>",
}
# Weights [n, k] by a generic operation, and a bias; [k, n] by a named one; several, and softmax.
MODEL = """
func.func @main(%a: tensor<5x24xT>, %w: tensor<40x24xT>, %bias: tensor<40xT>, %b: tensor<40x8xT>,
                %q: tensor<2x5x24xT>, %k: tensor<2x24x7xT>) -> (tensor<5x8xT>, tensor<2x5x7xT>) {
  %z = arith.constant 0.0 : T
  %e = tensor.empty() : tensor<5x40xT>
  %f = linalg.fill ins(%z : T) outs(%e : tensor<5x40xT>) -> tensor<5x40xT>
  %g = linalg.generic {indexing_maps = [MAPS],
      iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%a, %w : tensor<5x24xT>, tensor<40x24xT>) outs(%f : tensor<5x40xT>) {
  ^bb0(%x: T, %y: T, %s: T):
    %p = arith.mulf %x, %y : T
    %t = arith.addf %p, %s : T
    linalg.yield %t : T
  } -> tensor<5x40xT>
  %h = linalg.generic {indexing_maps = [ALL, LAST, ALL], iterator_types = ["parallel", "parallel"]}
      ins(%g, %bias : tensor<5x40xT>, tensor<40xT>) outs(%e : tensor<5x40xT>) {
  ^bb0(%x: T, %y: T, %old: T):
    %s = arith.addf %x, %y : T
    linalg.yield %s : T
  } -> tensor<5x40xT>
  %e2 = tensor.empty() : tensor<5x8xT>
  %f2 = linalg.fill ins(%z : T) outs(%e2 : tensor<5x8xT>) -> tensor<5x8xT>
  %r = linalg.matmul ins(%h, %b : tensor<5x40xT>, tensor<40x8xT>)
      outs(%f2 : tensor<5x8xT>) -> tensor<5x8xT>
  %e3 = tensor.empty() : tensor<2x5x7xT>
  %f3 = linalg.fill ins(%z : T) outs(%e3 : tensor<2x5x7xT>) -> tensor<2x5x7xT>
  %m = linalg.batch_matmul ins(%q, %k : tensor<2x5x24xT>, tensor<2x24x7xT>)
      outs(%f3 : tensor<2x5x7xT>) -> tensor<2x5x7xT>
  %y = linalg.softmax dimension(2) ins(%m : tensor<2x5x7xT>) outs(%e3 : tensor<2x5x7xT>)
      -> tensor<2x5x7xT>
  return %r, %y : tensor<5x8xT>, tensor<2x5x7xT>
}
"""


def model(dtype: str) -> str:
    text = MODEL.replace("MAPS", MAPS["generic"]).replace("ALL", MAPS["all"])
    return (
        text.replace("LAST", MAPS["last"]).replace("xT>", f"x{dtype}>").replace(": T", f": {dtype}")
    )


def found(text: str) -> list[str]:
    replaced = place(text, [], mlir_patterns.everything).replaced
    assert replaced is not None
    return sorted(item.kernel for item in replaced)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_one_line_gives_a_model_all_of_them(dtype: str) -> None:
    names = ("batch_matmul", "linear", "matmul", "softmax")
    assert found(model(dtype)) == [f"{name}_{dtype}" for name in names]


def test_a_product_that_begins_with_something_else_stays() -> None:
    text = """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %c: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %r = linalg.matmul ins(%a, %b : tensor<4x8xf32>, tensor<8x4xf32>)
      outs(%c : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
"""
    with pytest.raises(LinkError, match="No pattern is found in the model"):
        found(text)


def test_only_what_is_found_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def build(kernels: Any, *_: Any, **__: Any) -> Any:
        built.extend(item.name for item in kernels)
        raise KeyboardInterrupt  # building them takes its time

    monkeypatch.setattr(compilation, "build", build)
    with pytest.raises(KeyboardInterrupt):
        cd.compile(model("f32"), [], ["cuda:sm_80"], replace=mlir_patterns.everything)
    assert sorted(built) == ["batch_matmul_f32", "linear_f32", "matmul_f32", "softmax_f32"]


def test_what_comes_out() -> None:
    patterns = [
        cd.Pattern(
            gemm.declare(layout, "f32", how=TILE_F32),
            mlir_patterns._product(layout, "f32", "f32", form, has_bias),
        )
        for layout, form, has_bias in (
            ("linear", "generic", True),
            ("matmul", "named", False),
            ("batch_matmul", "named", False),
        )
    ]
    program = cd.load(cd.compile(model("f32"), [], ["cpu"], replace=patterns), "cpu")
    random = np.random.default_rng(5)
    shapes = ((5, 24), (40, 24), (40,), (40, 8), (2, 5, 24), (2, 24, 7))
    a, w, bias, b, q, k = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
    one, other = (np.asarray(each) for each in program.main(a, w, bias, b, q, k))
    np.testing.assert_allclose(one, (a @ w.T + bias) @ b, rtol=1e-5, atol=1e-4)
    powers: Any = np.exp(q @ k)
    np.testing.assert_allclose(other, powers / powers.sum(-1, keepdims=True), rtol=1e-4, atol=1e-6)
