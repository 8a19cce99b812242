"""Whole models of transformers, called as their documentation does: the places that kernels take.

Two layers with heads of real sizes. The counts are those of the architectures, by hand: attentions,
norms, rotary embeddings, products and convolutions. Queries, keys and values are a product each.
What no kernel takes is listed beside them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import transformers

from cuda_kernels.patterns.torch import everything
from custom_dispatch.replaced import Replaced
from tests.places import replaced_in_torch

SIZES = {
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 512,
    "max_position_embeddings": 128,
}
GROUPED = {**SIZES, "num_key_value_heads": 2}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2}
IMAGES = {
    **{name: SIZES[name] for name in list(SIZES)[:4]},
    "image_size": 32,
    "patch_size": 8,
}
STATES = {"hidden_size": 256, "num_hidden_layers": 2, "vocab_size": 512}
PRODUCTS = ("linear", "matmul", "mm", "bmm", "addmm")


@dataclass(frozen=True)
class Model:
    """A model, and what is found in it."""

    name: str
    """Its class; its configuration's follows from it."""
    sizes: dict[str, Any]
    attentions: int
    norms: int
    rotaries: int
    products: int
    convolutions: int = 0
    scans: int = 0
    stays: tuple[str, ...] = ()
    """What stays with IREE: as the report says it, without types."""
    given: str = "tokens"
    encoder: bool = False
    """Whether the model's encoder is called alone."""
    config: str = field(default="")

    def build(self, dtype: torch.dtype) -> torch.nn.Module:
        """The model, with random weights."""
        family = self.config or self.name.replace("ForCausalLM", "").replace("Model", "")
        config = getattr(transformers, f"{family.replace('LMHead', '')}Config")(**self.sizes)
        torch.manual_seed(0)
        found = getattr(transformers, self.name)(config)
        return (found.encoder if self.encoder else found).to(dtype).eval()


