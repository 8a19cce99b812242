"""Attention in PyTorch's words, for the patterns of `torch.py`: plain, masked, grouped, cached."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import attention as attentions
from cuda_kernels.attention.names import ends_and_scales
from cuda_kernels.patterns.rewriting.attention import write_attention
from cuda_kernels.patterns.rewriting.attention_operator import CAPPED_ATTENTION
from cuda_kernels.patterns.rewriting.layout import write_layout
from cuda_kernels.patterns.rewriting.layout_operator import ATTENTION_BSHD

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]

_TYPES = ("f32", "f16", "bf16")
_HEADS = (32, 64, 128)
_ONE_EACH = {"heads": 6, "kv_heads": 6}
"""A head of keys for every head of queries."""
_GROUPED = {"heads": 8, "kv_heads": 2}
_OF_MASK = {"batch": 6, "mask_batches": 6, "queries": 14, "mask_rows": 14}
"""A mask for each sequence, head and query; what has one for all is broadcast."""


def _attention(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)


def _attention_of_usual_scale(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)


def _masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, mask, scale=scale)


def _masked_attention_of_usual_scale(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, mask)


def _grouped(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
    return functional.scaled_dot_product_attention(
        q, k, v, is_causal=causal, scale=scale, enable_gqa=True
    )


def _grouped_of_usual_scale(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


def _masked_grouped(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, mask, scale=scale, enable_gqa=True)


def _masked_grouped_of_usual_scale(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    return functional.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)


def _repeated(x: Tensor, heads: int) -> Tensor:
    """Keys or values for each head of queries, as transformers repeats them (`repeat_kv`)."""
    batch, kv_heads, keys, dim = x.shape
    wide = x.unsqueeze(2).expand(batch, kv_heads, heads // kv_heads, keys, dim)
    return wide.reshape(batch, heads, keys, dim)


def _masked_repeated(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    keys, values = (_repeated(each, q.shape[1]) for each in (k, v))
    return functional.scaled_dot_product_attention(q, keys, values, mask, scale=scale)


def _masked_repeated_of_usual_scale(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    keys, values = (_repeated(each, q.shape[1]) for each in (k, v))
    return functional.scaled_dot_product_attention(q, keys, values, mask)


def _filled(k: Tensor, lengths: Tensor) -> Tensor:
    """The mask of one query: the keys that there are so far."""
    return (torch.arange(k.shape[2]) < lengths.unsqueeze(1)).reshape(k.shape[0], 1, 1, k.shape[2])


def _capped(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    softcap: float,
    causal: bool,
    sinks: Tensor | None = None,
) -> Tensor:
    return CAPPED_ATTENTION(q, k, v, None, sinks, scale, softcap, causal)


def _masked_capped(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    scale: float,
    softcap: float,
    sinks: Tensor | None = None,
) -> Tensor:
    return CAPPED_ATTENTION(q, k, v, mask, sinks, scale, softcap, False)


def _of_cache(computes: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Masked attention of one query, with the mask of a cache that is partly filled."""

    def plain(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor) -> Tensor:
        return computes(q, k, v, _filled(k, lengths))

    def scaled(q: Tensor, k: Tensor, v: Tensor, lengths: Tensor, scale: float) -> Tensor:
        return computes(q, k, v, _filled(k, lengths), scale)

    return scaled if "scale" in inspect.signature(computes).parameters else plain


