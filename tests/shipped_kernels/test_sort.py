"""Sorted rows, on the CPU, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from shipped import DTYPES

from cuda_kernels import moe
from cuda_kernels.moe import sort

Random = np.random.Generator
SHAPES = ((1,), (5, 7), (2, 3, 33), (300,), (4, 128), (2, 0))
TYPES = {**DTYPES, "i32": np.int32, "i64": np.int64}


def elements(random: Random, kind: str, shape: tuple[int, ...]) -> Any:
    """With several of the same, and of floats NaN, infinity and both zeros."""
    if kind.startswith("i"):
        found = random.integers(-5, 9, shape).astype(TYPES[kind])
        if found.size:
            found.flat[0] = np.iinfo(TYPES[kind]).min
        return found
    found = np.round(random.standard_normal(shape) * 3).astype(TYPES[kind])
    for place, value in enumerate((0.0, -0.0, np.nan, -np.inf, np.inf, np.nan)):
        if place < found.size:
            found.flat[place] = value
    return found


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        pytest.param(
            kind,
            own,
            id=f"{kind}-{'what gpus run' if own else 'cpus'}",
            marks=[] if (kind, own) in (("f32", True), ("i64", False)) else pytest.mark.thorough,
        )
        for kind in ("f32", "i64", "bf16", "i32")
        for own in (False, True)
    ],
)
def test_sorts_are_stable_and_have_nan_last(random: Random, kind: str, own: bool) -> None:
    kernel = sort.declare(kind, 128)
    reference, call = kernel.reference, (kernel.own if own else kernel).on("cpu")
    assert reference is not None
    for shape in SHAPES:
        for descending in (False, True):
            x = elements(random, kind, shape)
            values, indices = map(np.asarray, call(x, descending))
            wide = torch.from_numpy(x if kind.startswith("i") else x.astype(np.float32))
            want, places = torch.sort(wide, dim=-1, descending=descending, stable=True)
            np.testing.assert_array_equal(indices, places.numpy())
            np.testing.assert_array_equal(reference(x, descending)[1], places.numpy())
            found = values.view(TYPES[kind]).astype(np.float64)
            np.testing.assert_array_equal(found, want.double().numpy())


def test_long_rows_have_more_threads() -> None:
    taken = [moe.sort_i64.which(target="cuda:sm_80", batch=1, n=n).kernel for n in (128, 8192)]
    assert taken == ["sort_i64_128", "sort_i64_1024"]
