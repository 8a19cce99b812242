"""Which places `everything` leaves to IREE, since its own code is faster there than the kernel.

The figures behind these sizes are in `benchmarks/results/convolution_h200.json` for GPUs, and in
`benchmarks/results/cpu_profitable.json` for CPUs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar

import custom_dispatch as cd
from cuda_kernels.convolution.convolution import sizes_of
from cuda_kernels.gemm.names import CHOICES
from cuda_kernels.shared.hopper import MULTIPROCESSORS
from cuda_kernels.shared.lazily import TYPES
from custom_dispatch.kernel.expr import Condition, Expr, as_expr

Found = TypeVar("Found", bound=Any)
Rules = dict[str, list[Condition]]
"""By kind of target, as of `profitable_where`."""
_LONG = 1024
"""Products for each result from which a convolution is long."""
_SMALL_PRODUCT, _SMALL_ROWS = 2**26, 2**20
"""Multiplications and elements from which kernels on CPUs are no slower."""
_CHANNELS_LAST = (
    *("convolution_last", "depthwise_last", "pooling_last", "group_norm_last", "turning"),
)
"""On CPUs images stay as models have them, for which IREE and the kernels have good code."""
_ROWS = ("softmax", "layer_norm", "rms_norm", "add_rms_norm")


def where_profitable(patterns: Iterable[Found]) -> tuple[Found, ...]:
    """The patterns, those of some kernels for places alone where the kernel is faster."""
    rules: dict[str, Any] = {**by_kernel()}
    rules |= {f"{name}_{dtype}": {"cpu": None} for name in _CHANNELS_LAST for dtype in TYPES}
    return tuple(
        each.profitable_where(**rules[each.item.name]) if each.item.name in rules else each
        for each in patterns
    )


@cache
def by_kernel() -> dict[str, Rules]:
    """The conditions of kernels that have some, by their names."""
    on_gpus, on_cpus = _convolutions()
    elements = cd.batch * cd.dim("columns")
    return {
        **{
            name: {"cpu": product_on_cpus(form[0])}
            for name, form in CHOICES.items()
            if _is_f32(name)
        },
        **{f"{name}_f32": {"cpu": [elements >= _SMALL_ROWS]} for name in _ROWS},
        "convolution_2d_f32": {"cpu": on_cpus},
        "convolution_2d_f16": {"cuda": on_gpus},
        "convolution_2d_bf16": {"cuda": on_gpus},
    }


def _is_f32(name: str) -> bool:
    return name.endswith("_f32") and "16" not in name


def product_on_cpus(layout: str) -> list[Condition]:
    """Where products of f32 are faster: where a has one row, the kernel reads b the faster.

    IREE is less exact in 16 bits.
    """
    is_batch = layout.startswith("batch")
    rows, products = (cd.dim("m"), cd.batch) if is_batch else (cd.batch, as_expr(1))
    return [_unless(rows > 1, products * rows * cd.dim("n") * cd.dim("k") < _SMALL_PRODUCT)]


def _convolutions() -> tuple[list[Condition], list[Condition]]:
    """For GPUs and for CPUs."""
    sizes = sizes_of(2)
    high, wide, rows, columns, by_h, by_w = map(as_expr, (*sizes.out, *sizes.taps, *sizes.stride))
    taps, of_group = rows * columns, sizes.filters // sizes.groups
    depth = sizes.of_group * taps
    tiles = cd.ceildiv(sizes.filters, 64) * cd.ceildiv(sizes.images * high * wide, 64)
    on_gpus = [
        # Too few tiles for all multiprocessors, each of which takes long.
        _unless(sizes.groups <= 1, taps > 1, depth >= _LONG, tiles < 2 * MULTIPROCESSORS),
        # Tiles that are mostly empty. Depthwise convolutions have a kernel of their own.
        _unless(sizes.groups > 1, sizes.of_group > 1, of_group < 32),
    ]
    # IREE's code takes vectors along an image's rows, without gathering.
    on_cpus = [_unless(sizes.groups <= 1, by_h * by_w <= 1, taps > 1, sizes.of_group >= 16)]
    return on_gpus, on_cpus


def _unless(*conditions: Condition) -> Condition:
    """That one of them does not hold."""
    one_is_missing: Expr = as_expr(0)
    for condition in conditions:
        one_is_missing = cd.where(condition, one_is_missing, 1)
    return one_is_missing > 0
