"""Launch geometry: block and grid, and the limits CUDA sets for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expr import Constant, Expr, as_expr

Block = tuple[int, int, int]
Grid = tuple[Expr, Expr, Expr]

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same for every
# architecture from 5.0 on.
MAX_BLOCK_THREADS = 1024
MAX_BLOCK: Block = (1024, 1024, 64)
MAX_GRID: Block = (2**31 - 1, 65535, 65535)
MAX_STATIC_SHARED_BYTES = 48 * 1024
"""Shared memory a block may declare statically; what exceeds it must be dynamic."""

# Shared memory a block may use at most, static and dynamic together, in bytes: same table,
# "Maximum amount of shared memory per thread block".
_MAX_SHARED_KIB = {
    50: 48, 52: 48, 53: 48, 60: 48, 61: 48, 62: 48, 70: 96, 72: 96, 75: 64,
    80: 163, 86: 99, 87: 163, 88: 99, 89: 99, 90: 227, 100: 227, 103: 227, 110: 227,
    120: 99, 121: 99,
}  # fmt: skip

_AXES = "xyz"


def max_shared_bytes(compute_capability: int) -> int:
    """Bytes of shared memory that a block may use on a GPU of this compute capability."""
    return _MAX_SHARED_KIB[compute_capability] * 1024


def check_block(kernel: str, block: Sequence[int] | int) -> Block:
    """Read a block's size: one to three positive integers.

    Raises
    ------
    DeclarationError
        It is none, or exceeds CUDA's limits.
    """
    sizes = (block,) if isinstance(block, int) else tuple(block)
    numeric = all(isinstance(size, int) and not isinstance(size, bool) for size in sizes)
    if not 1 <= len(sizes) <= 3 or not numeric:
        raise DeclarationError(
            f"Kernel `{kernel}`: block is given as {block!r}.",
            expected="one to three integers, such as (256, 1, 1)",
            next_step="give the block's size in threads; it cannot depend on dims.",
        )
    full = cast(Block, sizes + (1,) * (3 - len(sizes)))
    for axis, size, limit in zip(_AXES, full, MAX_BLOCK, strict=True):
        if not 1 <= size <= limit:
            raise DeclarationError(
                f"Kernel `{kernel}`: block.{axis} is {size}.",
                expected=f"1 to {limit}, CUDA's limits for {axis}",
                next_step="choose a size within them.",
            )
    threads = full[0] * full[1] * full[2]
    if threads > MAX_BLOCK_THREADS:
        raise DeclarationError(
            f"Kernel `{kernel}`: block {full} has {threads} threads.",
            expected=f"at most {MAX_BLOCK_THREADS}, CUDA's limit",
            next_step="use a smaller block and a larger grid.",
        )
    return full


def check_grid(kernel: str, grid: Sequence[Expr | int] | Expr | int) -> Grid:
    """Read a grid's size: one to three dim expressions.

    Raises
    ------
    DeclarationError
        It is none, or a constant size exceeds CUDA's limits.
    """
    sizes = (grid,) if isinstance(grid, int | Expr) else tuple(grid)
    if not 1 <= len(sizes) <= 3:
        raise DeclarationError(
            f"Kernel `{kernel}`: grid has {len(sizes)} sizes.",
            expected="one to three dim expressions, such as (cd.ceildiv(n, 64), 1, 1)",
            next_step="give the grid's size in blocks.",
        )
    exprs = tuple(as_expr(size, where=f"Kernel `{kernel}`: a size of grid") for size in sizes)
    full = cast(Grid, exprs + (Constant(1),) * (3 - len(exprs)))
    for axis, size, limit in zip(_AXES, full, MAX_GRID, strict=True):
        if isinstance(size, Constant) and not 1 <= size.value <= limit:
            raise DeclarationError(
                f"Kernel `{kernel}`: grid.{axis} is {size.value}.",
                expected=f"1 to {limit}, CUDA's limits for {axis}",
                next_step="choose a size within them.",
            )
    return full


def check_dynamic_shared_memory(kernel: str, size: int) -> int:
    """Read a number of bytes of dynamic shared memory.

    Raises
    ------
    DeclarationError
        It is no number of bytes, or more than any GPU has.
    """
    most = max(_MAX_SHARED_KIB.values()) * 1024
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= most:
        raise DeclarationError(
            f"Kernel `{kernel}`: dynamic_shared_memory is {size!r}.",
            expected=f"a number of bytes from 0 to {most}",
            next_step="give the size as an integer; it cannot depend on dims.",
        )
    return size
