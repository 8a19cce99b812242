"""Models that multiply 8-bit floats: where kernels take the products, and what x becomes."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional
from torch.nn.functional import ScalingType

import custom_dispatch as cd
from cuda_kernels.patterns import torch as shipped
from tests.places import replaced_in_torch

E4M3, E5M2 = torch.float8_e4m3fn, torch.float8_e5m2
N, K = 32, 64


class Product(torch.nn.Module):  # type: ignore[misc]
    """A product of x that is quantised when the model runs."""

    def __init__(
        self,
        rows: bool,
        public: bool = False,
        kind: torch.dtype = E4M3,
        out: torch.dtype = torch.bfloat16,
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.rows, self.public, self.kind, self.out = rows, public, kind, out
        self.register_buffer("weight", torch.randn(N, K).to(E4M3))
        self.register_buffer("scales", torch.rand(N, 1) if rows else torch.rand(()))
        self.register_buffer("bias", torch.randn(N).to(out) if bias else None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        largest = x.abs().amax(-1, keepdim=True) if self.rows else x.abs().amax()
        x_scales = largest.float() / 448
        narrow = (x.float() / x_scales).to(self.kind)
        weight, scales = self.weight.t(), self.scales.t() if self.rows else self.scales
        if not self.public:
            return torch._scaled_mm(
                narrow, weight, x_scales, scales, self.bias, out_dtype=self.out, use_fast_accum=True
            )
        recipe = ScalingType.RowWise if self.rows else ScalingType.TensorWise
        given = (narrow, weight, x_scales, recipe, scales, recipe)
        return functional.scaled_mm(*given, bias=self.bias, output_dtype=self.out)


class Products(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        f32, f16 = torch.float32, torch.float16
        self.each = torch.nn.ModuleList(
            [
                Product(rows=True, bias=True),
                Product(rows=True, public=True),
                Product(rows=False, public=True, bias=True),
                Product(rows=False, kind=E5M2, out=f16),
                Product(rows=False, out=f32),
            ]
        )

    def forward(self, x: torch.Tensor) -> list[torch.Tensor]:
        return [each(x) for each in self.each]


KERNELS = ["e4m3_bf16", "e4m3_bf16", "e4m3_bf16", "e5m2_f16", "e4m3_f32"]


@pytest.mark.parametrize(
    "is_open", [True, pytest.param(False, marks=pytest.mark.thorough)], ids=["open", "known"]
)
def test_products_of_8_bit_floats_get_kernels(is_open: bool) -> None:
    x = torch.randn(6, K, dtype=torch.bfloat16)
    shapes = ({0: torch.export.Dim("rows", min=2, max=99)},) if is_open else None
    found = replaced_in_torch(Products(), (x,), shipped.scaled_linear, shapes)
    assert [item.kernel for item in found] == [f"scaled_linear_{name}" for name in KERNELS]


@pytest.mark.thorough
def test_models_with_products_of_8_bit_floats_compute_the_same() -> None:
    x = torch.randn(6, K, dtype=torch.bfloat16)
    cd.torch.compile(Products(), (x,), ["cpu:host"], replace=shipped.everything, verify=4e-3)
