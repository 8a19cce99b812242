"""A layer of Llama in plain jax.numpy: it is Llama's, and is made of the kernels that ship."""

from __future__ import annotations

from collections import Counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy
import torch

from benchmarks.cases.llama import Layer
from benchmarks.cases.llama_jax import EPSILON, Weights, decoder_layer
from cuda_kernels.patterns import jax as jax_patterns
from custom_dispatch.frontends.jax.exporting import export_function

WIDTH, HEADS, KV_HEADS, SIZE, INNER, LENGTH = 128, 4, 2, 32, 192, 10
random = numpy.random.default_rng(0)


def array(*shape: int) -> Any:
    return random.normal(size=shape).astype("f4") / 8


def weights() -> Weights:
    matrices = {"q": HEADS * SIZE, "k": KV_HEADS * SIZE, "v": KV_HEADS * SIZE, "gate": INNER,
                "up": INNER}  # fmt: skip
    return Weights(
        norm=1 + array(WIDTH),
        second_norm=1 + array(WIDTH),
        o=array(HEADS * SIZE, WIDTH),
        down=array(INNER, WIDTH),
        **{name: array(WIDTH, columns) for name, columns in matrices.items()},
    )


def arguments() -> tuple[Any, ...]:
    frequencies = 10000.0 ** (-numpy.arange(0, SIZE, 2) / SIZE)
    angles = numpy.outer(numpy.arange(LENGTH), frequencies)
    both = numpy.concatenate([angles, angles], -1)[None]
    return array(2, LENGTH, WIDTH) * 8, *(f(both).astype("f4") for f in (numpy.cos, numpy.sin))


@torch.no_grad()
def test_it_computes_what_the_layer_of_transformers_does() -> None:
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
    layer, given, held = Layer(LlamaDecoderLayer(config, 0)).eval(), arguments(), weights()
    names = {
        "input_layernorm": held.norm,
        "self_attn.q_proj": held.q.T,
        "self_attn.k_proj": held.k.T,
        "self_attn.v_proj": held.v.T,
        "self_attn.o_proj": held.o.T,
        "post_attention_layernorm": held.second_norm,
        "mlp.gate_proj": held.gate.T,
        "mlp.up_proj": held.up.T,
        "mlp.down_proj": held.down.T,
    }
    layer.load_state_dict(
        {f"layer.{name}.weight": torch.tensor(value) for name, value in names.items()}
    )
    wanted = layer(*map(torch.from_numpy, given))
    numpy.testing.assert_allclose(decoder_layer(held, *given), wanted, rtol=1e-4, atol=1e-4)


def test_it_is_made_of_kernels() -> None:
    held, given = jax.tree.map(lambda x: jnp.asarray(x, "bfloat16"), (weights(), arguments()))
    rules = jax_patterns.everything
    report = export_function(
        lambda *x: decoder_layer(held, *x), given, "main", 4096, rules=rules
    ).replaced
    assert Counter(item.kernel for item in report) == {
        "rms_norm_bf16": 1,
        "add_rms_norm_bf16": 1,
        "rotary_by_position_bf16": 2,
        "attention_by_position_bf16_32": 1,
        "swiglu_bf16": 1,
        "matmul_bf16": 7,
    }
