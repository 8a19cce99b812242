"""Convolutions and group norms are found in models of PyTorch, with what follows them."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.patterns import torch as torch_patterns
from tests.places import replaced_in_torch

PATTERNS = (*torch_patterns.convolution, *torch_patterns.group_norm)
MODULES = {
    "relu": nn.ReLU(inplace=True),
    "silu": nn.SiLU(),
    "gelu_erf": nn.GELU(),
    "gelu_tanh": nn.GELU("tanh"),
    "relu6": nn.ReLU6(inplace=True),
    "hardswish": nn.Hardswish(),
    "hardsigmoid": nn.Hardsigmoid(),
    "sigmoid": nn.Sigmoid(),
    "leaky_relu": nn.LeakyReLU(0.25),
}


class Bottleneck(nn.Module):  # type: ignore[misc]
    """As in ResNets and ResNeXts."""

    def __init__(self, channels: int, width: int, stride: int, groups: int = 1) -> None:
        super().__init__()
        out = 2 * width
        self.first = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.second = nn.Sequential(
            nn.Conv2d(width, width, 3, stride, 1, groups=groups, bias=False),
            nn.BatchNorm2d(width, eps=1e-3, momentum=0.3),
            nn.ReLU(inplace=True),
        )
        self.third = nn.Sequential(nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
        self.aside: nn.Module = nn.Identity()
        if stride > 1 or channels != out:
            self.aside = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found = self.third(self.second(self.first(x)))
        found += self.aside(x)
        return functional.relu(found, inplace=True)


class Block(nn.Module):  # type: ignore[misc]
    """As in U-Nets, with a convolution of ConvNeXts and a stem."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 4, 4)
        self.norm, self.inner = nn.GroupNorm(2, 8), nn.Conv2d(8, 8, 3, padding="same", dilation=2)
        self.each = nn.Conv2d(8, 8, 7, padding=3, groups=8)
        self.even = nn.Conv2d(8, 8, (2, 3), padding="same")
        self.along = nn.Conv1d(8, 8, 4, padding=3, groups=8)
        self.back = nn.ConvTranspose1d(8, 4, 3, stride=2, padding=1, output_padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = x + self.inner(functional.silu(self.norm(x)))
        x = functional.instance_norm(self.even(self.each(x))).flatten(2)
        return self.back(functional.silu(self.along(x)[..., : x.shape[-1]]))


def perturbed(model: nn.Module) -> nn.Module:
    """The model with other numbers than those that norms begin with."""
    torch.manual_seed(3)
    for each in (*model.parameters(), *model.buffers()):
        if each.dim() == 1:
            each.data = torch.rand_like(each) + 0.5
    return model.eval()


OF_BLOCK = (
    (1, 3, 21, 27),
    {"convolution_2d_f32": 4, "convolution_1d_f32": 2, "group_norm_2d_f32": 2},
)


def test_every_place_of_a_block_is_found() -> None:
    shape, wanted = OF_BLOCK
    report = replaced_in_torch(perturbed(Block()), (torch.randn(shape),), PATTERNS)
    assert Counter(item.kernel for item in report) == wanted, report


@pytest.mark.parametrize(
    ("model", "shape", "wanted"),
    [
        (
            nn.Sequential(Bottleneck(6, 4, 1), Bottleneck(8, 6, 2, groups=3)),
            (3, 6, 9, 7),
            {"convolution_2d_f32": 8},
        ),
        pytest.param(Block(), *OF_BLOCK, marks=pytest.mark.thorough),
    ],
    ids=["bottlenecks", "block"],
)
def test_models_are_whole_and_right(
    model: nn.Module, shape: tuple[int, ...], wanted: dict[str, int], tmp_path: Any
) -> None:
    model = perturbed(model)
    x = torch.randn(shape)
    module = cd.torch.compile(model, (x,), replace=PATTERNS, targets=["cpu:host"])
    assert Counter(item.kernel for item in module.replaced) == wanted, module.replaced
    program = cd.load(module.save(tmp_path / "model.vmfb"), "cpu")
    other = torch.randn(shape)
    want = model(other.clone())
    got = torch.from_dlpack(program.main(other))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def followed(kind: type[nn.Module], activation: str) -> nn.Module:
    made = kind(8, 8, 3, padding=1) if kind in (nn.Conv1d, nn.Conv2d) else kind(2, 8)
    norm = {nn.Conv1d: nn.BatchNorm1d, nn.Conv2d: nn.BatchNorm2d}.get(kind)
    end = [copy.deepcopy(MODULES[activation])] if activation else []
    return nn.Sequential(made, *([norm(8)] if norm else []), *end)


@pytest.mark.parametrize(
    "dtype",
    [
        torch.float16,
        pytest.param(torch.float32, marks=pytest.mark.thorough),
        pytest.param(torch.bfloat16, marks=pytest.mark.thorough),
    ],
)
def test_what_follows_goes_with_it(dtype: torch.dtype) -> None:
    class Every(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.flat = nn.ModuleList(followed(nn.Conv2d, each) for each in ACTIVATIONS)
            self.long = nn.ModuleList(followed(nn.Conv1d, each) for each in ACTIVATIONS)
            self.norms = nn.ModuleList(followed(nn.GroupNorm, each) for each in ACTIVATIONS)

        def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
            of_x, of_y = (*self.flat, *self.norms), self.long
            return [*(each(x) for each in of_x), *(each(y) for each in of_y)]

    model = Every().eval().to(dtype)
    given = torch.zeros(2, 8, 5, 7, dtype=dtype), torch.zeros(2, 8, 9, dtype=dtype)
    report = replaced_in_torch(model, given, PATTERNS)
    kind = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
    every = range(len(ACTIVATIONS))
    for name in ("convolution_1d", "convolution_2d", "group_norm_2d"):
        found = report.of(f"{name}_{kind}")
        assert sorted(item.scalars["activation"] for item in found) == [*every]
        assert {item.scalars["slope"] for item in found} == {0.0, 0.25}


def test_weights_may_be_standardised() -> None:
    """As in BiT, by a batch norm of one image that has no statistics of its own."""

    class Standardised(nn.Conv2d):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            flat = self.weight.reshape(1, self.out_channels, -1)
            flat = functional.batch_norm(flat, None, None, training=True, momentum=0.0)
            return functional.conv2d(x, flat.reshape_as(self.weight), self.bias)

    report = replaced_in_torch(Standardised(4, 6, 3).eval(), (torch.zeros(2, 4, 5, 6),), PATTERNS)
    assert {item.kernel for item in report} == {"group_norm_1d_f32", "convolution_2d_f32"}


def test_a_sum_goes_with_one_of_its_convolutions() -> None:
    class Sum(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.one, self.other = nn.Conv2d(4, 4, 1), nn.Conv2d(4, 4, 1, bias=False)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.one(x) + self.other(x)

    report = replaced_in_torch(Sum(), (torch.zeros(2, 4, 5, 6),), PATTERNS)
    assert sorted(len(item.operations) for item in report) == [1, 2]


def test_open_sizes_are_taken() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.ReLU(), nn.Conv2d(8, 4, 1)).eval()
    shapes = ({0: torch.export.Dim.AUTO, 2: torch.export.Dim.AUTO, 3: torch.export.Dim.AUTO},)
    report = replaced_in_torch(model, (torch.zeros(2, 3, 32, 40),), PATTERNS, {"input": shapes[0]})
    assert len(report) == 2, report
