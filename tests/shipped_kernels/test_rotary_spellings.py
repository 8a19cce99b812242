"""Rotary embeddings as models write them are found, with the layout and the part that they have."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import ml_dtypes
import numpy
import pytest
import torch

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.patterns import torch as shipped
from tests.places import replaced_in_torch

BATCH, HEADS, LENGTH, DIM = 2, 3, 5, 32
HALF = DIM // 2


class Calls(torch.nn.Module):  # type: ignore[misc]
    """A function as a model."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *given: torch.Tensor) -> Any:
        return self.function(*given)


def turned_pairs(x: Any) -> Any:
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def turned_halves(x: Any) -> Any:
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


def of_gptj(x: Any, cos: Any, sin: Any) -> Any:
    x = x.transpose(1, 2)
    cos, sin = (torch.repeat_interleave(each[:, :, None, :HALF], 2, 3) for each in (cos, sin))
    return (x * cos + turned_pairs(x) * sin).permute(0, 2, 1, 3)


def of_cohere(x: Any, cos: Any, sin: Any) -> Any:
    wide, cos, sin = x.float(), cos.unsqueeze(1), sin.unsqueeze(1)
    return (wide * cos + turned_pairs(wide) * sin).to(x.dtype)


def of_deepseek(x: Any, cos: Any, sin: Any) -> Any:
    a, b, cos, sin = x[..., ::2], x[..., 1::2], cos[:, None, :, :HALF], sin[:, None, :, :HALF]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def of_neox(x: Any, cos: Any, sin: Any) -> Any:
    some, rest = x[..., :HALF], x[..., HALF:]
    cos, sin = cos[:, None, :, :HALF], sin[:, None, :, :HALF]
    return torch.cat((some * cos + turned_halves(some) * sin, rest), dim=-1)


def of_palm(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.reshape(*x.shape[:-1], 2, HALF).unbind(-2)
    return x * cos[:, None] + torch.cat((-b, a), dim=-1) * sin[:, None]


def of_gpt_fast(x: Any, cos: Any, sin: Any) -> Any:
    x = x.transpose(1, 2)
    pairs = x.float().reshape(*x.shape[:-1], -1, 2)
    table = torch.stack((cos[..., :HALF], sin[..., :HALF]), -1).view(1, LENGTH, 1, HALF, 2)
    first = pairs[..., 0] * table[..., 0] - pairs[..., 1] * table[..., 1]
    second = pairs[..., 1] * table[..., 0] + pairs[..., 0] * table[..., 1]
    return torch.stack([first, second], -1).flatten(3).type_as(x).transpose(1, 2)


def of_complex_numbers(x: Any, cos: Any, sin: Any) -> Any:
    x = x.transpose(1, 2)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    table = torch.complex(cos[..., :HALF].float(), sin[..., :HALF].float())[:, :, None]
    return torch.view_as_real(pairs * table).flatten(3).type_as(x).transpose(1, 2)


def with_tables_of_two_dims(x: Any, cos: Any, sin: Any) -> Any:
    return x * cos[0] + turned_halves(x) * sin[0]


def of_nanochat(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.chunk(2, dim=-1)
    return x * cos[:, None] + torch.cat((b, -a), dim=-1) * sin[:, None]


def back(x: Any, cos: Any, sin: Any) -> Any:
    return x * cos[:, None] - turned_pairs(x) * sin[:, None]


def back_by_parts(x: Any, cos: Any, sin: Any) -> Any:
    a, b, cos, sin = x[..., ::2], x[..., 1::2], cos[:, None, :, :HALF], sin[:, None, :, :HALF]
    return torch.stack([b * sin + a * cos, b * cos - a * sin], dim=-1).flatten(-2)


ANY, BY_POSITION = "rotary_any", "rotary_any_by_position"
SPELLINGS: dict[Callable[..., Any], tuple[str, int, int]] = {
    of_gptj: (ANY, 1, 1),
    of_cohere: (ANY, 1, 1),
    of_deepseek: (ANY, 1, 0),
    of_neox: (ANY, 0, 0),
    of_palm: (ANY, 0, 0),
    of_gpt_fast: (ANY, 1, 1),
    of_complex_numbers: (ANY, 1, 1),
    with_tables_of_two_dims: (ANY, 0, 0),
    of_nanochat: (ANY, 0, 0),
    back: (ANY, 1, 1),
    back_by_parts: (ANY, 1, 1),
}


def given(dtype: torch.dtype, *, by_position: bool) -> tuple[torch.Tensor, ...]:
    tables = (torch.randn(1, LENGTH, DIM).to(dtype) for _ in range(2))
    if not by_position:
        return torch.randn(BATCH, HEADS, LENGTH, DIM).to(dtype), *tables
    return torch.randn(BATCH, LENGTH, HEADS, DIM).to(dtype), *tables


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("function", SPELLINGS)
def test_rotary_embedding_is_found_in_every_spelling(
    function: Callable[..., Any], dtype: str
) -> None:
    kernel, pairs_in, pairs_out = SPELLINGS[function]
    patterns = [each for each in shipped.rotary_any if each.item.name.endswith(f"_{dtype}")]
    torch_dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    (found,) = replaced_in_torch(Calls(function), given(torch_dtype, by_position=False), patterns)
    is_by_position = function in (of_gptj, of_gpt_fast, of_complex_numbers)
    assert found.kernel == f"{BY_POSITION if is_by_position else kernel}_{dtype}"
    assert found.scalars == {"pairs_in": pairs_in, "pairs_out": pairs_out}


def test_heads_that_were_just_taken_apart_are_read_where_they_are() -> None:
    def split(x: Any, cos: Any, sin: Any) -> Any:
        return of_cohere(x.transpose(1, 2), cos, sin)

    tensors = given(torch.float32, by_position=True)
    (found,) = replaced_in_torch(Calls(split), tensors, shipped.rotary_any)
    assert found.kernel == f"{BY_POSITION}_f32"


def test_the_usual_spelling_keeps_its_own_kernel() -> None:
    def usual(x: Any, cos: Any, sin: Any) -> Any:
        return x * cos.unsqueeze(1) + turned_halves(x) * sin.unsqueeze(1)

    patterns = [*shipped.rotary, *shipped.rotary_any]
    (found,) = replaced_in_torch(Calls(usual), given(torch.float32, by_position=False), patterns)
    assert found.kernel == "rotary_f32"


def test_open_sizes_stay_open() -> None:
    sizes = {0: torch.export.Dim("batch", min=2, max=8), 2: torch.export.Dim("length", min=2)}
    tables = {1: sizes[2]}
    shapes = {"given": (sizes, tables, tables)}
    tensors = given(torch.float32, by_position=False)
    (found,) = replaced_in_torch(Calls(of_neox), tensors, shipped.rotary_any, shapes)
    assert found.kernel == "rotary_any_f32"


def test_what_was_written_otherwise_computes_the_same() -> None:
    tensors = given(torch.float32, by_position=False)

    def every(*given: torch.Tensor) -> Any:
        return tuple(function(*given) for function in SPELLINGS)

    module = cd.torch.compile(
        Calls(every), tensors, ["cpu:host"], replace=shipped.rotary_any, verify=1e-6
    )
    assert module.replaced is not None
    assert len(module.replaced) == len(SPELLINGS)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, cos, sin: x * cos[:, None] - turned_pairs(x) * sin[:, None] * 2 + x,
        lambda x, cos, sin: x * cos[:, None] + turned_pairs(x + 1) * sin[:, None],
        lambda x, cos, sin: (
            x * cos[:, None]
            + torch.stack((x[..., 1::2], x[..., ::2]), -1).flatten(-2) * sin[:, None]
        ),
        lambda x, cos, sin: x * cos.mean() + turned_pairs(x) * sin[:, None],
    ],
)
def test_what_is_no_rotation_stays(function: Callable[..., Any]) -> None:
    tensors = given(torch.float32, by_position=False)
    assert not replaced_in_torch(Calls(function), tensors, shipped.rotary_any)


