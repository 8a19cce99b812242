"""Quantised weights of any origin in a layout that a product here takes: with PyTorch.

Weights are scales * (numbers - zeros), element by element. What makes an int4 weight of them, or
one of 8 bits, is found in the values: groups along k that share a scale and a zero, and how far
apart their numbers are. A layout is taken only if its weights are those that were given.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from cuda_kernels.quantised.loading import FP8_BLOCK
from cuda_kernels.quantised.packing import BLOCK

_FLOAT8 = torch.float8_e4m3fn
_STEPS = 15
_ALMOST = 1e-3
"""How far from integers zeros are that were divided by a scale."""


@dataclass(frozen=True)
class Fitted:
    """Operands of a product with quantised weights."""

    layout: str
    """As choices are named: "int4", "int8_groups", "fp8", ..."""
    operands: tuple[Tensor, ...]
    order: Tensor | None = None
    """What x[..., order] is the operand x, where k had to be put in another order."""


def fit(
    numbers: Tensor, scales: Tensor, zeros: Tensor, dtype: torch.dtype, value: Tensor | None = None
) -> Fitted | None:
    """A layout whose weights are scales * (numbers - zeros); None where there is none.

    Parameters
    ----------
    numbers
        Integers or e4m3, [n, k].
    scales, zeros
        F32, [n, k].
    dtype
        Of x: `torch.float16` or `torch.bfloat16`.
    value
        The weights as they were computed, if that is known. Those of the layout differ from them by
        less than `dtype` can tell in the largest weight of a group.
    """
    n, k = numbers.shape
    if k % BLOCK or 0 in (n, k):
        return None
    value = scales * (numbers.float() - zeros) if value is None else value.float()
    if numbers.dtype == _FLOAT8:
        return _fit_fp8(numbers, scales, zeros, dtype, value)
    found = _fit_integers(numbers, scales, zeros, dtype, value)
    if found is not None:
        return found
    # Columns of a group need not be beside each other (GPTQ's act-order).
    order = _order_of(scales, zeros)
    if order is None:
        return None
    numbers, scales, zeros, value = (each[:, order] for each in (numbers, scales, zeros, value))
    found = _fit_integers(numbers, scales, zeros, dtype, value)
    return found and Fitted(found.layout, found.operands, order)


def _fit_fp8(
    numbers: Tensor, scales: Tensor, zeros: Tensor, dtype: torch.dtype, value: Tensor
) -> Fitted | None:
    if zeros.any():
        return None
    by_row = scales[:, :1]
    if torch.equal(scales, by_row.expand_as(scales)):
        found = by_row[:1, 0] if torch.equal(by_row, by_row[:1].expand_as(by_row)) else by_row[:, 0]
        layout, each = "fp8", by_row
    else:
        found = scales[::FP8_BLOCK, ::FP8_BLOCK]
        layout, each = "fp8_blocks", _of_blocks(found, scales.shape)
        if not torch.equal(scales, each):
            return None
    is_known = ~(numbers.float().isnan() & value.isnan())
    zero = torch.zeros(())
    wide, value = (torch.where(is_known, part, zero) for part in (numbers.float(), value))
    is_same = _are_same(each, wide, 0.0, value, dtype)
    return Fitted(layout, (numbers, found.contiguous())) if is_same else None


def _of_blocks(scales: Tensor, shape: torch.Size) -> Tensor:
    wide = scales.repeat_interleave(FP8_BLOCK, 0)[: shape[0]]
    return wide.repeat_interleave(FP8_BLOCK, 1)[:, : shape[1]]


def _fit_integers(
    numbers: Tensor, scales: Tensor, zeros: Tensor, dtype: torch.dtype, value: Tensor
) -> Fitted | None:
    groups = _groups(scales, zeros)
    if groups is None or int(numbers.amin()) < -(2**14) or int(numbers.amax()) >= 2**14:
        return None
    n, k = numbers.shape
    shape = (n, groups, k // groups)
    scale, zero = (each.reshape(shape)[..., :1] for each in (scales, zeros))
    whole = zero.round()
    is_whole = bool(((zero - whole).abs() < _ALMOST).all())
    zero = whole if is_whole else zero
    steps = numbers.reshape(shape).to(torch.int16)
    low, high = steps.amin(-1, keepdim=True), steps.amax(-1, keepdim=True)
    near = is_whole and bool((zero.abs() < 2**14).all())
    less = zero.to(torch.int16) if near else torch.zeros_like(low)
    least, most = (int((low - less).amin()), int((high - less).amax())) if near else (1, -1)
    narrow = scale.to(dtype)
    value = value.reshape(shape)
    if near and least >= -8 and most < 8:
        steps = steps - (less - 8)
        if _are_same(narrow, steps, 8.0, value, dtype):
            return Fitted("int4", (_packed(steps), narrow[..., 0].contiguous()))
    elif int((high - low).amax()) <= _STEPS:
        start = torch.where((low >= 0) & (high <= _STEPS), 0, low)
        steps = steps - start
        middle = (zero - start).to(dtype)
        if _are_same(narrow, steps, middle.float(), value, dtype):
            operands = (narrow[..., 0].contiguous(), middle[..., 0].contiguous())
            return Fitted("int4_zeros", (_packed(steps), *operands))
    elif near and least >= -128 and most < 128:
        steps = (steps - less).to(torch.int8)
        return _fit_eights(steps, scale, value, dtype)
    return None


def _fit_eights(steps: Tensor, scale: Tensor, value: Tensor, dtype: torch.dtype) -> Fitted | None:
    """I8 [n, groups, size] and a scale for each group: of whole rows if there is one group."""
    n, groups, _ = steps.shape
    numbers = steps.reshape(n, -1).contiguous()
    if groups == 1:
        by_row = scale.reshape(n)
        found = by_row[:1] if torch.equal(by_row, by_row[:1].expand_as(by_row)) else by_row
        is_same = _are_same(scale, steps, 0.0, value, dtype)
        return Fitted("int8", (numbers, found.contiguous())) if is_same else None
    # These products round weights to x's type, which has to have room for them.
    made = (scale * steps.float()).to(dtype).float()
    if not _are_same(torch.ones_like(scale), made, 0.0, value, dtype):
        return None
    return Fitted("int8_groups", (numbers, scale[..., 0].contiguous()))


def _groups(scales: Tensor, zeros: Tensor) -> int | None:
    """The least number of groups in a row, each of one scale and zero."""
    n, k = scales.shape
    blocks = k // BLOCK
    found = []
    for each in (scales, zeros):
        of_block = each.reshape(n, blocks, BLOCK)
        if not torch.equal(of_block, of_block[..., :1].expand_as(of_block)):
            return None
        found.append(of_block[..., 0])
    for groups in (count for count in range(1, blocks + 1) if blocks % count == 0):
        parts = [each.reshape(n, groups, -1) for each in found]
        if all(torch.equal(part, part[..., :1].expand_as(part)) for part in parts):
            return groups
    return None


def _order_of(scales: Tensor, zeros: Tensor) -> Tensor | None:
    """An order of k in which columns of the same scales and zeros are beside each other."""
    numbers = torch.Generator().manual_seed(0)
    weights = torch.rand(2, scales.shape[0], generator=numbers, dtype=torch.float64)
    weights = weights.to(scales.device)
    # Sums of random parts tell columns apart; whether they do is seen when groups are looked for.
    sums = weights[0] @ scales.double() + weights[1] @ zeros.double()
    _, group, counts = torch.unique(sums, return_inverse=True, return_counts=True)
    if (counts % BLOCK).any() or len(counts) * BLOCK > len(sums):
        return None
    return torch.argsort(group, stable=True)


def _are_same(
    scale: Tensor, numbers: Tensor, zero: Tensor | float, value: Tensor, dtype: torch.dtype
) -> bool:
    made = scale.float() * (numbers.float() - zero)
    bound = torch.finfo(dtype).eps * value.abs().amax(-1, keepdim=True)
    # A bound of infinity would let any number pass.
    return bool((bound.isfinite() & ((made - value).abs() <= bound)).all())


def _packed(numbers: Tensor) -> Tensor:
    """Integers of 4 bits [n, groups, size] as bytes [n, k / 2]."""
    flat = numbers.reshape(len(numbers), -1).to(torch.uint8)
    return flat[:, ::2] | flat[:, 1::2] << 4
