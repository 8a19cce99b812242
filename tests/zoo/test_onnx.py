"""Models of transformers as both of PyTorch's exporters write them to ONNX: the places of kernels.

Two layers with heads of real sizes, called with a mask. The counts are those of the architectures,
by hand, the same for both exporters, and for sizes that are numbers and open.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from cuda_kernels.patterns.onnx import convolution, everything
from tests.places import replaced_in_onnx

LAYERS = {"num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 96}
SIZES = {**LAYERS, "hidden_size": 128, "intermediate_size": 256}


@dataclass(frozen=True)
class Model:
    """A model, and what is found in it."""

    name: str
    sizes: dict[str, Any]
    attentions: int
    norms: int
    rotaries: int
    products: int


class Called(torch.nn.Module):  # type: ignore[misc]
    """A model of ids and a mask, without a cache."""

    def __init__(self, model: torch.nn.Module, **given: Any) -> None:
        super().__init__()
        self.model, self.given = model, given

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> Any:
        return self.model(input_ids=ids, attention_mask=mask, **self.given)[0]


MODELS = (
    Model("Bert", SIZES, 2, 5, 0, 12),
    Model("DistilBert", {"dim": 128, "n_heads": 2, "n_layers": 2, "hidden_dim": 256}, 2, 5, 0, 12),
    Model("GPT2", {"n_embd": 128, "n_head": 2, "n_layer": 2}, 2, 5, 0, 8),
    Model("GPTNeoX", {**SIZES, "rotary_pct": 0.25}, 2, 5, 4, 8),
    Model("Llama", {**SIZES, "num_key_value_heads": 1}, 2, 5, 4, 14),
    Model("Qwen3", {**SIZES, "num_key_value_heads": 1, "head_dim": 64}, 2, 9, 4, 14),
    Model("T5Encoder", {"d_model": 128, "d_kv": 64, "num_heads": 2, "num_layers": 2}, 2, 5, 0, 12),
)
QUICK = (("Llama", True, True),)
"""What CI runs: model, whether it is the newer exporter, whether sizes are open. An attention layer
of the older one is in tests/frontends/test_onnx_sizes.py."""


def build(model: Model) -> torch.nn.Module:
    family = model.name.removesuffix("Encoder")
    config = getattr(transformers, f"{family}Config")(**{"vocab_size": 96, **model.sizes})
    torch.manual_seed(0)
    found = getattr(transformers, f"{model.name}Model")(config).eval()
    with torch.no_grad():
        for weight in found.parameters():
            if weight.dim() == 1:  # equal ones would be one weight, and their norms one norm
                weight += 0.1 * torch.randn_like(weight)
    has_cache = model.rotaries or family == "GPT2"
    return Called(found, **({"use_cache": False} if has_cache else {})).eval()


def export(model: torch.nn.Module, file: Path, *, newer: bool, is_open: bool) -> None:
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 8:] = 0
    given = torch.randint(3, 96, (2, 12)), mask
    names = ["ids", "mask"]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        if newer:
            batch, length = (torch.export.Dim(name, min=1, max=64) for name in ("batch", "length"))
            shapes = {name: {0: batch, 1: length} for name in names} if is_open else None
            torch.onnx.export(model, given, file, dynamo=True, dynamic_shapes=shapes, verbose=False)
        else:
            axes = {name: {0: "batch", 1: "length"} for name in names} if is_open else None
            torch.onnx.export(
                model, given, file, dynamo=False, opset_version=17, input_names=names,
                dynamic_axes=axes,
            )  # fmt: skip


@pytest.mark.parametrize(
    ("model", "newer", "is_open"),
    [
        pytest.param(
            model,
            newer,
            is_open,
            id=f"{model.name}-{('torchscript', 'dynamo')[newer]}-{('fixed', 'open')[is_open]}",
            marks=[] if (model.name, newer, is_open) in QUICK else [pytest.mark.thorough],
        )
        for model in MODELS
        for newer in (False, True)
        for is_open in (False, True)
    ],
)
def test_every_place_is_found(model: Model, newer: bool, is_open: bool, tmp_path: Path) -> None:
    file = tmp_path / "model.onnx"
    export(build(model), file, newer=newer, is_open=is_open)
    report = replaced_in_onnx(str(file), everything)
    names = [item.kernel for item in report]
    said = [op for item in report for op in item.operations]
    found = (
        sum("attention" in name for name in names),
        sum("norm" in name for name in names),
        sum("rotary" in name for name in names),
        sum(name.startswith(("matmul", "linear")) for name in names),
    )
    assert found == (model.attentions, model.norms, model.rotaries, model.products), said
    assert report.remaining == ()


@pytest.mark.thorough
@pytest.mark.parametrize("newer", [False, True], ids=["torchscript", "dynamo"])
def test_every_convolution_is_found_with_its_activation(newer: bool, tmp_path: Path) -> None:
    sizes = {"embedding_size": 16, "hidden_sizes": [32, 64], "depths": [1, 1]}
    config = transformers.ResNetConfig(**sizes, layer_type="bottleneck")
    model, file = transformers.ResNetModel(config).eval(), tmp_path / "model.onnx"
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(model, (torch.randn(2, 3, 40, 40),), file, dynamo=newer, verbose=False)
    report = replaced_in_onnx(str(file), convolution)
    kinds = [item.operations[1:] for item in report]
    assert kinds.count(("onnx.Relu",)) == 5
    assert kinds.count(("onnx.Add", "onnx.Relu")) == 2
    assert kinds.count(()) == 2
    assert not [item for item in report.remaining if item.kind == "convolution"]
