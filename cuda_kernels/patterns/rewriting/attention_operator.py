"""Attention with a soft cap of scores or sinks as an operator, until a kernel takes its place.

PyTorch has none. The rule in `attention.py` writes it alone. A model in which no kernel takes one
is compiled without the rules.
"""

from __future__ import annotations

import torch
from torch import Tensor


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    sinks: Tensor | None,
    scale: float,
    softcap: float,
    causal: bool,
) -> Tensor:
    """softmax(softcap * tanh(q k^T * scale / softcap) + mask) v, in f32.

    A head of keys may be of several heads of queries. Without a soft cap it is 0. A sink, of each
    head, is one more score, whose value is 0.
    """
    times = q.shape[1] // k.shape[1]
    keys, values = (each.float().repeat_interleave(times, 1) for each in (k, v))
    scores = q.float() @ keys.transpose(2, 3) * scale
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if causal:
        scores = scores + torch.full(scores.shape[2:], -torch.inf).triu(1)
    if mask is not None:
        is_bool = mask.dtype == torch.bool
        scores = scores.masked_fill(~mask, -torch.inf) if is_bool else scores + mask.float()
    if sinks is not None:
        column = sinks.float().reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        scores = torch.cat((scores, column), dim=-1)
    weights = torch.softmax(scores, dim=-1)[..., : k.shape[2]]
    return (weights @ values).to(q.dtype)


_capped = torch.library.custom_op(
    "custom_dispatch_forms::capped_attention",
    _attend,
    mutates_args=(),
    schema="(Tensor q, Tensor k, Tensor v, Tensor? mask, Tensor? sinks, float scale, "
    "float softcap, bool causal) -> Tensor",
)


def _like_q(q: Tensor, k: Tensor, v: Tensor, *given: object) -> Tensor:
    del k, given
    return q.new_empty((*q.shape[:3], v.shape[3]))


_capped.register_fake(_like_q)
CAPPED_ATTENTION = torch.ops.custom_dispatch_forms.capped_attention.default
