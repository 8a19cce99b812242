"""Recurrences and attention of flash-linear-attention, with their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from fla.modules import grpo
from fla.ops import (
    attn,
    based,
    delta_rule,
    forgetting_attn,
    gated_delta_rule,
    generalized_delta_rule,
    gla,
    gsa,
    hgrn,
    kda,
    linear_attn,
    path_attn,
    rebased,
    retention,
    rwkv4,
    rwkv6,
    rwkv7,
    simple_gla,
    stickbreaking_attn,
)
from fla.ops.attn.decoding import attn_decoding_one_step
from fla.ops.based.naive import naive_parallel_based
from fla.ops.delta_rule.naive import delta_rule_recurrence
from fla.ops.gated_delta_rule.gate import fused_gdn_gate
from fla.ops.gla.naive import naive_recurrent_gla
from fla.ops.gsa.naive import naive_recurrent_gsa
from fla.ops.hgrn.naive import naive_recurrent_hgrn
from fla.ops.kda.gate import fused_kda_gate
from fla.ops.kda.naive import naive_recurrent_kda
from fla.ops.linear_attn.naive import naive_recurrent_linear_attn
from fla.ops.path_attn.naive import naive_path_attn
from fla.ops.rebased.naive import naive_parallel_rebased
from fla.ops.retention.naive import naive_retention
from fla.ops.rwkv6.recurrent_naive import naive_recurrent_rwkv6
from fla.ops.rwkv7.fused_addcmul import fused_addcmul_rwkv7
from fla.ops.rwkv7.fused_k_update import fused_k_rwkv7
from fla.ops.rwkv7.gate_output_correction import gate_output_correction
from fla.ops.simple_gla.naive import naive_recurrent_simple_gla

from benchmarks.cases.triton_corpus.checking import (
    BF16,
    FLOAT32,
    TF32,
    Cases,
    agree,
    draw,
    integers,
    same,
)

CASES = Cases()
Tensor = torch.Tensor
SEVERAL_PRODUCTS = 2e-2
"""Of products of products in tf32, over many steps."""


def _case(name: str, *arguments: Any, **keywords: Any) -> None:
    def run() -> None:
        same(*arguments, **keywords)

    run.__name__ = name
    CASES(run)


def _first(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*inputs: Tensor) -> Any:
        found = function(*inputs)
        return found[0] if isinstance(found, tuple) else found

    return run


def _recurrence(
    name: str,
    function: Callable[..., Any],
    reference: Callable[..., Any],
    *inputs: Tensor,
    dtype: torch.dtype = torch.float32,
    tolerance: float = SEVERAL_PRODUCTS,
    gradients: bool = True,
) -> None:
    given = tuple(x.to(dtype) for x in inputs)
    _case(
        name, _first(function), _first(reference), *given, tolerance=tolerance, gradients=gradients
    )


SHAPE = (1, 70, 2, 32)
Q, K, V = (draw(*SHAPE, seed=i) for i in range(3))
UNIT = F.normalize(K, dim=-1)
DECAY = F.logsigmoid(draw(*SHAPE, seed=4))
RATE = draw(1, 70, 2, seed=5).sigmoid()
STEP = F.logsigmoid(draw(1, 70, 2, seed=6))
HALF = torch.bfloat16

_recurrence("chunk_gla", gla.chunk_gla, naive_recurrent_gla, Q, K, V, DECAY)
_recurrence(
    "recurrent_gla", gla.fused_recurrent_gla, naive_recurrent_gla, Q, K, V, DECAY, tolerance=1e-4
)


def _by_head(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(*inputs: Tensor) -> Any:
        found = function(*(x.transpose(1, 2) for x in inputs))
        return (found[0] if isinstance(found, tuple) else found).transpose(1, 2)

    return run


_recurrence("chunk_retention", retention.chunk_retention, _by_head(naive_retention), Q, K, V)
_recurrence(
    "recurrent_retention",
    retention.fused_recurrent_retention,
    _by_head(naive_retention),
    Q,
    K,
    V,
    tolerance=1e-4,
)
_recurrence("parallel_retention", retention.parallel_retention, _by_head(naive_retention), Q, K, V)
_recurrence(
    "chunk_linear_attention",
    lambda q, k, v: linear_attn.chunk_linear_attn(q, k, v, normalize=False),
    naive_recurrent_linear_attn, Q, K, V,
)  # fmt: skip
_recurrence(
    "chunk_simple_gla",
    lambda q, k, v, g: simple_gla.chunk_simple_gla(q, k, v, g),
    naive_recurrent_simple_gla, Q, K, V, STEP,
)  # fmt: skip
_recurrence(
    "recurrent_delta_rule",
    delta_rule.fused_recurrent_delta_rule,
    _by_head(delta_rule_recurrence), Q, UNIT, V, RATE, tolerance=1e-4,
)  # fmt: skip
_recurrence(
    "chunk_delta_rule",
    delta_rule.chunk_delta_rule,
    _by_head(delta_rule_recurrence), Q, UNIT, V, RATE, dtype=HALF, tolerance=5e-2,
)  # fmt: skip
_recurrence(
    "recurrent_gated_delta_rule",
    lambda q, k, v, b, g: gated_delta_rule.fused_recurrent_gated_delta_rule(q, k, v, g, beta=b),
    gated_delta_rule.naive_recurrent_gated_delta_rule, Q, UNIT, V, RATE, STEP,
    tolerance=1e-4, gradients=False,
)  # fmt: skip
_recurrence(
    "chunk_gated_delta_rule",
    lambda q, k, v, b, g: gated_delta_rule.chunk_gated_delta_rule(q, k, v, g, b),
    gated_delta_rule.naive_recurrent_gated_delta_rule, Q, UNIT, V, RATE, STEP,
    dtype=HALF, tolerance=5e-2,
)  # fmt: skip
_recurrence(
    "recurrent_kda",
    lambda q, k, v, g, b: kda.fused_recurrent_kda(q, k, v, g, b),
    naive_recurrent_kda, Q, UNIT, V, DECAY, RATE, tolerance=1e-4, gradients=False,
)  # fmt: skip
_recurrence(
    "chunk_kda", kda.chunk_kda, naive_recurrent_kda, Q, UNIT, V, DECAY, RATE,
    dtype=HALF, tolerance=5e-2,
)  # fmt: skip
_recurrence(
    "chunk_hgrn",
    hgrn.chunk_hgrn,
    naive_recurrent_hgrn,
    draw(2, 70, 64),
    F.logsigmoid(draw(2, 70, 64, seed=1)),
    tolerance=1e-4,
)
_recurrence(
    "recurrent_hgrn",
    hgrn.fused_recurrent_hgrn,
    naive_recurrent_hgrn,
    draw(2, 70, 64),
    F.logsigmoid(draw(2, 70, 64, seed=1)),
    tolerance=1e-4,
)
SLOTS = draw(1, 70, 2, 16, seed=7)
_recurrence(
    "chunk_gsa", gsa.chunk_gsa, _by_head(naive_recurrent_gsa), Q, K, V, SLOTS,
    F.logsigmoid(draw(1, 70, 2, 16, seed=8)),
)  # fmt: skip
_recurrence(
    "parallel_based", based.parallel_based, naive_parallel_based, Q * 0.3, K[..., :32] * 0.3, V
)
_recurrence(
    "parallel_rebased",
    rebased.parallel_rebased,
    naive_parallel_rebased,
    Q.abs(),
    K.abs(),
    V,
    gradients=False,
)
_recurrence(
    "parallel_attention",
    attn.parallel_attn,
    attn.naive_parallel_attn,
    Q,
    K,
    V,
    dtype=HALF,
    tolerance=BF16,
)
_recurrence(
    "forgetting_attention",
    forgetting_attn.parallel_forgetting_attn,
    forgetting_attn.naive_forgetting_attn, Q, K, V, STEP, dtype=HALF, tolerance=5e-2,
)  # fmt: skip
_recurrence(
    "stickbreaking_attention",
    stickbreaking_attn.parallel_stickbreaking_attn,
    stickbreaking_attn.naive_stickbreaking_attn, Q, K, V, dtype=HALF, tolerance=5e-2,
)  # fmt: skip
BONUS = draw(2, 32)


def _rwkv6(q: Tensor, k: Tensor, v: Tensor, w: Tensor) -> Tensor:
    parts = (x.transpose(1, 2) for x in (q, k, v, w))
    found = naive_recurrent_rwkv6(*parts, BONUS.to(q.dtype), q.shape[-1] ** -0.5)[0]
    return found.transpose(1, 2)


_recurrence(
    "rwkv6_in_chunks",
    lambda q, k, v, w: rwkv6.chunk_rwkv6(q, k, v, w, BONUS),
    _rwkv6, Q, K, V, DECAY,
)  # fmt: skip
_recurrence(
    "recurrent_rwkv6",
    lambda q, k, v, w: rwkv6.fused_recurrent_rwkv6(q, k, v, w, BONUS),
    _rwkv6, Q, K, V, DECAY, tolerance=1e-4,
)  # fmt: skip


def _rwkv7(r: Tensor, w: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor) -> Tensor:
    state = torch.zeros(*k.shape[:1], *k.shape[2:], v.shape[-1], dtype=k.dtype)
    rows = []
    for t in range(k.shape[1]):
        fed = torch.einsum("bhkv,bhk->bhv", state, a[:, t])
        state = state * w[:, t].exp()[..., None] + b[:, t][..., None] * fed[..., None, :]
        state = state + k[:, t][..., None] * v[:, t][..., None, :]
        rows.append(torch.einsum("bhkv,bhk->bhv", state, r[:, t]))
    return torch.stack(rows, 1)


W7 = -0.6 * draw(*SHAPE, seed=4).sigmoid()
_recurrence(
    "chunk_rwkv7", rwkv7.chunk_rwkv7, _rwkv7, Q, W7, K, V, -UNIT,
    UNIT * draw(*SHAPE, seed=8).sigmoid(), dtype=HALF, tolerance=5e-2,
)  # fmt: skip
_recurrence(
    "recurrent_rwkv7", lambda *a: rwkv7.fused_recurrent_rwkv7(*a, scale=1.0), _rwkv7, Q, W7, K, V,
    -UNIT, UNIT * draw(*SHAPE, seed=8).sigmoid(), tolerance=1e-4, gradients=False,
)  # fmt: skip
_case(
    "rwkv7_mixing",
    lambda x, d, *w: fused_addcmul_rwkv7(x, d, *w),
    lambda x, d, *w: tuple(x + d * each for each in w),
    draw(2, 20, 64),
    draw(2, 20, 64, seed=1),
    *(draw(1, 1, 64, seed=i) for i in range(2, 8)),
)
_case(
    "rwkv7_keys",
    lambda k, a, ka: fused_k_rwkv7(k, a, ka),
    lambda k, a, ka: k * (1 + (a - 1) * ka),
    draw(2, 20, 64),
    draw(2, 20, 64, seed=1),
    draw(64),
)
_case(
    "rwkv7_gate",
    gate_output_correction,
    lambda o, r, k, w, v, g: (o + ((r * k * w).sum(-1, keepdim=True) * v).flatten(-2)) * g,
    draw(2, 20, 64),
    draw(2, 20, 2, 32, seed=1),
    draw(2, 20, 2, 32, seed=2),
    draw(2, 32, seed=3),
    draw(2, 20, 2, 32, seed=4),
    draw(2, 20, 64, seed=5),
)
_case(
    "gate_of_the_delta_rule",
    fused_gdn_gate,
    lambda g, a, b: -a.exp() * F.softplus(g + b),
    draw(2, 20, 4),
    draw(4),
    draw(4, seed=1),
)
_case(
    "gate_of_kda",
    fused_kda_gate,
    lambda g, a, b: -a.exp()[:, None] * F.softplus(g + b.view(2, 32)),
    draw(2, 20, 2, 32),
    draw(2),
    draw(64),
)


def _dplr(q: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, g: Tensor) -> Tensor:
    return _rwkv7(q * q.shape[-1] ** -0.5, g, k, v, a, b)


_recurrence(
    "recurrent_dplr", generalized_delta_rule.fused_recurrent_dplr_delta_rule, _dplr, Q, K, V, -UNIT,
    UNIT * 0.5, DECAY * 0.5, tolerance=1e-4, gradients=False,
)  # fmt: skip
_recurrence(
    "recurrent_iplr", generalized_delta_rule.fused_recurrent_iplr_delta_rule,
    lambda q, k, v, a, b: _dplr(q, k, v, a, b, torch.zeros_like(q)), Q, K, V, -UNIT, UNIT * 0.5,
    tolerance=1e-4,
)  # fmt: skip
_recurrence(
    "path_attention",
    lambda q, k, v, w, b, g: path_attn.parallel_path_attn(q, k, v, w, b, g),
    lambda q, k, v, w, b, g: naive_path_attn(q, k, v, w, b, g, q.shape[-1] ** -0.5),
    *(draw(1, 128, 2, 32, seed=i) for i in range(3)),
    F.normalize(draw(1, 128, 2, 32, seed=3), dim=-1),
    draw(1, 128, 2, seed=4).sigmoid(), F.logsigmoid(draw(1, 128, 2, seed=5)),
    dtype=HALF, tolerance=5e-2,
)  # fmt: skip


@CASES
def attention_of_one_step() -> None:
    q, k, v = draw(1, 2, 4, 32), draw(1, 80, 2, 32), draw(1, 80, 2, 32, seed=1)
    starts = torch.tensor([0, 30, 80]).int()
    rows = []
    for index, (start, end) in enumerate(itertools.pairwise(starts.tolist())):
        keys, values = (x[0, start:end].repeat_interleave(2, 1).double() for x in (k, v))
        scores = torch.einsum("hd,khd->hk", q[0, index].double(), keys) / 32**0.5
        rows.append(torch.einsum("hk,khd->hd", scores.softmax(-1), values))
    agree(
        "result", attn_decoding_one_step(q, k, v, cu_seqlens=starts), torch.stack(rows)[None], TF32
    )


@CASES
def policy_loss() -> None:
    tokens, advantages = integers(60, 3, 8), draw(3)
    other = draw(3, 8, seed=6) * 0.1 - 4

    def reference(x: Tensor) -> Tensor:
        now = x[:, :-1].log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
        kl = (other - now).exp() - (other - now) - 1
        return -((now - now.detach()).exp() * advantages[:, None] - 0.1 * kl)

    same(
        lambda x: grpo.fused_grpo_loss(x, other, tokens, advantages),
        reference, draw(3, 9, 60), tolerance=1e-4,
    )  # fmt: skip


@CASES
def rwkv4_steps() -> None:
    w, u = draw(32), draw(32)
    k, v = draw(2, 20, 32), draw(2, 20, 32, seed=1)
    state = torch.zeros(2, 3, 1, 32)
    state[:, 2] = -1e30

    def reference(k: Tensor, v: Tensor) -> Tensor:
        top = torch.zeros(2, 32, dtype=torch.float64)
        low, rows, decay = top, [], (-w.double().exp()).exp()
        for t in range(20):
            rows.append((top + (u + k[:, t]).exp() * v[:, t]) / (low + (u + k[:, t]).exp()))
            top = decay * top + k[:, t].exp() * v[:, t]
            low = decay * low + k[:, t].exp()
        return torch.stack(rows, 1)

    same(
        lambda k, v: rwkv4.fused_recurrent_rwkv4(w, u, k, v, state)[0],
        reference,
        k,
        v,
        tolerance=FLOAT32,
    )
