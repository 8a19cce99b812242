"""Steps of a whole decoder with a cache: Qwen3 0.6B's shape, bf16, one new position a sequence.

The model is transformers' own, with the head that gives logits, whose weights are most of what a
step of few layers reads; so one case has a smaller vocabulary. Weights are random, the same
everywhere, and made where the model runs. The caches are arguments that are updated in place, and
full with the new position.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.cases.llama import Cache
from benchmarks.cases.model import Arguments, Case, with_kernels

KV_HEADS, SIZE, CACHE = 8, 128, 2048
VOCABULARY, SMALL_VOCABULARY = 151936, 32000


class Caches:
    """The caches of all layers, as attention calls transformers' own."""

    def __init__(self, tensors: tuple[torch.Tensor, ...], position: torch.Tensor) -> None:
        pairs = zip(tensors[::2], tensors[1::2], strict=True)
        self.layers = [Cache(keys, values, position) for keys, values in pairs]

    def update(
        self, keys: torch.Tensor, values: torch.Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> Any:
        """Write a layer's new keys and values; return all."""
        return self.layers[layer_idx].update(keys, values)


class Step(torch.nn.Module):
    """The logits of one new position of each sequence."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor, position: torch.Tensor, *caches: Any) -> torch.Tensor:
        """Keys and values of each layer in turn; None before them: all of the cache is seen."""
        mask = None
        if caches[0] is None:
            caches = caches[1:]
        else:
            mask = (torch.arange(CACHE, device=ids.device) <= position).reshape(1, 1, 1, CACHE)
            mask = mask.expand(ids.shape[0], 1, 1, CACHE)
        found = self.model(
            input_ids=ids,
            attention_mask={"full_attention": mask},
            position_ids=position[None],
            past_key_values=Caches(caches, position),
            cache_position=position,
        )
        logits: torch.Tensor = found.logits
        return logits


def _model(layers: int, vocabulary: int, directory: Path) -> torch.nn.Module:
    del directory
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=1024,
        intermediate_size=3072,
        num_hidden_layers=layers,
        num_attention_heads=16,
        num_key_value_heads=KV_HEADS,
        head_dim=SIZE,
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )
    model = Qwen3ForCausalLM(config)
    for index, (_, weight) in enumerate(sorted(model.named_parameters())):
        # The same numbers on every machine, whatever PyTorch's version.
        generator = np.random.Generator(np.random.Philox(index))
        values = generator.random(weight.shape, np.float32)
        values = values + 0.5 if weight.dim() == 1 else (values - 0.5) * 0.06
        # Parameters alone: transformers keeps the angles of rotary embeddings in f32.
        weight.data = torch.from_numpy(values).to(torch.bfloat16)
    return Step(model).eval()


def _calls(layers: int, batch: int, directory: Path) -> dict[str, Arguments]:
    del directory
    generator = np.random.Generator(np.random.Philox(4000 + batch))
    ids = torch.from_numpy(generator.integers(0, SMALL_VOCABULARY, (batch, 1)))
    drawn = generator.standard_normal((2, batch, KV_HEADS, CACHE, SIZE), np.float32)
    both = torch.from_numpy(drawn).to(torch.bfloat16)
    caches = [kind.roll(layer, 2) for layer in range(layers) for kind in both]
    named = f"1 position, batch {batch}, cache {CACHE}"
    return {named: (ids, torch.tensor([CACHE - 1]), *caches)}


def _without_mask(given: Arguments) -> tuple[Any, ...]:
    """PyTorch then has kernels for grouped heads, and repeats no keys."""
    return (*given[:2], None, *given[2:])


def _case(layers: int, batch: int, vocabulary: int) -> Case:
    return Case(
        partial(_model, layers, vocabulary),
        partial(_calls, layers, batch),
        with_kernels,
        eased=_without_mask,
    )


CASES = {
    "qwen3-step-4-layers-1": _case(4, 1, VOCABULARY),
    "qwen3-step-4-layers-1-vocabulary-32000": _case(4, 1, SMALL_VOCABULARY),
    "qwen3-step-28-layers-16": _case(28, 16, VOCABULARY),
}
