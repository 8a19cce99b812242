"""Functions called by name in models of MLIR: shapes, errors, and what IREE fuses."""

from pathlib import Path

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.cli.kernels import load_kernels
from custom_dispatch.errors import CallError, LinkError
from custom_dispatch.frontends.mlir import place
from custom_dispatch.ir.compiler_tool import compile_mlir, device_flags
from custom_dispatch.toolchain.library import Library
from custom_dispatch.toolchain.plan import check_targets
from tests.functions.functions import declare, my_gelu

BETWEEN_A_PRODUCT_AND_A_SUM = """
func.func private @my_gelu(tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x16xf32>, %limit: tensor<f32>)
    -> tensor<?x16xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%n) : tensor<?x16xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?x16xf32>) -> tensor<?x16xf32>
  %h = linalg.matmul ins(%x, %w : tensor<?x8xf32>, tensor<8x16xf32>)
                     outs(%start : tensor<?x16xf32>) -> tensor<?x16xf32>
  %r = call @my_gelu(%h, %limit) : (tensor<?x16xf32>, tensor<f32>) -> tensor<?x16xf32>
  %s = arith.addf %r, %r : tensor<?x16xf32>
  return %s : tensor<?x16xf32>
}
"""


def gelu(x: np.ndarray, limit: float) -> np.ndarray:
    wide = x.astype(np.float64)
    small = wide / (1 + np.exp(-1.5957691216 * (0.044715 * wide**3 + wide)))
    return np.where(wide > limit, wide, small)


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_80"])
def test_product_function_and_sum_are_one_dispatch(target: str) -> None:
    placed = place(BETWEEN_A_PRODUCT_AND_A_SUM, [my_gelu.kernel()])
    assert placed.called == ()
    flags = device_flags(Library((), tuple(check_targets([target]))))
    flow = compile_mlir(str(placed.module).encode(), [*flags, "--compile-to=flow"])
    assert flow.count(b" flow.dispatch @") == 1


def test_shapes_broadcast_as_in_numpy() -> None:
    model = """
func.func private @my_gelu(tensor<1x3xf32>, tensor<?x2x1xf32>) -> tensor<?x2x3xf32>
func.func @main(%x: tensor<1x3xf32>, %limit: tensor<?x2x1xf32>) -> tensor<?x2x3xf32> {
  %r = call @my_gelu(%x, %limit) : (tensor<1x3xf32>, tensor<?x2x1xf32>) -> tensor<?x2x3xf32>
  return %r : tensor<?x2x3xf32>
}
func.func private @halved(tensor<3xf32>, f32) -> tensor<3xf32>
func.func @by_number(%x: tensor<3xf32>, %limit: f32) -> tensor<3xf32> {
  %r = call @halved(%x, %limit) : (tensor<3xf32>, f32) -> tensor<3xf32>
  return %r : tensor<3xf32>
}
"""
    halved = cd.Function(
        "halved", source=my_gelu.source, entry="my_gelu", operands=my_gelu.operands, result="f32"
    )
    program = cd.load(cd.compile(model, [my_gelu, halved], ["cpu:host"]), "cpu")
    x = np.array([[-1.0, 0.5, 2.0]], np.float32)
    limit = np.arange(8, dtype=np.float32).reshape(4, 2, 1) / 4
    np.testing.assert_allclose(np.asarray(program.main(x, limit)), gelu(x, limit), atol=1e-6)
    np.testing.assert_allclose(np.asarray(program.by_number(x[0], 1.0)), gelu(x[0], 1), atol=1e-6)


def test_open_sizes_that_differ_are_refused_by_the_module() -> None:
    model = """
func.func private @my_gelu(tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
func.func @main(%x: tensor<?xf32>, %limit: tensor<?xf32>) -> tensor<?xf32> {
  %r = call @my_gelu(%x, %limit) : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
"""
    program = cd.load(cd.compile(model, my_gelu, ["cpu:host"]), "cpu")
    x = np.ones(4, np.float32)
    assert np.asarray(program.main(x, x)).shape == (4,)
    with pytest.raises(CallError) as refusal:
        program.main(x, x[:1])
    assert "function `my_gelu`: size 0 of `limit`, aligned with the results, is another" in str(
        refusal.value
    )


