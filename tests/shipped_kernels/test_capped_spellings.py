"""Attention with soft caps and sinks is found as people write it, and nothing else is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.patterns import torch as shipped
from tests.places import replaced_in_torch
from tests.shipped_kernels.test_attention_spellings import (
    BATCH,
    FLAT,
    HEADS,
    HIDDEN,
    KEYS,
    NUMBERS,
    QKV,
    QUERIES,
    SEEN,
    Calls,
    attended,
    repeated,
)

SINKS = torch.randn(HEADS)
SHOWN = torch.where(torch.ones(QUERIES, KEYS, dtype=torch.bool).tril(2), 0.0, HIDDEN)


def capped(scores: Any, cap: float = 2.0) -> Any:
    return torch.tanh(scores / cap) * cap


def gemma(q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = capped(torch.matmul(q, repeated(k).transpose(2, 3)) * 0.2)
    weights = functional.softmax(scores + mask[:, :, :, :KEYS], dim=-1, dtype=torch.float32)
    return torch.matmul(weights.to(q.dtype), repeated(v)).transpose(1, 2).contiguous()


def cap_before_scale(q: Any, k: Any, v: Any, seen: Any) -> Any:
    scores = 0.5 * (3.0 * (0.25 * (q @ k.mT)).tanh())
    return attended(scores.masked_fill(~seen, -math.inf), v)


def flat_capped(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (each.reshape(FLAT) for each in (q, k, v))
    scores = capped(torch.baddbmm(torch.empty(1, 1, 1), q, k.mT, beta=0, alpha=0.3))
    return torch.bmm(scores.softmax(-1), v).view(BATCH, HEADS, QUERIES, -1)


def gpt_oss(q: Any, k: Any, v: Any, mask: Any, sinks: Any) -> Any:
    scores = torch.matmul(q, repeated(k).transpose(2, 3)) * 0.2 + mask
    sinks = sinks.reshape(1, -1, 1, 1).expand(q.shape[0], -1, q.shape[-2], -1)
    both = torch.cat([scores, sinks], dim=-1)
    both = both - both.max(dim=-1, keepdim=True).values
    weights = functional.softmax(both, dim=-1, dtype=both.dtype)[..., :-1]
    return torch.matmul(weights.to(v.dtype), repeated(v)).transpose(1, 2).contiguous()


def sinks_first(q: Any, k: Any, v: Any, seen: Any, sinks: Any) -> Any:
    scores = capped(q @ k.mT).masked_fill(~seen, HIDDEN)
    column = sinks.view(-1, 1, 1).repeat(BATCH, 1, QUERIES, 1)
    return torch.cat((column, scores), -1).softmax(-1)[..., 1:] @ v


def padded(q: Any, k: Any, v: Any) -> Any:
    return functional.pad(q @ k.mT * 0.3, (0, 1)).softmax(-1)[..., :-1] @ v


def of_grouped_heads(q: Any, k: Any, v: Any, sinks: Any) -> Any:
    """As GPT-OSS's authors have it: [queries, heads of keys, heads of each, dim]."""
    q = q[0].transpose(0, 1).reshape(QUERIES, 2, 2, -1)
    k, v = (x[0].transpose(0, 1)[:, :, None].expand(-1, -1, 2, -1) for x in (k, v))
    column = sinks.reshape(2, 2, 1, 1).expand(-1, -1, QUERIES, -1)
    mask = torch.triu(q.new_full((QUERIES, KEYS), -math.inf), diagonal=3)
    scores = torch.einsum("qhmd,khmd->hmqk", q, k) * 0.2 + mask[None, None]
    weights = torch.softmax(torch.cat([scores, column], dim=-1), dim=-1)[..., :-1]
    return torch.einsum("hmqk,khmd->qhmd", weights, v).reshape(QUERIES, -1)


def exponentials(q: Any, k: Any, v: Any, sinks: Any) -> Any:
    scores, sinks = q @ k.mT * 0.3, sinks[:, None, None]
    base = torch.maximum(scores.amax(-1, keepdim=True), sinks)
    weights = torch.exp(scores - base)
    return weights / (weights.sum(-1, keepdim=True) + torch.exp(sinks - base)) @ v


def plain_exponentials(q: Any, k: Any, v: Any) -> Any:
    scores = capped(q @ k.mT)
    weights = (scores - scores.max(-1, keepdim=True).values).exp()
    return (weights / weights.sum(-1, keepdim=True)) @ v


