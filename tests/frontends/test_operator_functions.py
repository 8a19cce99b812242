"""Declared functions as operators: of PyTorch, JAX and ONNX, and in patterns."""

from pathlib import Path

import jax
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

import custom_dispatch as cd
from tests.functions.functions import my_gelu, my_gelu_grad


def gelu(x: torch.Tensor, limit: torch.Tensor | float) -> torch.Tensor:
    small = x / (1 + torch.exp(-1.5957691216 * (0.044715 * x**3 + x)))
    return torch.where(x > limit, x, small)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 6)
        self.limit = torch.nn.Parameter(torch.linspace(0, 1, 6))
        self.operator = cd.torch.register(my_gelu, backward=my_gelu_grad)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.linear(x)
        return self.operator(h, 1.5) * 2 + self.operator(h, self.limit)


def test_an_operator_of_pytorch_broadcasts_and_has_a_derivative() -> None:
    operator = cd.torch.register(my_gelu, backward=my_gelu_grad)
    x = torch.linspace(-3, 3, 8).reshape(4, 2).requires_grad_()
    limit = torch.tensor([0.5, 2.0])
    found = operator(x, limit)
    torch.testing.assert_close(found, gelu(x, limit))
    (slope,) = torch.autograd.grad(found.sum(), x)
    (wanted,) = torch.autograd.grad(gelu(x, limit).sum(), x)
    torch.testing.assert_close(slope, wanted)
    torch.library.opcheck(
        torch.ops.custom_dispatch.my_gelu.default, (torch.randn(4), torch.randn(4))
    )


def test_a_model_of_pytorch_has_it_inside_its_own_code() -> None:
    model, x = Model().eval(), torch.randn(5, 4)
    rows = torch.export.Dim("rows")
    compiled = cd.torch.compile(model, (x,), ["cpu:host"], dynamic_shapes=({0: rows},))
    assert compiled.kernels == ()
    found = torch.from_dlpack(cd.load(compiled, "cpu").main(x))
    torch.testing.assert_close(found, model(x), atol=1e-5, rtol=1e-5)


def test_a_pattern_puts_it_in_the_place_of_a_chain() -> None:
    pattern = cd.torch.Pattern(my_gelu, gelu)

    class Chain(torch.nn.Module):
        def forward(self, x: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
            return gelu(x + 1, limit) * 2

    x, limit = torch.randn(3, 4), torch.rand(3, 4)
    compiled = cd.torch.compile(Chain(), (x, limit), ["cpu:host"], replace=[pattern])
    assert compiled.replaced is not None
    assert [item.kernel for item in compiled.replaced] == ["my_gelu"]
    found = torch.from_dlpack(cd.load(compiled, "cpu").main(x, limit))
    torch.testing.assert_close(found, Chain()(x, limit), atol=1e-5, rtol=1e-5)


def test_a_function_of_jax() -> None:
    call = cd.jax.call(my_gelu, backward=my_gelu_grad)

    def model(x: jax.Array, limit: jax.Array) -> jax.Array:
        return call(x * 2, limit) + 1

    x, limit = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3), np.float32(1.5)
    wanted = gelu(torch.from_numpy(x * 2), 1.5).numpy() + 1
    np.testing.assert_allclose(model(x, limit), wanted, atol=1e-5)
    slope = jax.grad(lambda x: call(x, limit).sum())(jax.numpy.asarray(x))
    assert slope.shape == x.shape
    compiled = cd.jax.compile(model, (x, limit), ["cpu:host"])
    assert compiled.kernels == ()
    found = cd.load(compiled, "cpu").main(x, limit)
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-5)


def test_a_node_of_onnx(tmp_path: Path) -> None:
    cd.onnx.register(my_gelu)
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", 4]) for n in "xlz"]
    nodes = [
        helper.make_node("Neg", ["x"], ["y"]),
        helper.make_node("my_gelu", ["y", "l"], ["z"], domain="custom_dispatch"),
    ]
    graph = helper.make_graph(nodes, "graph", values[:2], values[2:])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("custom_dispatch", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets), tmp_path / "model.onnx")
    compiled = cd.onnx.compile(tmp_path / "model.onnx", ["cpu:host"])
    assert compiled.kernels == ()
    x = np.linspace(-2, 2, 8, dtype=np.float32).reshape(2, 4)
    found = cd.load(compiled, "cpu").main(x, np.full((2, 4), 1.5, np.float32))
    wanted = gelu(torch.from_numpy(-x), 1.5).numpy()
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-5)
