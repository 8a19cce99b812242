"""Convolutions that models spell in other ways become those that kernels take."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from cuda_kernels.patterns import torch as torch_patterns
from cuda_kernels.patterns.rewriting.activations import write_activations
from cuda_kernels.patterns.rewriting.convolutions import write_convolutions, write_group_norms
from custom_dispatch.frontends.torch.forms import in_one_form
from custom_dispatch.frontends.torch.importer import export_model
from tests.places import replaced_in_torch


def operators_after(model: nn.Module, x: torch.Tensor, shapes: Any = None) -> Counter[str]:
    """What is left once a model is rewritten, which then gives what it gave."""
    model = model.eval()
    program = in_one_form(export_model(model, (x,), shapes))
    write_convolutions(program)
    program.graph.lint()
    program.graph_module.recompile()
    fresh = torch.randn_like(x)
    found, wanted = program.module()(fresh), model(fresh)
    assert found.shape == wanted.shape
    assert torch.allclose(found, wanted, atol=1e-5, rtol=1e-5)
    calls = [node for node in program.graph.nodes if node.op == "call_function"]
    return Counter(str(node.target).split(".")[1] for node in calls)


@pytest.mark.parametrize(
    "numbers",  # taps, stride, padding, more at the end, groups
    [
        (4, 2, 1, 0, 1),
        (3, 2, 1, 1, 1),
        (2, 2, 0, 0, 8),
        (3, 1, 1, 0, 1),
        (5, 3, 2, 1, 2),
        (1, 2, 0, 0, 1),
        (2, 3, 1, 1, 4),
        ((3, 4), (2, 3), (1, 0), (1, 0), 1),
    ],
)
def test_transposed_convolutions_along_two_axes(numbers: tuple[Any, ...]) -> None:
    model = nn.ConvTranspose2d(8, 16, *numbers)
    found = operators_after(model, torch.randn(2, 8, 5, 7))
    assert found["convolution"] == 1
    assert not found["conv_transpose2d"]


def test_transposed_convolutions_along_one_axis_of_open_size() -> None:
    model, x = nn.ConvTranspose1d(8, 6, 16, 8, 4, bias=False), torch.randn(3, 8, 11)
    batch, width = torch.export.Dim("batch", max=64), torch.export.Dim("width", min=2, max=99)
    assert operators_after(model, x, ({0: batch, 2: width},))["convolution"] == 1


@pytest.mark.parametrize(
    "model",
    [nn.ConvTranspose1d(8, 6, 4, 4, 0, 2), nn.ConvTranspose1d(8, 6, 4, 2, 1, dilation=2)],
    ids=["zeros that no tap reaches", "dilated"],
)
def test_other_transposed_convolutions_stay(model: nn.Module) -> None:
    assert operators_after(model, torch.randn(2, 8, 11))["conv_transpose1d"] == 1


@pytest.mark.parametrize(
    ("model", "sizes", "is_product"),
    [
        (nn.Conv2d(3, 12, 8, 8), (16, 24), True),
        (nn.Conv2d(16, 12, (2, 4), (2, 4), bias=False), (6, 12), True),
        (nn.Conv1d(32, 12, 4, 4), (20,), True),
        (nn.Conv2d(3, 12, 8, 8), (17, 24), False),  # a row is left over
        (nn.Conv2d(3, 12, 8, 8, padding=4), (16, 24), False),
        (nn.Conv2d(4, 12, 8, 8, groups=2), (16, 24), False),
        (nn.Conv2d(3, 12, 4, 4), (16, 24), False),  # rows of 48 numbers are not worth it
    ],
    ids=["image", "uneven", "sound", "left over", "padded", "groups", "small"],
)
def test_patches_side_by_side_are_rows_of_a_product(
    model: nn.Module, sizes: tuple[int, ...], is_product: bool
) -> None:
    x = torch.randn(2, model.in_channels, *sizes)
    found = operators_after(model, x)
    assert ("linear" in found) == is_product


@pytest.mark.parametrize(
    ("model", "left"),
    [
        (nn.Conv3d(4, 8, (2, 4, 4), (2, 4, 4)), "linear"),
        (nn.Conv3d(4, 8, (1, 3, 3), (1, 2, 2), (0, 1, 1), groups=2), "convolution"),
        (nn.Conv3d(4, 8, (3, 1, 1), (2, 1, 1), (1, 0, 0), groups=2), "convolution"),
    ],
    ids=["patches", "in images", "between images"],
)
def test_three_axes(model: nn.Module, left: str) -> None:
    x = torch.randn(2, 4, 4, 8, 12)
    assert operators_after(model, x)[left] == 1
    report = replaced_in_torch(model, (x,), [torch_patterns.convolution, torch_patterns.linear])
    assert len(report) == 1


class Frozen(nn.Module):
    """A batch norm as detection models freeze it."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 5, 3)
        for name in ("weight", "bias", "mean", "variance"):
            self.register_buffer(name, torch.rand(5) + 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weight, bias, mean, variance = (
            each.reshape(1, -1, 1, 1) for each in (self.weight, self.bias, self.mean, self.variance)
        )
        scale = weight * (variance + 1e-5).rsqrt()
        return functional.relu(self.convolution(x) * scale + (bias - mean * scale))


def test_a_kernel_takes_a_frozen_batch_norm_and_an_activation() -> None:
    x = torch.randn(2, 3, 7, 7)
    assert operators_after(Frozen(), x)["batch_norm"] == 1
    (place,) = replaced_in_torch(Frozen().eval(), (x,), [torch_patterns.convolution])
    assert "torch.aten.relu" in place.operations
    assert place.scalars["epsilon"] == 0.0


def test_one_image_without_a_batch() -> None:
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 1))
    assert operators_after(model, torch.randn(3, 7, 8))["convolution"] == 2


@pytest.mark.parametrize("sizes", [(), (3, 4, 5)])
def test_group_norms_of_other_ranks(sizes: tuple[int, ...]) -> None:
    model, x = nn.GroupNorm(2, 6).eval(), torch.randn(3, 6, *sizes)
    nn.init.normal_(model.weight)
    program = in_one_form(export_model(model, (x,), None))
    write_group_norms(program)
    program.graph_module.recompile()
    fresh = torch.randn_like(x)
    assert torch.allclose(program.module()(fresh), model(fresh), atol=1e-6)
    (found,) = replaced_in_torch(model, (x,), torch_patterns.group_norm)
    assert found.kernel == ("group_norm_2d_f32" if sizes else "group_norm_1d_f32")


@pytest.mark.parametrize(
    ("written", "kernel"),
    [
        (lambda x: x * torch.sigmoid(x), "linear_silu_f32"),
        (lambda x: x / (1 + torch.exp(-x)), "linear_silu_f32"),
        (lambda x: x * (1 / (1 + torch.exp(-x))), "linear_silu_f32"),
        (lambda x: x.clamp(min=0), "linear_relu_f32"),
        (lambda x: x.clamp(min=0, max=1), "linear_f32"),
        (lambda x: x / (1 + torch.exp(x)), "linear_f32"),
    ],
)
def test_activations_that_are_written_out(written: Any, kernel: str) -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.product = nn.Linear(8, 12)

        def forward(self, x: torch.Tensor) -> Any:
            return written(self.product(x))

    x = torch.randn(2, 3, 8)
    report = replaced_in_torch(Model(), (x,), torch_patterns.linear)
    assert [item.kernel for item in report] == [kernel]
    program = in_one_form(export_model(Model(), (x,), None))
    before = program.module()(x)
    write_activations(program)
    program.graph_module.recompile()
    assert torch.allclose(program.module()(x), before, atol=1e-6)
