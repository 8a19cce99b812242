"""Launch geometry: block and grid, and the limits CUDA sets for them."""

from collections.abc import Sequence
from math import prod
from typing import cast

from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.evaluation import refuse_device
from custom_dispatch.kernel.expr import Constant, Expr, as_expr
from custom_dispatch.kernel.names import as_integer, is_list, shown

Block = tuple[int, int, int]
Grid = tuple[Expr, Expr, Expr]

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": the same for every
# architecture from 5.0 on.
MAX_BLOCK_THREADS = 1024
MAX_BLOCK: Block = (1024, 1024, 64)
MAX_GRID: Block = (2**31 - 1, 65535, 65535)

# Shared memory a block may use at most, static and dynamic together, in bytes: same table,
# "Maximum amount of shared memory per thread block".
_MAX_SHARED_KIB = {
    50: 48, 52: 48, 53: 48, 60: 48, 61: 48, 62: 48, 70: 96, 72: 96, 75: 64,
    80: 163, 86: 99, 87: 163, 88: 99, 89: 99, 90: 227, 100: 227, 103: 227, 110: 227,
    120: 99, 121: 99,
}  # fmt: skip

MAX_CLUSTER_BLOCKS = 8
"""What every GPU with clusters takes; more needs an attribute of the function that IREE does not
set (CUDA C++ Programming Guide, "Thread Block Clusters")."""

_AXES = "xyz"

# Below 16 ptxas takes 16 all the same, and warns; above 255 there are none (same table).
_MIN_REGISTERS, _MAX_REGISTERS = 16, 255


def max_shared_bytes(compute_capability: int) -> int:
    """Bytes of shared memory that a block may use on a GPU of this compute capability."""
    return _MAX_SHARED_KIB[compute_capability] * 1024


def max_block_registers(compute_capability: int) -> int:
    """Registers that the threads of one block may use together, on such a GPU: same table."""
    return (32 if compute_capability in (53, 62) else 64) * 1024


def check_block(kernel: str, block: Sequence[int] | int) -> Block:
    """Read a block's size: one to three positive integers."""
    full = _whole_axes(block)
    if full is None:
        raise DeclarationError(
            f"Kernel `{kernel}`: block is given as {shown(block)}.",
            expected="one to three integers, such as (256, 1, 1)",
            next_step="give the block's size in threads; it cannot depend on dims.",
        )
    _check_axes(f"Kernel `{kernel}`: block", full, MAX_BLOCK)
    threads = prod(full)
    if threads > MAX_BLOCK_THREADS:
        raise DeclarationError(
            f"Kernel `{kernel}`: block {full} has {threads} threads.",
            expected=f"at most {MAX_BLOCK_THREADS}, CUDA's limit",
            next_step="use a smaller block and a larger grid.",
        )
    return full


def check_grid(kernel: str, grid: Sequence[Expr | int] | Expr | int) -> Grid:
    """Read a grid's size: one to three dim expressions."""
    sizes = _axes_of(grid)
    if sizes is None:
        raise DeclarationError(
            f"Kernel `{kernel}`: grid is given as {shown(grid)}.",
            expected="one to three dim expressions, such as (cd.ceildiv(n, 64), 1, 1)",
            next_step="give the grid's size in blocks.",
        )
    exprs = tuple(as_expr(size, where=f"Kernel `{kernel}`: a size of grid") for size in sizes)
    full = cast(Grid, exprs + (Constant(1),) * (3 - len(exprs)))
    known = [size.value if isinstance(size, Constant) else None for size in full]
    _check_axes(f"Kernel `{kernel}`: grid", known, MAX_GRID)
    return full


def _check_axes(what: str, sizes: Sequence[int | None], limits: Block) -> None:
    for axis, size, limit in zip(_AXES, sizes, limits, strict=True):
        if size is not None and not 1 <= size <= limit:
            raise DeclarationError(
                f"{what}.{axis} is {shown(size)}.",
                expected=f"1 to {limit}, CUDA's limits for {axis}",
                next_step="choose a size within them.",
            )


