"""Block and grid: CUDA's limits hold when a kernel is declared, not when it is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hostile_values import HUGE, NOT_INTEGERS

import custom_dispatch as cd
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.geometry import max_block_registers, max_shared_bytes
from custom_dispatch.kernel.target import KNOWN_COMPUTE_CAPABILITIES

Declare = Callable[..., cd.Kernel]
n = cd.dim("n")


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (64, (64, 1, 1)),
        ([32, 8], (32, 8, 1)),
        ((16, 8, 8), (16, 8, 8)),
        (numpy.int32(64), (64, 1, 1)),
        ((numpy.int64(32), 2), (32, 2, 1)),
        (1024, (1024, 1, 1)),
    ],
)
def test_a_block_is_one_to_three_integers(declare: Declare, block: Any, wanted: Any) -> None:
    found = declare(block=block).block
    assert found == wanted
    assert all(type(size) is int for size in found)


@pytest.mark.parametrize("block", [*NOT_INTEGERS, (), (1, 1, 1, 1), (n,), n, [None], ["64"]])
def test_a_block_that_is_none_is_refused(declare: Declare, block: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(block=block)
    assert caught.value.found.startswith("Kernel `scale`: block is given as ")
    assert caught.value.expected == "one to three integers, such as (256, 1, 1)"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (0, "block.x is 0"),
        (1025, "block.x is 1025"),
        ((1, -1), "block.y is -1"),
        ((1, 1, 65), "block.z is 65"),
        ((32, 32, 2), "block (32, 32, 2) has 2048 threads"),
        (10**5000, "block.x is a value of type int"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_block_over_cudas_limits_is_refused(declare: Declare, block: Any, said: str) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(block=block)
    assert caught.value.found == f"Kernel `scale`: {said}."
    assert "CUDA's limit" in caught.value.expected


def test_a_grid_is_one_to_three_expressions(declare: Declare) -> None:
    assert list(map(str, declare(grid=n).grid)) == ["n", "1", "1"]
    assert list(map(str, declare(grid=[7, n + 1]).grid)) == ["7", "n + 1", "1"]
    assert list(map(str, declare(grid=numpy.int64(3)).grid)) == ["3", "1", "1"]
    assert str(declare(grid=cd.compute_capability).grid[0]) == "compute_capability"


@pytest.mark.parametrize("grid", [*NOT_INTEGERS, (), (1, 1, 1, 1), n > 1])
def test_a_grid_that_is_none_is_refused(declare: Declare, grid: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(grid=grid)
    assert caught.value.found.startswith("Kernel `scale`: grid is given as ")
    assert "cd.ceildiv(n, 64)" in caught.value.expected


@pytest.mark.parametrize("size", [None, "64", 1.5, True, n > 1])
def test_a_size_of_the_grid_that_is_none_is_refused(declare: Declare, size: Any) -> None:
    with pytest.raises(DeclarationError, match="Kernel `scale`: a size of grid is given as"):
        declare(grid=(n, size))


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        (0, "grid.x is 0."),
        (2**31, f"grid.x is {2**31}."),
        ((1, 65536), "grid.y is 65536."),
        ((1, 1, cd.maximum(65536, 1)), "grid.z is 65536."),
    ],
)
def test_a_constant_grid_over_cudas_limits_is_refused(
    declare: Declare, grid: Any, said: str
) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(grid=grid)
    assert caught.value.found == f"Kernel `scale`: {said}"
    assert "CUDA's limits" in caught.value.expected


@pytest.mark.parametrize(
    "size",
    [*NOT_INTEGERS, *HUGE.values(), 227 * 1024 + 1, n],
    ids=lambda value: type(value).__name__,
)
def test_dynamic_shared_memory_that_no_gpu_has_is_refused(declare: Declare, size: Any) -> None:
    with pytest.raises(DeclarationError) as caught:
        declare(dynamic_shared_memory=size)
    assert caught.value.found.startswith("Kernel `scale`: dynamic_shared_memory is ")
    assert caught.value.expected.startswith("a number of bytes from 0 to 232448")


def test_a_block_over_the_declared_launch_bounds_is_refused(declare: Declare) -> None:
    assert declare(launch_bounds=numpy.int64(64)).launch_bounds == 64
    with pytest.raises(DeclarationError) as caught:
        declare(launch_bounds=32)
    assert caught.value.found == (
        "Kernel `scale`: block (64, 1, 1) has 64 threads, launch_bounds allows 32."
    )


@pytest.mark.parametrize(
    "bound",
    [*(value for value in NOT_INTEGERS if value is not None), *HUGE.values(), 0, 2000],
    ids=lambda value: type(value).__name__,
)
def test_launch_bounds_that_are_none_are_refused(declare: Declare, bound: Any) -> None:
    with pytest.raises(DeclarationError, match="Kernel `scale`: launch_bounds is "):
        declare(launch_bounds=bound)


def test_every_architecture_has_its_limits() -> None:
    for capability in KNOWN_COMPUTE_CAPABILITIES:
        assert 48 * 1024 <= max_shared_bytes(capability) <= 227 * 1024
        assert max_block_registers(capability) in (32 * 1024, 64 * 1024)
    assert max_shared_bytes(80) == 163 * 1024
    assert max_shared_bytes(90) == 227 * 1024
