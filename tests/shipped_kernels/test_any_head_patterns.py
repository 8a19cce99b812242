"""Models whose heads have sizes that no kernel is for alone: attention is found, and right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.errors import DeclarationError
from tests.places import replaced_in_torch

FORMS: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "phi": (80, 80, 4, {"is_causal": True}),
    "phi3": (96, 96, 2, {"is_causal": True, "enable_gqa": True}),
    "siglip": (72, 72, 4, {}),
    "gemma": (256, 256, 2, {"scale": 0.1, "enable_gqa": True}),
    "deepseek": (96, 64, 4, {"scale": 0.2, "is_causal": True}),
}
"""Sizes of queries and keys, and of values; heads of keys; what PyTorch's operator is told."""
SCALES = {"phi": 80**-0.5, "phi3": 96**-0.5, "siglip": 72**-0.5, "gemma": 0.1, "deepseek": 0.2}
QUICK = ("phi3", "deepseek")


class Attentions(torch.nn.Module):
    def forward(self, given: dict[str, Any]) -> list[torch.Tensor]:
        found = []
        for name, (q, k, v) in given.items():
            found.append(functional.scaled_dot_product_attention(q, k, v, **FORMS[name][3]))
        return found


class Masked(torch.nn.Module):
    """Keys for each head of queries, as transformers repeats them."""

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor
    ) -> torch.Tensor:
        k, v = (
            x[:, :, None].expand(-1, -1, 2, -1, -1).reshape(x.shape[0], 4, *x.shape[2:])
            for x in (k, v)
        )
        return functional.scaled_dot_product_attention(q, k, v, seen)


def inputs(dtype: torch.dtype, names: Iterable[str]) -> dict[str, tuple[torch.Tensor, ...]]:
    torch.manual_seed(0)
    return {
        name: (
            torch.randn(2, 4, 9, dim, dtype=dtype),
            torch.randn(2, kv_heads, 11, dim, dtype=dtype),
            torch.randn(2, kv_heads, 11, value_dim, dtype=dtype),
        )
        for name, (dim, value_dim, kv_heads, _) in FORMS.items()
        if name in names
    }


@pytest.mark.parametrize(
    ("dtype", "name", "forms"),
    [
        (torch.bfloat16, "attention_bf16", QUICK),
        pytest.param(torch.bfloat16, "attention_bf16", tuple(FORMS), marks=pytest.mark.thorough),
        pytest.param(torch.float32, "attention_f32", tuple(FORMS), marks=pytest.mark.thorough),
    ],
)
def test_attention_of_any_head_is_found_and_right(
    dtype: torch.dtype, name: str, forms: tuple[str, ...]
) -> None:
    given = inputs(dtype, forms)
    patterns = torch_patterns.attention
    module = cd.torch.compile(Attentions().eval(), (given,), ["cpu"], replace=patterns)
    assert [item.kernel for item in module.replaced] == [name] * len(forms)
    scales = [item.scalars["scale"] for item in module.replaced]
    assert scales == pytest.approx([SCALES[form] for form in forms])
    found = cd.load(module, "cpu").main(*(x for each in given.values() for x in each))
    wide = {key: tuple(x.float() for x in each) for key, each in given.items()}
    for got, want in zip(found, Attentions()(wide), strict=True):
        tolerance = 2e-2 if dtype == torch.bfloat16 else 1e-5
        got = torch.from_dlpack(got).float()
        torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("is_open", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_masks_and_repeated_keys_are_found(is_open: bool) -> None:
    given = (
        torch.randn(2, 4, 9, 80).half(),
        *(torch.randn(2, 2, 11, 80).half() for _ in "kv"),
        torch.ones(2, 1, 9, 11, dtype=torch.bool),
    )
    queries, keys = (torch.export.Dim(name, min=2) for name in ("queries", "keys"))
    shapes = ({2: queries}, {2: keys}, {2: keys}, {2: queries, 3: keys}) if is_open else None
    for mask, name in ((given[3], "bool_masked"), (given[3].half(), "masked")):
        found = replaced_in_torch(
            Masked().eval(), (*given[:3], mask), [torch_patterns.attention], shapes
        )
        assert [item.kernel for item in found] == [f"{name}_attention_f16"]


def test_heads_that_have_kernels_alone_keep_them() -> None:
    class One(torch.nn.Module):
        def forward(self, q: torch.Tensor) -> torch.Tensor:
            return functional.scaled_dot_product_attention(q, q, q)

    for size, name in ((64, "attention_f32_64"), (48, "attention_f32"), (264, None)):
        found = replaced_in_torch(
            One().eval(), (torch.randn(1, 2, 3, size),), [torch_patterns.attention]
        )
        assert [item.kernel for item in found] == ([name] if name else [])


def test_a_size_that_is_not_known_to_be_small_enough_stays() -> None:
    class One(torch.nn.Module):
        def forward(self, q: torch.Tensor) -> torch.Tensor:
            return functional.scaled_dot_product_attention(q, q, q)

    shapes = ({3: torch.export.Dim("dim", min=2, max=256)},)
    given = (torch.randn(1, 2, 3, 48),)
    found = replaced_in_torch(One().eval(), given, [torch_patterns.attention], shapes)
    assert not list(found)


def test_a_fixed_function_has_dims_as_parameters() -> None:
    def computes(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(q, k, v)

    for wrong in (lambda size: size, lambda: 1.0):
        fixed = {"causal": False, "scale": wrong}
        with pytest.raises(DeclarationError, match="dims of the kernel as parameters: batch"):
            cd.torch.Pattern(attention.attention_f32, computes, fixed=fixed)
