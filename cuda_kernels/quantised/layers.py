"""The tensors of one quantised layer, as checkpoints name them, as operands of a product.

AWQ and GPTQ (`qweight`, `qzeros`, `scales`, `g_idx`), compressed-tensors (`weight_packed` or
integers with `weight_scale`), fp8 (`weight_scale`, `weight_scale_inv`) and bitsandbytes' 8 bits
(`SCB`). Which layout takes them is found in the weights (`fitting.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from cuda_kernels.quantised.fitting import Fitted, fit
from cuda_kernels.quantised.loading import AWQ_ORDER, FP8_BLOCK
from custom_dispatch.errors import CallError

GGML_TYPES = {2: "q4_0", 3: "q4_1", 8: "q8_0", 12: "q4_k"}
"""GGUF's numbers of the types that have products (`ggml_type` of `ggml/include/ggml.h`)."""
_FLOAT8 = torch.float8_e4m3fn
_LARGEST_INT8 = 127
_SCALES = ("weight_scale_inv", "weight_scale", "SCB")


def layer_of(
    tensors: Mapping[str, Tensor],
    dtype: torch.dtype,
    *,
    zeros_are_less_one: bool = True,
    name: str = "",
) -> Fitted | None:
    """A layer's tensors as operands; None where its weight is not quantised.

    Parameters
    ----------
    tensors
        By their last names.
    dtype
        Of the activations.
    zeros_are_less_one
        As `int4_of_gptq` takes it.
    name
        The layer's, for errors.

    Raises
    ------
    CallError
        It is quantised in a way that no product takes.
    """
    weight = tensors.get("weight")
    scale = next((tensors[each] for each in _SCALES if each in tensors), None)
    if "qweight" in tensors:
        found = _of_words(tensors, dtype, zeros_are_less_one)
    elif "weight_packed" in tensors and "weight_shape" in tensors:
        found = _of_compressed(tensors, dtype)
    elif weight is None or scale is None or weight.dim() != 2:
        return None
    elif weight.dtype == _FLOAT8:
        found = _of_fp8(weight, scale.float())
    elif weight.dtype == torch.int8:
        scale = scale.float() / _LARGEST_INT8 if "SCB" in tensors else scale.float()
        zeros = tensors.get("weight_zero_point")
        found = _of_groups(weight, scale, zeros, tensors.get("weight_g_idx"), dtype)
    else:
        return None
    if found is None:
        shapes = {key: [str(each.dtype), *each.shape] for key, each in tensors.items()}
        raise CallError(
            f"No product takes the weights of layer `{name}`: {shapes}.",
            expected="up to 4 bits with scales for groups of a multiple of 32, 8 bits without "
            "zeros, or e4m3 with a scale for all, for each row or for each 128 x 128",
            next_step="dequantise this layer, or quantise it again.",
        )
    return found


def _of_words(tensors: Mapping[str, Tensor], dtype: torch.dtype, less_one: bool) -> Fitted | None:
    qweight, qzeros, scales = (tensors[key] for key in ("qweight", "qzeros", "scales"))
    if scales.dim() != 2 or qweight.dim() != 2 or qzeros.shape[0] != scales.shape[0]:
        return None
    groups, n = scales.shape
    bits = 32 * qzeros.shape[1] // n
    if bits not in (2, 4, 8) or n * bits % 32 or qzeros.shape[1] * 32 != n * bits:
        return None
    if qweight.shape[1] == n:  # GPTQ: along k
        numbers = _unpacked(qweight, bits, 0).t()
        zeros = _unpacked(qzeros, bits, 1) + int(less_one)
    elif bits == 4 and qweight.shape[1] * 8 == n:  # AWQ: along n
        numbers = _unpacked(qweight, bits, 1, AWQ_ORDER).t()
        zeros = _unpacked(qzeros, bits, 1, AWQ_ORDER)
    else:
        return None
    if not groups or numbers.shape[1] % groups:
        return None
    return _of_groups(numbers, scales.t(), zeros.t(), tensors.get("g_idx"), dtype)


def _of_compressed(tensors: Mapping[str, Tensor], dtype: torch.dtype) -> Fitted | None:
    """Rows of numbers that had half of their range added, one after another in words."""
    packed, scale = tensors["weight_packed"], tensors["weight_scale"].float()
    n, k = (int(size) for size in tensors["weight_shape"])
    bits = 32 * packed.shape[-1] // k if k else 0
    if packed.dim() != 2 or bits not in (2, 4, 8) or k * bits % 32:
        return None
    half = 1 << bits - 1
    zeros = tensors.get("weight_zero_point")
    if zeros is not None and zeros.dtype == torch.int32:
        zeros = _unpacked(zeros, bits, 0)[:n] - half
    numbers = _unpacked(packed, bits, 1) - half
    return _of_groups(numbers, scale, zeros, tensors.get("weight_g_idx"), dtype)


def _of_groups(
    numbers: Tensor,
    scales: Tensor,
    zeros: Tensor | None,
    group_of: Tensor | None,
    dtype: torch.dtype,
) -> Fitted | None:
    """Integers [n, k] and a scale for each row, or for each group of it: [n, groups]."""
    n, k = numbers.shape
    scales = (scales.reshape(-1, 1) if scales.dim() < 2 else scales).float()
    zeros = torch.zeros_like(scales) if zeros is None else zeros.reshape(scales.shape).float()
    groups = scales.shape[1]
    if scales.shape[0] not in (1, n) or groups == 0 or k % groups:
        return None
    if group_of is None or bool((group_of < 0).any()):
        group_of = torch.arange(k) // (k // groups)
    elif group_of.shape != (k,) or int(group_of.max()) >= groups:
        return None
    scales, zeros = (each.expand(n, groups)[:, group_of.long()] for each in (scales, zeros))
    return fit(numbers, scales, zeros, dtype)


def _of_fp8(weight: Tensor, scale: Tensor) -> Fitted | None:
    n, k = weight.shape
    if k % 32:
        return None
    if scale.numel() in (1, n) and (scale.dim() < 2 or 1 in scale.shape):
        return Fitted("fp8", (weight, scale.reshape(-1)))
    blocks = (-(-n // FP8_BLOCK), -(-k // FP8_BLOCK))
    return Fitted("fp8_blocks", (weight, scale)) if scale.shape == blocks else None


def _unpacked(words: Tensor, bits: int, axis: int, order: Sequence[int] = ()) -> Tensor:
    """The numbers in i32, the lowest bits first, along an axis; `order` as AWQ has it."""
    shifts = torch.arange(0, 32, bits)
    if order:
        shifts = shifts[torch.argsort(torch.tensor(order))]
    shifts = shifts.reshape(-1, *[1] * (1 - axis)).to(words.device)
    apart = words.long().unsqueeze(axis + 1) >> shifts
    return (apart & (1 << bits) - 1).flatten(axis, axis + 1).to(torch.int16)