def test_functions_of_numbers_combine_and_index() -> None:
    combine = declare("larger_magnitude", "f32", a="f32", b="f32")
    mirrored = declare("mirrored", "i64", i="i64", count="i64")
    model = """
func.func private @larger_magnitude(f32, f32) -> f32
func.func private @mirrored(i64, i64) -> i64
func.func @largest(%x: tensor<?x8xf32>) -> tensor<?xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c0 : tensor<?x8xf32>
  %empty = tensor.empty(%n) : tensor<?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%empty : tensor<?xf32>) -> tensor<?xf32>
  %r = linalg.reduce ins(%x : tensor<?x8xf32>) outs(%start : tensor<?xf32>) dimensions = [1]
    (%item: f32, %before: f32) {
      %both = func.call @larger_magnitude(%item, %before) : (f32, f32) -> f32
      linalg.yield %both : f32
    }
  return %r : tensor<?xf32>
}
func.func @running(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %zero = arith.constant 0.0 : f32
  %row = tensor.empty() : tensor<3xf32>
  %start = linalg.fill ins(%zero : f32) outs(%row : tensor<3xf32>) -> tensor<3xf32>
  %empty = tensor.empty() : tensor<3x8xf32>
  %r:2 = iree_linalg_ext.scan dimension(1) inclusive(true) ins(%x : tensor<3x8xf32>)
      outs(%empty, %start : tensor<3x8xf32>, tensor<3xf32>) {
  ^bb0(%before: f32, %item: f32):
    %both = func.call @larger_magnitude(%before, %item) : (f32, f32) -> f32
    iree_linalg_ext.yield %both : f32
  } -> tensor<3x8xf32>, tensor<3xf32>
  return %r#0 : tensor<3x8xf32>
}
func.func @backwards(%x: tensor<6xf32>) -> tensor<6xf32> {
  %empty = tensor.empty() : tensor<6xf32>
  %count = arith.constant 6 : i64
  %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%empty : tensor<6xf32>) {
  ^bb0(%o: f32):
    %i = linalg.index 0 : index
    %wide = arith.index_cast %i : index to i64
    %other = func.call @mirrored(%wide, %count) : (i64, i64) -> i64
    %j = arith.index_cast %other : i64 to index
    %item = tensor.extract %x[%j] : tensor<6xf32>
    linalg.yield %item : f32
  } -> tensor<6xf32>
  return %r : tensor<6xf32>
}
"""
    program = cd.load(cd.compile(model, [combine, mirrored], ["cpu:host"]), "cpu")
    x = np.random.default_rng(0).standard_normal((3, 8)).astype(np.float32)
    wanted = x[np.arange(3), np.abs(x).argmax(axis=1)]
    np.testing.assert_array_equal(np.asarray(program.largest(x)), wanted)
    found = np.asarray(program.running(x))
    np.testing.assert_array_equal(np.abs(found), np.maximum.accumulate(np.abs(x), axis=1))
    np.testing.assert_array_equal(found[:, -1], wanted)
    np.testing.assert_array_equal(np.asarray(program.backwards(x[0, :6])), x[0, 5::-1])


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("(tensor<4xf32>) -> tensor<4xf32>", "with 1 operands.\n  expected: 2"),
        (
            "(tensor<4xf64>, tensor<f32>) -> tensor<4xf64>",
            "with tensor<4xf64> for `x`.\n  expected: a tensor of f32",
        ),
        (
            "(tensor<3xf32>, tensor<f32>) -> tensor<4xf32>",
            "with sizes (3) of `x`.\n  expected: sizes that broadcast to those of the results",
        ),
        (
            "(tensor<2x4xf32>, tensor<f32>) -> tensor<4xf32>",
            "with sizes (2, 4) of `x`.\n  expected: sizes that broadcast",
        ),
        ("(tensor<4xf32>, f32) -> f32", "with a tensor, and results that are none."),
        (
            "(tensor<1xf32>, tensor<f32>) -> tensor<?xf32>",
            "with a size of the results that is open, and that no operand has.",
        ),
    ],
)
def test_other_types_are_refused(kind: str, said: str) -> None:
    with pytest.raises(LinkError) as refusal:
        cd.compile(f"func.func private @my_gelu{kind}\n", [my_gelu], ["cpu"])
    assert f"The model declares function `my_gelu` {said}" in str(refusal.value)
    assert "correct the model's declaration of the function." in str(refusal.value)


def test_a_library_has_functions_too() -> None:
    library = cd.build([my_gelu], ["cpu:host"])
    model = """
func.func private @my_gelu(tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %limit: tensor<f32>) -> tensor<4xf32> {
  %r = call @my_gelu(%x, %limit) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
"""
    compiled = cd.compile(model, library)
    assert compiled.kernels == ()
    x = np.arange(4, dtype=np.float32)
    found = cd.load(compiled, "cpu").main(x, np.float32(1.5))
    np.testing.assert_allclose(np.asarray(found), gelu(x, 1.5), atol=1e-6)


def test_the_command_line_finds_functions() -> None:
    found = load_kernels((str(Path(__file__).with_name("functions.py")),))
    assert my_gelu.name in [kernel.name for kernel in found]


def test_a_call_by_itself_runs_the_kernel_form() -> None:
    x = np.array([[-1.0], [2.0]], np.float32)
    limit = np.array([0.5, 3.0, 1.0], np.float32)
    found = np.asarray(my_gelu.on("cpu")(x, limit))
    np.testing.assert_allclose(found, gelu(x, limit), atol=1e-6)
    np.testing.assert_allclose(np.asarray(my_gelu.on("cpu")(x, 1)), gelu(x, 1), atol=1e-6)
