"""The patterns of MLIR that ship, in a model: which kernel goes where, and what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from cuda_kernels import gemm
from cuda_kernels.patterns import mlir as mlir_patterns
from custom_dispatch import compilation
from custom_dispatch.errors import ReplacementWarning
from custom_dispatch.frontends.mlir import place
from custom_dispatch.ir.compiler_tool import compile_mlir, cpu_flags
from custom_dispatch.kernel.target import Target
from custom_dispatch.link.dialects.torch_dialect import convert_torch, tidy_converted
from custom_dispatch.link.model import parse_content, parse_model

ALONE = ["--iree-hal-target-device=local", *cpu_flags(Target.parse("cpu"))]
TILE_F32 = gemm.Form(gemm.TileF32(32, 32, 16, 2, 2, 1), align1=True)
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


@pytest.mark.parametrize("dtype", ["f32", pytest.param("bf16", marks=pytest.mark.thorough)])
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
    with pytest.warns(ReplacementWarning, match="No pattern is found in the model"):
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
            gemm.declare(layout, "f32", form=TILE_F32),
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


def of_torch(module: Any, arguments: Any, dynamic: Any = None) -> str:
    """A PyTorch model in the torch dialect, as IREE's own tools import it."""
    torch = pytest.importorskip("torch")
    from iree.compiler.extras.fx_importer import FxImporter

    importer = FxImporter()
    program = torch.export.export(module.eval(), arguments, dynamic_shapes=dynamic)
    importer.import_program(program, func_name="main")
    return str(importer.module)


@pytest.mark.parametrize("is_dynamic", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_what_comes_of_pytorchs_operations_is_found(is_dynamic: bool) -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.last = torch.nn.LayerNorm(64), torch.nn.LayerNorm(64)
            self.up, self.down = torch.nn.Linear(64, 32), torch.nn.Linear(32, 64)
            self.scale = torch.nn.Parameter(torch.ones(64))

        def forward(self, x: Any, q: Any, seen: Any) -> Any:
            y = self.down(functional.gelu(self.up(self.norm(x))))
            y = self.scale * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6))
            z = functional.silu(y) * x
            z = torch.softmax(self.last(functional.gelu(z, approximate="tanh")), -1)
            plain = functional.scaled_dot_product_attention(q, q, q)
            causal = functional.scaled_dot_product_attention(q, q, q, is_causal=True)
            return z, plain, functional.scaled_dot_product_attention(causal, q, q, seen)

    dims = ({0: torch.export.Dim("rows")}, None, None) if is_dynamic else None
    given = (torch.randn(5, 64), torch.randn(2, 3, 6, 64), torch.ones(2, 1, 6, 6, dtype=torch.bool))
    assert found(of_torch(Model(), given, dims)) == [
        "attention_f32_64",
        "flat_bool_masked_attention_f32_64",
        "flat_masked_attention_f32_64",
        "gelu_tanh_f32",
        "layer_norm_f32",
        "layer_norm_f32",
        "linear_f32",
        "linear_gelu_erf_f32",
        "rms_norm_f32",
        "softmax_f32",
        "swiglu_f32",
    ]


def test_16_bits_of_pytorch_are_found_where_they_are_rounded() -> None:
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any, weight: Any, matrix: Any) -> Any:
            wide = x.float()
            y = (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight
            return torch.softmax(torch.nn.functional.linear(y, matrix), -1)

    given = [torch.randn(*size, dtype=torch.bfloat16) for size in ((2, 5, 64), (64,), (32, 64))]
    assert found(of_torch(Model(), tuple(given))) == [
        "linear_bf16",
        "rms_norm_bf16",
        "softmax_bf16",
    ]


@pytest.mark.thorough  # of the patterns in it, other tests have the results one by one
def test_what_comes_out_of_a_model_of_pytorch_is_pytorchs_and_irees() -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    torch.manual_seed(3)

    class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.project = torch.nn.LayerNorm(64), torch.nn.Linear(64, 64)

        def forward(self, x: Any) -> Any:
            q = self.project(self.norm(x)).reshape(2, 9, 2, 32).transpose(1, 2)
            return torch.softmax(
                functional.scaled_dot_product_attention(q, q, q, is_causal=True), -1
            )

    model, x = Model(), torch.randn(2, 9, 64)
    text = of_torch(model, (x,))
    every = (item for item in mlir_patterns.linear_of_torch if item.item.name == "linear_f32")
    texts = [text for item in every for text in item.computes]
    linear = cd.Pattern(gemm.declare("linear", "f32"), texts, required=False)
    patterns = [linear, *mlir_patterns.layer_norm, *mlir_patterns.attention, *mlir_patterns.softmax]
    module = cd.compile(text, [], ["cpu:host"], replace=patterns)
    assert module.replaced is not None
    assert sorted(item.kernel for item in module.replaced) == [
        "attention_f32_32",
        "layer_norm_f32",
        "linear_f32_t32x16_s4_align1",
        "softmax_f32",
    ]
    got = np.asarray(cd.load(module, "cpu").main(x.numpy()))
    plain = parse_content(convert_torch(parse_model(text), {})[0], "The model")
    tidy_converted(plain)
    alone = cd.load(compile_mlir(str(plain).encode(), ALONE), "cpu")
    np.testing.assert_allclose(got, model(x).detach().numpy(), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(got, np.asarray(alone.main(x.numpy())), rtol=1e-4, atol=1e-6)


def test_products_of_jax_are_found_where_sizes_are_symbols() -> None:
    """In what IREE's conversion makes of StableHLO; patterns of StableHLO come before that."""
    jax = pytest.importorskip("jax")
    patterns = [
        cd.Pattern(
            gemm.declare(layout, "f32"), mlir_patterns._product(layout, "f32", "f32", "named")
        )
        for layout in ("matmul", "batch_matmul")
    ]

    def model(x: Any, w: Any, y: Any) -> Any:
        return (x @ w) @ y

    specs = [
        jax.ShapeDtypeStruct(shape, np.float32) for shape in ((2, 5, 24), (24, 16), (2, 16, 8))
    ]
    symbolic = jax.export.symbolic_args_specs(tuple(specs), ("b, n, 24", "24, 16", "b, 16, 8"))
    module = cd.jax.compile(model, symbolic, ["cpu"], replace=patterns)
    assert sorted(item.kernel for item in module.replaced) == [
        "batch_matmul_f32_t32x16_s4_align1",
        "matmul_f32_t32x16_s4_align1",
    ]
    program = cd.load(module, "cpu")
    random = np.random.default_rng(5)
    for batch, rows in ((2, 5), (3, 40)):
        shapes = ((batch, rows, 24), (24, 16), (batch, 16, 8))
        x, w, y = (random.standard_normal(shape).astype(np.float32) for shape in shapes)
        got = np.asarray(program.main(x, w, y))
        np.testing.assert_allclose(got, (x @ w) @ y, rtol=1e-4, atol=1e-4)


def test_patterns_of_both_dialects_are_found_in_one_model() -> None:
    jax = pytest.importorskip("jax")
    from cuda_kernels.patterns import stablehlo as stablehlo_patterns

    def model(x: Any, w: Any) -> Any:
        return jax.nn.softmax(x @ w)

    shapes = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((5, 24), (24, 16))]
    text = str(jax.export.export(jax.jit(model))(*shapes).mlir_module())
    patterns = [*stablehlo_patterns.softmax, *mlir_patterns.matmul]
    replaced = place(text, [], patterns).replaced
    assert replaced is not None
    assert sorted(item.kernel for item in replaced) == ["matmul_f32", "softmax_f32"]
