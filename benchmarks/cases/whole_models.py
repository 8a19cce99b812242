"""Whole models as transformers builds them, with a mask, at sizes that nothing here was tuned for.

The shapes are those of published models, with fewer layers; the weights are random, the same on
every machine, and made where the model runs.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.cases.model import Arguments, Case, with_kernels, without_kernels


@dataclass(frozen=True)
class Configuration:
    """One model: its class and configuration in transformers, and what it is called with."""

    kind: str
    """Its prefix: `Qwen3` of `Qwen3Config` and `Qwen3Model`."""
    sizes: dict[str, Any]
    dtype: torch.dtype
    batch: int
    tokens: int
    """0 where it takes what `features` says."""
    features: tuple[int, ...] = (3, 224, 224)
    """The sizes of an image, or of the spectrum of a sound."""
    vocabulary: int = 32000


class Hidden(torch.nn.Module):
    """A model that gives the values of its last layer."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        if len(given) == 1:
            found: torch.Tensor = self.model(*given)[0]
        else:
            found = self.model(input_ids=given[0], attention_mask=given[1])[0]
        return found


class HiddenWithoutCache(Hidden):
    """The same of a decoder, which would return a cache or a state."""

    def forward(self, *given: torch.Tensor) -> torch.Tensor:
        ids, mask = given
        found: torch.Tensor = self.model(input_ids=ids, attention_mask=mask, use_cache=False)[0]
        return found


_CLASSES = {"T5": "EncoderModel", "CLIPVision": "Model"}
"""What follows the prefix in the class's name, where that is not `Model`."""


def _model(about: Configuration, directory: Path) -> torch.nn.Module:
    del directory
    import transformers

    config = getattr(transformers, f"{about.kind}Config")(**about.sizes)
    torch.manual_seed(0)
    model = getattr(transformers, f"{about.kind}{_CLASSES.get(about.kind, 'Model')}")(config)
    if about.kind == "Whisper":
        model = model.encoder
    with torch.no_grad():
        for index, (_, weight) in enumerate(sorted(model.named_parameters())):
            # The same numbers on every machine, whatever PyTorch's version.
            generator = np.random.Generator(np.random.Philox(index))
            if weight.dim() == 1:
                values = generator.random(weight.shape, np.float32) * 0.5 + 0.75
            else:
                values = (generator.random(weight.shape, np.float32) - 0.5) * 0.06
            # Parameters alone: transformers keeps the angles of rotary embeddings in f32.
            weight.data = torch.from_numpy(values).to(about.dtype)
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.to(about.dtype)
    has_cache = "use_cache" in inspect.signature(model.forward).parameters
    return (HiddenWithoutCache if has_cache else Hidden)(model).eval()


def _calls(about: Configuration, directory: Path) -> dict[str, Arguments]:
    del directory
    generator = np.random.Generator(np.random.Philox(3000 + about.batch))
    if not about.tokens:
        values = generator.standard_normal((about.batch, *about.features), np.float32)
        sizes = " x ".join(map(str, (about.batch, *about.features)))
        return {sizes: (torch.from_numpy(values).to(about.dtype),)}
    shape = (about.batch, about.tokens)
    ids = torch.from_numpy(generator.integers(0, about.vocabulary, shape))
    mask = torch.ones(shape, dtype=torch.int64)
    for row in range(1, about.batch):  # texts of several lengths: padded on the right
        mask[row, about.tokens - row * about.tokens // (2 * about.batch) :] = 0
    return {f"{about.batch} x {about.tokens} tokens": (ids, mask)}


CONFIGURATIONS = {
    "qwen3": Configuration(
        "Qwen3",
        {
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "num_hidden_layers": 4,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "vocab_size": 32000,
        },
        torch.bfloat16,
        1,
        1024,
    ),
    "llama-1b": Configuration(
        "Llama",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 2,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
            "vocab_size": 32000,
        },
        torch.bfloat16,
        2,
        1000,
    ),
    "phi-2": Configuration(
        "Phi",
        {
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 2,
            "num_attention_heads": 32,
            "vocab_size": 32000,
        },
        torch.bfloat16,
        1,
        1024,
    ),
    "gpt2": Configuration("GPT2", {"n_layer": 4, "vocab_size": 32000}, torch.float16, 4, 512),
    "bert": Configuration(
        "Bert", {"num_hidden_layers": 4, "vocab_size": 32000}, torch.float16, 8, 128
    ),
    "vit": Configuration("ViT", {"num_hidden_layers": 4}, torch.float16, 8, 0),
    "mistral": Configuration(
        "Mistral",
        {"num_hidden_layers": 2, "sliding_window": 512, "vocab_size": 32000},
        torch.bfloat16,
        1,
        1024,
    ),
    "gemma2": Configuration(
        "Gemma2",
        # Some versions of transformers choose PyTorch's attention, which drops the soft caps.
        {"num_hidden_layers": 2, "vocab_size": 32000, "attn_implementation": "eager"},
        torch.bfloat16,
        1,
        1024,
    ),
    "mixtral": Configuration(
        "Mixtral",
        {
            "hidden_size": 1024,
            "intermediate_size": 3584,
            "num_hidden_layers": 2,
            "num_attention_heads": 16,
            "num_key_value_heads": 4,
            "vocab_size": 32000,
        },
        torch.bfloat16,
        1,
        1024,
    ),
    "modernbert": Configuration(
        "ModernBert",
        {"num_hidden_layers": 6, "vocab_size": 32000, "pad_token_id": 0},
        torch.bfloat16,
        4,
        512,
        vocabulary=32000,
    ),
    "t5-encoder": Configuration(
        "T5",
        {
            "d_model": 768,
            "d_ff": 2048,
            "num_layers": 4,
            "num_heads": 12,
            "feed_forward_proj": "gated-gelu",
        },
        torch.bfloat16,
        4,
        512,
    ),
    "whisper-encoder": Configuration(
        "Whisper",
        {
            "d_model": 768,
            "encoder_layers": 4,
            "encoder_attention_heads": 12,
            "encoder_ffn_dim": 3072,
            "decoder_layers": 1,
        },
        torch.float16,
        1,
        0,
        (80, 3000),
    ),
    "nemotron": Configuration(
        "Nemotron",
        {
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 2,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "vocab_size": 32000,
        },
        torch.bfloat16,
        1,
        1000,
    ),
    "dinov2": Configuration("Dinov2", {"num_hidden_layers": 4}, torch.float16, 8, 0),
    "clip-vision": Configuration("CLIPVision", {"num_hidden_layers": 4}, torch.float16, 8, 0),
    "convnext": Configuration("ConvNext", {}, torch.float16, 8, 0),
    "resnet-50": Configuration("ResNet", {}, torch.float16, 8, 0),
    "mamba": Configuration(
        "Mamba",
        {"hidden_size": 768, "num_hidden_layers": 2, "vocab_size": 32000},
        torch.bfloat16,
        1,
        128,
    ),
}
CASES = {
    name: Case(partial(_model, about), partial(_calls, about), with_kernels, without_kernels)
    for name, about in CONFIGURATIONS.items()
}
CASES |= {
    f"{name}-epilogues": replace(case, compiled=partial(with_kernels, epilogues=True))
    for name, case in CASES.items()
}
