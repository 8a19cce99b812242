"""Attention that models write out is found as attention, and nothing else is taken for it."""

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

BATCH, HEADS, QUERIES, KEYS, DIM = 2, 4, 7, 9, 32
FLAT = (BATCH * HEADS, -1, DIM)
HIDDEN = torch.finfo(torch.float32).min


class Calls(torch.nn.Module):  # type: ignore[misc]
    """Functions as a model."""

    def __init__(self, *functions: Callable[..., Any]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, *given: torch.Tensor) -> Any:
        return tuple(function(*given) for function in self.functions)


def heads(number: int, length: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(BATCH, number, length, DIM).to(dtype)


def bools(*sizes: int) -> torch.Tensor:
    found = torch.rand(sizes) > 0.4
    found[..., 0] = True
    return found


def attended(scores: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(scores, dim=-1) @ v


def repeated(x: torch.Tensor) -> torch.Tensor:
    return x[:, :, None, :, :].expand(BATCH, 2, 2, KEYS, DIM).reshape(BATCH, HEADS, KEYS, DIM)


def in_f32(q: Any, k: Any, v: Any) -> Any:
    scores = torch.matmul(q.float(), k.float().transpose(2, 3)) / math.sqrt(DIM)
    return torch.matmul(functional.softmax(scores, dim=-1).to(v.dtype), v)


def flat(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (each.reshape(FLAT) for each in (q, k, v))
    weights = functional.dropout(torch.bmm(q * 0.2, k.transpose(1, 2)).softmax(-1), 0.1, False)
    return torch.bmm(weights, v).view(BATCH, HEADS, QUERIES, DIM).transpose(1, 2)


def added_in_the_product(q: Any, k: Any, v: Any, mask: Any) -> Any:
    q, k, v = (each.reshape(FLAT) for each in (q, k, v))
    mask = mask.expand(BATCH, HEADS, QUERIES, KEYS).reshape(-1, QUERIES, KEYS)
    scores = torch.baddbmm(mask, q, k.transpose(1, 2), alpha=0.2)
    return torch.bmm(scores.softmax(-1), v).view(BATCH, HEADS, QUERIES, DIM)


def by_einsum(q: Any, k: Any, v: Any) -> Any:
    q, k, v = (each.transpose(1, 2).contiguous() for each in (q, k, v))
    weights = torch.softmax(torch.einsum("bqhd,bkhd->bhqk", q, k) * 0.2, dim=-1)
    return torch.einsum("bhqk,bkhd->bqhd", weights, v)


def with_a_smallest_number(q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = torch.bmm(q.reshape(FLAT), k.reshape(FLAT).mT).view(BATCH, HEADS, QUERIES, KEYS)
    scores = torch.max(scores + mask, torch.tensor(HIDDEN)).view(-1, QUERIES, KEYS)
    return torch.bmm(scores.softmax(-1), v.reshape(FLAT)).view(BATCH, HEADS, QUERIES, DIM)


def grouped(q: Any, k: Any, v: Any, mask: Any) -> Any:
    scores = torch.matmul(q, repeated(k).transpose(2, 3)) * DIM**-0.5 + mask
    weights = functional.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
    return torch.matmul(weights, repeated(v)).transpose(1, 2).contiguous()


def in_all_orders(q: Any, k: Any, v: Any, mask: Any, seen: Any) -> Any:
    scores = (torch.where(seen, q @ k.mT, -1e9) + mask) / 5.0
    return attended(scores.masked_fill(~seen, HIDDEN), v)


def cosine(q: Any, k: Any, v: Any, factor: Any) -> Any:
    q, k = (functional.normalize(each, dim=-1) for each in (q, k))
    return attended(q @ k.mT * factor, v)


def of_images(q: Any, k: Any, v: Any, by_row: Any, by_column: Any) -> Any:
    """As Segment Anything's encoder: the bias is that of a key's row and that of its column."""
    scores = ((q * 0.2) @ k.mT).view(BATCH, HEADS, QUERIES, 3, 3)
    scores = scores + by_row[..., :, None] + by_column[..., None, :]
    return attended(scores.view(BATCH, HEADS, QUERIES, KEYS), v)


def QKV(number: int = HEADS) -> tuple[torch.Tensor, ...]:  # noqa: N802 - the usual name
    return heads(HEADS, QUERIES), heads(number, KEYS), heads(number, KEYS)


NUMBERS = torch.randn(BATCH, 1, QUERIES, KEYS)
SEEN = bools(BATCH, 1, QUERIES, KEYS)
SPELLINGS: dict[str, tuple[str, Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "plain": ("", lambda q, k, v: attended(q @ k.transpose(-2, -1) / math.sqrt(DIM), v), QKV()),
    "scaled before": ("", lambda q, k, v: attended((q * 0.4) @ (k * 0.4).mT, v), QKV()),
    "in f32": ("", in_f32, QKV()),
    "flat": ("", flat, QKV()),
    "einsum": ("", by_einsum, QKV()),
    "one head of keys": ("", lambda q, k, v: attended(q @ k.mT, v), QKV(1)),
    "interleaved": (
        "",
        lambda q, k, v: attended(q @ k.repeat_interleave(2, 1).mT, v.repeat_interleave(2, 1)),
        QKV(2),
    ),
    "grouped": ("masked_", grouped, (*QKV(2), NUMBERS)),
    "added in the product": ("masked_", added_in_the_product, (*QKV(), NUMBERS)),
    "a smallest number": ("masked_", with_a_smallest_number, (*QKV(), NUMBERS)),
    "in all orders": ("masked_", in_all_orders, (*QKV(), NUMBERS, SEEN)),
    "filled": (
        "bool_masked_",
        lambda q, k, v, seen: attended((q @ k.mT).masked_fill(seen == 0, -math.inf), v),
        (*QKV(), torch.ones(1, 1, QUERIES, KEYS).tril()),
    ),
    "filled twice": (
        "bool_masked_",
        lambda q, k, v, one, other: attended(
            (q @ k.mT).masked_fill(~one, -math.inf).masked_fill(~other, -math.inf), v
        ),
        (*QKV(), bools(BATCH, 1, 1, KEYS), bools(QUERIES, KEYS)),
    ),
    "hidden rows": (
        "masked_",
        lambda q, k, v, seen: attended((q @ k.mT).masked_fill(~seen, -1e9), v),
        (*QKV(), torch.arange(QUERIES)[:, None] > torch.arange(KEYS)),
    ),
    "of images": ("masked_", of_images, (*QKV(), *torch.randn(2, BATCH, HEADS, QUERIES, 3))),
    "cosine": ("", cosine, (*QKV(), torch.rand(HEADS, 1, 1) * 5)),
    "mask of two dims": (
        "bool_masked_",
        functional.scaled_dot_product_attention,
        (*QKV(), bools(QUERIES, KEYS)),
    ),
}


def patterns(end: str) -> list[Any]:
    return [pattern for pattern in shipped.attention if pattern.item.name.endswith(end)]


@pytest.mark.parametrize("name", SPELLINGS)
def test_attention_is_found_in_every_spelling(name: str) -> None:
    prefix, function, given = SPELLINGS[name]
    found = replaced_in_torch(Calls(function), given, patterns("_f32_32"))
    assert [item.kernel for item in found] == [f"{prefix}attention_f32_32"]


def test_what_was_written_out_computes_the_same() -> None:
    names = ("grouped", "hidden rows", "in all orders", "cosine", "flat", "of images")
    functions = [SPELLINGS[name][1] for name in names]
    given = [SPELLINGS[name][2] for name in names]

    def every(*tensors: torch.Tensor) -> list[Any]:
        rest = iter(tensors)
        return [
            function(*(next(rest) for _ in some))
            for function, some in zip(functions, given, strict=True)
        ]

    tensors = tuple(tensor.clone() for some in given for tensor in some)
    compiled = cd.torch.compile(
        Calls(every), tensors, ["cpu:host"], replace=patterns("_f32_32"), verify=1e-6
    )
    assert Counter(item.kernel for item in compiled.replaced or ()) == {
        "attention_f32_32": 2,
        "masked_attention_f32_32": 4,
    }


def test_open_sizes_stay_open() -> None:
    count = torch.export.Dim("count", min=2, max=64)
    batch = torch.export.Dim("batch", min=2, max=16)

    def causal(x: torch.Tensor) -> torch.Tensor:
        q, k, v = x.view(*x.shape[:2], 3, HEADS, DIM).permute(2, 0, 3, 1, 4).unbind(0)
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return attended((q @ k.mT * 0.2).masked_fill(~seen, -math.inf), v)

    given = (torch.randn(3, 5, 3 * HEADS * DIM),)
    found = replaced_in_torch(
        Calls(causal), given, patterns("_f32_32"), {"given": ({0: batch, 1: count},)}
    )
    assert [item.kernel for item in found] == ["bool_masked_attention_bshd_f32_32"]


@pytest.mark.parametrize(
    "dtype", [torch.bfloat16, pytest.param(torch.float16, marks=pytest.mark.thorough)]
)
def test_scores_in_f32_of_16_bits_are_attention_of_16_bits(dtype: torch.dtype) -> None:
    given = heads(4, 7, dtype), heads(4, 9, dtype), heads(4, 9, dtype)
    name = {torch.bfloat16: "bf16", torch.float16: "f16"}[dtype]
    found = replaced_in_torch(Calls(in_f32), given, patterns(f"_{name}_32"))
    assert [item.kernel for item in found] == [f"attention_{name}_32"]


def test_a_mask_that_16_bits_would_round_is_no_operand() -> None:
    def with_slopes(q: Any, k: Any, v: Any, mask: Any) -> Any:
        return attended((q @ k.mT).float() + mask, v.float()).to(q.dtype)

    given = *(heads(4, length, torch.bfloat16) for length in (7, 9, 9)), NUMBERS
    assert not replaced_in_torch(Calls(with_slopes), given, patterns("_bf16_32"))


@pytest.mark.parametrize(
    "function",
    [
        lambda q, k, v, mask: attended(torch.tanh(q @ k.mT), v),
        lambda q, k, v, mask: torch.softmax(q @ k.mT, dim=-2) @ v,
        lambda q, k, v, mask: attended(mask - q @ k.mT * 0.5 * mask, v),
        lambda q, k, v, mask: attended((q @ k.mT).masked_fill(mask > 0, -1.0), v),
        lambda q, k, v, mask: attended((q @ k.mT + mask) * mask[..., :1], v),
        lambda q, k, v, mask: attended((q @ k.mT).masked_fill(mask > 0, -1e9) * 1e-9, v),
        lambda q, k, v, mask: (weights := (q @ k.mT).softmax(-1)) @ v + weights.sum(),
        lambda q, k, v, mask: attended((q[:1] @ k[:1].mT) + mask, v),
    ],
)
def test_what_is_no_attention_stays(function: Callable[..., Any]) -> None:
    assert not replaced_in_torch(Calls(function), (*QKV(), NUMBERS), patterns("_f32_32"))
