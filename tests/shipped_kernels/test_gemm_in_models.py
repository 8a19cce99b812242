"""Matrix products in unchanged models, on the CPU: which kernel goes where, and what comes out."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import gemm
from cuda_kernels.patterns import torch as torch_patterns
from cuda_kernels.patterns import torch_products
from cuda_kernels.patterns.tf32 import in_tf32
from cuda_kernels.patterns.torch import everything
from custom_dispatch.errors import DeclarationError
from tests.places import replaced_in_torch

WIDTH, HIDDEN = 64, 96
SKINNY = gemm.Form(gemm.SkinnyTile(1, 4, 2, 2), skinny=True, align1=True)
TILE = gemm.Form(gemm.Tile(32, 32, 32, 2, 2, 1), align1=True)


class Block(torch.nn.Module):
    """The second half of an encoder's layer."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = torch.nn.Linear(WIDTH, HIDDEN), torch.nn.Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(functional.gelu(self.up(x)))


class Products(torch.nn.Module):
    """Each way to write one."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor) -> Any:
        one, other = x[0], y[0]
        return (
            x @ other,
            torch.mm(one, other),
            torch.addmm(bias, one, other),
            x @ other + bias,
            torch.bmm(x, y),
            x.unsqueeze(1) @ y.unsqueeze(1),
            x @ x.transpose(1, 2),
            functional.linear(x, other.t().contiguous()),
            functional.silu(functional.linear(x, other.t().contiguous(), bias)),
        )


def small(name: str, dtype: str, activation: str = "") -> cd.Choice:
    """A choice as those that ship, of kernels that are compiled in less time."""
    few = gemm.declare(name, dtype, activation, form=SKINNY)
    any_size = gemm.declare(name, dtype, activation, form=TILE)
    return cd.Choice(few.name.partition("_skinny")[0] + "_by_small_tiles", [few, any_size])


@pytest.mark.parametrize(
    "dtype", [pytest.param(torch.float32, marks=pytest.mark.thorough), torch.bfloat16]
)
def test_every_product_is_found(dtype: torch.dtype) -> None:
    name = {torch.float32: "f32", torch.bfloat16: "bf16"}[dtype]
    arguments = (
        torch.randn(3, 8, 16, dtype=dtype),
        torch.randn(3, 16, 24, dtype=dtype),
        torch.randn(24, dtype=dtype),
    )
    report = replaced_in_torch(Products(), arguments, everything)
    found = sorted(item.kernel.removesuffix(f"_{name}") for item in report)
    assert found == ["batch_matmul"] * 2 + ["batch_matmul_nt"] + [
        "linear", "linear_silu", *["matmul"] * 4
    ]  # fmt: skip


def test_f32_is_multiplied_in_tf32_where_that_is_asked_for_alone() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(16, 24), torch.nn.ReLU(), torch.nn.Softmax(-1))
    some = [*torch_patterns.linear, *torch_patterns.softmax]
    for patterns, product in ((some, "linear_relu_f32"), (in_tf32(some), "linear_relu_tf32")):
        report = replaced_in_torch(model, (torch.randn(4, 16),), patterns)
        assert [item.kernel for item in report] == [product, "softmax_f32"]
    assert not [each for each in everything if "tf32" in each.kernel.name]


def test_no_other_kernel_becomes_one_of_tf32() -> None:
    from cuda_kernels.patterns import jax

    with pytest.raises(DeclarationError) as caught:
        in_tf32(jax.everything)
    assert "in_tf32(stablehlo.matmul) before jax.everything" in caught.value.next_step
    (pattern, *_) = torch_patterns.softmax
    with pytest.raises(DeclarationError, match="has other operands"):
        pattern.with_kernel(gemm.linear_tf32)


def test_what_is_no_product_of_theirs_stays() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor) -> Any:
            return (
                torch.addmm(bias, x, y, alpha=2),  # a factor
                x.double() @ y.double(),
                x @ y[:, 0],  # a vector
                torch.addmm(x @ y, x, y),  # what is added is no bias
            )

    arguments = (torch.randn(8, 16), torch.randn(16, 24), torch.randn(24))
    report = replaced_in_torch(Model(), arguments, everything)
    assert [item.kernel for item in report] == ["matmul_f32"]  # the last one's inner product


def test_a_block_of_16_bits_takes_the_kernel_for_its_rows() -> None:
    """As it runs; weights are taken as they lie."""
    torch.manual_seed(3)
    model = Block().eval().to(torch.float16)
    patterns = [
        cd.torch.Pattern(small("linear", "f16"), torch_products._linear_and_sum),
        cd.torch.Pattern(small("linear", "f16", "gelu_erf"), torch_products._linear_gelu_erf),
    ]
    rows = torch.export.Dim("rows", min=2)
    x = torch.randn(2, 5, WIDTH, dtype=torch.float16)
    module = cd.torch.compile(
        model, (x,), ["cpu:host"], replace=patterns, dynamic_shapes=({1: rows},)
    )
    assert sorted(item.kernel for item in module.replaced) == [
        "linear_f16_by_small_tiles",
        "linear_gelu_erf_f16_by_small_tiles",
    ]
    program = cd.load(module, "cpu")
    for count in (5, 8, 9, 40):
        x = torch.randn(2, count, WIDTH, dtype=torch.float16)
        found = torch.from_dlpack(program.main(x))
        torch.testing.assert_close(found, model(x), rtol=2e-3, atol=2e-3)
