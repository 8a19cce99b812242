"""Attention of heads of any size against its reference, on the CPU.

From the PTX for sm_80, with smaller tiles than the declared kernels where there are some; and what
CPUs run in their place.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close, unaligned

import custom_dispatch as cd
from cuda_kernels import attention
from cuda_kernels.attention.decode import Decode, decode
from cuda_kernels.attention.decode_cache import decode_cache
from cuda_kernels.attention.head_sizes import UP_TO, UpTo
from cuda_kernels.attention.names import PREFIXES
from cuda_kernels.attention.prefill import Prefill, Tiles, WarpgroupTiles, prefill
from cuda_kernels.attention.signature import attend_cache
from cuda_kernels.attention.simt import declare
from custom_dispatch.errors import CallError

Random = np.random.Generator

SMALLEST, ODD_PARTS, MLA, LARGEST = UP_TO[0], UP_TO[1], UpTo(192, 128), UP_TO[-1]
SMALL = Prefill(Tiles(16, 2, 1, 1), WarpgroupTiles(64, 2, 2))
# By the tiles: sizes of queries and keys, and of values.
HEADS = {
    SMALLEST: ((8, 8), (40, 40), (64, 24), (33, 7)),
    ODD_PARTS: ((72, 72), (80, 80), (96, 96), (96, 64), (90, 83)),
    MLA: ((192, 128), (160, 100), (136, 128)),
    LARGEST: ((256, 256), (160, 160), (100, 100), (208, 256), (12, 201)),
}
MASKS = {SMALLEST: "bool", ODD_PARTS: "keys", MLA: "keys", LARGEST: "queries"}
# Batch, heads, heads of keys, queries, keys: alone, grouped, whole tiles, few keys, many.
SIZES = ((1, 1, 1, 1, 1), (2, 4, 2, 35, 50), (1, 2, 1, 32, 32), (1, 2, 2, 33, 7), (1, 1, 1, 5, 90))
FEW = ((1, 1, 1, 1, 1), (2, 8, 2, 1, 70), (2, 4, 2, 7, 65))
FORMS = [pytest.param("gpu", marks=pytest.mark.thorough), "cpu"]


def compiled(form: str, *kernels: cd.Kernel) -> Shipped:
    return Shipped([item.own if form == "gpu" else item for item in kernels])


Many = tuple[Shipped, list[UpTo]]


@pytest.fixture(
    scope="module",
    params=[
        ("gpu", (ODD_PARTS,)),
        pytest.param(("gpu", tuple(MASKS)), marks=pytest.mark.thorough),
        ("cpu", (ODD_PARTS, LARGEST)),
        pytest.param(("cpu", tuple(MASKS)), marks=pytest.mark.thorough),
    ],
    ids=["gpu", "gpu, every head", "cpu", "cpu, every head"],
)
def many(request: pytest.FixtureRequest) -> Many:
    form, heads = request.param
    kernels = [prefill("f16", head, MASKS[head], form=SMALL) for head in heads]
    return compiled(form, *kernels), [*heads]


Few = tuple[Shipped, tuple[UpTo, ...], tuple[UpTo, ...]]


@pytest.fixture(
    scope="module",
    params=[
        ("cpu", (ODD_PARTS,), (LARGEST,)),
        *(
            pytest.param((form, (ODD_PARTS, MLA), (SMALLEST, LARGEST)), marks=pytest.mark.thorough)
            for form in ("gpu", "cpu")
        ),
    ],
    ids=["cpu", "gpu, more heads", "cpu, more heads"],
)
def few(request: pytest.FixtureRequest) -> Few:
    """Kernels, their heads, and those of the ones that read a cache."""
    form, heads, of_caches = request.param
    kernels = [decode("bf16", head, "keys", Decode(16, 1)) for head in heads]
    caches = [decode_cache("bf16", head, Decode(64, 1)) for head in of_caches]
    return compiled(form, *kernels, *caches), heads, of_caches


@pytest.fixture(scope="module", params=FORMS)
def without_tensor_cores(request: pytest.FixtureRequest) -> Shipped:
    return compiled(request.param, declare("f32", ODD_PARTS), declare("f32", LARGEST, "queries"))


def operands(random: Random, kind: str, of: tuple[int, int], size: tuple[int, ...]) -> list[Any]:
    batch, heads, kv_heads, queries, keys = size
    shapes = (
        (batch, heads, queries, of[0]),
        (batch, kv_heads, keys, of[0]),
        (batch, kv_heads, keys, of[1]),
    )
    return [random.standard_normal(shape).astype(DTYPES[kind]) for shape in shapes]


def mask(random: Random, kind: str, form: str, size: tuple[int, ...]) -> Any:
    batch, _, _, queries, keys = size
    hidden = random.random((batch, 1, 1 if form == "keys" else queries, keys)) < 1 / 3
    if form == "bool":
        return ~hidden
    numbers = np.where(hidden, -np.inf, random.standard_normal(hidden.shape))
    return numbers.astype(DTYPES[kind])


def check(shipped: Shipped, name: str, *arguments: Any) -> None:
    """Weights are rounded to 16 bits, too, so errors are relative to the values."""
    got, want = shipped.both(name, *arguments)
    assert_close(got, want, scale=max(1.0, np.abs(arguments[2].astype(float)).max() / 2))


@pytest.mark.parametrize("causal", [0, 1])
def test_many_queries(many: Many, random: Random, causal: int) -> None:
    shipped, heads = many
    for head in heads:
        form = MASKS[head]
        name = f"{PREFIXES[form]}prefill_attention_f16_{head.name}"
        for index, of in enumerate(HEADS[head]):
            for size in (SIZES[1], SIZES[(index + causal) % len(SIZES)]):
                q, k, v = operands(random, "f16", of, size)
                added = mask(random, "f16", form, size)
                check(shipped, name, q, k, v, added, of[0] ** -0.5, causal)


def test_few_queries(few: Few, random: Random) -> None:
    shipped, heads, _ = few
    for head in heads:
        for of in HEADS[head]:
            for size in FEW:
                q, k, v = operands(random, "bf16", of, size)
                none = np.zeros((size[0], 1, 1, 0), DTYPES["bf16"])
                check(shipped, f"decode_attention_bf16_{head.name}", q, k, v, none, 0.125, 1)


def test_a_cache_is_read_as_far_as_it_is_filled(few: Few, random: Random) -> None:
    """What lies behind it may be anything, also what lies behind a row's end: the next row."""
    shipped, _, heads = few
    for head in heads:
        for of in HEADS[head]:
            q, k, v = operands(random, "bf16", of, (4, 4, 2, 1, 65))
            lengths = np.array([65, 1, 17, 0], np.int32)
            for sequence, length in enumerate(lengths):
                k[sequence, :, length:] = np.nan
                v[sequence, :, length:] = np.inf
            got, _ = shipped.both(f"decode_cache_bf16_{head.name}", q, k, v, lengths, 0.125)
            clean = [np.nan_to_num(each.astype(np.float32), posinf=0.0) for each in (k, v)]
            kinds = [each.astype(DTYPES["bf16"]) for each in clean]
            assert_close(got, attend_cache(q, *kinds, lengths, 0.125), scale=2)
            assert not got[3].any()


