"""Operations that follow products in models of PyTorch, as functions that the products call."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import statements_on_cpu
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns.rewriting.pointwise import has_statement, statement_of
from cuda_kernels.patterns.torch import everything
from cuda_kernels.patterns.torch_epilogues import chains_of, epilogues_in, everything_in
from custom_dispatch.frontends.torch.graph import ASSERTION
from custom_dispatch.frontends.torch.importer import export_model
from tests.places import replaced_in_torch

WIDTH = 32
LIMITED_GELU = cd.torch.register(statements_on_cpu.LIMITED_GELU)
OPERATIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "alpha": lambda x, y: torch.add(x, y, alpha=-0.5),
    "sub": lambda x, y: 1.5 - x - 2 * y,
    "mul": lambda x, y: x * y * 1e-3,
    "div": lambda x, y: x / y,
    "neg": lambda x, _: -torch.abs(x),
    "exponents": lambda x, _: torch.exp(x) + torch.exp2(x) + torch.expm1(x),
    "logarithms": lambda x, _: torch.log(x) + torch.log2(x) + torch.log10(x) + torch.log1p(x),
    "roots": lambda x, _: torch.sqrt(x) + torch.rsqrt(x) + torch.reciprocal(x),
    "circle": lambda x, _: torch.sin(x) + torch.cos(x) + torch.tan(x) + torch.atan(x),
    "hyperbola": lambda x, _: torch.sinh(x) + torch.tanh(x) + torch.asinh(x),
    "cosh": lambda x, _: torch.cosh(x),
    "errors": lambda x, _: torch.erf(x) + torch.erfc(x),
    "steps": lambda x, _: torch.floor(x) + torch.ceil(x) + torch.trunc(x),
    "powers": lambda x, _: x**2 + x**3 + x**0.5 + x**-1 + x**-0.5 + x**1.7 + torch.square(x),
    "of a number": lambda x, _: torch.pow(2.0, x),
    "extremes": lambda x, y: torch.minimum(x, y) + 2 * torch.maximum(x, y),
    "clamp": lambda x, _: x.clamp(-0.5, 2) + x.clamp(min=-1) + x.clamp(max=3),
    "clamp of nothing": lambda x, _: x.clamp(2, -2),
    "hard": lambda x, _: functional.hardtanh(x, -2, 1) + functional.relu6(x) + functional.relu(x),
    "hardswish": lambda x, _: functional.hardswish(x) + functional.hardsigmoid(x),
    "leaky": lambda x, _: functional.leaky_relu(x, 0.3) + functional.elu(x, 0.7),
    "selu": lambda x, _: functional.elu(x, 1.6732632423543772) * 1.0507009873554805,
    "sigmoid": lambda x, _: torch.sigmoid(x) + functional.silu(x),
    "softplus": lambda x, _: functional.softplus(x, 2.0, 5.0) + functional.mish(x),
    "gelu": lambda x, _: functional.gelu(x) + 2 * functional.gelu(x, approximate="tanh"),
    "choice": lambda x, y: torch.where((x > y) | torch.isnan(x), x, y) + (x <= 0.5) * y,
    "conditions": lambda x, y: torch.where(((x >= y) & ~(x < 0)) == (x != 1), x, 2 * y),
    "filled": lambda x, y: x.masked_fill((x == y).logical_or(y < 1), 3.0) + (x > 0).to(x.dtype),
    "likes": lambda x, y: torch.where(x > y, torch.zeros_like(x), torch.ones_like(x)),
    "nothing": lambda x, y: x.to(torch.float32) + y.contiguous(),
}


class Operations(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return tuple(operation(x, y) for operation in OPERATIONS.values())


def test_operations_compute_what_pytorch_does() -> None:
    """In one kernel for all of them."""
    points = [*np.linspace(-9, 9, 61), 0.0, 1e-30, -1e-3, 30.0, -30.0, 88.0, np.nan]
    x = torch.tensor(points, dtype=torch.float32)
    y = x.flip(0) + 0.5
    names: dict[torch.fx.Node, str] = {}
    lines: list[str] = []
    for node in export_model(Operations(), (x, y), None).graph.nodes:
        if node.op == "placeholder":
            names[node] = node.name
        elif node.op == "output":
            results = [names[each] for each in node.args[0]]
        elif node.target is not ASSERTION:
            assert has_statement(node), node
            names[node] = f"y{len(names)}"
            lines.append(statement_of(node, names[node], names))
    got = statements_on_cpu.computed(lines, results, x.numpy(), y.numpy())
    want = torch.stack(Operations()(x.double(), y.double()), dim=1).to(torch.float32).numpy()
    for index, name in enumerate(OPERATIONS):
        np.testing.assert_allclose(got[:, index], want[:, index], 1e-5, 1e-5, err_msg=name)


class Followed(torch.nn.Module):
    """Products, each with what follows it in a line of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(WIDTH, WIDTH) for _ in range(6))
        self.up = torch.nn.Linear(WIDTH, WIDTH, bias=False)
        self.gamma = torch.nn.Parameter(torch.linspace(-1, 1, WIDTH))
        self.norm = torch.nn.LayerNorm(WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b, c, d, e, f = self.layers
        y = functional.relu(a(x)) ** 2
        y = self.norm(self.gamma * b(y) + x)
        y = functional.gelu(c(y), approximate="tanh") * self.up(y)
        y = d(y)
        y = 0.5 * y * (1 + torch.tanh(0.7978845608028654 * (y + 0.044715 * y**3)))
        y = torch.tanh(e(y) / 30) * 30
        return x + LIMITED_GELU(f(y).float(), 0.75).to(x.dtype)


NAMES = [
    "linear_with_relu_pow",
    "linear_with_mul_add",
    "linear_with_gelu_mul",
    "linear_gelu_tanh",
    "linear_with_div_tanh_mul",
    "linear_with_limited_gelu_add",
]


def stems(names: list[str]) -> list[str]:
    """Without digests and types."""
    return [re.sub(r"(_[0-9a-f]{8})?_(bf16|f32)$", "", name) for name in names]


def test_what_follows_products_becomes_their_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Followed().eval().to(torch.bfloat16)
    program = torch.export.export(model, (torch.randn(2, 5, WIDTH).to(torch.bfloat16),))
    with monkeypatch.context() as patched:
        patched.delattr(torch.export, "export")  # once is enough
        patterns = epilogues_in(program, ())
    report = replaced_in_torch(program, (), patterns)
    assert stems([item.kernel for item in report]) == NAMES


@pytest.mark.thorough
def test_the_rest_of_a_model_gets_the_kernels_that_it_did() -> None:
    model = Followed().eval().to(torch.bfloat16)
    x = torch.randn(2, 5, WIDTH).to(torch.bfloat16)
    report = replaced_in_torch(model, (x,), everything_in(model, (x,)))
    assert sorted(stems([item.kernel for item in report])) == sorted(
        [*NAMES, "linear", "layer_norm"]
    )
    assert len(everything_in(model, (x,))) == len(everything) + len(NAMES)


@pytest.mark.parametrize(
    "dtype",
    [torch.bfloat16, pytest.param(torch.float32, marks=pytest.mark.thorough)],
)
def test_a_model_computes_the_same(tmp_path: Path, dtype: torch.dtype) -> None:
    class Block(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(WIDTH, 24)
            self.gamma = torch.nn.Parameter(torch.linspace(-1, 1, 24))

        def forward(self, x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
            y = LIMITED_GELU(torch.tanh(self.a(x).float() / 2), 2.0).to(x.dtype)
            return other.clamp(min=-0.5) + 2 * self.gamma * y

    torch.manual_seed(5)
    model = Block().eval().to(dtype)
    x, other = (torch.randn(2, 7, size).to(dtype) for size in (WIDTH, 24))
    sizes = {"x": {1: torch.export.Dim("length")}, "other": {1: torch.export.Dim("length")}}
    patterns = [
        each.profitable_where() for each in epilogues_in(model, (x, other), dynamic_shapes=sizes)
    ]
    module = cd.torch.compile(
        model, (x, other), ["cpu:host"], replace=patterns, dynamic_shapes=sizes
    )
    (item,) = module.replaced
    assert stems([item.kernel]) == ["linear_with_div_tanh_limited_gelu_mul_add"]
    program = cd.load(module.save(tmp_path / "block.vmfb"), "cpu")
    for length in (7, 1, 40):
        x, other = (torch.randn(2, length, size).to(dtype) for size in (WIDTH, 24))
        got, want = torch.from_dlpack(program.main(x, other)), model.double()(x.double(), other)
        model.to(dtype)
        tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(got.double(), want.double(), rtol=tolerance, atol=tolerance)


def chains(forward: Callable[..., Any], **kinds: torch.dtype) -> list[list[str]]:
    """The operations of each chain of a model that has a product `self.a`."""

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Linear(WIDTH, WIDTH)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            return forward(self.a(x), y)

    shape = (3, WIDTH)
    model = Model().to(kinds.get("x"))
    arguments = tuple(torch.randn(shape).to(kinds.get(name)) for name in ("x", "y"))
    program = export_model(model, arguments, None)
    return [
        [each.source.target._schema.name.partition("::")[2] for each in chain.operations]
        for chain in chains_of(program)
    ]


def test_where_a_chain_ends() -> None:
    assert chains(lambda p, y: torch.softmax(torch.tanh(p) * 2, -1)) == [["tanh", "mul"]]
    # What something else reads ends it, and what needs a third tensor.
    assert chains(lambda p, y: (torch.tanh(p) * 2, p.sum())) == []
    assert chains(lambda p, y: (torch.tanh(p), torch.tanh(p) + y)) == []
    assert chains(lambda p, y: torch.tanh(p) * y + torch.sin(y)) == [["tanh", "mul"]]
    # A branch of it may come back.
    assert chains(lambda p, y: p * torch.sigmoid(torch.tanh(p) + y)) == [
        ["tanh", "add", "sigmoid", "mul"]
    ]
    # Kernels store the product's type, or f32, and read a tensor of the same.
    half, wide = torch.float16, torch.float32
    assert chains(lambda p, y: torch.tanh(p).double(), x=half) == [["tanh"]]
    assert chains(lambda p, y: torch.tanh(p.float()) + y, x=half, y=wide) == [["to", "tanh", "add"]]
    assert chains(lambda p, y: torch.tanh(p) * y, x=half, y=torch.bfloat16) == [["tanh"]]
    # Conditions on elements belong to it, and others do not.
    assert chains(lambda p, y: torch.where(p > 0.5, p, 0.1 * p) + y) == [
        ["gt", "mul", "where", "add"]
    ]
    assert chains(lambda p, y: torch.tanh(p).masked_fill(y > 0, 0.0)) == [["tanh"]]
    # Neither rows nor single elements of other shapes are vectors of columns.
    assert chains(lambda p, y: torch.tanh(p) * y[:, :1]) == [["tanh"]]
