"""What kernels compute of channels-last images in PyTorch's words, for the patterns of `torch.py`.

The rule in `rewriting/channels_last.py` writes models so, with operators for these patterns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

import custom_dispatch as cd
from cuda_kernels import channels_last
from cuda_kernels.patterns.rewriting.channels_last import write_channels_last
from cuda_kernels.patterns.rewriting.channels_last_operators import (
    CONVOLUTION,
    DEPTHWISE,
    GROUP_NORM,
    POOLING,
    TURNING,
)
from cuda_kernels.shared.lazily import TYPES

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]


def _convolution(
    x: Tensor,
    weight: Tensor,
    window: Tensor,
    factor: Tensor,
    summand: Tensor,
    slope: float,
    activation: int,
    residual: Tensor | None = None,
) -> Tensor:
    given = (factor, summand, residual, slope, activation)
    found: Tensor = CONVOLUTION(x, weight, window, *given)
    return found


def _depthwise(
    x: Tensor,
    weight: Tensor,
    window: Tensor,
    factor: Tensor,
    summand: Tensor,
    slope: float,
    activation: int,
    residual: Tensor | None = None,
) -> Tensor:
    found: Tensor = DEPTHWISE(x, weight, window, factor, summand, residual, slope, activation)
    return found


def _pooling(x: Tensor, window: Tensor, kind: int) -> Tensor:
    found: Tensor = POOLING(x, window, kind)
    return found


def _turning(x: Tensor, until: Tensor) -> Tensor:
    found: Tensor = TURNING(x, until)
    return found


def _group_norm(
    x: Tensor,
    grouping: Tensor,
    epsilon: float,
    slope: float,
    activation: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    given = (grouping, epsilon, slope, activation)
    found: Tensor = GROUP_NORM(x, weight, bias, *given)
    return found


_SIZES = {
    "images": 6,
    "channels": 12,
    "filters": 24,
    "of_group": 4,
    "height": 90,
    "width": 94,
    "rows": 3,
    "columns": 5,
    "stride_h": 2,
    "stride_w": 7,
    "padding_h": 8,
    "padding_w": 9,
    "dilation_h": 10,
    "dilation_w": 11,
    "groups": 2,
    "wide": 13,
}
"""Sizes that belong together, to trace with: a result has whole ones."""


def _named(name: str, dtype: str) -> list[str]:
    found = getattr(channels_last, f"{name}_{dtype}")
    kernel = found.kernels[0] if isinstance(found, cd.Choice) else found
    return [dim.name for dim in kernel.dims]


def every_channels_last() -> Patterns:
    """Of convolutions, pooling, group norms, and what turns images."""
    return tuple(
        cd.torch.Pattern(
            getattr(channels_last, f"{name}_{dtype}"),
            computes,
            sizes={name: _SIZES[name] for name in _named(name, dtype)},
            rewrites=write_channels_last,
            required=False,
        )
        for name, computes in (
            ("convolution_last", _convolution),
            ("depthwise_last", _depthwise),
            ("pooling_last", _pooling),
            ("group_norm_last", _group_norm),
            ("turning", _turning),
        )
        for dtype in TYPES
    )
