"""Kernels called by name in StableHLO models: custom calls and composites."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_dispatch as cd
from custom_dispatch.errors import LinkError, ModelError
from custom_dispatch.frontends.mlir import link
from custom_dispatch.ir.executable import by_path
from custom_dispatch.toolchain.library import Library
from tests.sample_kernels.rows import row_norm

n = cd.dim("n")
SHIFT = """
extern "C" __global__ void shift(const unsigned char* x, const unsigned char* other,
                                 unsigned char by, bool down, unsigned char* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] + (down ? -by : by) + (other ? other[i] : 0);
}
"""
X = np.arange(48, dtype=np.float32).reshape(2, 3, 8)
WEIGHT = np.linspace(1, 2, 8, dtype=np.float32)
T, W = "tensor<2x3x8xf32>", "tensor<8xf32>"


def normalised(x: Any) -> Any:
    assert row_norm.reference is not None
    return row_norm.reference(x, WEIGHT, 1e-5)


@pytest.fixture(scope="module")
def library() -> Library:
    return cd.build([row_norm], ["cuda:sm_80"])


@pytest.fixture(scope="module")
def shift(tmp_path_factory: pytest.TempPathFactory) -> cd.Kernel:
    source = tmp_path_factory.mktemp("shift") / "shift.cu"
    source.write_text(SHIFT)
    return cd.Kernel(
        "shift",
        source=source,
        operands=[
            cd.In("x", "u8", [n]),
            cd.In("other", "u8", [n], optional=True),
            cd.Scalar("by", "u8"),
            cd.Scalar("down", "bool"),
            cd.Out("y", "u8", [n]),
            cd.Scalar("n", "i32", n),
        ],
        block=1,
        grid=1,
    )


def custom_call(
    target: str = "mine.row_norm",
    attributes: str = "{mhlo.backend_config = {epsilon = 1.0e-5 : f32}}",
    weight: str = W,
    result: str = T,
) -> str:
    return f"""
      func.func @main(%x: {T}, %weight: {weight}) -> {result} {{
        %0 = stablehlo.custom_call @{target}(%x, %weight) {attributes}
          : ({T}, {weight}) -> {result} loc("model.py":7:0)
        %1 = stablehlo.add %0, %0 : {result}
        return %1 : {result}
      }}"""


def composite(name: str = "mine.row_norm", decomposition: str = "row_norm") -> str:
    return f"""
      func.func @main(%x: {T}, %weight: {W}) -> {T} {{
        %0 = stablehlo.composite "{name}" %x, %weight {{
          composite_attributes = {{epsilon = 1.0e-5 : f64}}, decomposition = @{decomposition}
        }} : ({T}, {W}) -> {T}
        return %0 : {T}
      }}
      func.func private @{decomposition}(%x: {T}, %weight: {W}) -> {T} {{
        %0 = stablehlo.negate %x : {T}
        return %0 : {T}
      }}"""


@pytest.mark.parametrize(
    "attributes",
    [
        "{mhlo.backend_config = {epsilon = 1.0e-5 : f32}}",
        '{mhlo.backend_config = {epsilon = 1.0e-5 : f64}, backend_config = ""}',
        "{api_version = 4 : i32, backend_config = {epsilon = 1.0e-5 : f32}}",
    ],
)
def test_a_custom_call_is_the_kernel(attributes: str) -> None:
    module = cd.compile(custom_call(attributes=attributes), row_norm, ["cuda:sm_80", "cpu"])
    program = cd.load(module, "cpu")
    assert str(program.main.type) == f"({T}, {W}) -> ({T})"
    np.testing.assert_allclose(program.main(X, WEIGHT), 2 * normalised(X), rtol=1e-5)
    assert module.kernels == ("row_norm",)


def test_a_call_of_open_sizes_is_checked_before_the_model_runs(library: Library) -> None:
    source = f"""
      func.func @main(%x: tensor<?x8xf32>, %weight: {W}) -> tensor<?x8xf32> {{
        %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
        %one = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
        %eight = stablehlo.constant dense<8> : tensor<1xi32>
        %shape = stablehlo.concatenate %one, %eight, dim = 0
          : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
        %0 = stablehlo.custom_call @row_norm(%x, %weight, %shape) {{
          mhlo.backend_config = {{epsilon = 1.0e-5 : f32}},
          indices_of_shape_operands = dense<2> : tensor<1xi64>
        }} : (tensor<?x8xf32>, {W}, tensor<2xi32>) -> tensor<?x8xf32>
        return %0 : tensor<?x8xf32>
      }}"""
    assert "call @custom_dispatch_unchecked_row_norm(" in link(source, library, by_path).text
    program = cd.load(cd.compile(source, row_norm, ["cpu"]))
    x = X.reshape(6, 8)
    np.testing.assert_allclose(program.main(x, WEIGHT), normalised(x), rtol=1e-5)


def test_numbers_reach_scalars_as_operands_or_attributes(shift: cd.Kernel) -> None:
    kind = "tensor<4xui8>"
    source = f"""
      func.func @main(%x: {kind}) -> ({kind}, {kind}) {{
        %by = stablehlo.constant dense<250> : tensor<ui8>
        %0 = stablehlo.custom_call @shift(%x) {{
          mhlo.backend_config = {{by = 200 : i64, down = true}}}} : ({kind}) -> {kind}
        %1 = stablehlo.custom_call @shift(%x, %x, %by) {{
          mhlo.backend_config = {{down = false}}}} : ({kind}, {kind}, tensor<ui8>) -> {kind}
        return %0, %1 : {kind}, {kind}
      }}"""
    x = np.array([0, 1, 201, 255], np.uint8)
    down, up = cd.load(cd.compile(source, shift, ["cpu"])).main(x)
    np.testing.assert_array_equal(down.view(np.uint8), x - np.uint8(200))
    np.testing.assert_array_equal(up.view(np.uint8), x + x + np.uint8(250))


@pytest.mark.parametrize("decomposition", ["row_norm", "mine.row_norm", "impl"])
def test_a_composite_is_the_kernel(decomposition: str, library: Library) -> None:
    source = composite(decomposition=decomposition)
    assert "math.negate" not in link(source, library, by_path).text
    program = cd.load(cd.compile(source, row_norm, ["cpu"]))
    np.testing.assert_allclose(program.main(X, WEIGHT), normalised(X), rtol=1e-5)


def test_a_composite_that_no_kernel_is_given_for_is_its_decomposition(shift: cd.Kernel) -> None:
    source = composite("mine.other", "impl").replace(
        f"return %0 : {T}\n      }}\n",
        f"""%1 = stablehlo.custom_call @row_norm(%0, %weight) {{
          mhlo.backend_config = {{epsilon = 1.0e-5 : f32}}}} : ({T}, {W}) -> {T}
        return %1 : {T}
      }}
