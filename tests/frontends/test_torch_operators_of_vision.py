"""Operators of vision and audio that IREE gets wrong or refuses are taken apart first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import custom_dispatch as cd
from custom_dispatch.frontends.torch.decompositions import own


class Each(nn.Module):
    """One of each kind in one module, each of the same input."""

    def __init__(self) -> None:
        super().__init__()
        self.slopes = nn.PReLU(6)
        self.slopes.weight.data = torch.rand(6)
        convolution = nn.Conv1d(6, 4, 3)
        self.normed = nn.utils.parametrizations.weight_norm(convolution, dim=2)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            self.slopes(x),  # as wide as it has channels: IREE takes the slopes for columns
            functional.pad(x, (-1, 2)),
            functional.pad(x, (2, 1, 0, 3), mode="circular"),
            functional.pad(x[0], (2, 1), mode="reflect"),
            functional.interpolate(x, scale_factor=2, mode="bilinear"),
            self.normed(x[:, :, 0]),
            functional.interpolate(x, size=(4, 9), mode="bilinear", antialias=True),
            torch.ops.aten.constant_pad_nd(x, [1, -2, -1, 2], 1.5),
            functional.fold(x.reshape(2, 18, 12), (7, 4), (3, 2), padding=(1, 0), stride=(2, 1)),
        )


class Others(nn.Module):
    """What differs from one of these in numbers, or in how an axis is gone over."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (
            functional.interpolate(x, size=(9, 4), mode="bilinear", align_corners=True),
            functional.interpolate(x, scale_factor=0.7, mode="bicubic", antialias=True),
            functional.unfold(x, (3, 2), padding=1, stride=2),
        )


def test_exponential_units_are_not_rounded_in_between() -> None:
    class Units(nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            return functional.selu(x), functional.elu(x, 0.7), functional.celu(x, 0.7)

    x = torch.randn(64, 64).bfloat16()
    found = cd.load(cd.torch.compile(Units(), (x,), ["cpu"])).main(x)
    for one, wanted in zip(found, Units()(x), strict=True):
        assert torch.allclose(torch.from_dlpack(one).float(), wanted.float(), rtol=2**-7, atol=0)


@pytest.mark.parametrize("kind", [Each, pytest.param(Others, marks=pytest.mark.thorough)])
def test_they_give_what_pytorch_gives(kind: type[nn.Module]) -> None:
    model, x = kind().eval(), torch.randn(2, 6, 6, 6)
    module = cd.torch.compile(model, (x,), ["cpu"])
    fresh = torch.randn_like(x)
    for found, wanted in zip(cd.load(module).main(fresh), model(fresh), strict=True):
        assert torch.allclose(torch.from_dlpack(found), wanted, atol=1e-5)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("mode", ["constant", "circular", "reflect", "replicate"])
def test_padding_is_that_of_pytorch(mode: str, axes: int) -> None:
    pad: Callable[..., Any] = own()[torch.ops.aten.pad.default]
    x = torch.randn(2, 3, *(4 + axis for axis in range(axes)))
    least = -1 if mode in ("constant", "circular") else 0
    for _ in range(20):
        numbers = torch.randint(least, 3, (2 * axes,)).tolist()
        value = 1.5 if mode == "constant" else None
        assert torch.equal(
            pad(x, numbers, mode, value), functional.pad(x, numbers, mode=mode, value=value)
        )


def test_an_encoder_takes_any_mask_without_a_hint_of_what_it_is() -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)
    model = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False).eval()
    x, causal = torch.randn(2, 5, 16), nn.Transformer.generate_square_subsequent_mask(5)
    program = cd.load(cd.torch.compile(model, (x, causal), ["cpu"]))
    for mask in (causal, causal.T.contiguous(), torch.randn(5, 5)):
        found = torch.from_dlpack(program.main(x, mask))
        assert torch.allclose(found, model(x, mask=mask), atol=1e-5)
