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


class Constant(torch.nn.Module):  # type: ignore[misc]
    """Masks that follow from no input, of numbers and of bools."""

    def __init__(self, mask: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        mask = self.mask.unsqueeze(0).expand(BATCH, 1, -1, -1)
        q = scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)
        added = torch.zeros(1).masked_fill(~mask, -torch.inf)
        return scaled_dot_product_attention(q, k, v, added, enable_gqa=True)


def test_masks_that_are_known_are_none_or_causal(random: np.random.Generator) -> None:
    every = [p for p in attention if re.match("(.*_)?attention_f32_64$", p.item.name)]
    all_seen = torch.ones((QUERIES, KEYS), dtype=torch.bool)
    for mask, kernel, causal in (
        (all_seen, "attention_f32_64", {False}),
        (all_seen.tril(), "attention_f32_64", {True}),
        (all_seen.tril(1), "masked_attention_f32_64", {False}),
    ):
        given = tuple(inputs(random))
        report = replaced_in_torch(Constant(mask), given, every)
        assert len(report) == 2
        assert all(item.kernel.endswith(kernel) for item in report)
        assert ("masked" in kernel) == all("masked" in item.kernel for item in report)
        assert {bool(item.scalars["causal"]) for item in report} == causal


def test_only_operands_that_may_be_absent_are_made() -> None:
    with pytest.raises(DeclarationError, match=r"makes `mask`.*\n.*optional operands: spans"):
        cd.torch.Pattern(
            kernels.bool_masked_attention_f32_64,
            PATTERNS[0].computes,
            made={"mask": kernels.mask_spans_bool},
        )


def test_a_mask_that_a_model_changes_is_no_constant() -> None:
    class Changing(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.ones(1, 1, 8, 8, dtype=torch.bool).tril())

        def forward(self, q: torch.Tensor) -> torch.Tensor:
            found = torch.nn.functional.scaled_dot_product_attention(q, q, q, self.seen)
            self.seen.fill_(True)
            return found

    patterns = [each for each in attention if each.item.name.endswith("attention_f32_32")]
    (found,) = replaced_in_torch(Changing(), (torch.randn(1, 2, 8, 32),), patterns)
    assert found.kernel == "bool_masked_attention_f32_32"
