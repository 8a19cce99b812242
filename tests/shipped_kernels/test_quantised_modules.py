"""Quantised linear layers: of a model's own weights, and of the files of libraries."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import gguf
import pytest
import torch
import transformers
from torch.nn import functional

from cuda_kernels.quantised import modules
from cuda_kernels.quantised.gguf_files import load_gguf
from cuda_kernels.quantised.layers import layer_of
from cuda_kernels.quantised.loading import AWQ_ORDER
from cuda_kernels.quantised.modules import QuantisedLinear
from custom_dispatch.errors import CallError
from tests.shipped_kernels.test_quantised_models import NUMBERS, K, N, integers, scales, words


def test_a_models_own_layers_are_quantised() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(96, 64), torch.nn.Linear(64, 8))
    model.add_module("narrow", torch.nn.Linear(8, 8))
    model.add_module("lm_head", torch.nn.Linear(8, 32))
    model = model.bfloat16()
    before = [each.weight.detach().clone() for each in (model[0], model[1])]
    bias = model[1].bias
    assert modules.quantise(model, "int4", group=64) == ["0", "1"]
    assert [model[0].operands[1].shape, model[1].operands[1].shape] == [(64, 3), (8, 1)]
    for layer, weight in zip(model[:2], before, strict=True):
        step = weight.float().abs().max() / 7
        assert (layer.dequantised() - weight).abs().max() < step
    x = torch.randn(2, 64, dtype=torch.bfloat16)
    assert torch.equal(model[1](x), functional.linear(x, model[1].dequantised()) + bias)
    # Scales of a layer are of its type, whatever the rest is converted to.
    assert model.half()[0].operands[1].dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("layout", "error"),
    [("q4_0", 0.11), ("q8_0", 0.01), ("int8", 0.01), ("int8_groups", 0.01), ("fp8", 0.04)],
)
def test_layers_are_quantised_to_each_layout(layout: str, error: float) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 48))
    weight = model[0].weight.detach().clone()
    modules.quantise(model, layout, dtype=torch.float16)
    assert ((model[0].dequantised() - weight).norm() / weight.norm()) < error


def test_a_quantised_layer_is_exported_as_its_operator() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(64, 48)).bfloat16()
    modules.quantise(model)
    program = torch.export.export(model, (torch.randn(3, 64, dtype=torch.bfloat16),))
    called = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert called == ["custom_dispatch.int4_bf16.default", "aten.add.Tensor"]


def checkpoint(kind: str) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    """The tensors of a layer as a library's files have them, and its weights [n, k]."""
    dtype = torch.bfloat16
    numbers, zeros = integers(0, 16, N, K), integers(1, 16, N, K // 64)
    each = scales(N, K // 64, dtype=dtype)
    group = torch.arange(K) // 64
    if kind == "act-order":
        group = group[torch.randperm(K, generator=NUMBERS)]
    wide = each.float()[:, group], zeros.float()[:, group]
    weight = wide[0] * (numbers - wide[1])
    if kind == "awq":
        packed = (words(part.t(), 1, AWQ_ORDER) for part in (numbers, zeros))
        tensors = dict(zip(("qweight", "qzeros"), packed, strict=True)) | {"scales": each.t()}
    elif kind in ("gptq", "act-order"):
        tensors = {"qweight": words(numbers.t(), 0), "qzeros": words(zeros.t() - 1, 1)}
        tensors |= {"scales": each.t(), "g_idx": group.int()}
    elif kind == "compressed":
        tensors = {"weight_packed": words(numbers, 1), "weight_scale": each}
        tensors |= {"weight_shape": torch.tensor([N, K]), "weight_zero_point": words(zeros, 0)}
    elif kind == "int8":
        numbers, each = integers(-127, 128, N, K), scales(N, dtype=torch.float32)
        tensors = {"weight": numbers.to(torch.int8), "SCB": each * 127}
        weight = numbers * each[:, None]
    else:
        eights = torch.randn(N, K, generator=NUMBERS).to(torch.float8_e4m3fn)
        shape = {"fp8": (N, 1), "fp8 for all": (), "fp8 by blocks": (1, 2)}[kind]
        each = scales(*shape, dtype=torch.float32)
        tensors = {"weight": eights, "weight_scale_inv": each}
        by_blocks = shape == (1, 2)
        weight = eights.float() * (each.repeat_interleave(128, 1) if by_blocks else each)
    return {key: torch.as_tensor(value) for key, value in tensors.items()}, weight


CHECKPOINTS = {
    "awq": "int4_zeros",
    "gptq": "int4_zeros",
    "act-order": "int4_zeros",
    "compressed": "int4_zeros",
    "int8": "int8",
    "fp8": "fp8",
    "fp8 for all": "fp8",
    "fp8 by blocks": "fp8_blocks",
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_checkpoints_of_libraries_are_loaded(kind: str) -> None:
    tensors, weight = checkpoint(kind)
    bias, other = torch.randn(N), torch.randn(4, N)
    model = torch.nn.Sequential(torch.nn.Linear(K, N), torch.nn.Linear(N, 4, bias=False))
    given = {f"0.{key}": value for key, value in tensors.items()} | {"0.bias": bias}
    assert modules.load(model, given | {"1.weight": other}) == ["0"]
    assert model[0].layout == CHECKPOINTS[kind]
    assert torch.equal(model[1].weight, other.bfloat16())
    x = torch.randn(5, K, dtype=torch.bfloat16)
    found, want = model[0](x).double(), x.double() @ weight.double().t() + bias
    assert (found - want).norm() / want.norm() < 6e-3


def written(path: Path, **tensors: tuple[Any, str]) -> None:
    """A GGUF file of arrays, and the types that they are quantised to."""
    writer = gguf.GGUFWriter(path, "llama")
    for name, (weights, kind) in tensors.items():
        to = gguf.GGMLQuantizationType[kind]
        plain = weights.float().numpy()
        given = (plain,) if kind == "F32" else (gguf.quantize(plain, to), None, to)
        writer.add_tensor(name, given[0], raw_dtype=given[2] if len(given) > 1 else None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_gguf_files_are_loaded(tmp_path: Path) -> None:
    config = transformers.LlamaConfig(
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        vocab_size=32,
    )
    model = transformers.LlamaForCausalLM(config).eval()
    attention, block = model.model.layers[0].self_attn, "blk.0"
    before = {name: value.clone() for name, value in model.state_dict().items()}

    def in_pairs(weight: torch.Tensor, heads: int) -> torch.Tensor:
        """As llama.cpp has the rows of queries and keys."""
        return weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)

    tensors = {
        "token_embd.weight": (model.model.embed_tokens.weight, "Q4_0"),
        "output.weight": (model.lm_head.weight, "Q8_0"),
        "output_norm.weight": (model.model.norm.weight, "F32"),
        f"{block}.attn_q.weight": (in_pairs(attention.q_proj.weight, 2), "Q4_0"),
        f"{block}.attn_k.weight": (in_pairs(attention.k_proj.weight, 1), "Q4_1"),
        f"{block}.attn_v.weight": (attention.v_proj.weight, "Q5_0"),
        f"{block}.attn_output.weight": (attention.o_proj.weight, "Q4_0"),
        f"{block}.attn_norm.weight": (model.model.layers[0].input_layernorm.weight, "F32"),
        f"{block}.ffn_norm.weight": (model.model.layers[0].post_attention_layernorm.weight, "F32"),
    }
    for name, module in model.model.layers[0].mlp.named_children():
        if isinstance(module, torch.nn.Linear):
            tensors[f"{block}.ffn_{name.removesuffix('_proj')}.weight"] = (module.weight, "Q8_0")
    path = tmp_path / "model.gguf"
    written(path, **{name: (value.detach(), kind) for name, (value, kind) in tensors.items()})
    found = load_gguf(model, path)
    layouts = Counter(model.get_submodule(name).layout for name in found)
    assert layouts == {"int8_groups": 4, "q4_0": 2, "q4_1": 1}
    for name, weight in before.items():
        place = model.get_submodule(name.removesuffix(".weight"))
        own = place.dequantised() if isinstance(place, QuantisedLinear) else place.weight
        assert own.dtype == torch.bfloat16
        assert (own - weight).norm() / weight.norm() < 0.12
    with pytest.raises(CallError, match="it lacks"):
        load_gguf(transformers.LlamaForCausalLM(config), path, names={})


def test_layers_of_another_library_are_converted() -> None:
    model = torch.nn.Sequential(torch.nn.Module(), torch.nn.Linear(4, 4))
    tensors, weight = checkpoint("awq")
    for key, value in tensors.items():
        model[0].register_buffer(key, value)
    assert modules.convert(model) == ["0"]
    assert torch.equal(model[0].dequantised(), weight.bfloat16())
    assert modules.convert(model) == []


def test_checkpoints_that_are_not_the_models_are_refused() -> None:
    tensors, _ = checkpoint("fp8")
    given = {f"0.{key}": value for key, value in tensors.items()}
    model = torch.nn.Sequential(torch.nn.Linear(K, N), torch.nn.Linear(N, 4))
    with pytest.raises(CallError, match=r"it lacks \['0.bias', '1.weight', '1.bias'\]") as caught:
        modules.load(model, given)
    assert "rename the tensors" in str(caught.value)
    tied = torch.nn.Sequential(torch.nn.Embedding(8, 4), torch.nn.Linear(4, 8, bias=False))
    tied[1].weight = tied[0].weight
    assert modules.load(tied, {"0.weight": torch.ones(8, 4)}) == []
    assert tied[1].weight.eq(1).all()


def test_layers_that_no_product_takes_are_refused() -> None:
    tensors, _ = checkpoint("fp8")
    tensors["weight_scale_inv"] = torch.ones(3, 2)
    with pytest.raises(CallError, match="No product takes the weights of layer `mlp`") as caught:
        layer_of(tensors, torch.bfloat16, name="mlp")
    assert "dequantise this layer, or quantise it again" in str(caught.value)
    assert layer_of({"weight": torch.ones(2, 32)}, torch.bfloat16) is None


def test_a_layer_of_another_type_is_refused() -> None:
    with pytest.raises(CallError, match="weights of layout 'q5_0'"):
        QuantisedLinear("q5_0", [], torch.float32)
    with pytest.raises(CallError, match="cannot be quantised to 'q4_k' here") as caught:
        modules.quantise(torch.nn.Sequential(), "q4_k")
    assert "quantise with the library that it is of" in str(caught.value)
    model = torch.nn.Sequential(torch.nn.Linear(32, 8))
    modules.quantise(model)
    with pytest.raises(CallError, match=r"torch\.bfloat16 got torch\.float32") as caught:
        model(torch.ones(2, 32))
    assert "model.to(torch.bfloat16)" in str(caught.value)
