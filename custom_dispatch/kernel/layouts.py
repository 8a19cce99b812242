"""How compilers of other languages pass arrays; `layouts.toml` has the table."""

import tomllib
from collections.abc import Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from custom_dispatch.dataclass import dataclass
from custom_dispatch.errors import DeclarationError
from custom_dispatch.kernel.expr import Constant, Expr, as_expr, ceildiv
from custom_dispatch.kernel.names import is_list, shown
from custom_dispatch.kernel.operand import Buffer, Operand, Scalar, Struct


@dataclass(frozen=True, slots=True)
class Layout:
    """What a compiler makes of an array."""

    language: str
    array: Sequence[Sequence[Any]]
    mark: str = ""
    is_struct: bool = False
    has_statics: bool = False
    ranks: Sequence[int] = (0,)
    package: str = ""
    releases: Sequence[str] = ()

    def operands(self, kernel: str, given: Sequence[Operand], dim: Any = None) -> list[Operand]:
        """What a kernel takes, of which these are given as its function has them.

        `dim`: the sizes of the launch, where they are passed.
        """
        sizes = list(dim) if is_list(dim) else [] if dim is None else [dim]
        if len(sizes) not in self.ranks:
            raise DeclarationError(
                f"Kernel `{kernel}`: dim is {shown(dim)}, and it is code of {self.language}.",
                expected="one to three sizes of the launch, as `wp.launch` takes them"
                if self.ranks[0]
                else "none: only kernels of Warp are told of the sizes of their launch",
                next_step="write dim=[rows, n]." if self.ranks[0] else "leave dim out.",
            )
        found: list[Operand] = []
        if sizes:
            shape = [*sizes, *[1] * (len(sizes) % 2)]  # in what would be padding
            counts = {"size": ("u64", [prod(sizes)]), "threads_each": ("u64", [1])}
            found.append(Struct("launch", shape=("u32", shape), **counts))
        for item in given:
            found += self._passed(item) if isinstance(item, Buffer) else [item]
        return found

    def _passed(self, item: Buffer) -> list[Operand]:
        held, fields = _held(item), dict[str, Any]()
        found: list[Operand] = []
        for name, kind, what, *count in self.array:
            if what == "address":
                fields[name] = item
                found.append(item)
                continue
            numbers = [*held[what], *[0] * (sum(count) - len(held[what]))]
            values = [as_expr(each) for each in numbers]
            if self.has_statics:
                values = [each for each in values if not isinstance(each, Constant)]
            if values:
                fields[name] = (kind, values)
            for axis, value in enumerate(values):
                each = f"{item.name}_{name}_{axis}"
                is_known = kind[1:] == "64" and isinstance(value, Constant)  # IREE has few words
                known = Struct(each, value=(kind, [value])) if is_known else None
                found.append(known or Scalar(each, kind, value))
        return [Struct(f"{item.name}_array", **fields)] if self.is_struct else found


def _held(item: Buffer) -> dict[str, Sequence[Expr | int]]:
    """What parameters of an array may hold, by what the table calls it."""
    sizes, item_bytes = item.shape, item.dtype.bytes
    strides = [as_expr(prod(sizes[axis:])) for axis in range(1, len(sizes) + 1)]
    return {
        "zero": [0],
        "count": [prod(sizes)],
        "item bytes": [item_bytes],
        "sizes": sizes,
        "strides": strides,
        "strides in bytes": [stride * item_bytes for stride in strides],
        "rank": [len(sizes)],
    }


@cache
def layouts() -> dict[str, Layout]:
    """Layouts by the names that declarations give."""
    read = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    return {name: Layout(**row) for name, row in read.items()}


def enough_blocks(dim: Any, block: Any) -> Expr:
    """A grid with a thread for each element of a launch."""
    sizes, threads = ([*each] if is_list(each) else [each] for each in (dim, block))
    return ceildiv(prod(sizes), prod(threads))
