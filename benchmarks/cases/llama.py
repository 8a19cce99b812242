"""A decoder layer of Llama 3 8B's shape: 4096 wide, 32 heads, 8 of keys, bf16.

For many positions at once, and for one with a cache of those before.

From PyTorch as transformers has it, unchanged, with kernels put in by pattern; and from JAX as
`cases/llama_jax.py` writes it, with kernels put in by pattern for one number of positions, and
called by name for any. The weights are random, the same everywhere, and made where the layer runs.
"""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.cases.model import Arguments, Case, Targets, with_kernels, without_kernels

WIDTH, HEADS, KV_HEADS, INNER, EPSILON = 4096, 32, 8, 14336, 1e-5
SIZE = WIDTH // HEADS
CACHE = 4096
STATIC = "512 positions"


class Layer(torch.nn.Module):
    """A decoder layer of Llama; the angles of its rotary embedding are arguments."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        found = self.layer(x, position_embeddings=(cos, sin))
        return found[0] if isinstance(found, tuple) else found


class Step(torch.nn.Module):
    """The same for one new position of each sequence, with a cache that is updated in place."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(
        self,
        x: torch.Tensor,
        cos: torch.Tensor,
        sin: torch.Tensor,
        mask: torch.Tensor | None,
        position: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        found = self.layer(
            x,
            position_embeddings=(cos, sin),
            attention_mask=mask,
            past_key_values=Cache(keys, values, position),
        )
        return found[0] if isinstance(found, tuple) else found


class ReturningStep(Step):
    """The same for IREE alone: a new cache is returned."""

    def forward(self, *arguments: torch.Tensor) -> Any:
        *others, keys, values = arguments
        cache = ReturnedCache(keys, values, others[4])
        x, cos, sin, mask, _ = others
        found = self.layer(
            x, position_embeddings=(cos, sin), attention_mask=mask, past_key_values=cache
        )
        return (found[0] if isinstance(found, tuple) else found), cache.keys, cache.values


class Cache:
    """A cache of given tensors, written as transformers' `StaticLayer` writes its own."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, position: torch.Tensor) -> None:
        self.keys, self.values, self.position = keys, values, position

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Write new keys and values; return all."""
        self.keys.index_copy_(2, self.position, keys)
        self.values.index_copy_(2, self.position, values)
        return self.keys, self.values


class ReturnedCache(Cache):
    """One that is not updated in place."""

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> Any:
        """A cache with new keys and values."""
        self.keys = self.keys.index_copy(2, self.position, keys)
        self.values = self.values.index_copy(2, self.position, values)
        return self.keys, self.values


def _model(directory: Path, kind: type[torch.nn.Module] = Layer) -> torch.nn.Module:
    del directory
    return kind(_layer()).eval()


@lru_cache(maxsize=1)
def _layer() -> torch.nn.Module:
    """The layer with its weights, which takes a while: one for all models."""
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    config = LlamaConfig(
        hidden_size=WIDTH,
        intermediate_size=INNER,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        rms_norm_eps=EPSILON,
    )
    config._attn_implementation = "sdpa"
    with torch.device("meta"):
        layer = LlamaDecoderLayer(config, 0).to(torch.bfloat16)
    layer.to_empty(device="cpu")
    for index, (_, weight) in enumerate(sorted(layer.named_parameters())):
        # The same numbers on every machine, whatever PyTorch's version.
        generator = np.random.Generator(np.random.Philox(index))
        if weight.dim() == 1:
            values = generator.random(weight.shape, np.float32) + 0.5
        else:
            values = (generator.random(weight.shape, np.float32) - 0.5) * 0.06
        weight.data.copy_(torch.from_numpy(values))
    return layer


def _calls(directory: Path) -> dict[str, Arguments]:
    del directory
    calls = {}
    for length in (16, 512, 4096):
        generator = np.random.Generator(np.random.Philox(1000 + length))
        x = generator.standard_normal((1, length, 4096), np.float32)
        frequencies = 500000.0 ** (-np.arange(0, 128, 2) / 128)
        angles = np.outer(np.arange(length), frequencies)
        both = np.concatenate([angles, angles], -1)[None]
        arrays = (x, np.cos(both), np.sin(both))
        calls[f"{length} positions"] = tuple(
            torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16) for array in arrays
        )
    return calls


