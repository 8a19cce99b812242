"""Two products and SwiGLU in one, on the CPU: the kernels, and where a model gets them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from shipped import DTYPES, Shipped, assert_close, spoiled, unaligned
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.gemm import gated
from cuda_kernels.gemm.tiles import GatedTile
from cuda_kernels.patterns import torch as torch_patterns
from tests.places import replaced_in_torch

Random = np.random.Generator
KINDS = ("f16", "bf16")
SIZES = ((1, 96, 64), (16, 40, 72), (5, 17, 33), (3, 7, 200), (0, 8, 8), (2, 1, 1))


@pytest.fixture(scope="module")
def kernels() -> Shipped:
    return Shipped([gated.declare(kind) for kind in KINDS])


def operands(random: Random, kind: str, rows: int, n: int, k: int) -> list[Any]:
    shapes = ((rows, k), (n, k), (n, k))
    return [(random.standard_normal(shape) * 0.5).astype(DTYPES[kind]) for shape in shapes]


@pytest.mark.parametrize("kind", KINDS)
def test_on_cpus(kernels: Shipped, random: Random, kind: str) -> None:
    for sizes in SIZES:
        kernels.check(f"linear_swiglu_{kind}", *operands(random, kind, *sizes), scale=16)


@pytest.mark.parametrize("kind", [pytest.param("f16", marks=pytest.mark.thorough), "bf16"])
def test_what_gpus_run(random: Random, kind: str) -> None:
    """In smaller blocks, which are compiled in less time; also where nothing is whole 16 bytes."""
    kernel = gated.declare(kind, GatedTile(1, 2, 2, 2))
    call = kernel.own.on("cpu")
    assert kernel.reference is not None
    for sizes in SIZES:
        for view in (np.asarray, unaligned):
            x, gate, up = map(view, operands(random, kind, *sizes))
            if x.size:
                x = view(spoiled(random, x, (np.inf,)))
            got = np.asarray(call(x, gate, up)).view(DTYPES[kind])
            assert_close(got, kernel.reference(x, gate, up), 16)


class FeedForward(torch.nn.Module):
    """The part of a decoder's layer that has gates."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = torch.nn.Linear(32, 48, bias=False)
        self.up = torch.nn.Linear(32, 48, bias=False)
        self.down = torch.nn.Linear(48, 32, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


@pytest.mark.parametrize(("rows", "is_gated"), [(1, True), (8, True), (9, False)])
def test_where_a_model_gets_it(rows: int, is_gated: bool) -> None:
    model, x = FeedForward().eval().to(torch.bfloat16), torch.randn(2, rows, 32).bfloat16()
    report = replaced_in_torch(model, (x,), torch_patterns.everything)
    wanted = ["linear_swiglu_bf16"] if is_gated else ["swiglu_bf16", *["linear_bf16"] * 2]
    assert sorted(item.kernel for item in report) == sorted([*wanted, "linear_bf16"])


def test_a_model_with_it_is_right() -> None:
    torch.manual_seed(5)
    model, x = FeedForward().eval().to(torch.float16), torch.randn(2, 3, 32).half()
    module = cd.torch.compile(model, (x,), ["cpu"], replace=torch_patterns.linear_swiglu)
    found = torch.from_dlpack(cd.load(module, "cpu").main(x))
    torch.testing.assert_close(found, model(x), rtol=4e-3, atol=4e-3)
