"""Kernels that a function declares for template arguments and macros: used like any others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import custom_dispatch as cd
from custom_dispatch.errors import LinkError

n = cd.dim("n")
SOURCE = """
template <int WIDTH>
__global__ void scale(const float* x, float* y, float by, int n) {
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i < n) y[i] = x[i] * by * WIDTH;
}
"""
X = np.arange(70, dtype=np.float32)
Make = Callable[..., cd.Kernel]


@pytest.fixture(scope="module")
def scale(tmp_path_factory: pytest.TempPathFactory) -> Make:
    source = tmp_path_factory.mktemp("scale") / "scale.cu"
    source.write_text(SOURCE)

    @functools.cache
    def scale(width: int, least: int = 0) -> cd.Kernel:
        return cd.Kernel(
            f"scale_w{width}",
            source=source,
            entry=f"scale<{width}>",
            options=[f"-DBLOCK={32 * width}"],
            operands=[
                cd.In("x", "f32", [n]),
                cd.Out("y", "f32", [n]),
                cd.Scalar("by", "f32"),
                cd.Scalar("n", "i32", n),
            ],
            requires=[n >= least] if least else [],
            block=32 * width,
            grid=cd.ceildiv(n, 32 * width),
            reference=lambda x, by: x * by * width,
        )

    return scale


def test_calls_and_choices(scale: Make) -> None:
    assert scale(4) is scale(4)
    for width in (1, 4):
        np.testing.assert_array_equal(scale(width)(X, 2.0), X * 2 * width)
        np.testing.assert_array_equal(scale(width).on("cpu")(X, 2.0), X * 2 * width)
    either = cd.Choice("scale_either", [scale(4, 64), scale(1)])
    assert either.on("cpu")(X, 2.0)[1] == 8
    assert either.on("cpu")(X[:9], 2.0)[1] == 2


def test_a_model_in_mlir_calls_two_by_their_names(scale: Make) -> None:
    kind = "tensor<70xf32>"
    model = f"""
      func.func private @scale_w1({kind}, f32) -> {kind}
      func.func @main(%x: {kind}) -> ({kind}, {kind}) {{
        %by = arith.constant 2.0 : f32
        %0 = call @scale_w1(%x, %by) : ({kind}, f32) -> {kind}
        %1 = stablehlo.custom_call @scale_w4(%x)
          {{mhlo.backend_config = {{by = 3.0 : f32}}}} : ({kind}) -> {kind}
        return %0, %1 : {kind}, {kind}
      }}"""
    kernels = [scale(width) for width in (1, 4)]
    module = cd.compile(model, kernels, ["cpu"])
    assert module.kernels == ("scale_w1", "scale_w4")
    one, four = cd.load(module).main(X)
    np.testing.assert_array_equal(one, X * 2)
    np.testing.assert_array_equal(four, X * 12)
    with pytest.raises(LinkError) as caught:
        cd.compile(model.replace("{by =", "{width = 4, by ="), kernels, ["cpu"])
    assert caught.value.found.endswith("has the attribute `width`, which `scale_w4` does not take.")
    assert caught.value.next_step == (
        "leave it out, or declare it; what a kernel is compiled with, a macro or template "
        "argument, is in its name and not in the call."
    )


def test_operators_of_pytorch(scale: Make) -> None:
    one, _ = (cd.torch.register(scale(width)) for width in (1, 4))

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return one(x, 2.0) + torch.ops.custom_dispatch.scale_w4(x, 3.0)

    x = torch.from_numpy(X)
    torch.testing.assert_close(Model()(x), x * 14)
    module = cd.torch.compile(Model(), (x,), ["cpu"])
    assert set(module.kernels) == {"scale_w1", "scale_w4"}
    np.testing.assert_array_equal(cd.load(module).main(X), X * 14)


def test_functions_of_jax(scale: Make) -> None:
    def model(x: Any) -> Any:
        return cd.jax.call(scale(1))(x, 2.0) + cd.jax.call(scale(4))(x, by=3.0)

    np.testing.assert_array_equal(jax.jit(model)(X), X * 14)
    module = cd.jax.compile(model, (X,), ["cpu"])
    assert set(module.kernels) == {"scale_w1", "scale_w4"}
    np.testing.assert_array_equal(cd.load(module).main(X), X * 14)


def test_operators_of_onnx(scale: Make) -> None:
    operators = [cd.onnx.register(scale(width), domain="mine") for width in (1, 4)]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy"]
    nodes = [
        helper.make_node("scale_w1", ["x"], ["h"], domain="mine", by=2.0),
        helper.make_node("scale_w4", ["h"], ["y"], domain="mine", by=3.0),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "graph", values[:1], values[1:]),
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("mine", 1)],
        ir_version=10,
    )
    onnx.checker.check_model(model, full_check=True)
    module = cd.onnx.compile(model, ["cpu"])
    assert set(module.kernels) == {"scale_w1", "scale_w4"}
    np.testing.assert_array_equal(cd.load(module).main(X), X * 24)
    evaluator = onnx.reference.ReferenceEvaluator(model, new_ops=operators)
    np.testing.assert_array_equal(evaluator.run(None, {"x": X})[0], X * 24)
