"""The tiles and launches of `gemm_sm80.cu`, `gemm_f32.cu` and `gemm_few_rows.cu`."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace
from typing import ClassVar

import custom_dispatch as cd
from cuda_kernels.shared.c_types import C_TYPES
from cuda_kernels.shared.hopper import LEAST_SHARED_BYTES
from custom_dispatch.kernel.expr import Expr


@dataclass(frozen=True)
class Tile:
    """The tile of a block of `gemm_sm80.cu`, and its warps."""

    m: int
    n: int
    k: int
    stages: int
    warps_m: int
    """Along the tile's rows."""
    warps_n: int
    warps_k: int = 1
    """That slice the k of each step (sliced-K)."""

    source: ClassVar[str] = "gemm_sm80.cu"
    element_bytes: ClassVar[int] = 2

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name in C++, with its template arguments."""
        return _entry("gemm", C_TYPES[dtype], C_TYPES[out], *arguments, *astuple(self))

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps_m * self.warps_n * self.warps_k

    @property
    def name(self) -> str:
        """The tile and the stages."""
        return f"t{self.m}x{self.n}_s{self.stages}"

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block: its stages."""
        return self.stages * (self.m + self.n) * self.k * self.element_bytes

    def blocks(self, m: Expr, n: Expr) -> Expr:
        """Blocks of a result."""
        return cd.ceildiv(m, self.m) * cd.ceildiv(n, self.n)


@dataclass(frozen=True)
class TileF32(Tile):
    """The same of `gemm_f32.cu`, for operands of f32."""

    source: ClassVar[str] = "gemm_f32.cu"
    function: ClassVar[str] = "gemm_f32"
    element_bytes: ClassVar[int] = 4

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name in C++, with its template arguments."""
        del dtype, out
        return _entry(self.function, *arguments, *astuple(self))


@dataclass(frozen=True)
class TileTf32(TileF32):
    """The same, of products that are rounded to TF32."""

    function: ClassVar[str] = "gemm_tf32"


@dataclass(frozen=True)
class SkinnyTile:
    """The tile of `gemm_few_rows.cu`, for weights: 16 * rows x 8 * columns, all rows of A."""

    rows: int
    columns: int
    warps: int
    stages: int

    source: ClassVar[str] = "gemm_few_rows.cu"
    element_bytes: ClassVar[int] = 2
    weights: ClassVar[int] = 1
    """Matrices b that one kernel reads."""

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name in C++, with its template arguments."""
        activation, _ = arguments  # there is no other layout
        return _entry("gemm_few_rows", C_TYPES[dtype], C_TYPES[out], activation, *astuple(self))

    @property
    def name(self) -> str:
        """The tile and the stages."""
        return f"t{16 * self.rows}x{8 * self.columns}_s{self.stages}"

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warps

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block: the stages of its threads."""
        return self.threads * self.stages * (self.weights * self.columns + 2 * self.rows) * 16

    def on_any(self) -> SkinnyTile:
        """With as many stages as every GPU has room for."""
        one = self.shared_bytes // self.stages
        return replace(self, stages=min(self.stages, LEAST_SHARED_BYTES // one))

    def blocks(self, m: Expr, n: Expr) -> Expr:
        """Blocks of a result."""
        del m
        return cd.ceildiv(n, 8 * self.columns)


@dataclass(frozen=True)
class GatedTile(SkinnyTile):
    """The same of `gated_few_rows.cu`, with as many columns of each of two weights."""

    source: ClassVar[str] = "gated_few_rows.cu"
    weights: ClassVar[int] = 2

    def entry(self, dtype: str, out: str, *arguments: str) -> str:
        """The kernel's name in C++, with its template arguments."""
        del out, arguments  # y is as x, and SwiGLU is what follows
        return _entry("gated_few_rows", C_TYPES[dtype], *astuple(self))


def _entry(function: str, *arguments: str | int) -> str:
    return f"cuda_kernels::{function}<{', '.join(map(str, arguments))}>"
