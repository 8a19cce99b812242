"""Attention of sequences of different lengths behind each other, against its reference, on the CPU.

What CPUs run; thorough tests run the kernels for GPUs from sm_80 on as well, from their PTX.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close, unaligned

from cuda_kernels.attention.packed import HOPPER, packed

Random = np.random.Generator
SMALLEST, *_, LARGEST = HOPPER
# Queries and keys of each sequence: alike, fewer queries, fewer keys, none, more than a tile.
LENGTHS = ((5, 5), (3, 70), (66, 33), (0, 4), (7, 0), (1, 1), (65, 131))
WINDOWS = ((-1, -1), (-1, 0), (3, 0), (0, 0), (2, 1), (70, -1))


@pytest.fixture(scope="module", params=["cpu", pytest.param("gpu", marks=pytest.mark.thorough)])
def attention(request: pytest.FixtureRequest) -> Shipped:
    kernels = [packed("bf16", SMALLEST), packed("f32", LARGEST)]
    return Shipped([item.own if request.param == "gpu" else item for item in kernels])


def offsets(lengths: list[int]) -> Any:
    return np.array([0, *accumulate(lengths)], np.int32)


def operands(random: Random, kind: str, dims: tuple[int, int], behind: int = 0) -> list[Any]:
    """With `behind` rows that no sequence has."""
    at = [offsets([pair[which] for pair in LENGTHS]) for which in (0, 1)]
    rows, keys = (int(each[-1]) + behind for each in at)
    shapes = ((rows, 4, dims[0]), (keys, 2, dims[0]), (keys, 2, dims[1]))
    return [*(random.standard_normal(shape).astype(DTYPES[kind]) for shape in shapes), *at]


@pytest.mark.parametrize("window", WINDOWS)
def test_each_sequence_sees_its_own_keys_in_its_window(
    attention: Shipped, random: Random, window: tuple[int, int]
) -> None:
    for name, kind, dims in (
        (f"packed_attention_bf16_{SMALLEST.name}", "bf16", (40, 24)),
        (f"packed_attention_f32_{LARGEST.name}", "f32", (72, 101)),
    ):
        given = operands(random, kind, dims)
        got, want = attention.both(name, *given, 0.15, *window)
        assert_close(got, want, scale=1.0 if kind == "f32" else 2.0)
        none = slice(given[3][4], given[3][5])  # queries of a sequence without keys
        assert not got[none].any()


def test_rows_of_no_sequence_are_zeros_and_nobody_sees_them(
    attention: Shipped, random: Random
) -> None:
    given = operands(random, "bf16", (64, 64), behind=70)
    for array in given[:3]:
        array[-70:] = np.nan
    given[2][: given[4][1]] = np.inf  # nor another sequence's keys
    arguments = [*map(unaligned, given[:3]), *given[3:], 0.125, -1, 0]
    got, want = attention.both(f"packed_attention_bf16_{SMALLEST.name}", *arguments)
    assert_close(got, want, scale=2.0)
    assert np.isfinite(got[given[3][1] :].astype(np.float32)).all()
    assert not got[-70:].any()
