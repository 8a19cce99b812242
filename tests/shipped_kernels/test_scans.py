"""Scans of state-space models and of the delta rule, on the CPU, beside their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, assert_close

from cuda_kernels import recurrence
from cuda_kernels.recurrence import selective_scan
from custom_dispatch.errors import CustomDispatchError

Random = np.random.Generator
SIZES = (
    # batch, length, heads, elements, groups, states, and whether there is a rate for each state
    (2, 37, 6, 3, 2, 16, False),
    (1, 33, 40, 1, 1, 5, True),
    (3, 1, 4, 20, 4, 13, False),
    (2, 5, 3, 1, 1, 1, True),
)
QUICK = (("f32", True, False), ("bf16", False, False), ("f32", False, True))
FORMS = [
    pytest.param(
        *form, id="-".join(map(str, form)), marks=[] if form in QUICK else [pytest.mark.thorough]
    )
    for kind in DTYPES
    for form in ((kind, own, is_delta) for own in (False, True) for is_delta in (False, True))
]


def operands(random: Random, kind: str, size: Any, *, is_delta: bool, has_all: bool) -> list[Any]:
    batch, length, heads, elements, groups, states, by_state = size
    of_time = (batch, length)
    plain = int(length == 1)

    def wide(*shape: int) -> Any:
        return random.standard_normal(shape).astype(np.float32)

    dt = np.abs(wide(*of_time, heads))
    b = wide(*of_time, groups, states)
    b /= np.sqrt((b * b).sum(-1, keepdims=True))
    return [
        wide(*of_time, heads, elements).astype(DTYPES[kind]),
        1 / (1 + dt) if plain else dt,
        -np.abs(wide(heads, states if by_state else 1)),
        b.astype(DTYPES[kind]),
        wide(*of_time, groups, states).astype(DTYPES[kind]),
        wide(heads) if has_all else None,
        wide(*of_time, heads, elements).astype(DTYPES[kind]) if has_all else None,
        *([1 / (1 + np.abs(wide(*of_time, heads)))] if is_delta else []),
        wide(batch, heads, elements, states) if has_all else None,
        int(has_all and not plain),
        plain,
    ]


@pytest.mark.parametrize(("kind", "own", "is_delta"), FORMS)
def test_scans_are_their_steps(random: Random, kind: str, own: bool, is_delta: bool) -> None:
    """`own` is what GPUs run."""
    kernel = selective_scan.declare(kind, selective_scan.TILES[1], is_delta=is_delta)
    reference, call = kernel.reference, (kernel.own if own else kernel).on("cpu")
    assert reference is not None
    for size in SIZES:
        for has_all in (False, True):
            given = operands(random, kind, size, is_delta=is_delta, has_all=has_all)
            y, last = map(np.asarray, call(*given))
            wanted, wanted_last = reference(*given)
            # The kernel's sums and exponentials are of f32.
            assert_close(y.view(DTYPES[kind]), wanted, 8.0)
            np.testing.assert_allclose(last, wanted_last, rtol=2e-5, atol=2e-5)


@pytest.mark.thorough
@pytest.mark.parametrize("tile", [*selective_scan.TILES, None])
def test_other_numbers_of_states_have_other_tiles(random: Random, tile: Any) -> None:
    kernel = selective_scan.declare("f32", tile)
    states = 300 if tile is None else tile.states
    for by_state in (False, True):
        given = operands(
            random, "f32", (1, 19, 5, 7, 1, states, by_state), is_delta=False, has_all=True
        )
        y, last = map(np.asarray, kernel.own.on("cpu")(*given))
        wanted, wanted_last = kernel.reference(*given)
        assert_close(y, wanted, 8.0)
        np.testing.assert_allclose(last, wanted_last, rtol=2e-5, atol=2e-5)


def test_scans_have_tiles_for_their_states() -> None:
    sizes = {"batch": 1, "length": 9, "heads": 4, "elements": 1, "groups": 1, "rates": 1}
    taken = [
        recurrence.selective_scan_bf16.which(target="cuda:sm_80", states=states, **sizes).kernel
        for states in (1, 16, 17, 128, 256, 257)
    ]
    ends = [name.rpartition("_")[2] for name in taken]
    assert ends == ["2", "16", "64", "128", "256", "any"]


@pytest.mark.parametrize("by_state", [False, True])
def test_states_may_decay_at_once(random: Random, by_state: bool) -> None:
    """A rate of minus infinity: what is left is of the last step, also where steps are padded."""
    kernel = selective_scan.declare("f32", selective_scan.TILES[1], is_delta=False)
    given = operands(random, "f32", (1, 5, 2, 3, 1, 16, by_state), is_delta=False, has_all=True)
    given[2][0, -1] = -np.inf
    assert kernel.reference is not None
    for found, wanted in zip(kernel.own.on("cpu")(*given), kernel.reference(*given), strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted, rtol=2e-5, atol=2e-5)


def test_heads_that_are_no_whole_groups_are_refused() -> None:
    x, dt = np.zeros((1, 2, 3, 1), np.float32), np.zeros((1, 2, 3), np.float32)
    a, b = np.zeros((3, 1), np.float32), np.zeros((1, 2, 2, 1), np.float32)
    with pytest.raises(CustomDispatchError, match="heads"):
        recurrence.selective_scan_f32(x, dt, a, b, b, None, None, None, 0, 0)