def stable(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.mT * 0.3
    return attended(scores - scores.amax(-1, keepdim=True), v)


SPELLINGS: dict[str, tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "as in Gemma 2": ("masked_capped_", gemma, (*QKV(2), NUMBERS)),
    "causal by a finite number": (
        "capped_",
        gemma_causal := lambda q, k, v: gemma(
            q,
            k,
            v,
            torch.where(torch.ones(QUERIES, KEYS, dtype=torch.bool).tril(), 0.0, HIDDEN)[
                None, None
            ],
        ),
        QKV(2),
    ),
    "a scale after the cap": ("bool_masked_capped_", cap_before_scale, (*QKV(), SEEN)),
    "heads in the batch": ("capped_", flat_capped, QKV()),
    "as in GPT-OSS": ("masked_capped_", gpt_oss, (*QKV(2), SHOWN, SINKS)),
    "sinks first": ("masked_capped_", sinks_first, (*QKV(), SEEN, SINKS)),
    "a column of zeros": ("capped_", padded, QKV()),
    "without the maxima": ("", stable, QKV()),
    "of grouped heads": ("masked_capped_", of_grouped_heads, (*QKV(2), SINKS)),
    "exponentials": ("capped_", exponentials, (*QKV(), SINKS)),
    "exponentials without sinks": ("capped_", plain_exponentials, QKV()),
}


def patterns(end: str = "_f32") -> list[Any]:
    found = (*shipped.attention, *shipped.capped_attention)
    return [pattern for pattern in found if pattern.item.name.endswith(f"attention{end}")]


def wanted(*names: str) -> Counter[str]:
    return Counter(f"{SPELLINGS[name][0]}attention_f32" for name in names)


def every() -> tuple[Calls, tuple[torch.Tensor, ...]]:
    """All of them in one model."""

    def functions(*tensors: torch.Tensor) -> list[Any]:
        rest = iter(tensors)
        return [function(*(next(rest) for _ in given)) for _, function, given in SPELLINGS.values()]

    given = tuple(tensor.clone() for _, _, some in SPELLINGS.values() for tensor in some)
    return Calls(functions), given


def test_caps_and_sinks_are_found_in_every_spelling() -> None:
    found = replaced_in_torch(*every(), patterns())
    assert Counter(item.kernel for item in found) == wanted(*SPELLINGS)


@pytest.mark.thorough
@pytest.mark.parametrize("name", SPELLINGS)
def test_each_spelling_is_found_by_itself(name: str) -> None:
    _, function, given = SPELLINGS[name]
    found = replaced_in_torch(Calls(function), given, patterns())
    assert Counter(item.kernel for item in found) == wanted(name)


@pytest.mark.thorough
def test_what_was_written_out_computes_the_same() -> None:
    model, given = every()
    compiled = cd.torch.compile(model, given, ["cpu:host"], replace=patterns(), verify=2e-6)
    assert Counter(item.kernel for item in compiled.replaced or ()) == wanted(*SPELLINGS)


OTHERS: tuple[Callable[..., Any], ...] = (
    lambda q, k, v, mask, sinks: attended(capped(q @ k.mT + mask), v),
    lambda q, k, v, mask, sinks: attended(capped((q @ k.mT).masked_fill(mask > 0, -1e9)), v),
    lambda q, k, v, mask, sinks: attended(torch.tanh(q @ k.mT) * mask[..., :1], v),
    lambda q, k, v, mask, sinks: attended(torch.tanh(q @ k.mT + 1.0), v),
    lambda q, k, v, mask, sinks: gpt_oss_per_query(q, k, v, sinks, mask[..., :1]),
    lambda q, k, v, mask, sinks: torch.cat((q @ k.mT, mask[..., :1]), -1).softmax(-1)[..., 1:] @ v,
    lambda q, k, v, mask, sinks: (q @ k.mT).softmax(-1)[..., :-1] @ v[:, :, :-1],
    lambda q, k, v, mask, sinks: (e := (q @ k.mT).exp()) / (e.sum(-1, keepdim=True) + 1.0) @ v,
)


def test_what_is_no_cap_and_no_sink_stays() -> None:
    mask = torch.randn(BATCH, HEADS, QUERIES, KEYS)
    assert not replaced_in_torch(Calls(*OTHERS), (*QKV(), mask, SINKS), patterns())


def gpt_oss_per_query(q: Any, k: Any, v: Any, sinks: Any, of_queries: Any) -> Any:
    column = sinks.view(1, -1, 1, 1) + of_queries
    return torch.cat((q @ k.mT, column), -1).softmax(-1)[..., :-1] @ v


@pytest.mark.thorough
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_sinks_of_16_bits(dtype: torch.dtype) -> None:
    given = [each.to(dtype) for each in (*QKV(2), SHOWN.clamp(min=-6e4), SINKS)]
    name = {torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    found = replaced_in_torch(Calls(gpt_oss), tuple(given), patterns(f"_{name}"))
    assert [item.kernel for item in found] == [f"masked_capped_attention_{name}"]
