"""GGUF files into PyTorch models: weights stay as they are where a product takes them.

Reading files takes the package `gguf`; the names of transformers' models, and which rows of them
llama.cpp has in another order, are transformers' knowledge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

import numpy
import torch

from cuda_kernels import quantised
from cuda_kernels.quantised.layers import GGML_TYPES
from cuda_kernels.quantised.modules import QuantisedLinear, operands_of_gguf, put_tensors
from custom_dispatch.errors import ToolNotFoundError
from custom_dispatch.installation import install_step

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]
Move = Callable[[str, Array], Array]


def load_gguf(
    model: torch.nn.Module,
    path: str | PathLike[str],
    *,
    dtype: torch.dtype = torch.bfloat16,
    names: Mapping[str, str] | None = None,
) -> list[str]:
    """Load a GGUF file into a model; return the names of the layers that stay quantised.

    Those are linear layers of Q4_0, Q4_1, Q8_0 and Q4_K. Everything else is dequantised:
    embeddings, and layers of other types, such as Q6_K in files called Q4_K_M.

    Parameters
    ----------
    model
        As without quantisation; what it holds is replaced, not copied into.
    path
        Of the file.
    dtype
        Of the activations and of what is not quantised: `torch.float16` or `torch.bfloat16`.
    names
        The model's name of each tensor of the file. By default those of a transformers model.

    Raises
    ------
    ToolNotFoundError
        The package `gguf` is not installed, or transformers is not where `names` is None.
    CallError
        The file lacks tensors of the model.
    """
    try:
        from gguf import GGUFReader, dequantize
    except ImportError as error:
        raise ToolNotFoundError(
            "The package gguf is not installed.",
            expected="gguf, which reads GGUF files",
            next_step=install_step("gguf"),
        ) from error
    reader = GGUFReader(path)
    known, move = (names, _as_it_is) if names is not None else _of_transformers(model, reader)
    layers = {name: each for name, each in model.named_modules() if type(each) is torch.nn.Linear}
    plain, packed = {}, dict[str, tuple[str, list[torch.Tensor]]]()
    for tensor in reader.tensors:
        name = known.get(tensor.name)
        if name is None:
            continue  # such as tables of rotary embeddings, which models compute
        place, _, key = name.rpartition(".")
        kind = GGML_TYPES.get(int(tensor.tensor_type))
        rows = None
        if kind is not None and key == "weight" and place in layers:
            k, n = (int(size) for size in tensor.shape)
            rows = _rows(move, tensor.name, n)
        if kind is not None and rows is not None:
            blocks = quantised.gguf_blocks(tensor.data, kind, n, k)[rows]
            packed[place] = operands_of_gguf(blocks, kind)
        else:
            wide = move(tensor.name, dequantize(tensor.data, tensor.tensor_type))
            plain[name] = torch.from_numpy(numpy.array(wide, numpy.float32))
    missing = []
    for place, (layout, operands) in packed.items():
        bias = plain.pop(f"{place}.bias", None)
        missing += [f"{place}.bias"] * (bias is None and layers[place].bias is not None)
        model.set_submodule(place, QuantisedLinear(layout, operands, dtype, bias))
    put_tensors(model, plain, dtype, missing)
    return [*packed]


def _as_it_is(name: str, weights: Array) -> Array:
    del name
    return weights


def _of_transformers(model: Any, reader: Any) -> tuple[Mapping[str, str], Move]:
    """The names of a model of transformers, and what it does to tensors of a file."""
    try:
        from transformers import modeling_gguf_pytorch_utils
    except ImportError as error:
        raise ToolNotFoundError(
            "transformers, which knows the names of its models in GGUF files, is not installed.",
            expected="transformers, or names={...}",
            next_step="install it, or give names={'blk.0.attn_q.weight': ...}.",
        ) from error
    kind = str(reader.fields["general.architecture"].contents())
    of_gguf: Any = modeling_gguf_pytorch_utils
    processors = of_gguf.TENSOR_PROCESSORS
    processor = processors.get(kind, of_gguf.TensorProcessor)(config=model.config.to_dict())
    names = of_gguf.get_gguf_hf_weights_map(model, processor)

    def move(name: str, weights: Array) -> Array:
        given = {"tensor_key_mapping": names, "parsed_parameters": {"tensors": {}}}
        found: Array = processor.process(weights=weights, name=name, **given).weights
        return found

    return names, move


def _rows(move: Move, name: str, n: int) -> Array | None:
    """The order in which a model has a file's rows; None where it does something else to them."""
    probe = numpy.arange(2 * n, dtype=numpy.float32).reshape(n, 2)
    try:
        found = move(name, probe)
    except Exception:  # noqa: BLE001 - transformers' code for tensors of other shapes runs here
        return None
    if found is None or found.shape != probe.shape:
        return None
    rows: Array = (found[:, 0] // 2).astype(numpy.int64)
    is_order = numpy.array_equal(numpy.sort(rows), numpy.arange(n))
    return rows if is_order and numpy.array_equal(found, probe[rows]) else None
