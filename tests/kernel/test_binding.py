"""Sizes at a call: read from the inputs once, and compared everywhere else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import custom_dispatch as cd
from custom_dispatch.errors import CallError, DeclarationError
from custom_dispatch.kernel.binding import (
    bind_dims,
    bind_shapes,
    grid_for,
    output_shapes,
)
from custom_dispatch.kernel.shapes import unfolded

Declare = Callable[..., cd.Kernel]
n, m = cd.dim("n"), cd.dim("m")


@pytest.fixture
def kernel(declare: Declare) -> cd.Kernel:
    return declare(
        operands=[
            cd.In("a", "f32", [n, m]),
            cd.In("b", "f32", [m, 4]),
            cd.In("c", "f32", [n * 2 - m]),
            cd.Out("y", "f32", [n, 4]),
        ],
        grid=(cd.ceildiv(n, 16), m),
    )


SHAPES: dict[str, tuple[int, ...]] = {"a": (8, 3), "b": (3, 4), "c": (13,)}


def test_dims_are_read_from_the_inputs(kernel: cd.Kernel) -> None:
    dims = bind_dims(kernel, SHAPES)
    assert dims == {"n": 8, "m": 3}
    assert output_shapes(kernel, dims) == {"y": (8, 4)}
    assert grid_for(kernel, dims) == (1, 3, 1)


@pytest.mark.parametrize(
    ("changes", "found", "expected"),
    [
        (
            {"b": (5, 4)},
            "`a`.shape[1] and `b`.shape[0] disagree on dim m: 3 and 5.",
            "sizes that agree: a[n, m], b[m, 4], c[(n * 2) - m], y[n, 4]",
        ),
        ({"a": (8,)}, "operand `a` has shape [8], which is rank 1.", "rank 2: [n, m]"),
        ({"b": (3, 5)}, "operand `b` has size 5 in dimension 1.", "4"),
        (
            {"c": (12,)},
            "operand `c` has size 12 in dimension 0.",
            "(n * 2) - m = 13 for n = 8, m = 3",
        ),
        (
            {"a": (1, 3)},
            "operand `c` has no size in dimension 0: (n * 2) - m is -1 for n = 1, m = 3.",
            "",
        ),
    ],
)
def test_sizes_that_do_not_fit_name_operands_and_values(
    kernel: cd.Kernel, changes: Any, found: str, expected: str
) -> None:
    with pytest.raises(CallError) as caught:
        bind_dims(kernel, SHAPES | changes)
    assert caught.value.found == f"Kernel `scale`: {found}"
    if expected:
        assert caught.value.expected == expected


def test_a_grid_over_cudas_limit_is_refused(kernel: cd.Kernel) -> None:
    with pytest.raises(CallError) as caught:
        grid_for(kernel, {"n": 8, "m": 70_000})
    assert caught.value.found == "Kernel `scale`: grid.y = m is 70000 for m = 70000."
    assert caught.value.expected == "at most 65535, CUDA's limit for y"


@given(st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))
def test_a_grid_is_within_cudas_limits_or_refused(rows: int, columns: int) -> None:
    wide = cd.Kernel(
        "wide",
        source="wide.cu",
        operands=[cd.InOut("x", "f32", [n, m])],
        block=64,
        grid=(cd.ceildiv(n * m, 64), cd.ceildiv(m, 256), n // 1024),
    )
    try:
        grid = grid_for(wide, {"n": rows, "m": columns})
    except (CallError, DeclarationError):
        return
    assert grid == (-(-rows * columns // 64), -(-columns // 256), rows // 1024)
    assert grid[0] < 2**31
    assert max(grid[1:]) < 2**16


def _with_leading_dims() -> cd.Kernel:
    return cd.Kernel(
        "rows",
        source="rows.cu",
        operands=[
            cd.In("x", "f32", [..., n, 4]),
            cd.In("bias", "f32", [...], optional=True),
            cd.In("weights", "f32", [cd.batch]),
            cd.Out("y", "f32", [..., n]),
        ],
        block=64,
        grid=cd.batch,
    )


@pytest.mark.parametrize("leading", [(), (6,), (2, 3), (1, 6, 1), (0, 5)])
def test_leading_dims_are_one(leading: tuple[int, ...]) -> None:
    kernel = _with_leading_dims()
    count = math.prod(leading)
    shapes = {"x": (*leading, 8, 4), "bias": (0,), "weights": (count,)}
    dims = bind_dims(kernel, shapes)
    assert dims == {"batch": count, "n": 8}
    assert output_shapes(kernel, dims) == {"y": (count, 8)}
    assert bind_shapes(kernel, shapes).leading == leading
    (y,) = kernel.outputs
    assert unfolded(y, (count, 8), leading) == (*leading, 8)


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"x": (8,)}, "operand `x` has shape [8], which is rank 1."),
        ({"x": (2, 3, 8, 5)}, "operand `x` has size 5 in dimension 3."),
        (
            {"bias": (3, 2)},
            "`x`.shape[0] and `bias`.shape[0] disagree, which are leading dims: 2 and 3.",
        ),
        (
            {"weights": (5,)},
            "the product of `x`.shape[:2] and `weights`.shape[0] disagree on dim batch: 6 and 5.",
        ),
    ],
)
def test_leading_dims_that_do_not_fit_are_named(changes: Any, found: str) -> None:
    shapes = {"x": (2, 3, 8, 4), "bias": (2, 3), "weights": (6,)}
    with pytest.raises(CallError) as caught:
        bind_dims(_with_leading_dims(), shapes | changes)
    assert caught.value.found.startswith(f"Kernel `rows`: {found}")
