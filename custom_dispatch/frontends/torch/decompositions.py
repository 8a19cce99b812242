"""Operators of transformers' mixtures of experts that neither IREE nor PyTorch takes apart."""

import math
from functools import cache, partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from custom_dispatch.frontends.torch.graph import arguments_of, tensor_of

aten = torch.ops.aten
FORMS = "custom_dispatch_forms"
"""The namespace of operators that stand for several operations until kernels take their places."""
GROUPED = f"{FORMS}.grouped_mm"
_FALLBACK = "transformers::grouped_mm_fallback"
"""The same product of f32 and f16, with which PyTorch does not trace its own."""


def _histc(x: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:  # noqa: A002
    """How many elements each of `bins` bins has, of the same width from `min` to `max`, inclusive.

    Where these are the same, they are the least and the greatest element.
    """
    x = x.flatten()
    if x.numel() == 0:
        return x.new_zeros(bins)
    if min != max:
        low, high = x.new_full((), min), x.new_full((), max)
    else:
        low, high = x.amin(), x.amax()
        is_one = low == high
        low, high = torch.where(is_one, low - 1, low), torch.where(is_one, high + 1, high)
    is_inside = torch.logical_and(x >= low, x <= high)
    mode = None if x.is_floating_point() else "trunc"
    number = torch.div((x - low) * bins, high - low, rounding_mode=mode)
    number = torch.where(is_inside, number, 0).to(torch.int64).clamp(max=bins - 1)
    is_in = torch.logical_and(number == torch.arange(bins, device=x.device).unsqueeze(1), is_inside)
    counted = torch.promote_types(x.dtype, torch.float32) if mode is None else torch.int64
    return is_in.to(counted).sum(1).to(x.dtype)


def _groups(offs: Tensor, count: Any) -> Tensor:
    """The group of each of `count` elements: group g ends before offs[g]."""
    return (torch.arange(count, device=offs.device).unsqueeze(1) >= offs).sum(1)


def _grouped_mm(
    a: Tensor,
    b: Tensor,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> Tensor:
    """A product for each group: of rows of a, of columns of b, or of k.

    What is behind the last group is zero here, and anything in PyTorch. No group's numbers are
    multiplied, even by zero, for another one: NaN and infinity stay where they are.
    """
    del bias  # PyTorch takes none so far
    if offs is None:
        found = torch.bmm(a, b)
    elif a.dim() == b.dim():
        groups = torch.arange(offs.shape[0], device=offs.device)
        is_in = _groups(offs, a.shape[1]) == groups.unsqueeze(1)
        left, right = torch.where(is_in.unsqueeze(1), a, 0), torch.where(is_in.unsqueeze(2), b, 0)
        found = torch.bmm(left, right)
    elif a.dim() > b.dim():
        found = _grouped_mm(b.transpose(0, 1), a.transpose(1, 2), offs).transpose(0, 1)
    else:
        last, count = offs.shape[0] - 1, a.shape[0]
        group = _groups(offs, count)
        known = group.clamp(max=last)
        if isinstance(count, int) and count <= last:  # of few rows, by their own matrices alone
            found = torch.bmm(a.unsqueeze(1), b[known]).squeeze(1)
        else:
            found = torch.matmul(a, b)[known, torch.arange(count, device=a.device)]
        found = torch.where((group <= last).unsqueeze(1), found, 0)
    return found if out_dtype is None else found.to(out_dtype)


def _fake_grouped(a: Tensor, b: Tensor, _: Tensor) -> Tensor:
    return a.new_empty(a.shape[0], b.shape[2])


@cache
def grouped_mm() -> Any:
    """What a product of groups of rows is in models and patterns: (a, b, offsets) -> c.

    a [rows, k] and b [groups, k, n] are of any type and size. PyTorch's own operator can be traced
    with bf16 alone, in rows of whole 16 bytes.
    """
    schema = "(Tensor a, Tensor b, Tensor offsets) -> Tensor"
    name = GROUPED.replace(".", "::")
    made = torch.library.custom_op(name, _grouped_mm, mutates_args=(), schema=schema)
    made.register_fake(_fake_grouped)
    return made._opoverload


def _fake_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *_: Any, **more: Any
) -> Tensor:
    """Nothing of the right shape; what PyTorch finds to be the same size is compared."""
    torch.broadcast_shapes(k.shape[:-2], v.shape[:-2])
    heads = -3 if more.get("enable_gqa") else -2
    torch.broadcast_shapes(q.shape[:heads], k.shape[:heads])
    torch._check(q.shape[-1] == k.shape[-1])
    if q.shape[-1] != v.shape[-1]:  # else PyTorch's kernel takes it, and does not look
        torch._check(k.shape[-2] == v.shape[-2])
    if mask is not None:
        torch.broadcast_shapes(mask.shape, (*q.shape[:-1], k.shape[-2]))
    return q.new_empty((*q.shape[:-1], v.shape[-1]))


@cache
def _attention() -> Any:
    schema = str(aten.scaled_dot_product_attention.default._schema).partition("(")[2]
    name = f"{FORMS}::attention"
    made = torch.library.custom_op(
        name, functional.scaled_dot_product_attention, mutates_args=(), schema=f"({schema}"
    )
    made.register_fake(_fake_attention)
    return made._opoverload


class WholeAttention(TorchFunctionMode):  # type: ignore[misc]
    """Attention as one operator while a function is exported; `in_known_words` gives it its name.

    With sizes that are symbols, PyTorch works out what comes of it by tracing all its operations,
    which takes ten times as long as the rest of a pattern.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """See `TorchFunctionMode`."""
        whole = func is functional.scaled_dot_product_attention
        return (_attention() if whole else func)(*args, **(kwargs or {}))


def in_known_words(node: torch.fx.Node) -> None:
    """Call products of groups as patterns do, and count the axis of `scatter` from the front."""
    if node.target.name() == f"{FORMS}::attention":
        node.target = aten.scaled_dot_product_attention.default
    elif node.target.name().startswith("aten::scatter"):
        node.args = (node.args[0], arguments_of(node)["dim"], *node.args[2:])
    elif node.target == aten.constant_pad_nd.default and min(node.args[1], default=0) < 0:
        node.target, node.args = aten.pad.default, (*node.args[:2], "constant", *node.args[2:])
    elif node.target.name() == _FALLBACK:
        node.target = grouped_mm()
    elif node.target == aten._grouped_mm.default:
        given = [*node.args, *node.kwargs.values()]
        ranks = [tensor.dim() for each in given[:2] if (tensor := tensor_of(each)) is not None]
        if len(given) == 3 and ranks == [2, 3]:
            node.target, node.args, node.kwargs = grouped_mm(), tuple(given), {}


def _scatter_value(x: Tensor, dim: int, index: Tensor, value: float) -> Tensor:
    """All positions at once, of an axis of which the index has the other ones whole."""
    axes = [axis for axis in range(x.dim()) if axis != dim]
    if any(x.shape[axis] != index.shape[axis] for axis in axes):
        return torch.scatter(x, dim, index, torch.full_like(index, value, dtype=x.dtype))
    places = torch.arange(x.shape[dim], device=x.device)
    is_there = (index.transpose(dim, -1).unsqueeze(-1) == places).any(-2).transpose(dim, -1)
    return torch.where(is_there, value, x)


def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, *_: Any) -> Any:
    return tuple(each.narrow(dim, 0, k).contiguous() for each in torch.sort(x, dim, largest))


def _prelu(x: Tensor, weight: Tensor) -> Tensor:
    """With a number for each channel, the second axis, where IREE takes the last one."""
    if x.dim() > 1 and weight.dim():
        weight = weight.reshape(-1, *[1] * (x.dim() - 2))
    return torch.where(x > 0, x, weight * x)


def _pad(x: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Axis by axis: IREE knows no circular padding, and takes negative numbers for others."""
    for index in range(len(pad) // 2):
        axis = x.dim() - 1 - index
        start, less = max(-pad[2 * index], 0), max(-pad[2 * index + 1], 0)
        if start or less:
            x = x.narrow(axis, start, x.shape[axis] - start - less)
        before, after = max(pad[2 * index], 0), max(pad[2 * index + 1], 0)
        size = x.shape[axis]
        if mode == "constant" or not before + after:
            continue
        if mode == "reflect":
            ends = x.narrow(axis, 1, before), x.narrow(axis, size - 1 - after, after)
            first, last = (each.flip(axis) for each in ends)
        elif mode == "circular":
            first, last = x.narrow(axis, size - before, before), x.narrow(axis, 0, after)
        else:
            ends = x.narrow(axis, 0, 1), x.narrow(axis, size - 1, 1)
            first, last = (
                each.expand(*x.shape[:axis], count, *x.shape[axis + 1 :])
                for each, count in zip(ends, (before, after), strict=True)
            )
        x = torch.cat([*[first] * bool(before), x, *[last] * bool(after)], axis)
    more = [max(each, 0) for each in pad]
    return aten.constant_pad_nd(x, more, value or 0) if mode == "constant" and any(more) else x


def _fold(x: Tensor, size: Any, taps: Any, dilation: Any, padding: Any, stride: Any) -> Tensor:
    """A sum of what each tap has, with zeros in between."""
    pairs = zip(size, taps, dilation, padding, stride, strict=True)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in pairs]
    channels = x.shape[-2] // math.prod(taps)
    parts = x.reshape(*x.shape[:-2], channels, *taps, *counts)
    total = x.new_zeros(*parts.shape[:-4], *size)
    whole = [n * s for n, s in zip(counts, stride, strict=True)]
    for tap in product(*map(range, taps)):
        part = parts[..., tap[0], tap[1], :, None, :, None]
        part = _pad(part, (0, stride[1] - 1, 0, 0, 0, stride[0] - 1))
        top, left = (n * d - p for n, d, p in zip(tap, dilation, padding, strict=True))
        ends = left, size[1] - whole[1] - left, top, size[0] - whole[0] - top
        total = total + _pad(part.reshape(*parts.shape[:-4], *whole), ends)
    return total


def _resized(cubic: bool, x: Tensor, size: Any, corners: bool, *by: float | None) -> Tensor:
    """Each axis multiplied by the weights of a filter that is as wide as what is left out."""
    y = x.float()
    for axis, (out, scale) in enumerate(zip(size, (*by, None, None), strict=False), 2):
        known = x.shape[axis]
        step = 1 / scale if scale else known / out
        if corners:
            step = (known - 1) / (out - 1) if out > 1 else 0.0
        centre = (torch.arange(out) + 0.5) * step
        t = ((torch.arange(known) + 0.5 - centre[:, None]) / max(step, 1.0)).abs()
        weights = (1 - t).clamp(min=0)
        if cubic:
            far = ((-0.5 * t + 2.5) * t - 4) * t + 2
            weights = torch.where(t < 1, (1.5 * t - 2.5) * t * t + 1, torch.where(t < 2, far, 0.0))
        weights = weights / weights.sum(1, keepdim=True)
        y = (y.transpose(axis, -1) @ weights.T).transpose(axis, -1)
    return y.to(x.dtype)


def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    """PyTorch's own has sizes that IREE does not work out."""
    others = [axis for axis in range(v.dim()) if axis != dim % v.dim()]
    norm = v.float().square().sum(others, keepdim=True).sqrt()
    return (v.float() * (g.float() / norm)).to(v.dtype), norm


def own() -> dict[Any, Any]:
    """By operator, what it computes."""
    return {
        aten.histc.default: _histc,
        aten.pad.default: _pad,
        aten.prelu.default: _prelu,
        aten.scatter.value: _scatter_value,
        aten.col2im.default: _fold,
        # As IREE's sort is, and the kernel.
        aten.sort.stable: lambda x, dim=-1, descending=False, **_: torch.sort(x, dim, descending),
        aten.topk.default: _topk,  # IREE knows no unsorted one
        aten._grouped_mm.default: _grouped_mm,
        aten._upsample_bilinear2d_aa.default: partial(_resized, False),
        aten._upsample_bicubic2d_aa.default: partial(_resized, True),
        aten._weight_norm_interface.default: _weight_norm,
        grouped_mm(): _grouped_mm,
    }
