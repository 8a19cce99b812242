"""Calling a kernel again: faster, and checked as the first call was."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy
import pytest
from sample_kernels import samples

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.eager import call as eager
from custom_dispatch.eager import prepared
from custom_dispatch.errors import CallError

N = 5
X = numpy.arange(N, dtype=numpy.float32)


def mul(*arguments: Any) -> Any:
    return simple_mul.on("cpu")(*arguments)


@pytest.fixture(autouse=True)
def called_before() -> None:
    for _ in range(2):
        assert (mul(X, X) == X * X).all()


def refusal(*arguments: Any) -> str:
    with pytest.raises(CallError) as caught:
        mul(*arguments)
    return str(caught.value)


BAD: list[tuple[Any, ...]] = [
    (X,),
    (X, X, X),
    (X, X[:3]),
    (X, X.astype("f8")),
    (X, X.astype(">f4")),
    (X, X.reshape(1, N)),
    (X, X.astype("i4")),
    (X, None),
    (X, [1.0] * N),
    (X, numpy.float32(1)),
]


@pytest.mark.parametrize("arguments", BAD, ids=range(len(BAD)))
def test_a_wrong_call_is_refused_as_the_first_would_be(arguments: tuple[Any, ...]) -> None:
    later = refusal(*arguments)
    eager._prepared.clear()
    assert refusal(*arguments) == later


def test_what_is_out_of_the_ordinary_goes_the_long_way_and_is_right() -> None:
    spread = numpy.arange(2 * N, dtype=numpy.float32)[::2]
    assert (mul(X, spread) == X * spread).all()
    assert (mul(X, spread[::-1]) == X * spread[::-1]).all()
    assert (mul(X, X.view(numpy.recarray)) == X * X).all()
    empty = X[:0]
    for _ in range(2):
        assert mul(empty, empty).shape == (0,)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert (mul(frozen, frozen) == X * X).all()


def test_results_and_arguments_are_nobody_elses() -> None:
    x = X.copy()
    first = mul(x, x)
    x[:] = 7
    second = mul(x, x)
    second[:] = 0
    assert (first == X * X).all()
    assert (mul(x, x) == 49).all()


def test_numbers_are_checked_at_each_call() -> None:
    kernel = samples.iota.on("cpu")
    for _ in range(2):
        assert (kernel(3) == numpy.arange(16) + 3).all()
        for value in ("3", None, 2**31, 1.5):
            with pytest.raises(CallError, match="Operand `first` of kernel `iota`"):
                kernel(value)


def test_sizes_without_end_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepared, "_MOST_SIGNATURES", 3)
    eager._prepared.clear()
    for size in range(1, 9):
        x = numpy.ones(size, numpy.float32)
        assert (mul(x, x) == x).all()
    (found,) = eager._prepared.values()
    assert len(found.checked) == 3


def test_a_kernel_that_is_gone_leaves_nothing_behind(tmp_path: Path) -> None:
    """A cell of a notebook that runs again declares its kernels again."""

    def cell() -> weakref.ref[cd.Kernel]:
        kernel = cd.Kernel(
            "simple_mul",
            source=str(simple_mul.source),
            operands=simple_mul.operands,
            block=64,
            grid=simple_mul.grid,
        )
        x = numpy.ones(4, numpy.float32)
        for bound in (kernel.on("cpu"), kernel.on("cpu"), kernel):
            assert numpy.array_equal(bound(x, x), x)
        return weakref.ref(kernel)

    kept = (eager._functions, eager._prepared, eager._refused)
    gc.collect()
    before = list(map(len, kept))
    declared = [cell() for _ in range(5)]
    gc.collect()
    assert [kernel() for kernel in declared] == [None] * 5
    assert list(map(len, kept)) == before


def test_a_refusal_keeps_no_kernel(tmp_path: Path) -> None:
    source = tmp_path / "clock.cu"
    source.write_text(
        'extern "C" __global__ void clock(unsigned* y) {\n'
        'asm("mov.u32 %0, %%envreg3;" : "=r"(*y)); }'
    )

    def cell() -> weakref.ref[cd.Kernel]:
        kernel = cd.Kernel(
            "clock", source=source, operands=[cd.Out("y", "u32", [1])], block=1, grid=1
        )
        for _ in range(2):
            with pytest.raises(cd.CustomDispatchError, match="envreg3"):
                kernel.on("cpu")()
        return weakref.ref(kernel)

    declared = cell()
    gc.collect()
    assert declared() is None
    assert not eager._refused
