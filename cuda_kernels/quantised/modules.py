"""Quantised linear layers for PyTorch models: `QuantisedLinear`, and what puts it into a model.

`quantise` makes them of a model's own weights. `load` takes the tensors of a file (AWQ, GPTQ, fp8,
compressed-tensors), `convert` those of layers that another library put into the model, and
`load_gguf` a GGUF file. Each changes the model and returns the names of the layers that it put in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import quantised
from cuda_kernels.quantised import formats, packing
from cuda_kernels.quantised.fitting import Fitted
from cuda_kernels.quantised.layers import GGML_TYPES, layer_of
from custom_dispatch.errors import CallError
from custom_dispatch.frontends.torch import dtypes
from custom_dispatch.frontends.torch.dtypes import element_type_of, torch_dtype
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES, of_numpy

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

NAMES = {torch.float16: "f16", torch.bfloat16: "bf16"}
FORMATS = {
    each.name: each
    for each in (
        *(formats.Q4_0, formats.Q4_1, formats.Q8_0, formats.Q4_K, formats.INT4),
        *(formats.INT4_ZEROS, formats.INT8, formats.INT8_GROUPS, formats.FP8, formats.FP8_BLOCKS),
    )
}


class QuantisedLinear(torch.nn.Module):  # type: ignore[misc]
    """y = x W^T + bias, with W in a layout of `cuda_kernels.quantised`.

    On a GPU, and in what `torch.export` makes of a model, it is the kernel's operator; on the CPU
    PyTorch multiplies by the dequantised weights, so that a model can be tried there.

    Parameters
    ----------
    layout
        As choices are named: "int4", "q4_k", "fp8", ...
    operands
        The choice's operands after x.
    dtype
        Of x and y: `torch.float16` or `torch.bfloat16`.
    bias
        [n]; converted to `dtype`.
    order
        The order of x[..., order] in which W has k, if it is another.

    Raises
    ------
    CallError
        There is no such layout or type.
    """

    def __init__(
        self,
        layout: str,
        operands: Iterable[Tensor],
        dtype: torch.dtype,
        bias: Tensor | None = None,
        order: Tensor | None = None,
    ) -> None:
        super().__init__()
        _check(layout, dtype)
        self.layout, self.dtype = layout, dtype
        self._operator = f"{layout}_{NAMES[dtype]}"
        cd.torch.register(getattr(quantised, self._operator))
        self._names = [f"quantised_{each.name}" for each in FORMATS[layout].operands("f16")]
        for name, operand in zip(self._names, operands, strict=True):
            self.register_buffer(name, operand.detach())
        self.register_buffer("bias", None if bias is None else bias.detach().to(dtype))
        self.register_buffer("order", order)

    def forward(self, x: Tensor) -> Tensor:
        """X [..., k] of the layer's type; y [..., n]."""
        if x.dtype != self.dtype:
            raise CallError(
                f"A quantised layer for {self.dtype} got {x.dtype}.",
                expected=f"{self.dtype}, which its scales were made for",
                next_step=f"call model.to({self.dtype}), or make the layers with dtype={x.dtype}.",
            )
        x = x if self.order is None else x.index_select(-1, self.order)
        if x.device.type == "cpu" and not torch.compiler.is_compiling():
            y = functional.linear(x, self.dequantised())
        else:
            y = getattr(torch.ops.custom_dispatch, self._operator)(x, *self.operands)
        return y if self.bias is None else y + self.bias

    @property
    def operands(self) -> list[Tensor]:
        """The kernel's operands after x."""
        return [getattr(self, name) for name in self._names]

    def dequantised(self) -> Tensor:
        """The weights [n, k], rounded once, of the order of the operands."""
        wide = FORMATS[self.layout].dequantise(*map(array_of, self.operands))
        return torch.from_numpy(wide).to(self.dtype)

    def _apply(self, fn: Any, recurse: bool = True) -> QuantisedLinear:  # noqa: ARG002
        """Move the layer, as `model.to(device)`: the types of what is packed are its own."""
        for name, held in self._buffers.items():
            if held is not None:
                self._buffers[name] = held.to(fn(held).device)
        return self

    def extra_repr(self) -> str:
        """What `print(model)` says."""
        return f"{self.layout}, {self.dtype}"


def _check(layout: str, dtype: torch.dtype) -> None:
    if layout not in FORMATS or dtype not in NAMES:
        raise CallError(
            f"There is no product of {dtype} and weights of layout {layout!r}.",
            expected=f"one of {', '.join(FORMATS)}, and torch.float16 or torch.bfloat16",
            next_step="choose one of these; docs/quantised-models.md says which is which.",
        )


