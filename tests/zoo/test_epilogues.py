"""Whole models of transformers: which operations behind products become functions of these."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import torch

from cuda_kernels.patterns.torch_epilogues import epilogues_in
from tests.places import replaced_in_torch
from tests.zoo.test_transformers import GROUPED, IMAGES, Called, Model

WIDE_HEADS = {**GROUPED, "head_dim": 64}
GATES = {"linear_with_gelu_mul": 2}


@pytest.mark.parametrize(
    ("name", "sizes", "found"),
    [
        # Gated products, and the soft cap of the logits.
        ("Gemma2ForCausalLM", WIDE_HEADS, {**GATES, "linear_with_div_tanh_mul": 1}),
        *(
            pytest.param(*each, marks=pytest.mark.thorough)
            for each in (
                ("GemmaForCausalLM", WIDE_HEADS, GATES),
                ("LlamaForCausalLM", GROUPED, {"linear_with_silu_mul": 2}),
                ("NemotronForCausalLM", GROUPED, {"linear_with_relu_square": 2}),
                ("CLIPVisionModel", IMAGES, {"linear_with_mul_sigmoid_mul": 2}),
                # What scales a layer is a vector, and the sum is another tensor.
                ("Dinov2Model", IMAGES, {"linear_with_mul_add": 4}),
                # GELU written out is the one that ships.
                ("PhiForCausalLM", GROUPED, {"linear_gelu_tanh": 2}),
            )
        ),
    ],
)
def test_what_follows_products(name: str, sizes: dict[str, Any], found: dict[str, int]) -> None:
    model = Called(Model(name, sizes, 0, 0, 0, 0).build(torch.float16))
    given: Any = torch.randint(0, 500, (1, 24))
    if "image_size" in sizes:
        given = torch.randn(1, 3, 32, 32, dtype=torch.float16)
    report = replaced_in_torch(model, (given,), epilogues_in(model, (given,)))
    kernels = (re.sub(r"(_[0-9a-f]{8})?_f16$", "", item.kernel) for item in report)
    assert Counter(kernels) == found
