"""Kernels of channels-last images against their references, on the CPU.

Thorough tests run the GPUs' code, whose tensor cores take long to compile for a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shipped import DTYPES, Shipped, assert_close, spoiled

from cuda_kernels import channels_last
from cuda_kernels.channels_last.convolution import OF_F32, SLICED, TINY, declare
from cuda_kernels.convolution.activations import ACTIVATIONS

Random = np.random.Generator


@pytest.fixture(scope="module")
def kernels() -> Shipped:
    """A kernel of each form; of f32, those for CPUs."""
    named = ("pooling_last_f32", "turning_f16", "group_norm_last_f32")
    more = [declare("f16", SLICED).own, declare("bf16", TINY, any_size=True).own]
    names = ("depthwise_last_f32", "depthwise_last_f16", "pooling_last_f16")
    others = [getattr(channels_last, name) for name in names]
    return Shipped(
        [declare("f32", OF_F32), *(getattr(channels_last, name) for name in named)],
        [*more, *others],
    )


def arguments(
    random: Random,
    kind: str,
    sizes: tuple[int, int, int, int],
    x: tuple[int, int],
    taps: tuple[int, int],
    window: tuple[int, ...],
    adds: bool = False,
    activation: str = "",
    depthwise: bool = False,
) -> list[Any]:
    """Those of a kernel; `sizes` are images, channels, filters and groups."""
    images, channels, filters, groups = sizes

    def array(*shape: int) -> Any:
        return random.standard_normal(shape).astype(DTYPES[kind])

    out = [
        (x[i] + 2 * window[2 + i] - window[4 + i] * (taps[i] - 1) - 1) // window[i] + 1
        for i in range(2)
    ]
    weight = array(filters, *taps, channels // groups)
    return [
        array(images, *x, channels),
        array(*taps, filters) if depthwise else weight,
        np.empty((0, *window), np.uint8),
        *(random.standard_normal(filters).astype(np.float32) for _ in "fs"),
        array(images, *out, filters) if adds else None,
        *(0.125, ACTIVATIONS.index(activation)),
    ]


CASES = [
    ((1, 1, 1, 1), (1, 1), (1, 1), (1, 1, 0, 0, 1, 1)),
    ((3, 5, 7, 1), (7, 9), (3, 3), (1, 1, 1, 1, 1, 1), True),
    ((2, 8, 70, 1), (6, 8), (1, 1), (1, 1, 0, 0, 1, 1), True, "relu"),
    ((2, 48, 72, 3), (11, 13), (3, 2), (2, 3, 2, 0, 1, 2)),
    ((1, 4, 16, 1), (21, 17), (5, 4), (4, 5, 0, 1, 1, 1), False, "gelu_erf"),
    ((2, 6, 10, 1), (9, 8), (3, 3), (1, 1, 2, 2, 2, 2)),
    ((1, 72, 24, 1), (5, 6), (3, 3), (1, 1, 1, 1, 1, 1)),
]
DEPTHWISE = [
    ((2, 5, 5, 5), (9, 11), (3, 3), (1, 1, 1, 1, 1, 1), True, "silu"),
    ((1, 4, 4, 4), (9, 16), (7, 7), (2, 2, 3, 3, 1, 1)),
    ((1, 3, 6, 3), (9, 13), (3, 6), (1, 3, 0, 2, 2, 1)),
    ((2, 6, 6, 6), (1, 20), (1, 4), (1, 1, 0, 3, 1, 1)),
]


def check(kernels: Shipped, name: str, given: list[Any]) -> None:
    """Compare, relative to the largest number."""
    got, want = kernels.both(name, *given)
    assert_close(got, want, scale=max(float(abs(want.astype(np.float64)).max()), 1.0))


@pytest.mark.parametrize("case", CASES)
def test_it_convolves(kernels: Shipped, random: Random, case: Any) -> None:
    check(kernels, "convolution_last_f32_t64x64", arguments(random, "f32", *case))


@pytest.mark.thorough
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("form", ["f16_t64x64_w2", "bf16_t32x64_w4"])
def test_the_code_of_gpus_convolves(kernels: Shipped, random: Random, case: Any, form: str) -> None:
    given = arguments(random, form.partition("_")[0], *case)
    check(kernels, f"convolution_last_{form}", given)


@pytest.mark.thorough  # 15 s of a compiler
@pytest.mark.parametrize("case", DEPTHWISE)
def test_it_convolves_channel_by_channel(kernels: Shipped, random: Random, case: Any) -> None:
    sizes, x, taps, window, *rest = case
    ends = (*rest, *(False, "")[len(rest) :])
    given = arguments(random, "f32", sizes, x, taps, window, *ends, depthwise=True)
    check(kernels, "depthwise_last_f32", given)


def test_nan_and_infinity_reach_what_they_are_in(kernels: Shipped, random: Random) -> None:
    given = arguments(random, "f32", *CASES[1])
    given[0] = spoiled(random, given[0])
    got, want = kernels.both("convolution_last_f32_t64x64", *given)
    assert (np.isnan(got) == np.isnan(want)).all()
    assert (np.isfinite(got) == np.isfinite(want)).all()
    assert np.isfinite(got).any()


@pytest.mark.parametrize("kind", [0, 1, 2])
@pytest.mark.parametrize(
    ("shape", "window"),
    [
        ((2, 7, 9, 5), (3, 3, 2, 2, 1, 1, 1, 1)),
        ((1, 6, 7, 8), (2, 3, 1, 2, 0, 1, 2, 1)),
        ((2, 5, 4, 12), (5, 4, 1, 1, 0, 0, 1, 1)),
    ],
)
def test_it_pools(
    kernels: Shipped, random: Random, shape: Any, window: tuple[int, ...], kind: int
) -> None:
    x = random.standard_normal(shape).astype(np.float32)
    if kind == 0:
        x = spoiled(random, x)
    kernels.check("pooling_last_f32", x, np.empty((0, *window), np.uint8), kind)


@pytest.mark.parametrize(
    ("shape", "wide"), [((2, 3, 70), 4), ((2, 3, 70), 5), ((1, 65, 64), 65), ((3, 1, 1), 1)]
)
def test_it_turns_images(kernels: Shipped, random: Random, shape: Any, wide: int) -> None:
    x = random.standard_normal(shape).astype(np.float16)
    got, want = kernels.both("turning_f16", x, np.empty((0, wide), np.uint8))
    assert (got == want).all()


@pytest.mark.parametrize(("shape", "groups"), [((2, 3, 5, 6), 3), ((1, 4, 16, 8), 1)])
def test_group_norm_is_far_from_zero_as_exact(
    kernels: Shipped, random: Random, shape: tuple[int, ...], groups: int
) -> None:
    x = (random.standard_normal(shape) + 1000).astype(np.float32)
    affine = [random.standard_normal(shape[3]).astype(np.float32) for _ in "wb"]
    given = [x, *affine, np.empty((0, groups), np.uint8), 1e-5, 0.0, ACTIVATIONS.index("silu")]
    kernels.check("group_norm_last_f32", *given, scale=4.0)
