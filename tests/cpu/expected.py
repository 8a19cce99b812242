"""A launch, and what it must give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from cpu_harness import Launch


@dataclass(frozen=True)
class Expected:
    """A launch, and what its outputs must be."""

    launch: Launch
    want: list[np.ndarray]
    rtol: float = 0.0
    atol: float = 0.0


def float_bits(value: float) -> int:
    """A float's bits, as a kernel takes it."""
    return int(np.float32(value).view(np.uint32))


def check(case: Expected, got: list[np.ndarray]) -> None:
    """Compare a launch's outputs."""
    for found, want in zip(got, case.want, strict=True):
        np.testing.assert_allclose(
            found.astype(np.float64) if case.rtol or case.atol else found,
            want,
            rtol=case.rtol,
            atol=case.atol,
            err_msg=case.launch.entry,
        )