""",
        1,
    )
    program = cd.load(cd.compile(source, [row_norm], ["cpu"]))
    np.testing.assert_allclose(program.main(X, WEIGHT), normalised(-X), rtol=1e-5)
    nothing = cd.Choice("thing", [shift.with_launch(name="shift_alone")])
    both = source.replace('"mine.other"', '"mine.thing"')
    with pytest.raises(LinkError, match="has the attribute `epsilon`, which `shift_alone` does"):
        cd.compile(both.replace("mine.thing", "mine.shift_alone"), [row_norm, nothing], ["cpu"])
    program = cd.load(cd.compile(both, [row_norm, nothing], ["cpu"]))
    np.testing.assert_allclose(program.main(X, WEIGHT), normalised(-X), rtol=1e-5)


@pytest.mark.parametrize(
    ("source", "found", "expected"),
    [
        (
            custom_call("mine.other"),
            "The model has a custom call of `mine.other` at model.py:7, which IREE does not know",
            "a kernel that is given: row_norm",
        ),
        (
            custom_call(attributes="{mhlo.backend_config = {eps = 1.0e-5 : f32}}"),
            "at model.py:7 has the attribute `eps`, which `row_norm` does not take",
            "attributes named `epsilon`",
        ),
        (
            custom_call(attributes='{mhlo.backend_config = {epsilon = "a"}}'),
            'at model.py:7 has "a" for the scalar `epsilon`',
            "a number that f32 holds",
        ),
        (
            custom_call(attributes='{backend_config = "opaque"}'),
            'at model.py:7 has the attributes "opaque"',
            "a dictionary: {epsilon = 1.0e-5 : f32}",
        ),
        (
            custom_call(attributes=""),
            "at model.py:7 has no value for `epsilon`",
            "as `row_norm` is declared: In(x: f32[..., columns])",
        ),
        (
            custom_call(weight="tensor<7xf32>"),
            "`x`.shape[2] and `weight`.shape[0] disagree on dim columns: 8 and 7.",
            "sizes that agree: x[..., columns], weight[columns], y[..., columns]",
        ),
        (
            custom_call(weight="tensor<8xf16>"),
            "at model.py:7 has tensor<8xf16> for `weight`",
            "a tensor of rank 1 and type f32: tensor<?xf32>",
        ),
        (
            custom_call(result="tensor<2x3x9xf32>"),
            "at model.py:7 has a result `y` of size 9 in dimension 2",
            "columns = 8",
        ),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place(
    library: Library, source: str, found: str, expected: str
) -> None:
    with pytest.raises(LinkError) as caught:
        link(source, library, by_path)
    assert found in caught.value.found
    assert caught.value.expected.startswith(expected)


def test_what_iree_cannot_convert_is_a_sentence(library: Library) -> None:
    source = custom_call().replace("stablehlo.add %0, %0", "stablehlo.cbrt %0") + (
        "\nfunc.func @other(%x: tensor<4xf32>) -> tensor<2xcomplex<f32>> {\n"
        "  %0 = stablehlo.custom_call @row_norm(%x, %x) {mhlo.backend_config ="
        " {epsilon = 1.0 : f32}} : (tensor<4xf32>, tensor<4xf32>) -> tensor<2xcomplex<f32>>\n"
        "  return %0 : tensor<2xcomplex<f32>>\n}"
    )
    with pytest.raises((LinkError, ModelError)) as caught:
        link(source, library, by_path)
    assert "has tensor<2xcomplex<f32>> for `y`" in str(caught.value)


# In a process of its own: JAX has threads, and other tests fork.
EXPORT = """
import functools, sys
import jax, jax.export
import numpy as np

