"""Convolutions and group norms against their references, on the CPU.

Thorough tests run the GPUs' code, whose tensor cores take long to compile for a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close, spoiled

from cuda_kernels.convolution.activations import ACTIVATIONS
from cuda_kernels.convolution.convolution import LARGE, SMALL, SMALL_F32, declare
from cuda_kernels.norms import group_norm
from cuda_kernels.norms.rows import RowForm

Random = np.random.Generator
NORM = ("mean", "variance", "scale", "shift")


@pytest.fixture(scope="module")
def kernels() -> Shipped:
    """A kernel of each form; of f32, those for CPUs."""
    own = [declare(2, "f16", LARGE).own, declare(1, "bf16", SMALL).own]
    return Shipped(
        [
            declare(2, "f32", SMALL_F32),
            declare(2, "f32"),
            group_norm.declare(2, RowForm("f32", 64)),
        ],
        [*own, declare(2, "bf16"), group_norm.declare(1, RowForm("f16", 64))],
    )


def arguments(
    random: Random,
    kind: str,
    sizes: tuple[int, int, int, int],
    x: tuple[int, ...],
    taps: tuple[int, ...],
    window: tuple[int, ...],
    given: tuple[str, ...] = (),
    activation: str = "",
) -> list[Any]:
    """Those of a kernel.

    Parameters
    ----------
    sizes
        Images, channels, filters and groups.
    given
        What may be left out, and is not.
    """
    images, channels, filters, groups = sizes

    def array(*shape: int) -> Any:
        return random.standard_normal(shape).astype(DTYPES[kind])

    axes = len(x)
    stride, padding, apart = window[:axes], window[axes : 2 * axes], window[2 * axes :]
    out = [
        (size + 2 * p - d * (t - 1) - 1) // s + 1
        for size, s, p, d, t in zip(x, stride, padding, apart, taps, strict=True)
    ]
    per_filter = {name: array(filters) for name in ("bias", *NORM)}
    per_filter["variance"] = abs(per_filter["variance"])
    return [
        array(images, channels, *x),
        array(filters, channels // groups, *taps),
        np.empty((0, *window), np.uint8),
        *(per_filter[name] if name in given else None for name in per_filter),
        array(images, filters, *out) if "residual" in given else None,
        *(1e-5, 0.125, ACTIVATIONS.index(activation)),
    ]


CASES = [
    ((1, 1, 1, 1), (1, 1), (1, 1), (1, 1, 0, 0, 1, 1), ()),
    ((3, 5, 7, 1), (7, 9), (3, 3), (1, 1, 1, 1, 1, 1), ("bias", *NORM, "residual")),
    ((2, 8, 70, 1), (6, 8), (1, 1), (1, 1, 0, 0, 1, 1), ("residual",)),
    ((2, 12, 18, 3), (11, 13), (3, 2), (2, 3, 2, 0, 1, 2), NORM),
    ((1, 3, 10, 1), (21, 17), (5, 4), (4, 5, 0, 1, 1, 1), ("bias",)),
]
DEPTHWISE = [
    ((2, 5, 5, 5), (9, 11), (3, 3), (1, 1, 1, 1, 1, 1), ("bias", *NORM, "residual")),
    ((1, 3, 6, 3), (9, 14), (7, 7), (2, 2, 3, 3, 1, 1), ()),
    ((1, 4, 4, 4), (9, 13), (3, 6), (1, 3, 0, 2, 2, 1), ("bias",)),
]


def check(kernels: Shipped, name: str, given: list[Any]) -> None:
    """Compare, relative to the largest number."""
    got, want = kernels.both(name, *given)
    assert_close(got, want, scale=max(float(abs(want.astype(np.float64)).max()), 1.0))


@pytest.mark.parametrize("case", CASES)
def test_it_convolves(kernels: Shipped, random: Random, case: Any) -> None:
    check(kernels, "convolution_2d_f32_t64x64", arguments(random, "f32", *case))


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
def test_it_convolves_in_16_bits(kernels: Shipped, random: Random, case: Any) -> None:
    check(kernels, "convolution_2d_f16_t128x128", arguments(random, "f16", *case))
    sizes, x, taps, window, given = case
    one = (sizes, x[1:], taps[1:], window[1::2], given)
    check(kernels, "convolution_1d_bf16_t64x64", arguments(random, "bf16", *one))


@pytest.mark.parametrize("case", DEPTHWISE)
def test_it_convolves_channel_by_channel(kernels: Shipped, random: Random, case: Any) -> None:
    check(kernels, "convolution_2d_f32_depthwise", arguments(random, "f32", *case))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_follows(kernels: Shipped, random: Random, activation: str) -> None:
    given = arguments(random, "f32", *DEPTHWISE[0], activation)
    check(kernels, "convolution_2d_f32_depthwise", given)


def test_nan_and_infinity_reach_what_they_are_in(kernels: Shipped, random: Random) -> None:
    sizes, x, taps, window, _ = CASES[1]
    given = arguments(random, "f32", sizes, x, taps, window)
    given[0] = spoiled(random, given[0])
    got, want = kernels.both("convolution_2d_f32_t64x64", *given)
    assert (np.isnan(got) == np.isnan(want)).all()
    assert (np.isfinite(got) == np.isfinite(want)).all()
    assert np.isfinite(got).any()


@pytest.mark.parametrize(("shape", "groups"), [((2, 6, 3, 5), 3), ((1, 8, 4, 16), 1)])
def test_group_norm_is_far_from_zero_as_exact(
    kernels: Shipped, random: Random, shape: tuple[int, ...], groups: int
) -> None:
    x = (random.standard_normal(shape) + 1000).astype(np.float32)
    affine = [random.standard_normal(shape[1]).astype(np.float32) for _ in "wb"]
    given = [x, *affine, np.empty((0, groups), np.uint8), 1e-5, 0.0, ACTIVATIONS.index("silu")]
    kernels.check("group_norm_2d_f32", *given, scale=4.0)


@pytest.mark.thorough
def test_group_norm_along_one_axis(kernels: Shipped, random: Random) -> None:
    x = random.standard_normal((3, 12, 77)).astype(np.float16)
    given = [x, None, None, np.empty((0, 4), np.uint8), 1e-5, 0.0, 0]
    kernels.check("group_norm_1d_f16", *given)
