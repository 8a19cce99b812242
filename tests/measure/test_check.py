"""Comparing kernels with their references."""

from __future__ import annotations

import numpy as np
import pytest
from sample_kernels import samples

import custom_dispatch as cd
from cuda_kernels.simple_mul import simple_mul
from custom_dispatch.measure.check import SIZES, check_kernel

CHECKED = [kernel for kernel in samples.ALL if kernel.reference is not None]


def with_reference(reference: object) -> cd.Kernel:
    return cd.Kernel(
        "simple_mul",
        source=str(simple_mul.source),
        operands=simple_mul.operands,
        block=simple_mul.block,
        grid=simple_mul.grid,
        reference=reference,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("kernel", CHECKED[:8], ids=lambda kernel: kernel.name)
def test_a_kernel_that_computes_its_reference_passes(kernel: cd.Kernel) -> None:
    results = list(check_kernel(kernel, "cpu"))
    assert results
    assert [result for result in results if not result.passed] == []


def test_sizes_that_the_declaration_has_no_shape_for_are_passed_over() -> None:
    sizes = [result.dims["n"] for result in check_kernel(samples.drop_first, "cpu")]
    assert sizes == [size for size in SIZES if size > 0]


def test_one_wrong_element_fails() -> None:
    def reference(lhs: np.ndarray, rhs: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
        product = lhs * rhs
        if product.size:
            product[-1] += 0.01
        return product

    results = list(check_kernel(with_reference(reference), "cpu"))
    assert [result.problem for result in results if result.dims["n"] == 7] == [
        "`product` differs in 1 of 7 elements"
    ]


def test_a_result_of_another_shape_fails() -> None:
    results = list(check_kernel(with_reference(lambda lhs, _: lhs[:1]), "cpu"))
    assert results[-1].problem == "`product` has shape (1000,), the reference (1,)"


def test_sizes_with_too_many_elements_are_passed_over() -> None:
    """1000 in four dims would be terabytes."""
    dims = [cd.dim(name) for name in "abcd"]
    kernel = cd.Kernel(
        "simple_mul",
        source=str(simple_mul.source),
        operands=[
            cd.In("lhs", "f32", dims),
            cd.In("rhs", "f32", dims),
            cd.Out("product", "f32", dims),
            cd.Scalar("count", "i32", dims[0] * dims[1] * dims[2] * dims[3]),
        ],
        block=simple_mul.block,
        grid=cd.ceildiv(dims[0] * dims[1] * dims[2] * dims[3], 64),
        reference=lambda lhs, rhs: lhs * rhs,
    )
    results = list(check_kernel(kernel, "cpu"))
    assert [result.dims["a"] for result in results] == [0, 1, 7, 64]
    assert [result for result in results if not result.passed] == []


def test_a_kernel_that_no_size_fits_says_so() -> None:
    kernel = cd.Kernel(
        "large",
        source="large.cu",
        operands=[cd.In("x", "f32", [1 << 26]), cd.Out("y", "f32", [1 << 26])],
        block=64,
        grid=1 << 20,
        reference=lambda x: x,
    )
    with pytest.raises(cd.CustomDispatchError, match="cannot be called with any of the sizes"):
        list(check_kernel(kernel, "cpu"))