dynamic = sys.argv[1] == "True"

def norm(x, weight):
    kind = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.ffi.ffi_call("mine.row_norm", kind)(x, weight, epsilon=np.float32(1e-5))

@functools.partial(jax.lax.composite, name="mine.row_norm")
def normal(x, weight, *, epsilon):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + epsilon) * weight

def model(x, weight):
    return norm(x, weight) if dynamic else normal(norm(x, weight), weight, epsilon=1e-5)

rows = jax.export.symbolic_shape("rows")[0] if dynamic else 6
shapes = (jax.ShapeDtypeStruct((rows, 8), np.float32), jax.ShapeDtypeStruct((8,), np.float32))
unchecked = [jax.export.DisabledSafetyCheck.custom_call("mine.row_norm")]
print(jax.export.export(jax.jit(model), disabled_checks=unchecked)(*shapes).mlir_module())
"""


@pytest.mark.parametrize("dynamic", [pytest.param(False, marks=pytest.mark.thorough), True])
def test_what_jax_exports_is_a_model(dynamic: bool, tmp_path: Path) -> None:
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    command = [sys.executable, "-c", EXPORT, str(dynamic)]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    path = tmp_path / "model.mlir"
    path.write_text(done.stdout)
    module = cd.compile(path, row_norm, ["cuda:sm_80", "cpu"])
    x = X.reshape(6, 8)
    wanted = normalised(x) if dynamic else normalised(normalised(x))
    np.testing.assert_allclose(cd.load(module, "cpu").main(x, WEIGHT), wanted, rtol=1e-5)
