"""The launch of elementwise kernels (`include/elementwise.cuh`)."""

from __future__ import annotations

import custom_dispatch as cd
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.expr import Expr

THREADS, PACKS = 128, 2
"""Threads of a block, and 16-byte packs of every operand that each of them takes."""


def blocks(count: Expr, dtype: str, threads: int = THREADS, packs: int = PACKS) -> Expr:
    """Blocks for `count` elements."""
    return cd.ceildiv(count, threads * packs * (16 // ELEMENT_TYPES[dtype].bytes))
