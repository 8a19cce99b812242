"""Writing into a cache in place: the kernel, and a step of a decoder with a cache that it fills."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from shipped import DTYPES, Shipped
from torch.nn import functional

import custom_dispatch as cd
from cuda_kernels.attention import write_cache
from cuda_kernels.patterns import torch as torch_patterns
from custom_dispatch.frontends.torch.importer import export_model
from tests.places import replaced_in_torch

Random = np.random.Generator
F8 = {"f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2}
BATCH, HEADS, KV_HEADS, KEYS, SIZE = 2, 4, 2, 16, 32


@pytest.fixture(scope="module")
def kernels() -> Shipped:
    return Shipped([write_cache.declare(kind, 64) for kind in DTYPES])


@pytest.mark.parametrize("kind", DTYPES)
def test_what_is_written_is_what_was_given(kernels: Shipped, random: Random, kind: str) -> None:
    for batch, heads, keys, count, dim in ((1, 1, 1, 1, 1), (2, 3, 9, 4, 40), (3, 2, 70, 64, 7)):
        cache = random.standard_normal((batch, heads, keys, dim)).astype(DTYPES[kind])
        fresh = random.standard_normal((batch, heads, count, dim)).astype(DTYPES[kind])
        positions = random.permutation(keys)[:count].astype(np.int64)
        kernels.check(f"write_cache_{kind}", cache, fresh, positions)


def test_negative_positions_count_from_the_end_and_others_outside_are_dropped(
    kernels: Shipped, random: Random
) -> None:
    cache, fresh = (random.standard_normal((1, 2, n, 8)).astype(np.float32) for n in (6, 9))
    positions = np.array([-1, 6, 3, 2**40, -(2**62), -6, -7, 2**63 - 1, -(2**63)])
    got, want = kernels.both("write_cache_f32", cache, fresh, positions)
    np.testing.assert_array_equal(got, want)
    in_torch = torch.from_numpy(cache.copy())
    inside = [0, 2, 5]
    in_torch[:, :, torch.from_numpy(positions[inside])] = torch.from_numpy(fresh[:, :, inside])
    np.testing.assert_array_equal(got, in_torch.numpy())
    np.testing.assert_array_equal(got[:, :, [5, 3, 0]], fresh[:, :, inside])
    np.testing.assert_array_equal(got[:, :, [1, 2, 4]], cache[:, :, [1, 2, 4]])


class Step(torch.nn.Module):
    """Attention of new positions with a cache, as transformers has it with a static one."""

    def __init__(self, grouped: bool = False, indexed: bool = False) -> None:
        super().__init__()
        self.grouped, self.indexed = grouped, indexed

    def forward(
        self,
        q: torch.Tensor,
        k: torch.Tensor,
        mask: torch.Tensor,
        positions: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        for cache, fresh in ((keys, k), (values, k + 1)):
            if self.indexed:
                cache[:, :, positions] = fresh
            else:
                cache.index_copy_(2, positions, fresh)
        if self.grouped:
            return functional.scaled_dot_product_attention(
                q, keys, values, mask, enable_gqa=True, scale=0.3
            )
        shape = (BATCH, KV_HEADS, HEADS // KV_HEADS, KEYS, SIZE)
        all_keys, all_values = (
            cache[:, :, None].expand(shape).reshape(BATCH, HEADS, KEYS, SIZE)
            for cache in (keys, values)
        )
        return functional.scaled_dot_product_attention(q, all_keys, all_values, mask)


def arguments(position: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(position)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator).to(dtype)

    mask = (torch.arange(KEYS) <= position).expand(BATCH, 1, 1, KEYS).contiguous()
    cache = [normal(BATCH, KV_HEADS, KEYS, SIZE) for _ in range(2)]
    q, k = normal(BATCH, HEADS, 1, SIZE), normal(BATCH, KV_HEADS, 1, SIZE)
    return q, k, mask, torch.tensor([position]), *cache


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_step_with_a_cache_is_made_of_kernels(
    dtype: torch.dtype, grouped: bool, indexed: bool
) -> None:
    program = export_model(Step(grouped, indexed), arguments(5, dtype), None)
    name = "f32" if dtype == torch.float32 else "bf16"
    attention = f"bool_masked_attention_{name}_{SIZE}"
    patterns = [item for item in torch_patterns.attention if item.item.name == attention]
    found = replaced_in_torch(program, (), [torch_patterns.write_cache, patterns])
    assert [item.kernel for item in found] == [*[f"write_cache_{name}"] * 2, attention]


def test_a_cache_is_filled_step_by_step_where_it_is() -> None:
    step = Step().eval()
    module = cd.torch.compile(step, arguments(0), ["cpu"], replace=torch_patterns.write_cache)
    program = cd.load(module, "cpu")
    *_, keys, values = arguments(0)
    here: list[Any] = [program.to_device(cache.clone()) for cache in (keys, values)]
    for position in range(3):
        new = arguments(position)[:4]
        wanted = step(*new, keys, values)
        found = torch.from_dlpack(program.main(*map(program.to_device, new), *here))
        torch.testing.assert_close(found, wanted)
    for cache, wanted in zip(here, (keys, values), strict=True):
        torch.testing.assert_close(torch.from_dlpack(cache), wanted, rtol=0, atol=0)


PAGES = [("f16", "bshd", "f8E4M3FN"), ("bf16", "bhsd", "f8E5M2"), ("f16", "bhsd", "")]


@pytest.fixture(scope="module")
def into_pages() -> Shipped:
    return Shipped([write_cache.declare_pages(*form) for form in PAGES])


@pytest.mark.parametrize(("dtype", "layout", "stored"), PAGES)
def test_tokens_are_written_at_their_slots(
    into_pages: Shipped, random: Random, dtype: str, layout: str, stored: str
) -> None:
    """Slots outside of the pages are dropped, and numbers beyond 8 bits are the largest there."""
    kind = F8[stored] if stored else DTYPES[dtype]
    name = write_cache.declare_pages(dtype, layout, stored).name
    for heads, page_size, dim in ((1, 1, 1), (3, 5, 7), (2, 16, 64)):
        shape = (7, *((heads, page_size) if layout == "bhsd" else (page_size, heads)), dim)
        cache = random.standard_normal(shape).astype(kind)
        slots = random.permutation(7 * page_size + 4)[: 4 * page_size] - 2
        fresh = (100 * random.standard_normal((len(slots), heads, dim))).astype(DTYPES[dtype])
        fresh.flat[:3] = (np.inf, -np.inf, np.nan)[: fresh.size]
        factors = random.uniform(0.01, 4, 1 if heads == 2 else heads).astype(np.float32)
        scales = [factors] if stored else []
        got, want = into_pages.both(name, cache, fresh, slots.astype(np.int64), *scales)
        np.testing.assert_array_equal(got.astype(np.float32), want.astype(np.float32))
