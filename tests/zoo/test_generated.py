"""What code IREE generates beside the kernels of whole models: nothing in their layers."""

from __future__ import annotations

import re

import pytest
import torch

from cuda_kernels.patterns.torch import everything
from custom_dispatch.frontends.mlir import place
from custom_dispatch.frontends.torch.importer import export_model
from custom_dispatch.frontends.torch.replacing import import_with_kernels
from custom_dispatch.ir.compiler_tool import compile_mlir
from tests.zoo.test_transformers import MODELS, Called, given_to

FLAGS = ("--iree-hal-target-device=cuda", "--iree-cuda-target=sm_90", "--compile-to=flow")
GENERATED = {
    **{
        f"{name}ForCausalLM": 3
        for name in ("Llama", "Mistral", "Qwen2", "Qwen3", "Phi3", "Phi", "StableLm")
    },
    **dict.fromkeys(("GPTNeoXForCausalLM", "FalconForCausalLM", "GPT2LMHeadModel"), 3),
    "BloomForCausalLM": 4,
    "BertModel": 3,
    "ModernBertModel": 4,
    "T5EncoderModel": 3,
    "ViTModel": 3,
}
"""By model, of two layers: the dispatches of a call. One is the embedding, two or three are of the
mask, and three put an image's patches in order."""
QUICK = "GPTNeoX"


def generated(name: str) -> list[str]:
    """The names of the dispatches that a call has beside kernels."""
    (model,) = (each for each in MODELS if each.name == name)
    called = Called(model.build(torch.bfloat16)).eval()
    program = export_model(called, given_to(model, torch.bfloat16), None)
    imported, _, kernels = import_with_kernels({"main": program}, 4096, [everything], [])
    placed = place(imported.module, kernels)
    text = compile_mlir(str(placed.module).encode(), FLAGS).decode()
    found = re.findall(r"flow\.dispatch @[\w$]+::@([\w$]+)", text)
    return [each for each in found if not each.startswith("_initializer")]


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name.startswith(QUICK) else [pytest.mark.thorough])
        for name in GENERATED
    ],
)
def test_layers_are_kernels_alone(name: str) -> None:
    found = generated(name)
    assert len(found) == GENERATED[name], found
