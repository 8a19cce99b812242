"""Results written into arrays that the caller gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from foreign_arrays import Foreign, aligned
from sample_kernels import samples

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul, simple_mul_inplace
from custom_dispatch.errors import CallError


@pytest.fixture(scope="module", params=[True, False], ids=["into", "copied"])
def program(request: pytest.FixtureRequest) -> cd.Program:
    """With and without functions that write into buffers they are given."""
    kernels = [simple_mul, simple_mul_inplace, samples.sum_and_difference]
    return cd.load(cd.compile(None, kernels, ["cpu"], asynchronous=request.param), "cpu")


A, B = aligned(33), aligned(33) + 2


def test_a_numpy_array_is_filled(program: cd.Program) -> None:
    out = np.full(33, np.nan, np.float32)
    assert program.simple_mul(A, B, out=out) is out
    np.testing.assert_array_equal(out, A * B)
    strided = np.full(66, np.nan, np.float32)[::2]
    program.simple_mul(A, B, out=strided)
    np.testing.assert_array_equal(strided, A * B)


def test_an_array_on_the_device_is_filled(program: cd.Program) -> None:
    out = program.to_device(np.full(33, np.nan, np.float32))
    assert program.simple_mul(A, B, out=out) is out
    np.testing.assert_array_equal(out.to_host(), A * B)


@pytest.mark.parametrize("offset", [0, 4])
def test_another_librarys_array_is_filled(program: cd.Program, offset: int) -> None:
    memory = aligned(33, offset)
    memory[:] = np.nan
    out = Foreign(memory)
    assert program.simple_mul(A, B, out=out) is out
    np.testing.assert_array_equal(memory, A * B)


def test_an_update_in_place_is_one(program: cd.Program) -> None:
    memory = aligned(33)
    memory[:] = B
    both = Foreign(memory)
    program.simple_mul_inplace(A, both, out=both)
    np.testing.assert_array_equal(memory, A * B)
    there = program.to_device(B)
    program.simple_mul_inplace(A, there, out=there)
    np.testing.assert_array_equal(there.to_host(), A * B)


def test_an_update_goes_elsewhere_if_it_is_told_to(program: cd.Program) -> None:
    operand = program.to_device(B)
    out = program.to_device(np.full(33, np.nan, np.float32))
    program.simple_mul_inplace(A, operand, out=out)
    np.testing.assert_array_equal(out.to_host(), A * B)
    np.testing.assert_array_equal(operand.to_host(), B)
    host = np.full(33, np.nan, np.float32)
    program.simple_mul_inplace(A, B, out=host)
    np.testing.assert_array_equal(host, A * B)


def test_several_results_are_a_tuple(program: cd.Program) -> None:
    pairs = aligned(20).reshape(10, 2)
    sums, differences = np.empty(10, np.float32), program.to_device(np.empty(10, np.float32))
    assert program.sum_and_difference(pairs, out=(sums, differences)) == (sums, differences)
    np.testing.assert_array_equal(sums, pairs[:, 0] + pairs[:, 1])
    np.testing.assert_array_equal(differences.to_host(), pairs[:, 0] - pairs[:, 1])


def test_nothing_is_written_for_empty_arrays(program: cd.Program) -> None:
    empty = program.to_device(A[:0])
    assert program.simple_mul(empty, empty, out=empty) is empty


WRONG: dict[str, tuple[Any, Any, str]] = {
    "size": (lambda p: p.to_device(A[:5]), None, ""),
    "host size": (lambda p: A[:5].copy(), None, "`out` has shape [5], and the result [33]"),
    "dtype": (lambda p: A.astype(np.float64), None, "`out` of `simple_mul` has dtype float64"),
    "rank": (lambda p: A.reshape(3, 11), None, "`out` of `simple_mul` has shape [3, 11]"),
    "number": (lambda p: (A, A), None, "`simple_mul` is given 2 arrays to write into"),
    "read-only": (lambda p: np.broadcast_to(A, (33,)), None, "`out` of `simple_mul` cannot be"),
    "kind": (lambda p: 7, None, "`out` of `simple_mul` is int"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_fit_is_refused(program: cd.Program, what: str) -> None:
    make, _, message = WRONG[what]
    with pytest.raises(CallError) as caught:
        program.simple_mul(A, B, out=make(program))
    assert message in str(caught.value)


def test_a_kernel_called_at_once_writes_too() -> None:
    out = np.full(33, np.nan, np.float32)
    assert simple_mul.on("cpu")(A, B, out=out) is out
    np.testing.assert_array_equal(out, A * B)
    memory = aligned(33)
    memory[:] = B
    both = Foreign(memory)
    simple_mul_inplace.on("cpu")(A, both, out=both)
    np.testing.assert_array_equal(memory, A * B)
