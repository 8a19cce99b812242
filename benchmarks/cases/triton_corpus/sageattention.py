"""Attention of SageAttention, of which the scores are products of int8."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 - PyTorch's own abbreviation
from sageattention import sageattn, sageattn_varlen

from benchmarks.cases.triton_corpus.checking import Cases, agree, draw

CASES = Cases()
INT8 = 3e-2
"""Of scores that were rounded to 8 bits."""


def _attention(dim: int, *, causal: bool) -> None:
    # Blocks of 64 keys are whole: it counts what is behind the last key in the sum of a row.
    q, k, v = (draw(1, 2, 192, dim, dtype=torch.float16, seed=i) for i in range(3))
    expected = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)
    agree("result", sageattn(q, k, v, is_causal=causal), expected, INT8)


@CASES
def attention() -> None:
    _attention(64, causal=False)


@CASES
def causal_attention() -> None:
    _attention(64, causal=True)


@CASES
def attention_of_96() -> None:
    _attention(96, causal=False)


@CASES
def causal_attention_of_96() -> None:
    _attention(96, causal=True)


def _several(*, causal: bool) -> None:
    counts = [64, 128]
    q, k, v = (draw(192, 2, 64, dtype=torch.float16, seed=i) for i in range(3))
    starts = torch.tensor([0, 64, 192]).int()
    found = sageattn_varlen(q, k, v, starts, starts, 128, 128, is_causal=causal)
    rows = [
        F.scaled_dot_product_attention(
            *(x.double().transpose(0, 1) for x in part), is_causal=causal
        )
        for part in zip(*(each.split(counts) for each in (q, k, v)), strict=True)
    ]
    agree("result", found, torch.cat([row.transpose(0, 1) for row in rows]), INT8)


@CASES
def of_several_lengths() -> None:
    _several(causal=False)


@CASES
def causal_of_several_lengths() -> None:
    _several(causal=True)
