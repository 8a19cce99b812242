"""Whole models of transformers: which operations behind products become functions of these."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest
import torch

from cuda_kernels.patterns import onnx_epilogues, torch_epilogues
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_onnx, replaced_in_torch
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
    patterns = torch_epilogues.epilogues_in(model, (given,))
    assert stems(replaced_in_torch(model, (given,), patterns)) == found


def stems(report: Replaced) -> Counter[str]:
    """The kernels, without digests and types."""
    return Counter(re.sub(r"(_[0-9a-f]{8})?_f16$", "", item.kernel) for item in report)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "sizes", "found"),
    [
        # The scores have a soft cap, too: ONNX's attention has none.
        (
            "Gemma2ForCausalLM",
            WIDE_HEADS,
            {
                "matmul_with_gelu_mul": 2,
                "matmul_with_div_tanh_mul": 1,
                "batch_matmul_with_mul_div_tanh_mul": 2,
            },
        ),
        ("LlamaForCausalLM", GROUPED, {"matmul_with_silu_mul": 2}),
        ("NemotronForCausalLM", GROUPED, {"matmul_with_relu_pow": 2}),
        ("CLIPVisionModel", IMAGES, {"matmul_with_mul_sigmoid_mul": 2}),
        ("Dinov2Model", IMAGES, {"matmul_with_mul_add": 4}),
    ],
)
def test_what_follows_products_in_onnx(
    name: str, sizes: dict[str, Any], found: dict[str, int]
) -> None:
    model = Called(Model(name, sizes, 0, 0, 0, 0).build(torch.float16)).eval()
    given: Any = torch.randint(0, 500, (1, 24))
    if "image_size" in sizes:
        given = torch.randn(1, 3, 32, 32, dtype=torch.float16)
    program = torch.onnx.export(model, (given,), dynamo=True, verbose=False)
    assert program is not None
    exported = program.model_proto
    kernels = stems(replaced_in_onnx(exported, onnx_epilogues.everything_in(exported)))
    assert {each: kernels[each] for each in kernels if "_with_" in each} == found
