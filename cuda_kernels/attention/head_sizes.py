"""The sizes of a head that a kernel takes: one, or any up to the columns of its tiles.

`../include/head_sizes.cuh` has the same for the kernels' code.
"""

from __future__ import annotations

from dataclasses import dataclass

import custom_dispatch as cd
from custom_dispatch.kernel.expr import Condition, Expr


@dataclass(frozen=True)
class UpTo:
    """Any sizes up to these: of queries and keys, and of values."""

    columns: int
    value_columns: int

    @property
    def name(self) -> str:
        """As in a kernel's name: `up_to_96`, `up_to_192x128`."""
        if self.columns == self.value_columns:
            return f"up_to_{self.columns}"
        return f"up_to_{self.columns}x{self.value_columns}"


Head = int | UpTo
"""The one size, or the largest ones."""

UP_TO = (
    UpTo(64, 64),
    UpTo(96, 96),
    UpTo(128, 128),
    UpTo(192, 128),
    UpTo(192, 192),
    UpTo(256, 256),
)
"""Those that kernels are compiled for, the smallest first; a call takes the first that it fits."""

dim, value_dim = cd.dim("dim"), cd.dim("value_dim")


def columns_of(head: Head) -> tuple[int, int]:
    """The columns of tiles of queries and keys, and of values and results."""
    return (head, head) if isinstance(head, int) else (head.columns, head.value_columns)


def whole_columns_of(head: Head) -> tuple[int, int]:
    """The same with what tiles take in shared memory: whole parts of 64 columns."""
    columns, value_columns = (-(-each // 64) * 64 for each in columns_of(head))
    return columns, value_columns


def sizes_of(head: Head) -> tuple[Expr | int, Expr | int]:
    """The sizes of queries and keys, and of values and results."""
    return (head, head) if isinstance(head, int) else (dim, value_dim)


def requirements(head: Head) -> list[Condition]:
    """What has to hold for its sizes."""
    if isinstance(head, int):
        return []
    return [dim <= head.columns, value_dim <= head.value_columns]


def name_of(head: Head) -> str:
    """As in a kernel's name."""
    return str(head) if isinstance(head, int) else head.name


def template_of(head: Head) -> str:
    """The template argument."""
    if isinstance(head, int):
        return f"cuda_kernels::Exactly<{head}>"
    return f"cuda_kernels::UpTo<{head.columns}, {head.value_columns}>"