def array_of(tensor: Tensor) -> Array:
    """A tensor as an array of numpy, of types that numpy lacks too."""
    kind = element_type_of(tensor.dtype)
    found = dtypes.array_of(tensor)
    return numpy.asarray(found if kind is None else found.view(kind.to_numpy()))


def tensor_of(array: Array) -> Tensor:
    """An array of numpy as a tensor, of types that numpy lacks too."""
    kind, plain = of_numpy(array.dtype), numpy.ascontiguousarray(array)
    if kind is None:
        return torch.from_numpy(plain)
    return torch.from_numpy(plain.view(f"i{kind.bytes}")).view(torch_dtype(kind))


def _packed(layout: str, weight: Array, group: int, dtype: torch.dtype) -> tuple[str, list[Tensor]]:
    """The layout that weights get, and its operands."""
    if layout == "q8_0":
        return operands_of_gguf(packing.quantise_q8_0(weight), layout)
    if layout in ("int4", "int4_zeros"):
        kind = ELEMENT_TYPES[NAMES[dtype]].to_numpy()
        packed = packing.quantise_int4(weight, group, zeros=layout != "int4", dtype=kind)
    elif layout.startswith("int8"):
        packed = packing.quantise_int8(weight, group if layout == "int8_groups" else None)
    elif layout == "fp8":
        packed = packing.quantise_fp8(weight)
    else:
        packed = (getattr(packing, f"quantise_{layout}")(weight),)
    return layout, [tensor_of(array) for array in packed]


_OWN = ("int4", "int4_zeros", "q4_0", "q4_1", "q8_0", "int8", "int8_groups", "fp8")


def quantise(
    model: torch.nn.Module,
    layout: str = "int4",
    *,
    group: int = 128,
    dtype: torch.dtype = torch.bfloat16,
    where: Callable[[str, torch.nn.Linear], bool] | None = None,
) -> list[str]:
    """Quantise a model's linear layers; return the names of those that were.

    Numbers are rounded to the nearest; no data is looked at. Layers whose k is not a multiple of 32
    stay as they are.

    Parameters
    ----------
    layout
        "int4", "int4_zeros", "q4_0", "q4_1", "q8_0", "int8", "int8_groups" or "fp8". Layers of
        "q8_0" have its numbers, as "int8_groups", which is faster.
    group
        Weights that share a scale, of int4 and int8_groups: a multiple of 32. Where it does not
        divide k, the greatest common divisor is taken.
    dtype
        Of the activations: `torch.float16` or `torch.bfloat16`.
    where
        Which layers, by name and module. By default all but `lm_head` and those that share their
        weight with an embedding.

    Raises
    ------
    CallError
        There is no such layout or type, or weights are not finite.
    """
    _check(layout, dtype)
    if layout not in _OWN:
        raise CallError(
            f"Weights cannot be quantised to {layout!r} here.",
            expected=f"one of {', '.join(_OWN)}",
            next_step="quantise with the library that it is of, and load the file.",
        )
    shared = {id(each.weight) for each in model.modules() if isinstance(each, torch.nn.Embedding)}

    def is_wanted(name: str, module: torch.nn.Linear) -> bool:
        if where is not None:
            return where(name, module)
        return name.rpartition(".")[2] != "lm_head" and id(module.weight) not in shared

    done = []
    for name, module in [*model.named_modules()]:
        if type(module) is not torch.nn.Linear or not is_wanted(name, module):
            continue
        each = math.gcd(group, module.in_features)
        if each % packing.BLOCK:
            continue
        weight = module.weight.detach().float().cpu().numpy()
        given, operands = _packed(layout, weight, each, dtype)
        moved = [operand.to(module.weight.device) for operand in operands]
        made = QuantisedLinear(given, moved, dtype, module.bias)
        model.set_submodule(name, made)
        done.append(name)
    return done


def convert(
    model: torch.nn.Module, *, dtype: torch.dtype = torch.bfloat16, zeros_are_less_one: bool = True
) -> list[str]:
    """Replace the quantised layers that another library put into a model.

    They are known by their tensors, whatever their class: those of `load`, and the blocks of
    transformers' `GgufLinear`.

    Parameters
    ----------
    dtype, zeros_are_less_one
        As of `load`.

    Raises
    ------
    CallError
        As of `load`.
    """
    done = []
    for name, module in [*model.named_modules()]:
        if isinstance(module, QuantisedLinear):
            continue
        own = {
            key: value.detach()
            for key, value in (
                *module.named_parameters(recurse=False),
                *module.named_buffers(recurse=False),
            )
        }
        kind = GGML_TYPES.get(getattr(module, "ggml_type", -1))
        if kind is not None and "weight" in own:
            found: Fitted | None = _of_gguf(own, kind, module.in_features)
        else:
            found = layer_of(own, dtype, zeros_are_less_one=zeros_are_less_one, name=name)
        if found is not None:
            model.set_submodule(name, _made(found, dtype, own.get("bias")))
            done.append(name)
    return done