def check_cluster(kernel: str, cluster: Sequence[int] | int | None, grid: Grid) -> Block | None:
    """Read the size of a cluster in blocks, and compare the grid with it where that is known."""
    if cluster is None:
        return None
    full = _whole_axes(cluster)
    if full is None or min(full) < 1 or prod(full) > MAX_CLUSTER_BLOCKS:
        raise DeclarationError(
            f"Kernel `{kernel}`: cluster is given as {shown(cluster)}.",
            expected=f"one to three integers, of at most {MAX_CLUSTER_BLOCKS} blocks together",
            next_step="give the size that the source states with __cluster_dims__.",
        )
    for axis, blocks, size in zip(_AXES, full, grid, strict=True):
        if isinstance(size, Constant) and size.value % blocks:
            raise DeclarationError(
                f"Kernel `{kernel}`: grid.{axis} is {size.value}, and a cluster has {blocks} "
                f"blocks in {axis}.",
                expected=f"a multiple of {blocks}",
                next_step="choose a grid of whole clusters.",
            )
    return full


def check_amount(part: str, why: str, kernel: str, amount: Expr | int | None) -> Expr | None:
    """Read a number of operations or bytes, a dim expression; `why` it asks no device."""
    if amount is None:
        return None
    where = f"Kernel `{kernel}`: {part}"
    expr = as_expr(amount, where=where)
    refuse_device(where, expr, why=why)
    return expr


def check_dynamic_shared_memory(kernel: str, size: int) -> int:
    """Read a number of bytes of dynamic shared memory."""
    most = max(_MAX_SHARED_KIB.values()) * 1024
    expected = f"a number of bytes from 0 to {most}, which is the most that any GPU has"
    next_step = "give the size as an integer; it cannot depend on dims."
    return _within(kernel, "dynamic_shared_memory", size, (0, most), expected, next_step)


def check_launch_bounds(kernel: str, bound: int | None, block: Block) -> int | None:
    """Read a thread limit, and compare the block with it."""
    if bound is None:
        return None
    expected = "the thread limit that the source's __launch_bounds__ states, from 1 to "
    expected += str(MAX_BLOCK_THREADS)
    limits, next_step = (1, MAX_BLOCK_THREADS), "give it as an integer, or leave it out."
    number = _within(kernel, "launch_bounds", bound, limits, expected, next_step)
    threads = prod(block)
    if threads > number:
        raise DeclarationError(
            f"Kernel `{kernel}`: block {block} has {threads} threads, launch_bounds "
            f"allows {number}.",
            expected="a block within the launch bounds",
            next_step="use a smaller block, or raise __launch_bounds__ in the source.",
        )
    return number


def check_max_registers(kernel: str, registers: int | None) -> int | None:
    """Read a limit of registers for each thread."""
    if registers is None:
        return None
    limits = (_MIN_REGISTERS, _MAX_REGISTERS)
    expected = f"registers for each thread, from {_MIN_REGISTERS} to {_MAX_REGISTERS}"
    next_step = "give it as an integer, or leave it out for the compiler to choose."
    return _within(kernel, "max_registers", registers, limits, expected, next_step)


def _within(
    kernel: str, part: str, value: object, limits: tuple[int, int], expected: str, next_step: str
) -> int:
    number = as_integer(value)
    if number is None or not limits[0] <= number <= limits[1]:
        found = f"Kernel `{kernel}`: {part} is {shown(value)}."
        raise DeclarationError(found, expected=expected, next_step=next_step)
    return number


def _whole_axes(size: Sequence[int] | int) -> Block | None:
    """One to three integers, and 1 for the rest; else None."""
    sizes = _axes_of(size) or ()
    numbers = [number for number in map(as_integer, sizes) if number is not None]
    fits = len(sizes) == len(numbers) > 0
    return cast(Block, (*numbers, 1, 1)[:3]) if fits else None


def _axes_of(size: Sequence[Expr | int] | Expr | int) -> tuple[Expr | int, ...] | None:
    """One to three sizes: an integer or expression alone, or a sequence of them; else None."""
    if not is_list(size):
        alone = cast(Expr | int, size)
        return (alone,) if isinstance(alone, Expr) or as_integer(alone) is not None else None
    several = tuple(cast(Sequence[Expr | int], size))
    return several if 1 <= len(several) <= 3 else None
