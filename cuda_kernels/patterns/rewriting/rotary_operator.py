"""Rotary embedding as operators, which stand for all its spellings until kernels take their places.

PyTorch has none. `torch.ops.custom_dispatch_forms.rotary` and `rotary_by_position` compute what the
kernels `rotary_any` and `rotary_any_by_position` do; the rules in `rotary.py` write them alone. A
model in which no kernel takes one is compiled without the rules.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _rotated(x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int) -> Tensor:
    count = cos.shape[-1]
    wide = x[..., :count].to(torch.float32)
    a, b = (wide[..., ::2], wide[..., 1::2]) if pairs_in else wide.chunk(2, dim=-1)

    def joined(one: Tensor, other: Tensor) -> Tensor:
        if pairs_out:
            return torch.stack((one, other), dim=-1).flatten(-2)
        return torch.cat((one, other), dim=-1)

    cos, sin = (each.repeat(len(x) // len(each), 1, 1).unsqueeze(1) for each in (cos, sin))
    turned = joined(a, b) * cos + joined(-b, a) * sin
    return torch.cat((turned.to(x.dtype), x[..., count:]), dim=-1)


def _by_position(x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int) -> Tensor:
    return _rotated(x.transpose(1, 2), cos, sin, pairs_in, pairs_out)


_SCHEMA = "(Tensor x, Tensor cos, Tensor sin, int pairs_in, int pairs_out) -> Tensor"
_rotary = torch.library.custom_op(
    "custom_dispatch_forms::rotary", _rotated, mutates_args=(), schema=_SCHEMA
)
_rotary_by_position = torch.library.custom_op(
    "custom_dispatch_forms::rotary_by_position", _by_position, mutates_args=(), schema=_SCHEMA
)


def _like_x(x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int) -> Tensor:
    del cos, sin, pairs_in, pairs_out
    return x.new_empty(x.shape)


def _by_heads(x: Tensor, cos: Tensor, sin: Tensor, pairs_in: int, pairs_out: int) -> Tensor:
    del cos, sin, pairs_in, pairs_out
    batch, length, heads, dim = x.shape
    return x.new_empty((batch, heads, length, dim))


_rotary.register_fake(_like_x)
_rotary_by_position.register_fake(_by_heads)
ROTARY = torch.ops.custom_dispatch_forms.rotary.default
ROTARY_BY_POSITION = torch.ops.custom_dispatch_forms.rotary_by_position.default