class Called(torch.nn.Module):  # type: ignore[misc]
    """A model that gives its first result, without a cache."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, given: torch.Tensor, mask: torch.Tensor | None = None) -> Any:
        masked = {} if mask is None else {"attention_mask": mask}
        return self.model(given, **masked)[0]


MODELS = (
    Model("LlamaForCausalLM", GROUPED, 2, 5, 4, 15),
    Model("MistralForCausalLM", {**GROUPED, "sliding_window": 8}, 2, 5, 4, 15),
    Model("Qwen2ForCausalLM", GROUPED, 2, 5, 4, 15),
    Model("Qwen3ForCausalLM", {**GROUPED, "head_dim": 128}, 2, 9, 4, 15),
    Model("Phi3ForCausalLM", {**GROUPED, "pad_token_id": 0}, 2, 5, 4, 13),
    Model("PhiForCausalLM", SIZES, 2, 3, 4, 13),
    Model("GemmaForCausalLM", {**GROUPED, "head_dim": 256}, 2, 5, 4, 15),
    Model("Gemma2ForCausalLM", {**GROUPED, "head_dim": 64}, 2, 9, 4, 15),
    Model(
        "GptOssForCausalLM",
        {**GROUPED, "head_dim": 64, "num_local_experts": 4, "pad_token_id": 0},
        2,
        5,
        4,
        15,
    ),
    Model("Gemma3ForCausalLM", {**GROUPED, "head_dim": 64}, 2, 13, 4, 15, config="Gemma3Text"),
    Model("Olmo2ForCausalLM", GROUPED, 2, 9, 4, 15),
    Model("StableLmForCausalLM", GROUPED, 2, 5, 4, 15),
    Model("GPTNeoXForCausalLM", SIZES, 2, 5, 4, 13),
    Model("GPT2LMHeadModel", {"n_embd": 256, "n_layer": 2, "n_head": 4}, 2, 5, 0, 13),
    Model("BloomForCausalLM", {"hidden_size": 256, "n_layer": 2, "n_head": 4}, 2, 6, 0, 13),
    Model("FalconForCausalLM", {name: SIZES[name] for name in list(SIZES)[:4]}, 2, 3, 4, 13),
    # Of each head's queries and keys, too, with weights of each.
    Model("CohereForCausalLM", {**GROUPED, "use_qk_norm": True}, 2, 7, 4, 15),
    # Norms follow rotary embeddings.
    Model("HunYuanDenseV1ForCausalLM", {**GROUPED, "head_dim": 64}, 2, 9, 4, 15),
    Model("OlmoeForCausalLM", {**GROUPED, **EXPERTS, "pad_token_id": 0}, 2, 9, 4, 15),
    Model("MixtralForCausalLM", {**GROUPED, "num_local_experts": 4}, 2, 5, 4, 15),
    Model("BertModel", SIZES, 2, 5, 0, 12),
    Model(
        "EsmModel",
        {
            **SIZES,
            "pad_token_id": 0,
            "mask_token_id": 5,
            "position_embedding_type": "rotary",
            "token_dropout": True,
        },
        2,
        5,
        4,
        12,
    ),
    # With two products of positions, which all sentences share, a layer.
    Model(
        "DebertaModel",
        {**SIZES, "relative_attention": True, "pos_att_type": ["c2p", "p2c"]},
        2,
        5,
        0,
        16,
    ),
    Model("ModernBertModel", {**SIZES, "pad_token_id": 0}, 2, 5, 4, 12),
    Model(
        "T5EncoderModel",
        {"d_model": 256, "d_kv": 64, "num_layers": 2, "num_heads": 4},
        2,
        5,
        0,
        12,
        config="T5",
    ),
    Model("ViTModel", IMAGES, 2, 5, 0, 13, 0, given="images"),
    Model("CLIPVisionModel", IMAGES, 2, 5, 0, 13, 0, given="images"),
    Model(
        "WhisperModel",
        {
            "d_model": 256,
            "encoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "num_mel_bins": 16,
            "max_source_positions": 32,
        },
        2,
        5,
        0,
        12,
        2,
        given="sound",
        encoder=True,
    ),
    Model(
        "ResNetModel",
        {"embedding_size": 16, "hidden_sizes": [32, 64], "depths": [1, 1]},
        0,
        0,
        0,
        0,
        9,
        given="images",
    ),
    Model(
        "ConvNextModel",
        {"hidden_sizes": [32, 64], "depths": [1, 1], "num_stages": 2},
        0,
        4,
        0,
        5,
        3,
        given="images",
    ),
    Model("MambaForCausalLM", STATES, 0, 3, 0, 9, 2, 2),
    Model("FalconMambaForCausalLM", STATES, 0, 5, 0, 9, 2, 2),
    Model(
        "Mamba2ForCausalLM",
        {**STATES, "num_heads": 8, "head_dim": 64, "state_size": 64, "n_groups": 2},
        *(0, 5, 0, 5, 2, 2),
    ),
    Model(
        "BambaForCausalLM",
        {
            **GROUPED,
            "mamba_n_heads": 8,
            "mamba_d_head": 64,
            "mamba_d_state": 64,
            "mamba_n_groups": 2,
            "attn_layer_indices": [1],
            "pad_token_id": 0,
        },
        *(1, 6, 2, 13, 1, 1),
    ),
    # The last of its layers attends.
    Model(
        "RecurrentGemmaForCausalLM",
        {**SIZES, "num_hidden_layers": 3, "num_key_value_heads": 1},
        *(1, 7, 2, 24, 2, 2),
    ),
    Model(
        "Qwen3NextForCausalLM",
        {
            **GROUPED,
            "head_dim": 64,
            "linear_num_value_heads": 4,
            "linear_num_key_heads": 2,
            "linear_key_head_dim": 64,
            "linear_value_head_dim": 64,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 64,
            "shared_expert_intermediate_size": 64,
            "layer_types": ["linear_attention", "full_attention"],
        },
        *(1, 9, 2, 22, 1, 1),
    ),
)


WAVES = {
    **{name: SIZES[name] for name in list(SIZES)[:4]},
    "conv_dim": [32, 32, 32],
    "conv_kernel": [10, 3, 2],
    "conv_stride": [5, 2, 2],
    "num_conv_pos_embeddings": 16,
    "num_conv_pos_embedding_groups": 4,
}
WINDOWS = {
    "image_size": 32,
    "patch_size": 2,
    "embed_dim": 32,
    "depths": [1, 1],
    "num_heads": [2, 4],
}
PYRAMID = {
    "num_encoder_blocks": 2,
    "depths": [1, 1],
    "hidden_sizes": [32, 64],
    "mlp_ratios": [2, 2],
    "num_attention_heads": [1, 2],
    "patch_sizes": [7, 3],
    "strides": [4, 2],
    "sr_ratios": [2, 1],
}
MODELS += (
    Model("DeiTModel", IMAGES, 2, 5, 0, 13, 0, given="images"),
    Model("Dinov2Model", IMAGES, 2, 5, 0, 13, 0, given="images"),
    Model("DINOv3ViTModel", IMAGES, 2, 5, 4, 13, 0, given="images"),
    Model("SwinModel", {**WINDOWS, "window_size": 4}, 2, 7, 0, 13, 1, given="images"),
    Model("PvtV2Model", {**PYRAMID, "image_size": 32}, 2, 9, 0, 13, 4, given="images"),
    Model("MobileNetV2Model", {"image_size": 32}, 0, 0, 0, 0, 52, given="images"),
    Model(
        "RegNetModel",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "groups_width": 8},
        *(0, 0, 0, 4, 9),
        given="images",
    ),
    Model("VideoMAEModel", {**IMAGES, "num_frames": 4}, 2, 4, 0, 13, given="videos"),
    Model("Wav2Vec2Model", {**WAVES, "num_feat_extract_layers": 3}, 2, 7, 0, 13, 4, given="waves"),
    Model(
        "Data2VecAudioModel",
        {**WAVES, "num_feat_extract_layers": 3},
        *(2, 25, 0, 13, 19),
        given="waves",
    ),
)


def given_to(model: Model, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    """Two texts, of which the second is padded; images or sound."""
    if model.given == "tokens":
        mask = torch.ones(2, 16, dtype=torch.int64)
        mask[1, 12:] = 0
        return torch.randint(3, 500, (2, 16)), mask
    sizes = {
        "images": (2, 3, 32, 32),
        "sound": (2, 16, 64),
        "videos": (1, 4, 3, 32, 32),
        "waves": (2, 800),
    }[model.given]
    return (torch.randn(sizes, dtype=dtype),)


def counted(report: Replaced) -> tuple[int, ...]:
    """The attentions, norms, rotary embeddings, products, convolutions and scans of kernels."""
    names = [item.kernel for item in report]
    said = [op for item in report for op in item.operations]
    return (
        sum("attention" in name for name in names),
        sum("norm" in name for name in names),
        sum("rotary" in name for name in names),
        sum(op.removeprefix("torch.aten.") in PRODUCTS for op in said)
        + sum(name.startswith("grouped") for name in names),
        sum("convolution" in name or "depthwise" in name for name in names),
        sum("scan" in name for name in names),
    )


QUICK = ("Llama", "ResNet")
"""What CI runs, in bf16: one of each kind, of which experts are in tests/shipped_kernels/
test_grouped.py, encoders in test_minilm.py and scans in test_scan_spellings.py. `--thorough` runs
all, in f32, too."""


@pytest.mark.parametrize(
    ("model", "dtype"),
    [
        pytest.param(
            model,
            dtype,
            id=f"{model.name}-{str(dtype).removeprefix('torch.')}",
            marks=[]
            if dtype == torch.bfloat16 and model.name.startswith(QUICK)
            else [pytest.mark.thorough],
        )
        for model in MODELS
        for dtype in (torch.bfloat16, torch.float32)
    ],
)
def test_every_place_is_found(model: Model, dtype: torch.dtype) -> None:
    report = replaced_in_torch(
        Called(model.build(dtype)).eval(), given_to(model, dtype), [everything]
    )
    wanted = (model.attentions, model.norms, model.rotaries, model.products, model.convolutions)
    assert counted(report) == (*wanted, model.scans)
    assert (
        tuple(f"{each.count} of {each.of} {each.kind}" for each in report.remaining) == model.stays
    )
