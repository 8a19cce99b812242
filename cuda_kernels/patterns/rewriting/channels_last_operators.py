"""What is computed of channels-last images, as operators, until kernels take their places.

`torch.ops.custom_dispatch_forms.convolution_last` and the others compute what the kernels of
`cuda_kernels.channels_last` do; the rule in `channels_last.py` writes them alone. A model in which
no kernel takes one is compiled without the rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

ACTIVATIONS: tuple[Callable[[Tensor, float], Tensor], ...] = (
    lambda x, _: x,
    lambda x, _: functional.relu(x),
    lambda x, _: functional.silu(x),
    lambda x, _: functional.gelu(x),
    lambda x, _: functional.gelu(x, approximate="tanh"),
    lambda x, _: functional.relu6(x),
    lambda x, _: functional.hardswish(x),
    lambda x, _: functional.hardsigmoid(x),
    lambda x, _: torch.sigmoid(x),
    lambda x, slope: functional.leaky_relu(x, slope),
)
"""In the order of `cuda_kernels.convolution.ACTIVATIONS`."""


def _finished(
    found: Tensor, x: Tensor, given: tuple[Tensor, Tensor, Tensor | None, float, int]
) -> Tensor:
    factor, summand, residual, slope, activation = given
    found = found.permute(0, 2, 3, 1) * factor + summand
    if residual is not None:
        found = found + residual
    return ACTIVATIONS[activation](found, slope).to(x.dtype).contiguous()


def _numbers(window: Tensor) -> tuple[Any, Any, Any]:
    stride, padding, dilation = (window.shape[i : i + 2] for i in (1, 3, 5))
    return stride, padding, dilation


def _convolution(
    x: Tensor,
    weight: Tensor,
    window: Tensor,
    factor: Tensor,
    summand: Tensor,
    residual: Tensor | None,
    slope: float,
    activation: int,
) -> Tensor:
    images, filters = x.permute(0, 3, 1, 2).float(), weight.permute(0, 3, 1, 2).float()
    groups = x.shape[3] // weight.shape[3]
    found = functional.conv2d(images, filters, None, *_numbers(window), groups)
    return _finished(found, x, (factor, summand, residual, slope, activation))


def _depthwise(
    x: Tensor,
    weight: Tensor,
    window: Tensor,
    factor: Tensor,
    summand: Tensor,
    residual: Tensor | None,
    slope: float,
    activation: int,
) -> Tensor:
    images, filters = x.permute(0, 3, 1, 2).float(), weight.permute(2, 0, 1)[:, None].float()
    found = functional.conv2d(images, filters, None, *_numbers(window), x.shape[3])
    return _finished(found, x, (factor, summand, residual, slope, activation))


def _pooling(x: Tensor, window: Tensor, kind: int) -> Tensor:
    taps, stride, padding, dilation = (window.shape[i : i + 2] for i in (1, 3, 5, 7))
    around = (padding[1], padding[1], padding[0], padding[0])
    images = x.permute(0, 3, 1, 2).float()
    if kind == 0:
        wide = functional.pad(images, around, value=-torch.inf)
        found = functional.max_pool2d(wide, taps, stride, 0, dilation)
    else:
        each = images.flatten(0, 1)[:, None]
        ones = x.new_ones((1, 1, *taps), dtype=torch.float32)

        def added(numbers: Tensor) -> Tensor:
            return functional.conv2d(
                functional.pad(numbers, around), ones, None, stride, 0, dilation
            )

        count = added(torch.ones_like(each)) if kind == 2 else ones.numel()
        found = (added(each) / count).reshape(*images.shape[:2], *added(each).shape[2:])
    return found.permute(0, 2, 3, 1).to(x.dtype).contiguous()


def _turning(x: Tensor, until: Tensor) -> Tensor:
    found = functional.pad(x, (0, 0, 0, until.shape[1] - x.shape[1]))
    return found.transpose(1, 2).contiguous()


def _group_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    grouping: Tensor,
    epsilon: float,
    slope: float,
    activation: int,
) -> Tensor:
    scale, shift = (None if each is None else each.float() for each in (weight, bias))
    images = x.permute(0, 3, 1, 2).float()
    found = functional.group_norm(images, grouping.shape[1], scale, shift, epsilon)
    return ACTIVATIONS[activation](found, slope).permute(0, 2, 3, 1).to(x.dtype).contiguous()


def _operator(name: str, computes: Callable[..., Tensor], schema: str, fake: Any) -> Any:
    name = f"custom_dispatch_forms::{name}"
    found = torch.library.custom_op(name, computes, mutates_args=(), schema=f"({schema}) -> Tensor")
    found.register_fake(fake)
    return found._opoverload


def _out(size: Any, taps: Any, numbers: tuple[Any, Any, Any]) -> list[Any]:
    stride, padding, dilation = numbers
    return [
        (size[i] + 2 * padding[i] - dilation[i] * (taps[i] - 1) - 1) // stride[i] + 1
        for i in range(2)
    ]


def _of_convolution(x: Tensor, weight: Tensor, window: Tensor, *others: object) -> Tensor:
    del others
    out = _out(x.shape[1:3], weight.shape[1:3], _numbers(window))
    return x.new_empty((x.shape[0], *out, weight.shape[0]))


def _of_depthwise(x: Tensor, weight: Tensor, window: Tensor, *others: object) -> Tensor:
    del others
    out = _out(x.shape[1:3], weight.shape[:2], _numbers(window))
    return x.new_empty((x.shape[0], *out, weight.shape[2]))


def _of_pooling(x: Tensor, window: Tensor, kind: int) -> Tensor:
    del kind
    stride, padding, dilation = (window.shape[i : i + 2] for i in (3, 5, 7))
    out = _out(x.shape[1:3], window.shape[1:3], (stride, padding, dilation))
    return x.new_empty((x.shape[0], *out, x.shape[3]))


_FILTERS = (
    "Tensor x, Tensor weight, Tensor window, Tensor factor, Tensor summand, Tensor? residual, "
    "float slope, int activation"
)
CONVOLUTION = _operator("convolution_last", _convolution, _FILTERS, _of_convolution)
DEPTHWISE = _operator("depthwise_last", _depthwise, _FILTERS, _of_depthwise)
POOLING = _operator("pooling_last", _pooling, "Tensor x, Tensor window, int kind", _of_pooling)
TURNING = _operator(
    "turning",
    _turning,
    "Tensor x, Tensor until",
    lambda x, until: x.new_empty((x.shape[0], x.shape[2], until.shape[1])),
)
GROUP_NORM = _operator(
    "group_norm_last",
    _group_norm,
    "Tensor x, Tensor? weight, Tensor? bias, Tensor grouping, float epsilon, float slope, "
    "int activation",
    lambda x, *_: x.new_empty(x.shape),
)
