"""The memory layouts of quantised weights [n, k], as operands of the products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

import custom_dispatch as cd
from cuda_kernels.quantised.loading import FP8_BLOCK, GGUF_BLOCKS
from cuda_kernels.quantised.packing import (
    BLOCK,
    dequantise_fp8,
    dequantise_fp8_blocks,
    dequantise_int4,
    dequantise_int8,
    dequantise_int8_groups,
    dequantise_q4_0,
    dequantise_q4_1,
    dequantise_q4_k,
    dequantise_q8_0,
)
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.expr import Condition, Expr

Array = numpy.ndarray[tuple[int, ...], numpy.dtype[Any]]

n, blocks, halves, groups, columns, parts = map(
    cd.dim, ("n", "blocks", "halves", "groups", "k", "parts")
)
row_blocks, column_blocks = map(cd.dim, ("row_blocks", "column_blocks"))


@dataclass(frozen=True)
class Format:
    """A memory layout of weights."""

    name: str
    operands: Callable[[str], Sequence[cd.In]]
    """The operands that hold the weights, for an element type of x."""
    k: Expr
    dequantise: Callable[..., Array]
    function: str
    """The kernel of `quantised_many*.cu`."""
    template: Callable[[str], str]
    """Its first template arguments, for an element type in C++: the layout's class."""
    pitch: int
    """Bytes of 64 of k of a row of weights in shared memory: that class's `row<1>().pitch`."""
    wide_pitch: int
    """The same of 256 of k, and of the numbers of their groups: `row<4>().pitch`."""
    stage_ns: int
    """What 256 of k of 128 rows take on an H200, beside what each row of x adds."""
    parts: Expr | int = 0
    """The groups of a row, or the parts of the rows with a scale of their own, if any."""
    requires: Sequence[Condition] = ()

    def product(self, x: Array, *weights: Array) -> Array:
        """The reference: of dequantised weights, in f64."""
        with numpy.errstate(invalid="ignore", over="ignore"):
            wide = self.dequantise(*weights)
            result: Array = (x.astype(numpy.float64) @ wide.T).astype(x.dtype)
        return result


def _blocks(
    name: str,
    dequantise: Callable[..., Array],
    template: str,
    pitch: int,
    wide_pitch: int,
    stage_ns: int,
) -> Format:
    weights, size = GGUF_BLOCKS[name]
    return Format(
        name,
        lambda _: [cd.In("weight", "u8", [n, blocks, size])],
        blocks * weights,
        dequantise,
        "quantised_many_blocks",
        lambda kind: f"cuda_kernels::{template.format(kind)}",
        pitch,
        wide_pitch,
        stage_ns,
    )


def _groups(name: str, function: str, template: str, *numbers: str) -> Format:
    return Format(
        name,
        lambda dtype: [
            cd.In("weight", "u8", [n, halves]),
            *(cd.In(each, dtype, [n, groups]) for each in numbers),
        ],
        halves * 2,
        dequantise_int4,
        function,
        lambda kind: f"cuda_kernels::{template.format(kind)}",
        32,
        144 + 32 * (len(numbers) - 1),
        1150 + 150 * len(numbers),
        groups,
        [halves * 2 % (groups * BLOCK) == 0],
    )


Q4_0 = _blocks("q4_0", dequantise_q4_0, "Q4<{}, false>", 36, 144, 1400)
Q4_1 = _blocks("q4_1", dequantise_q4_1, "Q4<{}, true>", 40, 176, 1700)
Q8_0 = _blocks("q8_0", dequantise_q8_0, "Q8<{}>", 68, 272, 1500)
Q4_K = _blocks("q4_k", dequantise_q4_k, "Q4K<{}>", 48, 144, 1700)
INT4 = _groups("int4", "quantised_many", "Groups4<{0}, false>, unsigned char, {0}", "scales")
INT4_ZEROS = _groups("int4_zeros", "quantised_many_zeros", "Groups4<{}, true>", "scales", "zeros")


def _rows(name: str, dtype: str, dequantise: Callable[..., Array]) -> Format:
    """Of 8 bits, with scales of equal parts of the rows."""
    number = ELEMENT_TYPES[dtype].c_name
    return Format(
        name,
        lambda _: [cd.In("weight", dtype, [n, columns]), cd.In("scales", "f32", [parts])],
        columns,
        dequantise,
        "quantised_many",
        lambda kind: f"cuda_kernels::Eights<{kind}, {number}>, {number}, float",
        80,
        272,
        1050,
        parts,
        [columns % BLOCK == 0, n % parts == 0],
    )


FP8 = _rows("fp8", "f8E4M3FN", dequantise_fp8)
INT8 = _rows("int8", "i8", dequantise_int8)
INT8_GROUPS = Format(
    "int8_groups",
    lambda _: [cd.In("weight", "i8", [n, columns]), cd.In("scales", "f32", [n, groups])],
    columns,
    dequantise_int8_groups,
    "quantised_many",
    lambda kind: f"cuda_kernels::EightGroups<{kind}>, signed char, float",
    80,
    304,
    1300,
    groups,
    [columns % (groups * BLOCK) == 0],
)
FP8_BLOCKS = Format(
    "fp8_blocks",
    lambda _: [
        cd.In("weight", "f8E4M3FN", [n, columns]),
        cd.In("scales", "f32", [row_blocks, column_blocks]),
    ],
    columns,
    dequantise_fp8_blocks,
    "quantised_many",
    lambda kind: f"cuda_kernels::EightBlocks<{kind}>, __nv_fp8_e4m3, float",
    80,
    272,
    1200,
    column_blocks,
    [
        columns % BLOCK == 0,
        row_blocks == cd.ceildiv(n, FP8_BLOCK),
        column_blocks == cd.ceildiv(columns, FP8_BLOCK),
    ],
)