@pytest.mark.parametrize("causal", [0, 1])
def test_without_tensor_cores(without_tensor_cores: Shipped, random: Random, causal: int) -> None:
    for name, form, head in (
        (f"attention_f32_{ODD_PARTS.name}", "keys", ODD_PARTS),
        (f"masked_attention_f32_{LARGEST.name}", "queries", LARGEST),
    ):
        for of in HEADS[head]:
            for size in (SIZES[1], SIZES[3]):
                q, k, v = operands(random, "f32", of, size)
                added = mask(random, "f32", form, size)
                without_tensor_cores.check(name, q, k, v, added, of[0] ** -0.5, causal)


def test_unaligned_views_and_a_nan_beside_what_is_seen(many: Many, random: Random) -> None:
    """Columns that pad a row are not of the next one."""
    shipped, _ = many
    name = f"prefill_attention_f16_{ODD_PARTS.name}"
    for of in HEADS[ODD_PARTS]:
        q, k, v = map(unaligned, operands(random, "f16", of, (1, 1, 1, 35, 50)))
        none = np.zeros((1, 1, 1, 0), np.float16)
        check(shipped, name, q, k, v, none, 0.1, 1)
        k[0, 0, 34] = np.nan
        got, want = shipped.both(name, q, k, v, none, 0.1, 1)
        assert np.isfinite(got[0, 0, :34].astype(np.float32)).all()
        assert_close(got, want, scale=2)


def test_a_call_takes_the_smallest_kernel_that_it_fits() -> None:
    """Smaller tiles are less work."""
    sizes = {"batch": 1, "heads": 8, "kv_heads": 8, "queries": 100, "keys": 100}
    for of, name in {
        (8, 8): "up_to_64",
        (64, 64): "up_to_64",
        (80, 80): "up_to_96",
        (96, 64): "up_to_96",
        (64, 128): "up_to_128",
        (192, 128): "up_to_192x128",
        (160, 160): "up_to_192",
        (200, 16): "up_to_256",
    }.items():
        which = attention.attention_bf16.which(dim=of[0], value_dim=of[1], **sizes)
        assert re.match(rf"prefill_attention_bf16_{name}_[bt]\d", which.kernel)
        in_f32 = attention.attention_f32.which(dim=of[0], value_dim=of[1], **sizes)
        assert in_f32.kernel == f"attention_f32_{name}"
    which = attention.attention_f16.which(dim=80, value_dim=80, **{**sizes, "queries": 1})
    assert which.kernel.startswith("decode_attention_f16_up_to_96_")


def test_larger_heads_are_refused(random: Random) -> None:
    q, k, v = operands(random, "f32", (257, 8), (1, 1, 1, 2, 2))
    with pytest.raises(CallError, match="dim <= 256"):
        attention.attention_f32(q, k, v, None, 1.0, False)
