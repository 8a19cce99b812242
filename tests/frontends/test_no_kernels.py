"""Models that no kernel is in are compiled as others are: by IREE, with the same corrections."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax.numpy as jnp
import numpy
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import custom_dispatch as cd
from custom_dispatch.compiled import CompiledModule
from custom_dispatch.errors import DeclarationError, LinkError, ReplacementWarning
from tests.sample_kernels.rows import row_norm

X = numpy.random.default_rng().standard_normal((3, 8)).astype("f4")
MLIR = """
func.func @main(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %root = math.tanh %x : tensor<3x8xf32>
  return %root : tensor<3x8xf32>
}
"""


def of_onnx() -> onnx.ModelProto:
    kind = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Tanh", ["x"], ["y"])],
        "graph",
        [kind("x", TensorProto.FLOAT, [3, 8])],
        [kind("y", TensorProto.FLOAT, [3, 8])],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def in_torch(replace: Any = ()) -> CompiledModule:
    return cd.torch.compile(torch.nn.Tanh(), (torch.from_numpy(X),), ["cpu"], replace=replace)


def in_jax(replace: Any = ()) -> CompiledModule:
    return cd.jax.compile(jnp.tanh, (X,), ["cpu"], replace=replace)


def in_onnx(replace: Any = ()) -> CompiledModule:
    return cd.onnx.compile(of_onnx(), ["cpu"], replace=replace)


def in_mlir(replace: Any = ()) -> CompiledModule:
    return cd.compile(MLIR, [], ["cpu"], replace=replace)


FRONT_ENDS = (in_torch, in_jax, in_onnx, in_mlir)


@pytest.mark.parametrize("compiled", FRONT_ENDS)
def test_a_model_needs_no_kernels(compiled: Callable[..., CompiledModule]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = compiled()
    assert module.kernels == ()
    assert module.replaced is None
    program = cd.load(module, "cpu")
    numpy.testing.assert_allclose(program.main(X), numpy.tanh(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("compiled", FRONT_ENDS)
def test_patterns_that_are_found_nowhere_are_a_warning(
    compiled: Callable[..., CompiledModule],
) -> None:
    shipped = import_module(f"cuda_kernels.patterns.{compiled.__name__.removeprefix('in_')}")
    with pytest.warns(ReplacementWarning) as warned:
        module = compiled(shipped.softmax)
    (item,) = warned
    assert str(item.message) == ("No pattern is found in the model. No place is like one either.")
    assert item.filename == __file__
    assert module.kernels == ()
    assert module.replaced is not None
    assert not module.replaced
    numpy.testing.assert_allclose(cd.load(module, "cpu").main(X), numpy.tanh(X), atol=1e-5)


def test_kernels_that_are_given_have_to_be_called() -> None:
    with pytest.raises(LinkError, match="The model calls none of the kernels: row_norm"):
        cd.compile(MLIR, [row_norm], ["cpu"])
    with pytest.raises(DeclarationError, match="No kernel is given"):
        cd.compile(None, [], ["cpu"])
    with pytest.raises(DeclarationError, match="No kernel is given"):
        cd.build([], ["cpu"])
