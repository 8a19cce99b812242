"""Attention with masks of every shape that PyTorch broadcasts, in models."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import custom_dispatch as cd
from cuda_kernels import attention as kernels
from cuda_kernels.patterns.torch import attention
from custom_dispatch.errors import DeclarationError
from tests.places import replaced_in_torch

BATCH, HEADS, QUERIES, KEYS = 3, 4, 5, 7
PATTERNS = [
    pattern
    for pattern in attention
    if re.match("(bool_)?masked_attention_f32_64$", pattern.item.name)
]
SHAPES = (
    (BATCH, 1, QUERIES, KEYS),
    (1, 1, QUERIES, KEYS),
    (1, HEADS, QUERIES, KEYS),
    (BATCH, HEADS, QUERIES, KEYS),
    (BATCH, 1, 1, KEYS),
    (BATCH, HEADS, 1, KEYS),
    (QUERIES, KEYS),
    (HEADS, QUERIES, KEYS),
)


class Layers(torch.nn.Module):  # type: ignore[misc]
    """Two layers for each mask."""

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *masks: torch.Tensor
    ) -> torch.Tensor:
        for mask in masks:
            for _ in range(2):
                q = scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        return q


def inputs(random: np.random.Generator) -> list[torch.Tensor]:
    shapes = ((BATCH, HEADS, QUERIES, 64), *((BATCH, 2, KEYS, 64),) * 2)
    return [torch.from_numpy(random.standard_normal(shape, np.float32)) for shape in shapes]


def test_masks_that_are_broadcast_are_found() -> None:
    masks = [torch.ones(shape, dtype=torch.bool) for shape in SHAPES]
    masks += [torch.zeros(shape) for shape in SHAPES]
    report = replaced_in_torch(Layers(), (*inputs(np.random.default_rng(1)), *masks), PATTERNS)
    assert len(report) == 2 * len(masks), report


def test_results_are_pytorchs(random: np.random.Generator) -> None:
    shown = [torch.from_numpy(random.random(shape) < 0.6) for shape in SHAPES[:5]]
    shown[0][1, 0, 2] = False  # a query that sees nothing
    bias = torch.from_numpy(random.standard_normal(SHAPES[2], np.float32))
    given = (*inputs(random), *shown, torch.where(shown[1], bias, -torch.inf), bias)
    module = cd.torch.compile(Layers(), given, targets=["cpu:host"], replace=PATTERNS)
    assert {"mask_spans_bool", "mask_spans_f32"} <= {*module.kernels}
    got = np.asarray(cd.load(module.bytes, "cpu").main(*given))
    np.testing.assert_allclose(got, Layers()(*given).numpy(), rtol=1e-5, atol=1e-6)


def test_only_operands_that_may_be_absent_are_made() -> None:
    with pytest.raises(DeclarationError, match=r"makes `mask`.*\n.*optional operands: spans"):
        cd.torch.Pattern(
            kernels.bool_masked_attention_f32_64,
            PATTERNS[0].computes,
            made={"mask": kernels.mask_spans_bool},
        )
