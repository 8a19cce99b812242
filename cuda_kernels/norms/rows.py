"""The launch of kernels that hold rows in registers (`include/row.cuh`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.dtypes import ELEMENT_TYPES
from custom_dispatch.kernel.expr import Expr
from custom_dispatch.kernel.operand import Operand

BLOCKS, PACKS = 8, 8
"""Of a cluster that shares rows: its blocks, and the packs that a thread holds there."""
ELEMENTS = 8
"""Of a narrow row that is made of elements, those of a thread."""
MOST_THREADS = 52_800
"""Threads of few rows: a group is as large as this allows, and its row has packs. On an H200 400 on
each multiprocessor are the most that make a launch faster."""
_BLOCKS_OF_WIDE_ROWS = 200
"""Rows from which on they keep a GPU busy with a block each."""
_LEAST = 2
"""Its 16-byte accesses are a 32-byte sector of a cache line."""
CLUSTERED = ("cuda:sm_90", "cuda:sm_90a")

columns = cd.dim("columns")


@dataclass(frozen=True)
class RowForm:
    """Of a block: its element type, its threads, and the packs of 16 bytes that each holds."""

    dtype: str
    threads: int = 256
    packs: int = 4
    blocks: int = 1
    """Of a cluster that shares rows; where GPUs have none, each row is a block's."""

    @property
    def pack(self) -> int:
        """Elements of a 16-byte access."""
        return 16 // ELEMENT_TYPES[self.dtype].bytes

    @property
    def values(self) -> int:
        """Elements of all packs of a thread."""
        return self.packs * self.pack

    def group(self, length: Expr = columns, rows: Expr = cd.batch) -> Expr:
        """How many threads have a row: the fewest that can hold it, or more if there are few rows.

        Rows that are not whole packs have up to 30 edges, for which 32 threads have room; narrow
        ones are made of elements.
        """
        size, values = (
            self.threads * self.blocks,
            self.pack * (self.packs if self.blocks == 1 else PACKS),
        )
        group: Expr | int = size
        few: Expr | int = 32
        edges = self.pack - 1  # or more of a row that is not made of packs
        while size > _LEAST:
            size //= 2
            are_few = rows <= MOST_THREADS // (2 * size)
            most = cd.where(are_few, size * self.pack + edges, size * values + edges)
            group = cd.where(length <= most, size, group)
            if size < 32:
                few = cd.where(length <= size * ELEMENTS, size, few)
        return cd.maximum(group, cd.where(length % self.pack == 0, _LEAST, few))

    def kernel(
        self,
        function: str,
        operands: Sequence[Operand],
        *template: int,
        rows: Expr = cd.batch,
        length: Expr = columns,
        on_cpu: cd.Implementation | None = None,
        **parts: Any,
    ) -> cd.Kernel:
        """The kernel of a function that uses `include/row.cuh`.

        Parameters
        ----------
        function
            Its name; that of the one for clusters has `_wide` behind it.
        operands
            All but the last, the number of threads that have a row.
        template
            The function's template arguments behind those of the form; zeros in clusters.
        rows, length
            How many rows there are, and of how many elements.
        on_cpu
            What CPUs have instead.
        parts
            Of `cd.Kernel`.
        """
        group = self.group(length, rows)
        arguments = [C_TYPES[self.dtype], self.threads, self.values, *template]
        others: dict[str, cd.Implementation] = {} if on_cpu is None else {"cpu": on_cpu}
        in_block: Expr = group
        if self.blocks > 1:
            in_block = cd.minimum(group, self.threads)
            wide = [*arguments[:2], PACKS * self.pack, *(0 for _ in template), self.blocks]
            in_cluster = cd.Implementation(
                entry=_entry(f"{function}_wide", *wide),
                grid=cd.ceildiv(rows * group, self.blocks * self.threads) * self.blocks,
                cluster=self.blocks,
            )
            others |= dict.fromkeys(CLUSTERED, in_cluster)
        return cd.Kernel(
            operands=[*operands, cd.Scalar("group", "i32", group)],
            entry=_entry(function, *arguments),
            block=self.threads,
            grid=cd.ceildiv(rows * in_block, self.threads),
            implementations=others,
            **parts,
        )


SIZES = (cd.Scalar("rows", "i32", cd.batch), cd.Scalar("columns", "i32", columns))
"""What kernels of rows [..., columns] take before the group."""


def choice(
    name: str,
    declare: Callable[..., cd.Kernel],
    form: RowForm,
    rows: Expr = cd.batch,
    length: Expr = columns,
) -> cd.Choice:
    """The kernel for rows that a block can hold, and one for wider ones.

    Where there are many rows, a block reads up to four times as much as it holds again, from the L2
    cache: so few bytes wait for a cluster. On an H200 that takes 0.86 of a cluster's time for 256
    rows of 32768 in 16 bits, and 1.15 for 512 of 50257.

    Parameters
    ----------
    declare
        The kernel of a form and a name.
    form
        That of the first.
    """
    block = declare(form, f"{name}_block")
    cluster = declare(replace(form, blocks=BLOCKS), f"{name}_cluster")
    held = form.threads * form.values
    most = cd.where(rows >= _BLOCKS_OF_WIDE_ROWS, 4 * held, held)
    return cd.Choice(name, [block, cluster], rules={block.name: [length <= most]})


def _entry(name: str, *arguments: object) -> str:
    return f"cuda_kernels::{name}<{', '.join(map(str, arguments))}>"