def _dynamic() -> Any:
    length = torch.export.Dim("length", min=2, max=131072)
    return ({1: length},) * 3


# -- a step with a cache


def _step(directory: Path) -> torch.nn.Module:
    return _model(directory, Step)


def _steps(batch: int, directory: Path) -> dict[str, Arguments]:
    """The last position of a cache that is full with it, as its mask says."""
    del directory
    generator = np.random.Generator(np.random.Philox(2000 + batch))
    x = generator.standard_normal((batch, 1, WIDTH), np.float32)
    frequencies = 500000.0 ** (-np.arange(0, SIZE, 2) / SIZE)
    angles = np.tile((CACHE - 1) * frequencies, 2)[None, None]
    cache = [
        generator.standard_normal((batch, KV_HEADS, CACHE, SIZE), np.float32) for _ in range(2)
    ]
    x, cos, sin, keys, values = (
        torch.from_numpy(array.astype(np.float32)).to(torch.bfloat16)
        for array in (x, np.cos(angles), np.sin(angles), *cache)
    )
    mask = torch.ones(batch, 1, 1, CACHE, dtype=torch.bool)
    position = torch.tensor([CACHE - 1])
    named = f"1 position, batch {batch}, cache {CACHE}"
    return {named: (x, cos, sin, mask, position, keys, values)}


def _without_mask(given: Arguments) -> tuple[Any, ...]:
    """All of the cache is seen: PyTorch then has kernels for grouped heads, and repeats no keys."""
    x, cos, sin, mask, *others = given
    assert bool(mask.all())
    return (x, cos, sin, None, *others)


def _step_alone(module: torch.nn.Module, calls: dict[str, Arguments], targets: Targets) -> Any:
    assert isinstance(module, Step)
    returning = ReturningStep(module.layer).eval()
    return without_kernels(returning, calls, targets)


# -- from JAX


def _weights_for_jax(module: torch.nn.Module) -> Any:
    """PyTorch's weights as JAX's layer has them: inputs first."""
    import ml_dtypes

    from benchmarks.cases.llama_jax import Weights

    def of(name: str) -> Any:
        tensor = module.state_dict()[f"layer.{name}.weight"].detach()
        return tensor.T.contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)

    return Weights(
        of("input_layernorm"),
        of("self_attn.q_proj"),
        of("self_attn.k_proj"),
        of("self_attn.v_proj"),
        of("self_attn.o_proj"),
        of("post_attention_layernorm"),
        of("mlp.gate_proj"),
        of("mlp.up_proj"),
        of("mlp.down_proj"),
    )


def _from_jax(module: torch.nn.Module, calls: dict[str, Arguments], targets: Targets) -> Any:
    from benchmarks.cases.llama_jax import compile_by_pattern

    shapes = [tuple(each.shape) for each in calls[STATIC]]
    return compile_by_pattern(_weights_for_jax(module), shapes, targets)


def _from_jax_of_any_length(
    module: torch.nn.Module, calls: dict[str, Arguments], targets: Targets
) -> Any:
    del calls
    from benchmarks.cases.llama_jax import compile_by_name

    return compile_by_name(_weights_for_jax(module), WIDTH // HEADS, targets)


def _static_calls(directory: Path) -> dict[str, Arguments]:
    return {STATIC: _calls(directory)[STATIC]}


FROM_TORCH = Case(
    _model,
    _calls,
    partial(with_kernels, dynamic=_dynamic),
    partial(without_kernels, dynamic=_dynamic),
    open_sizes=True,
)
WITHOUT_PRODUCTS = Case(_model, _calls, partial(with_kernels, dynamic=_dynamic, products=False))
FROM_JAX = Case(_model, _static_calls, _from_jax)
FROM_JAX_OF_ANY_LENGTH = Case(_model, _calls, _from_jax_of_any_length)
STEPS = {
    batch: Case(_step, partial(_steps, batch), with_kernels, _step_alone, _without_mask)
    for batch in (1, 16)
}
"""By the number of sequences."""
