"""Attention of what projections leave, as an operator, until kernels take its places.

PyTorch's own has heads before positions. `torch.ops.custom_dispatch_forms.attention_bshd` computes
what the kernels `attention_bshd` do; the rule in `layout.py` writes it alone. A model in which no
kernel takes one is compiled without the rules.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def _attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, causal: bool
) -> Tensor:
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    found = functional.scaled_dot_product_attention(
        q, k, v, mask, is_causal=causal, scale=scale, enable_gqa=True
    )
    return found.transpose(1, 2).contiguous()


_SCHEMA = "(Tensor q, Tensor k, Tensor v, Tensor? mask, float scale, bool causal) -> Tensor"
_attention = torch.library.custom_op(
    "custom_dispatch_forms::attention_bshd", _attend, mutates_args=(), schema=_SCHEMA
)


def _of_q_and_v(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float, causal: bool
) -> Tensor:
    del k, mask, scale, causal
    return q.new_empty((*q.shape[:3], v.shape[3]))


_attention.register_fake(_of_q_and_v)
ATTENTION_BSHD = torch.ops.custom_dispatch_forms.attention_bshd.default
