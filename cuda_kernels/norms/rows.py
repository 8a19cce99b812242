"""The launch of kernels that hold rows in registers (`include/row.cuh`)."""

from __future__ import annotations

import custom_dispatch as cd
from custom_dispatch.kernel.expr import Expr

THREADS, VALUES = 256, 32
"""Threads of a block, and elements that each of them holds."""
_SMALLEST_GROUP = 8
"""Its 16-byte accesses are a 128-byte cache line."""


def group_threads(columns: Expr, threads: int = THREADS, values: int = VALUES) -> Expr | int:
    """How many threads hold a row: the fewest that can, or the whole block."""
    group: Expr | int = threads
    size = threads // 2
    while size >= _SMALLEST_GROUP:
        group = cd.where(columns <= size * values, size, group)
        size //= 2
    return group


def row_blocks(columns: Expr, threads: int = THREADS, values: int = VALUES) -> Expr:
    """Blocks for all rows: one for as many rows as a block has groups."""
    return cd.ceildiv(cd.batch * group_threads(columns, threads, values), threads)
