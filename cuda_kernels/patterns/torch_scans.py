"""Scans of state-space models in PyTorch's words, for the patterns of `torch.py`.

Rules write what models have as operators (`rewriting/scans.py`, `rewriting/chunks.py`), which these
patterns are of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

import custom_dispatch as cd
from cuda_kernels import recurrence
from cuda_kernels.patterns.rewriting.scan_operator import DELTA_SCAN, SELECTIVE_SCAN
from cuda_kernels.patterns.rewriting.scans import write_scans
from cuda_kernels.shared.lazily import TYPES

if TYPE_CHECKING:
    Patterns = tuple[cd.torch.Pattern, ...]


def _selective(
    x: Tensor,
    dt: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    d: Tensor,
    times_dt: int,
    plain: int,
    z: Tensor | None = None,
    first: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    y, last = SELECTIVE_SCAN(x, dt, a, b, c, d, z, first, times_dt, plain)
    return y, last


def _delta(
    x: Tensor,
    dt: Tensor,
    a: Tensor,
    b: Tensor,
    c: Tensor,
    beta: Tensor,
    plain: int,
    first: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    y, last = DELTA_SCAN(x, dt, a, b, c, beta, first, plain)
    return y, last


def scans() -> Patterns:
    """Of state-space models, and of gated delta rules."""
    return (
        *(
            cd.torch.Pattern(
                getattr(recurrence, f"selective_scan_{dtype}"),
                _selective,
                rewrites=write_scans,
                required=False,
            )
            for dtype in TYPES
        ),
        *(
            cd.torch.Pattern(
                getattr(recurrence, f"delta_scan_{dtype}"),
                _delta,
                fixed={"times_dt": 0},
                rewrites=write_scans,
                required=False,
            )
            for dtype in TYPES
        ),
    )
