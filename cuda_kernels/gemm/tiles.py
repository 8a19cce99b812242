"""The launch of kernels that multiply matrices: what a block computes, and how."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import ClassVar

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from custom_dispatch.kernel.expr import Expr


@dataclass(frozen=True)
class Tile:
    """A tile of the result: `gemm_sm80.cu`."""

    m: int
    n: int
    k: int
    stages: int
    warps_m: int
    """Those that share the tile's rows."""
    warps_n: int
    warps_k: int = 1
    """Those that share each step's k."""

    source: ClassVar[str] = "gemm_sm80.cu"
    element_bytes: ClassVar[int] = 2

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name, with all its template arguments."""
        return _entry("gemm", C_TYPES[dtype], C_TYPES[out], *arguments, *astuple(self))

    @property
    def threads(self) -> int:
        """Of a block."""
        return 32 * self.warps_m * self.warps_n * self.warps_k

    @property
    def name(self) -> str:
        """The tile and the stages."""
        return f"t{self.m}x{self.n}_s{self.stages}"

    @property
    def shared_bytes(self) -> int:
        """The stages."""
        return self.stages * (self.m + self.n) * self.k * self.element_bytes

    def blocks(self, m: Expr, n: Expr) -> Expr:
        """How many a result takes."""
        return cd.ceildiv(m, self.m) * cd.ceildiv(n, self.n)


@dataclass(frozen=True)
class TileF32(Tile):
    """A tile of the result, of operands of f32: `gemm_f32.cu`."""

    source: ClassVar[str] = "gemm_f32.cu"
    element_bytes: ClassVar[int] = 4

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name, with all its template arguments."""
        del dtype, out
        return _entry("gemm_f32", *arguments, *astuple(self))


@dataclass(frozen=True)
class SkinnyTile:
    """All of up to 16 * rows rows, of 8 * columns columns, with weights: `gemm_few_rows.cu`."""

    rows: int
    columns: int
    warps: int
    stages: int

    source: ClassVar[str] = "gemm_few_rows.cu"

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name, with all its template arguments."""
        activation, _ = arguments  # there is no other layout
        return _entry("gemm_few_rows", C_TYPES[dtype], C_TYPES[out], activation, *astuple(self))

    @property
    def name(self) -> str:
        """The tile and the stages."""
        return f"t{16 * self.rows}x{8 * self.columns}_s{self.stages}"

    @property
    def threads(self) -> int:
        """Of a block."""
        return 32 * self.warps

    @property
    def shared_bytes(self) -> int:
        """The threads' rings."""
        return self.threads * self.stages * (self.columns + 2 * self.rows) * 16

    def blocks(self, m: Expr, n: Expr) -> Expr:
        """How many a result takes."""
        del m
        return cd.ceildiv(n, 8 * self.columns)


@dataclass(frozen=True)
class Gated:
    """All of up to 16 * rows rows, of 8 * columns columns of two weights: `gated_few_rows.cu`."""

    rows: int
    columns: int
    warps: int
    stages: int

    def entry(self, dtype: str) -> str:
        """The kernel's name, with all its template arguments."""
        return _entry("gated_few_rows", C_TYPES[dtype], *astuple(self))

    @property
    def threads(self) -> int:
        """Of a block."""
        return 32 * self.warps

    @property
    def shared_bytes(self) -> int:
        """The threads' rings."""
        return self.threads * self.stages * (2 * self.columns + 2 * self.rows) * 16

    def blocks(self, n: Expr) -> Expr:
        """How many a result takes."""
        return cd.ceildiv(n, 8 * self.columns)


def _entry(function: str, *arguments: str | int) -> str:
    return f"cuda_kernels::{function}<{', '.join(map(str, arguments))}>"