def test_a_rotation_that_goes_on_in_f32_is_not_rounded() -> None:
    def wide(x: Any, cos: Any, sin: Any) -> Any:
        return x.float() * cos.unsqueeze(1) + turned_pairs(x.float()) * sin.unsqueeze(1)

    x, *tables = given(torch.bfloat16, by_position=False)
    assert not replaced_in_torch(
        Calls(wide), (x, *(each.float() for each in tables)), shipped.rotary_any
    )


SIZES = [
    *((2, 3, 5, 64, 64, 1), (3, 5, 7, 64, 32, 3), (1, 2, 3, 10, 6, 1), (2, 1, 4, 80, 16, 2)),
    # Of halves of packs, in 16 bits or in f32.
    *((2, 3, 5, 80, 40, 1), (1, 2, 3, 72, 24, 1), (1, 2, 3, 66, 36, 1)),
]
"""Batch, heads, length, dim, how many of it are rotated, and tables."""


@pytest.mark.parametrize(
    ("dtype", "by_position"),
    [
        ("f32", False),
        ("bf16", True),
        pytest.param("f32", True, marks=pytest.mark.thorough),
        pytest.param("f16", False, marks=pytest.mark.thorough),
        pytest.param("bf16", False, marks=pytest.mark.thorough),
    ],
)
def test_every_layout_of_pairs_and_parts_of_heads(dtype: str, by_position: bool) -> None:
    kernel = getattr(attention, f"{BY_POSITION if by_position else ANY}_{dtype}")
    element = {"f32": numpy.float32, "f16": numpy.float16, "bf16": ml_dtypes.bfloat16}[dtype]
    numbers = numpy.random.default_rng(0)
    for batch, heads, length, dim, rotated, tables in SIZES:
        shape = (batch, length, heads, dim) if by_position else (batch, heads, length, dim)
        x = numbers.standard_normal(shape).astype(element)
        cos, sin = numbers.standard_normal((2, tables, length, rotated)).astype(numpy.float32)
        for pairs_in, pairs_out in product((0, 1), repeat=2):
            found, wanted = (
                numpy.asarray(call(x, cos, sin, pairs_in, pairs_out)).astype(numpy.float64)
                for call in (kernel, kernel.reference)
            )
            numpy.testing.assert_allclose(
                found, wanted, rtol=1e-6 if dtype == "f32" else 8e-3, atol=2e-6
            )
