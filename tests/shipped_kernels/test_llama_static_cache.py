"""A tiny Llama of transformers with its static cache as buffers, compiled to one file."""

from __future__ import annotations

import subprocess
import sysconfig
from pathlib import Path

import numpy
import pytest
import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, StaticCache
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

import custom_dispatch as cd
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.errors import ModelError
from custom_dispatch.frontends.torch.importer import export_model
from tests.places import replaced_in_torch

KEYS, PROMPT, STEPS = 32, 5, 20
TOOLS = Path(sysconfig.get_path("scripts"))


class Generator(torch.nn.Module):
    """Logits of the tokens at some positions; the cache holds what was there before."""

    def __init__(self, size: int = 32, dtype: torch.dtype = torch.float32, layers: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=layers,
            num_attention_heads=2, num_key_value_heads=1, head_dim=size,
            max_position_embeddings=KEYS, attn_implementation="sdpa",
        )  # fmt: skip
        model = LlamaForCausalLM(config).to(dtype).eval()
        model.generation_config = GenerationConfig(
            use_cache=True,
            cache_implementation="static",
            cache_config={"batch_size": 1, "max_cache_len": KEYS, "device": "cpu"},
        )
        self.model = TorchExportableModuleWithStaticCache(model)

    def forward(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(input_ids=tokens, cache_position=positions)
        return logits


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_step_of_16_bits_reads_as_much_of_the_cache_as_is_filled() -> None:
    generator = Generator(64, torch.bfloat16, layers=1).eval()
    program = export_model(generator, (torch.tensor([[1]]), torch.tensor([3])), None)
    report = replaced_in_torch(program, (), [torch_patterns.write_cache, torch_patterns.attention])
    assert sorted(item.kernel for item in report) == [
        "cached_attention_bf16_64",
        *["write_cache_bf16"] * 2,
    ]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_it_generates_what_it_does_in_pytorch(tmp_path: Path) -> None:
    generator = Generator()
    prompt = torch.randint(64, (1, PROMPT), generator=torch.Generator().manual_seed(1))
    count = torch.export.Dim("count", min=1, max=KEYS)
    module = cd.torch.compile(
        generator,
        (prompt, torch.arange(PROMPT)),
        ["cpu"],
        replace=torch_patterns.write_cache + torch_patterns.attention,
        dynamic_shapes={"tokens": {1: count}, "positions": {0: count}},
        inline_bytes=None,
    )
    assert sorted(item.kernel for item in module.replaced) == [
        *["bool_masked_attention_f32_32"] * 2,
        *["write_cache_f32"] * 4,
    ]
    saved = tmp_path / "llama.vmfb"
    module.save(saved)
    assert list(tmp_path.iterdir()) == [saved]
    program = cd.load(saved, "cpu")
    for _ in range(2):
        tokens, positions = prompt, torch.arange(PROMPT)
        for step in range(STEPS):
            with torch.no_grad():
                wanted = generator(tokens, positions)
            found = torch.from_numpy(program.main(tokens.numpy(), positions.numpy()))
            torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
            tokens, positions = found[:, -1:].argmax(-1), torch.tensor([PROMPT + step])
            assert torch.equal(tokens, wanted[:, -1:].argmax(-1))
        program.reset()
    out = tmp_path / "logits.npy"
    given = ",".join(map(str, prompt[0].tolist())), ",".join(map(str, range(PROMPT)))
    subprocess.run(
        [TOOLS / "iree-run-module", f"--module={saved}", "--device=local-task", "--function=main",
         f"--input=1x{PROMPT}xi64={given[0]}", f"--input={PROMPT}xi64={given[1]}",
         f"--output=@{out}"],
        check=True, timeout=60,
    )  # fmt: skip
    first = program.main(prompt.numpy(), numpy.arange(PROMPT))
    numpy.testing.assert_allclose(numpy.load(out), first, rtol=1e-5, atol=1e-6)


class Holder(torch.nn.Module):
    """A Llama of tied weights, its cache held as transformers does, and no mask given."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        config = LlamaConfig(
            vocab_size=64, hidden_size=32, intermediate_size=32, num_hidden_layers=1,
            num_attention_heads=1, num_key_value_heads=1, head_dim=32,
            max_position_embeddings=KEYS, attn_implementation="sdpa", tie_word_embeddings=True,
        )  # fmt: skip
        self.model = LlamaForCausalLM(config).eval()
        self.cache = StaticCache(config, max_cache_len=KEYS)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(input_ids=tokens, past_key_values=self.cache).logits
        return logits


@torch.no_grad()
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_cache_that_a_module_holds_begins_as_it_is() -> None:
    holder, token = Holder().eval(), torch.tensor([[1]])
    with pytest.raises(ModelError, match=r"sets `self.cache.layers\[0\]") as caught:
        cd.torch.compile(holder, (token,), ["cpu"])
    assert "is there if the model is called before" in str(caught.value)
    holder(torch.tensor([[5, 6]]))
    layer = holder.cache.layers[0]
    before = [layer.keys.clone(), layer.values.clone(), layer.cumulative_length.clone()]
    module = cd.torch.compile(holder, (token,), ["cpu"], replace=torch_patterns.write_cache)
    after = [layer.keys, layer.values, layer.cumulative_length]
    assert all(map(torch.equal, before, after))
    program = cd.load(module, "cpu")
    for each in (3, 1, 4, 1):
        given = torch.tensor([[each]])
        found = torch.from_numpy(program.main(given.numpy()))
        torch.testing.assert_close(found, holder(given), rtol=1e-4, atol=1e-5)