def _by_position(computes: Callable[..., Tensor]) -> list[Callable[..., Tensor]]:
    """The same with the heads of a position beside each other, as models write that."""

    def plain(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
        return computes(q, k, v, causal).transpose(1, 2)

    def reshaped(q: Tensor, k: Tensor, v: Tensor, causal: bool) -> Tensor:
        attended = computes(q, k, v, causal)
        return attended.reshape(q.shape[0], -1, q.shape[2], v.shape[3]).transpose(1, 2)

    def scaled(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
        return computes(q, k, v, scale, causal).transpose(1, 2)

    def scaled_and_reshaped(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
        attended = computes(q, k, v, scale, causal)
        return attended.reshape(q.shape[0], -1, q.shape[2], v.shape[3]).transpose(1, 2)

    has_scale = "scale" in inspect.signature(computes).parameters
    return [scaled, scaled_and_reshaped] if has_scale else [plain, reshaped]


def _bshd(q: Tensor, k: Tensor, v: Tensor, scale: float, causal: bool) -> Tensor:
    return ATTENTION_BSHD(q, k, v, None, scale, causal)


def _masked_bshd(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float) -> Tensor:
    return ATTENTION_BSHD(q, k, v, mask, scale, False)


def attentions_bshd() -> Patterns:
    """With the heads of a position side by side in operands and results."""
    found = []
    for dtype in _TYPES:
        for end, _ in ends_and_scales(*_HEADS):
            for prefix, computes, kind in (
                ("", _bshd, None),
                ("masked_", _masked_bshd, dtype),
                ("bool_masked_", _masked_bshd, "bool"),
            ):
                made, sizes = {}, _GROUPED
                if kind is not None:
                    made["spans"] = getattr(attentions, f"mask_spans_{kind}")
                    sizes = {**sizes, **_OF_MASK, "mask_heads": sizes["heads"]}
                found.append(
                    cd.torch.Pattern(
                        getattr(attentions, f"{prefix}attention_bshd_{dtype}{end}"),
                        computes,
                        fixed={} if kind is None else {"causal": False},
                        sizes=sizes,
                        rewrites=write_layout,
                        made=made,
                        required=False,
                    )
                )
    return tuple(found)


def attentions_by_position() -> Patterns:
    """With the heads of a position side by side in the result."""
    found = []
    for dtype in _TYPES[1:]:
        for size in _HEADS:
            kernel = getattr(attentions, f"attention_by_position_{dtype}_{size}")
            usual = {"scale": size**-0.5}
            for computes, fixed, sizes in (
                (_attention, {}, _ONE_EACH),
                (_grouped, {}, _GROUPED),
                (_attention_of_usual_scale, usual, _ONE_EACH),
                (_grouped_of_usual_scale, usual, _GROUPED),
            ):
                found.append(
                    cd.torch.Pattern(
                        kernel, _by_position(computes), fixed=fixed, sizes=sizes, required=False
                    )
                )
    return tuple(found)


def cached_attentions() -> Patterns:
    """A step of decoding. With more queries the kernel takes lengths to end with the cache."""
    found = []
    for dtype in _TYPES[1:]:
        for size, usual in ends_and_scales(*_HEADS[1:]):
            for computes, scale, sizes in (
                (_masked_repeated, {}, _GROUPED),
                (_masked_grouped, {}, _GROUPED),
                (_masked_attention, {}, _ONE_EACH),
                (_masked_repeated_of_usual_scale, {"scale": usual}, _GROUPED),
                (_masked_grouped_of_usual_scale, {"scale": usual}, _GROUPED),
                (_masked_attention_of_usual_scale, {"scale": usual}, _ONE_EACH),
            ):
                found.append(
                    cd.torch.Pattern(
                        getattr(attentions, f"cached_attention_{dtype}{size}"),
                        _of_cache(computes),
                        fixed=scale,
                        sizes={**sizes, "queries": 1},
                        required=False,
                    )
                )
    return tuple(found)


def capped_attentions() -> Patterns:
    """With a soft cap of scores, sinks, or both."""
    found = []
    of_mask = {**_GROUPED, **_OF_MASK, "mask_heads": _GROUPED["heads"]}
    for dtype in _TYPES:
        name = f"capped_attention_{dtype}"
        found.append(
            cd.torch.Pattern(
                getattr(attentions, name),
                _capped,
                sizes=_GROUPED,
                rewrites=write_attention,
                required=False,
            )
        )
        for prefix, kind in (("masked_", dtype), ("bool_masked_", "bool")):
            found.append(
                cd.torch.Pattern(
                    getattr(attentions, prefix + name),
                    _masked_capped,
                    fixed={"causal": False},
                    sizes=of_mask,
                    rewrites=write_attention,
                    made={"spans": getattr(attentions, f"mask_spans_{kind}")},
                    required=False,
                )
            )
    return tuple(found)


def attentions_of_every_form() -> Patterns:
    """Plain and masked, with heads of keys for several heads of queries, and any scale."""
    found = []
    for dtype in _TYPES:
        for size, scale in ends_and_scales(*_HEADS):
            plain = getattr(attentions, f"attention_{dtype}{size}")
            masked = getattr(attentions, f"masked_attention_{dtype}{size}")
            seen = getattr(attentions, f"bool_masked_attention_{dtype}{size}")
            usual = {"scale": scale}
            forms: tuple[tuple[Any, Any, tuple[Callable[..., Any], ...]], ...] = (
                ((plain,), {}, (_attention, _grouped)),
                ((plain,), usual, (_attention_of_usual_scale, _grouped_of_usual_scale)),
                (
                    (masked, seen),
                    {"causal": False},
                    (_masked_attention, _masked_grouped, _masked_repeated),
                ),
                (
                    (masked, seen),
                    {"causal": False, **usual},
                    (
                        _masked_attention_of_usual_scale,
                        _masked_grouped_of_usual_scale,
                        _masked_repeated_of_usual_scale,
                    ),
                ),
            )
            for kernels, fixed, functions in forms:
                for kernel in kernels:
                    made, of_mask = {}, {}
                    if kernel is not plain:
                        of_mask = _OF_MASK
                        kind = "bool" if kernel is seen else dtype
                        made["spans"] = getattr(attentions, f"mask_spans_{kind}")
                    for number, computes in enumerate(functions):
                        sizes = _GROUPED if number else _ONE_EACH
                        if of_mask:
                            sizes = {**sizes, **of_mask, "mask_heads": sizes["heads"]}
                        found.append(
                            cd.torch.Pattern(
                                kernel,
                                computes,
                                fixed=fixed,
                                sizes=sizes,
                                rewrites=write_attention,
                                made=made,
                                required=False,
                            )
                        )
    return tuple(found)