def _of_gguf(own: Mapping[str, Tensor], kind: str, k: int) -> Fitted:
    rows = own["weight"]
    blocks = quantised.gguf_blocks(rows.cpu().numpy(), kind, len(rows), k)
    layout, operands = operands_of_gguf(blocks, kind)
    moved = tuple(each.to(rows.device) for each in operands)
    return Fitted(layout, moved, own.get("input_permutation"))


def operands_of_gguf(blocks: Array, kind: str) -> tuple[str, list[Tensor]]:
    """The layout that GGUF's blocks get, and its operands.

    Those of Q8_0 get numbers apart from scales, which are the same and faster to read.
    """
    if kind != "q8_0":
        return kind, [torch.from_numpy(blocks)]
    return "int8_groups", [torch.from_numpy(each) for each in packing.groups_of_q8_0(blocks)]


def _made(found: Fitted, dtype: torch.dtype, bias: Tensor | None) -> QuantisedLinear:
    return QuantisedLinear(found.layout, found.operands, dtype, bias, found.order)


def load(
    model: torch.nn.Module,
    tensors: Mapping[str, Tensor],
    *,
    dtype: torch.dtype = torch.bfloat16,
    zeros_are_less_one: bool = True,
) -> list[str]:
    """Load the tensors of a quantised checkpoint into a model that has plain layers.

    Parameters
    ----------
    model
        As without quantisation; what it holds is replaced, not copied into.
    tensors
        By the checkpoint's names, such as `safetensors.torch.load_file` gives: AWQ and GPTQ
        (`qweight`), compressed-tensors (`weight_packed`, or integers), fp8 with a scale for all,
        for each row or for each 128 x 128, and bitsandbytes' 8 bits (`SCB`).
    dtype
        Of the activations, and what tensors that are not quantised are converted to if they are of
        floats: `torch.float16` or `torch.bfloat16`.
    zeros_are_less_one
        Whether GPTQ's zeros are one less than they mean, as those of AutoGPTQ are; not in files
        whose `checkpoint_format` is "gptq_v2".

    Raises
    ------
    CallError
        A layer is quantised as no product takes it, or the names are not the model's.
    """
    layers = {
        name: module for name, module in model.named_modules() if type(module) is torch.nn.Linear
    }
    rest, own, missing = {}, dict[str, dict[str, Tensor]](), list[str]()
    for name, tensor in tensors.items():
        place, _, key = name.rpartition(".")
        if place in layers:
            own.setdefault(place, {})[key] = tensor
        else:
            rest[name] = tensor
    done = []
    for place, given in own.items():
        found = layer_of(given, dtype, zeros_are_less_one=zeros_are_less_one, name=place)
        if found is None:
            rest |= {f"{place}.{key}": value for key, value in given.items()}
        else:
            missing += [f"{place}.bias"] * (layers[place].bias is not None and "bias" not in given)
            model.set_submodule(place, _made(found, dtype, given.get("bias")))
            done.append(place)
    put_tensors(model, rest, dtype, missing)
    return done


def put_tensors(
    model: torch.nn.Module,
    tensors: Mapping[str, Tensor],
    dtype: torch.dtype,
    missing: Sequence[str] = (),
) -> None:
    """Put tensors that are not quantised into a model, and see that none is missing.

    Parameters
    ----------
    missing
        The names of those that are known to be.
    """
    plain = {
        name: value.to(dtype) if value.is_floating_point() else value
        for name, value in tensors.items()
    }
    # Names of the same tensor, such as an output layer that is an embedding, get the same one.
    held = model.state_dict(keep_vars=True)
    found = {id(held[name]): value for name, value in plain.items() if name in held}
    plain |= {name: found[id(each)] for name, each in held.items() if id(each) in found}
    result = model.load_state_dict(plain, strict=False, assign=True)
    layers = {name for name, module in model.named_modules() if isinstance(module, QuantisedLinear)}
    missing = [
        *missing,
        *(name for name in result.missing_keys if name.rpartition(".")[0] not in layers),
    ]
    if missing or result.unexpected_keys:
        raise CallError(
            f"The checkpoint's tensors are not the model's: it lacks {missing[:3]}, and has "
            f"{result.unexpected_keys[:3]} besides.",
            expected="the names of model.state_dict(), but for layers that are quantised",
            next_step="rename the tensors, or give the model that the file is of.",
        )
