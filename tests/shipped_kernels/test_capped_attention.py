"""Attention with a soft cap of scores, sinks, and numbers of masks in tiles, on the CPU.

From the PTX for sm_80, with smaller tiles than the declared kernels; and what CPUs run instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close, unaligned

import custom_dispatch as cd
from cuda_kernels.attention.decode import Decode, decode
from cuda_kernels.attention.head_sizes import UP_TO, UpTo
from cuda_kernels.attention.mask_spans import spans_of
from cuda_kernels.attention.prefill import Prefill, Tiles, WarpgroupTiles, prefill
from cuda_kernels.attention.scores import capped
from cuda_kernels.attention.simt import declare

Random = np.random.Generator
Array = np.ndarray[Any, Any]
SMALLEST, MLA = UP_TO[0], UpTo(192, 128)
SMALL = Prefill(Tiles(32, 2, 1, 1), WarpgroupTiles(64, 2, 2))
OF_SCORES = ((0.0, True), (2.0, True), (1.5, False), (-1.5, True))
"""A soft cap, and whether there are sinks."""


def compiled(form: str, *kernels: cd.Kernel) -> Shipped:
    return Shipped([item.own if form == "gpu" else item for item in kernels])


MANY: tuple[tuple[cd.Kernel, str, str, tuple[int, int]], ...] = (
    (
        prefill("f16", SMALLEST, "queries", form=SMALL, scores=capped("f16")),
        "f16",
        "queries",
        (40, 24),
    ),
    (
        prefill("bf16", SMALLEST, "bool", form=SMALL, scores=capped("bf16")),
        "bf16",
        "bool",
        (64, 64),
    ),
    (prefill("bf16", MLA, "keys", form=SMALL, scores=capped("bf16")), "bf16", "keys", (96, 33)),
)
OTHERS = (
    (declare("f32", UP_TO[1], "queries", scores=capped("f32")), "f32", "queries", (80, 72)),
    (
        decode("bf16", SMALLEST, "bool", Decode(16, 1), scores=capped("bf16")),
        "bf16",
        "bool",
        (64, 40),
    ),
    (
        decode("f16", MLA, "queries", Decode(16, 1), scores=capped("f16")),
        "f16",
        "queries",
        (72, 72),
    ),
)


def each_form(cases: tuple[Any, ...], quick: dict[str, int]) -> Any:
    """Each with the PTX and as CPUs run it; all but these are thorough."""
    return pytest.mark.parametrize(
        ("form", "case"),
        [
            pytest.param(
                form,
                case,
                id=f"{case[0].name}-{form}",
                marks=[] if quick.get(form) == number else [pytest.mark.thorough],
            )
            for form in ("gpu", "cpu")
            for number, case in enumerate(cases)
        ],
    )


def operands(random: Random, kind: str, size: tuple[int, ...], dims: tuple[int, int]) -> list[Any]:
    batch, heads, kv_heads, queries, keys = size
    shapes = ((batch, heads, queries), (batch, kv_heads, keys), (batch, kv_heads, keys))
    found = [
        random.standard_normal((*shape, dim))
        for shape, dim in zip(shapes, (*dims[:1], *dims), strict=True)
    ]
    factor = 1.0 if kind == "f32" else 2.0  # exponentials of larger scores are less exact
    return [each.astype(DTYPES[kind]) for each in (factor * found[0], *found[1:])]


def mask(random: Random, kind: str, form: str, size: tuple[int, ...]) -> Array:
    """Of each head, with rows that see nothing and some that see all."""
    batch, heads, _, queries, keys = size
    if form == "keys":
        return np.zeros((batch, 1, 1, 0), DTYPES[kind])
    shown = random.random((batch, heads, queries, keys)) < 0.7
    shown[..., :1, :] = False
    shown[..., 1:2, :] = True
    numbers = np.where(shown, 2 * random.standard_normal(shown.shape), -np.inf)
    return shown if form == "bool" else numbers.astype(DTYPES[kind])


def check(shipped: Shipped, random: Random, case: tuple[Any, ...], size: tuple[int, ...]) -> None:
    kernel, kind, form, dims = case
    q, k, v = operands(random, kind, size, dims)
    added = mask(random, kind, form, size)
    sinks = (2 * random.standard_normal(size[1])).astype(DTYPES[kind])
    for softcap, has_sinks in OF_SCORES:
        for spans in ([spans_of(added)] if added.size else []) + [np.zeros(0, np.int32)]:
            last = (sinks,) if has_sinks else ()
            causal = int(softcap < 0)
            got, want = shipped.both(
                kernel.name, q, k, v, added, 0.3, causal, spans, softcap, *last
            )
            assert_close(got, want, scale=2)
    if form == "queries":  # one row for all queries
        row = np.ascontiguousarray(added[:1, :, -1:])
        got, want = shipped.both(kernel.name, q, k, v, row, 0.3, 0, np.zeros(0, np.int32), 0.0)
        assert_close(got, want, scale=2)


@each_form(MANY, {"gpu": 0})
def test_many_queries(random: Random, form: str, case: tuple[Any, ...]) -> None:
    shipped = compiled(form, case[0])
    for size in ((2, 4, 2, 35, 50), (1, 2, 2, 70, 72), (1, 2, 1, 3, 5)):
        check(shipped, random, case, size)


@each_form(OTHERS, {"cpu": 0})
def test_few_queries_and_without_tensor_cores(
    random: Random, form: str, case: tuple[Any, ...]
) -> None:
    check(compiled(form, case[0]), random, case, (2, 8, 4, 3, 70))


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["gpu", "cpu"])
def test_numbers_of_a_mask_in_tiles(random: Random, form: str) -> None:
    """Of each head or all, each query or all; of rows at any address; the lowest stays finite."""
    shipped = compiled(form, prefill("bf16", 64, "queries", form=SMALL))
    for sizes, keys in (((2, 4, 70), 72), ((1, 4, 70), 75), ((2, 1, 1), 72), ((1, 4, 1), 33)):
        q, k, v = operands(random, "bf16", (2, 4, 2, 70, keys), (64, 64))
        added = random.standard_normal((*sizes, keys)).astype(DTYPES["bf16"])
        added[..., :9] = -np.inf
        added[0, 0, 0] = np.float32(-3.3895314e38)
        for each in (added, unaligned(added)):
            for spans in (spans_of(each), np.zeros(0, np.int32)):
                given = (q, k, v, each, 0.125, 0, spans)
                got, want = shipped.both("masked_prefill_attention_bf16_64", *given)
                assert_close(got, want, scale=2)


@pytest.mark.thorough
def test_nan_of_a_query_a_key_or_a_mask_is_one_of_the_result(random: Random) -> None:
    shipped = compiled("gpu", prefill("bf16", 64, "queries", form=SMALL))
    q, k, v = operands(random, "bf16", (1, 2, 1, 20, 33), (64, 64))
    added = random.standard_normal((1, 2, 20, 33)).astype(DTYPES["bf16"])
    q[0, 0, 3, 5] = k[0, 0, 7, 9] = np.nan
    added[0, :, 10:, 7] = -np.inf  # which PyTorch adds to NaN, too
    added[0, 1, 11, 30] = np.nan
    for each in (added, unaligned(added)):
        given = (q, k, v, each, 0.125, 0, np.zeros(0, np.int32))
        got, want = shipped.both("masked_prefill_attention_bf16_64", *given)
        assert np.isnan(want.astype(np.float32)).all()
        assert_close(got, want, scale=2)


def test_a_sink_takes_all_where_scores_are_far_below() -> None:
    """Without infinities in between; and no NaN where nothing is seen."""
    kernel, *_ = OTHERS[0]
    q, k = np.ones((1, 2, 1, 8), np.float32), np.ones((1, 2, 3, 8), np.float32)
    mask = np.zeros((1, 1, 1, 3), np.float32)
    sinks = np.array([3e38, -np.inf], np.float32)
    got = kernel(q, k, k, mask, 0.1, 0, np.zeros(0, np.int32), 0.0, sinks)
    np.testing.assert_allclose(np.asarray(got)[0, :, 0], [[0.0] * 8, [1.0] * 8], rtol=1e-5)
    hidden = kernel(q, k, k, mask - np.inf, 0.1, 0, np.zeros(0, np.int32), 0.0, sinks)
    assert not np.asarray(hidden).any()
